//! Reads expressions by recursive descent, a function for each rule of the grammar.
//!
//! ```text
//! expression = and { "||" and } ;      and = term { "&&" term } ;
//! term       = not | "(" expression ")" | comparison ;     not = "!" ( not | "(" expression ")" ) ;
//! comparison = name ( "==" | "!=" | ">=" | "<=" | "<" | ">" ) literal ;
//! name       = [A-Za-z_][A-Za-z0-9_.-]{0,254} ;
//! literal    = integer | "true" | "false" (any case) | bare word [A-Za-z0-9_][A-Za-z0-9_./:-]* | '"' text '"' ;
//! ```

use std::str::FromStr;

use super::{Comparison, Expression, Node, Operator};
use crate::error::{Error, Result};
use crate::search::snapshot::PropertyValue;

/// The highest number of characters of an expression.
const MAX_CHARACTERS: usize = 4096;
/// How deep parentheses and exclamation marks may be nested. The limit bounds the recursion.
const MAX_LEVELS: usize = 64;
const MAX_COMPARISONS: usize = 256;
/// The highest number of characters of a name.
const MAX_NAME: usize = 255;

impl FromStr for Expression {
    type Err = Error;

    /// # Errors
    /// [`Error::InvalidExpression`], with the column of the error, counted in characters from 1.
    fn from_str(text: &str) -> Result<Expression> {
        Expression::with_columns(text).map(|(expression, _)| expression)
    }
}

impl Expression {
    /// Reads a text. Returns the columns of the literals too, in the order of [`Expression::comparisons`].
    ///
    /// # Errors
    /// As of [`Expression::from_str`].
    pub fn with_columns(text: &str) -> Result<(Expression, Vec<usize>)> {
        let mut parser = ExpressionParser {
            text: text.chars().collect(),
            at: 0,
            levels: 0,
            columns: Vec::new(),
        };
        if parser.text.len() > MAX_CHARACTERS {
            return parser.fail(
                MAX_CHARACTERS,
                format!("an expression has at most {MAX_CHARACTERS} characters"),
            );
        }
        if parser.peek().is_none() {
            return Ok((Expression::default(), Vec::new()));
        }
        let node = parser.expression()?;
        match parser.peek() {
            None => Ok((Expression(Some(node)), parser.columns)),
            Some(_) => parser.fail(parser.at, "expected '&&', '||' or the end"),
        }
    }
}

/// The characters of an expression, and the position of the reader.
struct ExpressionParser {
    text: Vec<char>,
    at: usize,
    /// How many parentheses and exclamation marks are open at the position.
    levels: usize,
    /// The columns of the literals so far.
    columns: Vec<usize>,
}

impl ExpressionParser {
    fn fail<T>(&self, at: usize, detail: impl Into<String>) -> Result<T> {
        Err(Error::InvalidExpression {
            context: String::new(),
            column: at + 1,
            detail: detail.into(),
        })
    }

    /// The next character except white space.
    fn peek(&mut self) -> Option<char> {
        while self.text.get(self.at).is_some_and(|c| c.is_whitespace()) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    /// Skips `token` if the token comes next.
    fn take(&mut self, token: &str) -> bool {
        self.peek();
        let is_next = self.text[self.at..].iter().take(token.len()).copied().eq(token.chars());
        if is_next {
            self.at += token.len();
        }
        is_next
    }

    fn expression(&mut self) -> Result<Node> {
        self.list("||", ExpressionParser::and, Node::Or)
    }

    fn and(&mut self) -> Result<Node> {
        self.list("&&", ExpressionParser::term, Node::And)
    }

    fn list(
        &mut self,
        separator: &str,
        item: fn(&mut ExpressionParser) -> Result<Node>,
        join: fn(Vec<Node>) -> Node,
    ) -> Result<Node> {
        let first = item(self)?;
        let mut all = vec![first];
        while self.take(separator) {
            all.push(item(self)?);
        }
        Ok(match all.len() {
            1 => all.remove(0),
            _ => join(all),
        })
    }

    fn term(&mut self) -> Result<Node> {
        match self.peek() {
            Some('!') => self.not(),
            Some('(') => self.group(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.comparison().map(Node::Comparison),
            _ => self.fail(
                self.at,
                "expected the name of a property, '!' or '('; a name stands left of its literal",
            ),
        }
    }

    fn not(&mut self) -> Result<Node> {
        self.enter()?;
        let node = match self.peek() {
            Some('!') => self.not()?,
            Some('(') => self.group()?,
            _ => return self.fail(self.at, "expected '(' after '!', as in !(a == 1)"),
        };
        self.levels -= 1;
        Ok(Node::Not(Box::new(node)))
    }

    fn group(&mut self) -> Result<Node> {
        self.enter()?;
        let node = self.expression()?;
        if !self.take(")") {
            return self.fail(self.at, "expected '&&', '||' or ')'");
        }
        self.levels -= 1;
        Ok(node)
    }

    /// Skips the character that opens a level.
    fn enter(&mut self) -> Result<()> {
        if self.levels == MAX_LEVELS {
            return self.fail(
                self.at,
                format!("parentheses and '!' are nested at most {MAX_LEVELS} levels deep"),
            );
        }
        self.levels += 1;
        self.at += 1;
        Ok(())
    }

    fn comparison(&mut self) -> Result<Comparison> {
        let start = self.at;
        if self.columns.len() == MAX_COMPARISONS {
            return self.fail(
                start,
                format!("an expression has at most {MAX_COMPARISONS} comparisons"),
            );
        }
        let name = self.word(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
        if name.len() > MAX_NAME {
            return self.fail(start, format!("a name has at most {MAX_NAME} characters"));
        }
        let operator = Operator::ALL.into_iter().find(|(token, _)| self.take(token));
        let Some((_, operator)) = operator else {
            return self.fail(self.at, "expected ==, !=, >=, <=, < or >");
        };
        self.peek();
        let at = self.at;
        self.columns.push(at + 1);
        let literal = self.literal()?;
        if operator.is_order() && !matches!(literal, PropertyValue::Integer(_)) {
            return self.fail(at, "only an integer has an order; use == or !=");
        }
        Ok(Comparison {
            name: name.into(),
            operator,
            literal,
        })
    }

    fn word(&mut self, is_part: fn(char) -> bool) -> String {
        let characters = self.text[self.at..].iter().copied();
        let word: String = characters.take_while(|&c| is_part(c)).collect();
        self.at += word.len();
        word
    }

    fn literal(&mut self) -> Result<PropertyValue> {
        let start = self.at;
        match self.peek() {
            Some('"') => self.quoted(),
            Some(c) if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') => {
                let word = self.word(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '-'));
                match bare(&word) {
                    Some(literal) => Ok(literal),
                    None => self.fail(
                        start,
                        format!("{word} is neither an integer of 64 bits nor a word; quote it to have a text"),
                    ),
                }
            }
            _ => self.fail(start, "expected an integer, true, false, a word or a quoted text"),
        }
    }

    fn quoted(&mut self) -> Result<PropertyValue> {
        let start = self.at;
        let mut text = String::new();
        self.at += 1;
        while let Some(&c) = self.text.get(self.at) {
            self.at += 1;
            match c {
                '"' => return Ok(PropertyValue::Text(text.into())),
                '\\' => match self.text.get(self.at) {
                    Some(&escaped @ ('"' | '\\')) => {
                        self.at += 1;
                        text.push(escaped);
                    }
                    _ => return self.fail(self.at - 1, "after a backslash comes \" or another backslash"),
                },
                c => text.push(c),
            }
        }
        self.fail(start, "this quotation mark has no other one to end the text")
    }
}

/// The literal of a word without quotation marks; `None` if the word is no literal.
pub(super) fn bare(word: &str) -> Option<PropertyValue> {
    let digits = word.strip_prefix('-').unwrap_or(word);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return word.parse().ok().map(PropertyValue::Integer);
    }
    match word {
        _ if word.starts_with('-') => None,
        _ if word.eq_ignore_ascii_case("true") => Some(PropertyValue::Boolean(true)),
        _ if word.eq_ignore_ascii_case("false") => Some(PropertyValue::Boolean(false)),
        _ => Some(PropertyValue::Text(word.into())),
    }
}
