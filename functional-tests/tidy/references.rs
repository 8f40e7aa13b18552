//! The rule of references: comments name the thing again instead of pointing to a thing of another sentence.
//!
//! Words such as *it*, *that* and *those* are counted in the comments of each layer, in 1,000 words. The count of a
//! layer is at most the layer's limit in `references.txt`. The limits are a ratchet: a limit follows a count that
//! falls, down to `GOAL`.

use super::prose;
use super::source::File;

const REFERENCES: &[&str] = &[
    "that", "it", "its", "those", "one", "ones", "what", "such", "them", "then", "another", "other", "others",
];

/// The reference words in 1,000 words that STYLE.md asks for. No limit is lower.
const GOAL: usize = 45;

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

/// A row of `references.txt`.
struct Limit<'a> {
    /// The path of a layer without `.rs`, or `tests`.
    layer: &'a str,
    most: usize,
}

fn limits(table: &str) -> Vec<Limit<'_>> {
    let rows = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|row| {
        let (layer, most) = row.split_once(' ').expect("a row has a layer and a limit");
        let most = most.trim().parse().expect("a limit is a number");
        Limit { layer, most }
    })
    .collect()
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

/// Complaints about layers whose count is above the limit, or has left the limit behind.
pub fn check(table: &str, files: &[File]) -> Vec<String> {
    let limits = limits(table);
    let counted: Vec<(Option<&str>, &File, Count)> = files
        .iter()
        .map(|file| (layer_of(&limits, &file.path), file, Count::of(&file.text)))
        .collect();
    let mut complaints: Vec<String> = counted
        .iter()
        .filter(|(layer, ..)| layer.is_none())
        .map(|(_, file, _)| format!("{}: no row of references.txt is for this file", file.path))
        .collect();
    for Limit { layer, most } in &limits {
        let of_layer = || counted.iter().filter(|(found, ..)| *found == Some(*layer));
        let mut all = Count::default();
        of_layer().for_each(|(_, _, count)| all.add(*count));
        let found = all.per_thousand();
        let worst = of_layer().max_by_key(|(_, _, count)| count.excess(GOAL));
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
        if *most > found.max(GOAL) + SLACK || *most < GOAL {
            complaints.push(format!(
                "references.txt: the limit of `{layer}` is {most}, but the comments have {found}: write {}",
                found.max(GOAL)
            ));
        }
    }
    complaints
}

/// A line for each file above `GOAL`, the file that adds most first.
pub fn report(files: &[File]) -> String {
    let mut counted: Vec<(&File, Count)> = files.iter().map(|file| (file, Count::of(&file.text))).collect();
    counted.retain(|(_, count)| count.excess(GOAL) > 0);
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(count.excess(GOAL)));
    let line =
        |(file, count): &(&File, Count)| format!("{} {} of {} words\n", file.path, count.per_thousand(), count.words);
    counted.iter().map(line).collect()
}
