//! The rules of words: the words in STYLE.md's table are refused, and the subject of a sentence is a thing.

use std::collections::BTreeMap;

use super::prose::Prose;
use super::source::File;
use super::{prose, sentences, tables};

/// Files of other projects, and files that are generated from checked files.
const NOT_OURS: &[&str] = &["api-ref/", "LICENSE"];

/// Words that are refused only in sentences. In names they mean something else.
pub const NOT_IN_NAMES: &[&str] = &["rooms"];

/// The refused words and phrases.
pub struct Words {
    /// By the first word of a phrase: its other words, the phrase, and what to write instead.
    phrases: BTreeMap<String, Vec<(Vec<String>, String, String)>>,
}

impl Words {
    /// The table of STYLE.md whose first header cell is `avoid`.
    pub fn of(style: &str) -> Words {
        let mut phrases: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for row in tables::table(style, "avoid") {
            for phrase in row[0].split('`').skip(1).step_by(2) {
                let mut words = split(phrase).map(|(_, word)| word);
                let Some(first) = words.next() else { continue };
                let instead = row.get(1).cloned().unwrap_or_default();
                let rest = words.collect();
                phrases
                    .entry(first)
                    .or_default()
                    .push((rest, phrase.to_owned(), instead));
            }
        }
        Words { phrases }
    }

    pub fn is_empty(&self) -> bool {
        self.phrases.is_empty()
    }

    /// Complaints about every refused word of a file.
    pub fn check(&self, file: &File) -> Vec<String> {
        let prose = our_prose(file);
        prose.iter().flat_map(|prose| self.check_prose(file, prose)).collect()
    }

    fn check_prose(&self, file: &File, prose: &Prose) -> Vec<String> {
        let words: Vec<(usize, String)> = split(&prose.text).collect();
        let mut complaints = Vec::new();
        for (number, (at, word)) in words.iter().enumerate() {
            for (rest, phrase, instead) in self.phrases.get(word).into_iter().flatten() {
                let follows = words[number + 1..]
                    .iter()
                    .map(|(_, word)| word)
                    .take(rest.len())
                    .eq(rest);
                if follows && !(prose.is_name && NOT_IN_NAMES.contains(&phrase.as_str())) {
                    let line = prose.line(*at);
                    complaints.push(format!("{}:{line}: `{phrase}`: write {instead} (STYLE.md)", file.path));
                }
            }
        }
        complaints
    }
}

/// Words with which no sentence begins, and what is wrong with it.
const BEGINNINGS: [(&str, &str); 3] = [
    ("Who", "has no subject: name the thing that acts"),
    ("Whom", "has no subject: name the thing that acts"),
    (
        "Where",
        "has a condition: write `if` or `when`, and `where` only for places",
    ),
];

/// Complaints about sentences that begin with "who …" instead of a subject, or with "where …," instead of a condition.
/// Questions may begin so.
pub fn beginnings(file: &File) -> Vec<String> {
    let mut complaints = Vec::new();
    for prose in our_prose(file).iter().filter(|prose| !prose.is_name) {
        let mut at = 0;
        for sentence in sentences::sentences(&prose.text) {
            let first = sentence.split(' ').next().unwrap_or_default();
            let first = first.trim_start_matches(|c: char| !c.is_alphanumeric());
            let wrong = BEGINNINGS.iter().find(|(word, _)| *word == first);
            if let Some((word, why)) = wrong
                && !sentence.ends_with('?')
                && (*word != "Where" || sentence.contains(", "))
            {
                let line = prose.line(at);
                complaints.push(format!("{}:{line}: \"{sentence}\" {why} (STYLE.md)", file.path));
            }
            at += sentence.len() + 1;
        }
    }
    complaints
}

fn our_prose(file: &File) -> Vec<Prose> {
    if NOT_OURS.iter().any(|path| file.path.starts_with(path)) {
        return Vec::new();
    }
    prose::prose(file)
}

/// The words of a text in lower case, with their offsets. An apostrophe separates two words.
fn split(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut rest = text.split(|c: char| !c.is_alphanumeric());
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let word = rest.next()?;
            let begin = at;
            at = begin + word.len() + text[begin + word.len()..].chars().next().map_or(0, char::len_utf8);
            if !word.is_empty() {
                return Some((begin, word.to_lowercase()));
            }
        }
    })
}
