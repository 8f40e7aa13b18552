//! The rule of references: comments name the thing again instead of pointing to a thing of another sentence.
//!
//! Words such as *it*, *that* and *those* are counted in 1,000 words of comments. The count of a layer is at most the
//! layer's limit in `references.txt`. The limits are a ratchet: a limit follows a falling count. The count of a file is
//! at most `FILE_LIMIT`, unless `references.txt` lists the file as an exception.

use super::prose;
use super::source::File;

const REFERENCES: &[&str] = &[
    "that", "it", "its", "those", "one", "ones", "what", "such", "them", "then", "another", "other", "others",
];

/// The most reference words in 1,000 words of comments of a file.
const FILE_LIMIT: usize = 45;

/// The least number of words of comments for the limit of a file: in fewer words a single sentence decides.
const COUNTED_WORDS: usize = 100;

/// A limit is lowered if the count is further below the limit than this.
const SLACK: usize = 2;

/// The row of the files of tests, wherever they are.
const TESTS: &str = "tests";

/// The words of comments.
#[derive(Clone, Copy, Default)]
pub struct Count {
    pub words: usize,
    pub references: usize,
}

impl Count {
    /// Counts the comments of a Rust file, without code in backquotes and without numbers.
    pub fn of(text: &str) -> Count {
        let mut count = Count::default();
        for comment in prose::comments(text) {
            for sentence in comment.text.split('`').step_by(2) {
                let words = sentence
                    .split_whitespace()
                    .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
                    .filter(|word| word.contains(char::is_alphabetic));
                for word in words {
                    let word = word.strip_suffix("'s").unwrap_or(word).to_lowercase();
                    count.words += 1;
                    count.references += usize::from(REFERENCES.contains(&word.as_str()));
                }
            }
        }
        count
    }

    fn add(&mut self, more: Count) {
        self.words += more.words;
        self.references += more.references;
    }

    /// The reference words in 1,000 words, rounded up.
    pub fn per_thousand(self) -> usize {
        (self.references * 1_000).div_ceil(self.words.max(1))
    }

    /// The reference words above `limit`, in 1,000,000 words of the file or layer.
    fn excess(self, limit: usize) -> usize {
        (self.references * 1_000).saturating_sub(limit * self.words)
    }
}

/// A row of `references.txt` with a layer.
struct Limit<'a> {
    /// The path of a layer without `.rs`, or `tests`.
    layer: &'a str,
    most: usize,
}

/// The rows of `references.txt`: the limits of layers, and the paths of files above `FILE_LIMIT`.
struct Table<'a> {
    limits: Vec<Limit<'a>>,
    exceptions: Vec<&'a str>,
}

impl Table<'_> {
    fn read(text: &str) -> Table<'_> {
        let rows = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let (limits, exceptions): (Vec<&str>, Vec<&str>) = rows.partition(|row| row.contains(' '));
        let limits = limits.into_iter().filter_map(|row| row.split_once(' '));
        let limits = limits.map(|(layer, most)| {
            let most = most.trim().parse().expect("a limit is a number");
            Limit { layer, most }
        });
        Table {
            limits: limits.collect(),
            exceptions,
        }
    }
}

/// The layer of a file: the longest path of the table that leads to the file.
fn layer_of<'a>(limits: &[Limit<'a>], path: &str) -> Option<&'a str> {
    if path.ends_with("/tests.rs") || path.contains("/tests/") {
        return Some(TESTS);
    }
    let leads_to = |layer: &str| {
        let rest = path.strip_prefix(layer);
        rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    };
    let layers = limits.iter().map(|limit| limit.layer);
    layers.filter(|layer| leads_to(layer)).max_by_key(|layer| layer.len())
}

/// Complaints about layers and files above their limits, and about rows that a falling count has left behind.
pub fn check(table: &str, files: &[File]) -> Vec<String> {
    let Table { limits, exceptions } = Table::read(table);
    let mut complaints = check_layers(&limits, files);
    complaints.extend(check_files(&exceptions, files));
    complaints
}

fn check_layers(limits: &[Limit<'_>], files: &[File]) -> Vec<String> {
    let counted: Vec<(Option<&str>, &File, Count)> = files
        .iter()
        .map(|file| (layer_of(limits, &file.path), file, Count::of(&file.text)))
        .collect();
    let mut complaints: Vec<String> = counted
        .iter()
        .filter(|(layer, ..)| layer.is_none())
        .map(|(_, file, _)| format!("{}: no row of references.txt is for this file", file.path))
        .collect();
    for Limit { layer, most } in limits {
        let of_layer = || counted.iter().filter(|(found, ..)| *found == Some(*layer));
        let mut all = Count::default();
        of_layer().for_each(|(_, _, count)| all.add(*count));
        let found = all.per_thousand();
        let worst = of_layer().max_by_key(|(_, _, count)| count.excess(*most));
        let Some((_, worst, of_worst)) = worst else {
            complaints.push(format!("references.txt: `{layer}` has no file"));
            continue;
        };
        if found > *most {
            complaints.push(format!(
                "{layer}: {found} reference words in 1,000 words of comments are {} more than references.txt allows. \
                 The file that adds most is {}, with {} in 1,000. Name the thing again (STYLE.md)",
                found - most,
                worst.path,
                of_worst.per_thousand()
            ));
        }
        if *most > found + SLACK {
            complaints.push(format!(
                "references.txt: the limit of `{layer}` is {most}, but the comments have {found}: write {found}"
            ));
        }
    }
    complaints
}

fn check_files(exceptions: &[&str], files: &[File]) -> Vec<String> {
    let counted = files.iter().map(|file| (file.path.as_str(), Count::of(&file.text)));
    let is_above = |count: &Count| count.words >= COUNTED_WORDS && count.per_thousand() > FILE_LIMIT;
    let above: Vec<(&str, Count)> = counted.filter(|(_, count)| is_above(count)).collect();
    let refused = above.iter().filter(|(path, _)| !exceptions.contains(path));
    let refused = refused.map(|(path, count)| {
        format!(
            "{path}: {} reference words in 1,000 words of comments are more than {FILE_LIMIT}. \
             Name the thing again (STYLE.md)",
            count.per_thousand()
        )
    });
    let needless = exceptions
        .iter()
        .filter(|path| above.iter().all(|(file, _)| file != *path));
    let needless = needless.map(|path| format!("references.txt: no file {path} is above {FILE_LIMIT}: remove the row"));
    refused.chain(needless).collect()
}
