//! Reads the text of a check: `and`, `or`, `not`, parentheses, `@`, `!`, `kind:match`.

use super::check::Check;

/// The check that `text` says; an empty text always holds. `None` where it cannot be read.
pub fn check(text: &str) -> Option<Check> {
    if text.trim().is_empty() {
        return Some(Check::Always);
    }
    let mut tokens = Tokens {
        words: words(text),
        next: 0,
    };
    let check = tokens.any()?;
    tokens.peek().is_none().then_some(check)
}

/// Splits at blanks, and takes parentheses from the ends of words: `%(name)s` inside of one stays whole.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for mut word in text.split_whitespace() {
        while let Some(rest) = word.strip_prefix('(') {
            words.push("(");
            word = rest;
        }
        let bare = word.trim_end_matches(')');
        if !bare.is_empty() {
            words.push(bare);
        }
        words.extend(std::iter::repeat_n(")", word.len() - bare.len()));
    }
    words
}

struct Tokens<'a> {
    words: Vec<&'a str>,
    next: usize,
}

impl<'a> Tokens<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.next).copied()
    }

    /// Takes the next word if it is `word`, in whatever case.
    fn take(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|next| next.eq_ignore_ascii_case(word));
        self.next += usize::from(found);
        found
    }

    fn any(&mut self) -> Option<Check> {
        let mut checks = vec![self.all()?];
        while self.take("or") {
            checks.push(self.all()?);
        }
        Some(if checks.len() == 1 {
            checks.remove(0)
        } else {
            Check::Any(checks)
        })
    }

    fn all(&mut self) -> Option<Check> {
        let mut checks = vec![self.one()?];
        while self.take("and") {
            checks.push(self.one()?);
        }
        Some(if checks.len() == 1 {
            checks.remove(0)
        } else {
            Check::All(checks)
        })
    }

    fn one(&mut self) -> Option<Check> {
        if self.take("not") {
            return Some(Check::Not(Box::new(self.one()?)));
        }
        if self.take("(") {
            let check = self.any()?;
            return self.take(")").then_some(check);
        }
        let word = self.peek()?;
        self.next += 1;
        single(word)
    }
}

fn single(word: &str) -> Option<Check> {
    match word {
        "@" => return Some(Check::Always),
        "!" => return Some(Check::Never),
        _ => {}
    }
    let (kind, value) = word.split_once(':')?;
    Some(match kind {
        "role" => Check::Role(value.to_owned()),
        "rule" => Check::Rule(value.to_owned()),
        _ => Check::Attribute {
            kind: kind.to_owned(),
            template: value.to_owned(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Caller, Target};
    use super::*;
    use std::collections::HashMap;

    fn holds(text: &str) -> bool {
        let caller = Caller {
            user_id: Some("me".into()),
            project_id: Some("p".into()),
            roles: vec!["Reader".into()],
            ..Caller::default()
        };
        let target = Target {
            project_id: Some("p".into()),
            user_id: Some("other".into()),
        };
        let rules = HashMap::from([
            ("r".to_owned(), Check::parse("role:reader")),
            ("c".to_owned(), Check::parse("rule:c")),
        ]);
        Check::parse(text).holds(&caller, &target, &rules)
    }

    #[test]
    fn decides_as_oslo_policy_does() {
        for text in [
            "",
            "@",
            "role:READER",
            "rule:r",
            "not !",
            "project_id:%(project_id)s",
            "role:reader and project_id:%(project_id)s",
            "! or @ and role:reader",
            "@ or @ and !",
            "(role:admin or role:reader) AND not user_id:%(user_id)s",
            "((rule:r))",
            "'p':%(project_id)s",
        ] {
            assert!(holds(text), "{text}");
        }
        for text in [
            "!",
            "not @",
            "role:admin",
            "rule:unknown",
            "rule:c",
            "user_id:%(user_id)s",
            "(@ or @) and !",
            "project_id:%(nothing)s",
            "'q':%(project_id)s",
        ] {
            assert!(!holds(text), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_never_holds() {
        for text in ["role", "(@", "@)", "@ @", "and", "@ or", "not"] {
            assert_eq!(check(text), None, "{text}");
            assert!(!holds(text), "{text}");
        }
    }
}
