//! Parses the text of a check: `and`, `or`, `not`, parentheses, `@`, `!`, `left:right`.
//!
//! An unparsable text never holds, and is reported. As in oslo.policy, the negation of the text with `not` holds.

use std::iter::Peekable;
use std::vec::IntoIter;

use super::caller::Caller;
use super::check::Check;
use super::template::{self, Left, Template};

/// The mistakes in a text.
#[derive(Debug, Default)]
pub struct Diagnostics {
    /// Mistakes despite which the text can be used.
    pub warnings: Vec<String>,
    /// The reason why the text cannot be used.
    pub error: Option<String>,
}

/// Parses `text`. An empty text always holds.
pub fn text(text: &str, diagnostics: &mut Diagnostics) -> Check {
    if text.is_empty() {
        return Check::Always;
    }
    let mut tokens = Tokens {
        words: words(text).into_iter().peekable(),
        diagnostics,
    };
    let check = tokens.any().filter(|_| tokens.words.peek().is_none());
    check.unwrap_or_else(|| {
        diagnostics.warnings.push(format!(
            "{text:?} cannot be parsed and never holds; check its parentheses, and, or and not"
        ));
        Check::Never
    })
}

/// Parses the list of lists of older policy files. The check holds if all checks of any inner list hold.
pub fn lists(lists: &[Vec<String>], diagnostics: &mut Diagnostics) -> Check {
    if lists.is_empty() {
        return Check::Always;
    }
    let filled = lists.iter().filter(|list| !list.is_empty());
    let checks: Vec<Check> = filled
        .map(|list| join_checks(Check::All, list.iter().map(|word| single(word, diagnostics)).collect()))
        .collect();
    if checks.is_empty() {
        return Check::Never;
    }
    join_checks(Check::Any, checks)
}

/// The only check, or all checks joined.
fn join_checks(join: fn(Vec<Check>) -> Check, mut checks: Vec<Check>) -> Check {
    if checks.len() == 1 {
        checks.remove(0)
    } else {
        join(checks)
    }
}

/// A token: a word or a parenthesis. Whether a word is `and`, `or` or `not` is decided by the parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word<'a> {
    Open,
    Close,
    Plain(&'a str),
    /// A word in quotes, without a meaning.
    Quoted,
}

/// Splits at blanks, and separates parentheses from both ends of a word. `%(name)s` inside a word stays whole.
fn words(text: &str) -> Vec<Word<'_>> {
    // Unlike Rust, Python counts the four ASCII separators as blanks.
    let blank = |c: char| c.is_whitespace() || ('\x1c'..='\x1f').contains(&c);
    let mut words = Vec::new();
    for word in text.split(blank).filter(|word| !word.is_empty()) {
        let bare = word.trim_start_matches('(');
        words.extend(std::iter::repeat_n(Word::Open, word.len() - bare.len()));
        let word = bare.trim_end_matches(')');
        let in_quotes = bare.len() >= 2 && ["'", "\""].iter().any(|q| bare.starts_with(q) && bare.ends_with(q));
        if in_quotes {
            words.push(Word::Quoted);
        } else if !word.is_empty() {
            words.push(Word::Plain(word));
        }
        words.extend(std::iter::repeat_n(Word::Close, bare.len() - word.len()));
    }
    words
}

struct Tokens<'a, 'f> {
    words: Peekable<IntoIter<Word<'a>>>,
    diagnostics: &'f mut Diagnostics,
}

impl<'a> Tokens<'a, '_> {
    /// Takes the next word if it is `word`, ignoring case.
    fn take_word(&mut self, word: &str) -> bool {
        let is_word = |next: &Word| matches!(next, Word::Plain(text) if text.eq_ignore_ascii_case(word));
        self.words.next_if(is_word).is_some()
    }

    fn any(&mut self) -> Option<Check> {
        let mut checks = vec![self.all()?];
        while self.take_word("or") {
            checks.push(self.all()?);
        }
        Some(join_checks(Check::Any, checks))
    }

    fn all(&mut self) -> Option<Check> {
        let mut checks = vec![self.one()?];
        while self.take_word("and") {
            checks.push(self.one()?);
        }
        Some(join_checks(Check::All, checks))
    }

    fn one(&mut self) -> Option<Check> {
        if self.take_word("not") {
            return Some(Check::Not(Box::new(self.one()?)));
        }
        match self.words.next()? {
            Word::Open => {
                let check = self.any()?;
                self.words.next_if_eq(&Word::Close).map(|_| check)
            }
            Word::Plain(word) if !["and", "or"].contains(&word.to_lowercase().as_str()) => {
                Some(single(word, self.diagnostics))
            }
            _ => None,
        }
    }
}

/// A check without `and`, `or`, `not` and parentheses.
fn single(word: &str, diagnostics: &mut Diagnostics) -> Check {
    match word {
        "@" => return Check::Always,
        "!" => return Check::Never,
        _ => {}
    }
    let Some((kind, value)) = word.split_once(':') else {
        diagnostics
            .warnings
            .push(format!("{word:?} has no colon and never holds; write it as kind:value"));
        return Check::Never;
    };
    let right = Template::read(value);
    match kind {
        "rule" => return Check::Rule(value.to_owned()),
        "http" | "https" => {
            diagnostics.error = Some(format!(
                "{word:?} asks a policy server, which placet does not support; use roles and projects instead"
            ));
            return Check::Never;
        }
        _ if right.is_unreadable() => diagnostics.warnings.push(format!(
            "{word:?} has a % that is not %(name)s or %%, so requests to its routes get a 500; write %% for a plain %"
        )),
        _ => {}
    }
    if kind == "role" {
        return Check::Role(right);
    }
    let left = Left::read(kind);
    if left == Left::Unreadable {
        let reason = template::unreadable(kind);
        diagnostics
            .warnings
            .push(format!("{reason}; until then requests to its routes get a 500"));
    }
    if let Left::Credential { name, .. } = &left
        && !Caller::may_have(name)
    {
        diagnostics.warnings.push(format!(
            "{word:?} compares the credential {kind}, which no token has, and never holds; role:NAME compares roles, \
             and rule:NAME refers to another rule"
        ));
    }
    Check::Equal {
        text: kind.to_owned(),
        left,
        right,
    }
}
