//! The rules of commits: a subject that says what the commit does, and a body that says why if much changed.

use std::path::Path;
use std::process::Command;

/// The rules hold for commits after this one.
const SINCE: &str = "3632a7267894edf0ee3ff861bcef89c86ccf4046";

const MOST_CHARACTERS: usize = 72;
/// A commit that adds and removes more lines of `src/` than this needs a body.
const LINES_WITHOUT_BODY: usize = 50;

/// A commit that is not a merge.
pub struct Commit {
    pub hash: String,
    pub subject: String,
    pub body: String,
    /// The lines of `src/` that it adds or removes.
    pub lines: usize,
}

/// The commits that the rules hold for. `None` if there is no such history, as in a tarball or a shallow clone.
pub fn commits(root: &Path) -> Option<Vec<Commit>> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    };
    git(&["merge-base", "--is-ancestor", SINCE, "HEAD"])?;
    let range = format!("{SINCE}..HEAD");
    let format = "--format=%x1e%h%x1f%s%x1f%b%x1f";
    let log = git(&["log", "--no-merges", "--numstat", "-M", format, &range, "--"])?;
    Some(log.split('\u{1e}').skip(1).filter_map(parse).collect())
}

/// Parses a commit in the format of `commits`: hash, subject, body, and a line for each file.
fn parse(record: &str) -> Option<Commit> {
    let mut fields = record.split('\u{1f}');
    let (hash, subject, body) = (fields.next()?, fields.next()?, fields.next()?);
    let changed = |line: &str| -> Option<usize> {
        let (added, rest) = line.split_once('\t')?;
        let (removed, path) = rest.split_once('\t')?;
        let of_source = path.starts_with("src/") || path.starts_with("{src");
        of_source.then(|| added.parse::<usize>().unwrap_or(0) + removed.parse::<usize>().unwrap_or(0))
    };
    Some(Commit {
        hash: hash.to_owned(),
        subject: subject.to_owned(),
        body: body.trim().to_owned(),
        lines: fields.next()?.lines().filter_map(changed).sum(),
    })
}

/// Complaints about a commit.
pub fn check(commit: &Commit) -> Vec<String> {
    let subject = commit.subject.as_str();
    let mut complaints = Vec::new();
    let mut complain = |what: String| complaints.push(format!("commit {} `{subject}`: {what}", commit.hash));
    let characters = subject.chars().count();
    if characters > MOST_CHARACTERS {
        complain(format!("{characters} characters, but the most are {MOST_CHARACTERS}"));
    }
    // Git itself writes the subject of a revert.
    if !subject.starts_with("Revert \"") {
        match scope(subject) {
            None => complain("no scope: begin with the part that changes, as in `db: rename the queue`".to_owned()),
            Some(said) if !is_imperative(said) => {
                complain("say what the commit does, as a command: `add`, not `added`, `adds` or `adding`".to_owned());
            }
            Some(_) => {}
        }
    }
    if commit.body.is_empty() && commit.lines > LINES_WITHOUT_BODY {
        complain(format!(
            "changes {} lines of src/ without a body that says why",
            commit.lines
        ));
    }
    complaints
}

/// The subject without its scope.
fn scope(subject: &str) -> Option<&str> {
    let (scope, said) = subject.split_once(": ")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./+-".contains(c);
    let part = |part: &str| !part.is_empty() && part.chars().all(plain);
    scope.split(", ").all(part).then_some(said.trim())
}

/// Whether a subject may be a command. It refuses only first words that no command has.
fn is_imperative(said: &str) -> bool {
    const NO_VERBS: [&str; 24] = [
        "a", "all", "an", "and", "both", "each", "every", "fewer", "how", "it", "more", "no", "not", "now", "only",
        "some", "that", "the", "there", "this", "what", "when", "where", "who",
    ];
    let word = said
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let has_vowel = |stem: &str| stem.contains(['a', 'e', 'i', 'o', 'u']);
    let past = word
        .strip_suffix("ed")
        .is_some_and(|stem| has_vowel(stem) && !stem.ends_with('e') && stem != "emb");
    let going_on = word.strip_suffix("ing").is_some_and(has_vowel);
    let third_person =
        word.ends_with('s') && !word.ends_with("ss") && !["focus", "bias", "alias"].contains(&word.as_str());
    !word.is_empty() && !past && !going_on && !third_person && !NO_VERBS.contains(&word.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_git_is_read() {
        let record = "1a2b\u{1f}db: add a\u{1f}Why.\n\nMore.\n\u{1f}\n\n10\t2\tsrc/a.rs\n-\t-\tsrc/b.png\n7\t7\tdocs/c.md\n\
                      1\t1\tsrc/{a => b}/d.rs\n";
        let commit = parse(record).expect("the record is whole");
        assert_eq!((commit.hash.as_str(), commit.subject.as_str()), ("1a2b", "db: add a"));
        assert_eq!((commit.body.as_str(), commit.lines), ("Why.\n\nMore.", 14));
    }

    #[test]
    fn commands_are_distinguished_from_reports() {
        for said in [
            "add it",
            "Process less",
            "need no lock",
            "bring back",
            "pass on",
            "embed it",
            "feed it",
            "use `x`",
        ] {
            assert!(is_imperative(said), "{said}");
        }
        for said in [
            "added it",
            "adds it",
            "adding it",
            "The lock goes",
            "no locks",
            "Tests of x",
            "",
            "what holds",
        ] {
            assert!(!is_imperative(said), "{said}");
        }
    }
}
