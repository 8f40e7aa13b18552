//! Reads a policy file in YAML or JSON: names of rules, each with a check as a text or as lists of lists.
//!
//! The checks themselves are parsed in `parse`.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};

/// A rule in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    /// Counted from 1.
    pub line: usize,
    pub check: CheckSource,
}

/// How a file writes a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckSource {
    Text(String),
    Lists(Vec<Vec<String>>),
}

/// The rules of a file, in its order. A name may occur more than once.
///
/// # Errors
/// The line number and a message, if the text is not YAML or not a mapping of names to checks.
pub fn read(text: &str) -> Result<Vec<Entry>, String> {
    let mut reader = YamlReader {
        events: Parser::new_from_str(text.trim_start_matches('\u{feff}')),
        anchors: HashMap::new(),
    };
    let entries = match reader.document()? {
        Node::Null => Vec::new(),
        Node::Mapping(pairs) => pairs,
        _ => {
            return Err(
                "1: this is not a mapping of names to checks; write each rule as \"name\": \"check\"".to_owned(),
            );
        }
    };
    entries
        .into_iter()
        .map(|(name, line, node)| match check_source(node) {
            Ok(check) => Ok(Entry { name, line, check }),
            Err(reason) => Err(format!("{line}: the check of {name:?} {reason}")),
        })
        .collect()
}

/// The subset of YAML that a policy file may use.
#[derive(Debug, Clone)]
enum Node {
    Null,
    Text(String),
    /// An unquoted number or truth value, which is not a check.
    Bare(String),
    /// A node with an explicit tag.
    Tagged(String),
    List(Vec<Node>),
    Mapping(Vec<(String, usize, Node)>),
}

/// Nesting limit: a mapping of lists of lists of texts needs no more.
const MAX_DEPTH: usize = 4;

struct YamlReader<'a> {
    events: Parser<'a, StrInput<'a>>,
    anchors: HashMap<usize, Node>,
}

impl<'a> YamlReader<'a> {
    fn document(&mut self) -> Result<Node, String> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(root.unwrap_or(Node::Null)),
                Event::Nothing | Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd => {}
                _ if root.is_some() => {
                    return Err(error_at(span, "this begins a second document; put all rules into one"));
                }
                event => root = Some(self.node(event, span, 0)?),
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), String> {
        match self.events.next() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(format!(
                "{}: not YAML: {}; write each rule as \"name\": \"check\", on a line of its own",
                error.marker().line(),
                error.info()
            )),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event, span: Span, depth: usize) -> Result<Node, String> {
        if depth > MAX_DEPTH {
            return Err(error_at(
                span,
                "this is nested deeper than lists of lists; write one text instead",
            ));
        }
        let (anchor, node) = match event {
            Event::Alias(anchor) => {
                return self
                    .anchors
                    .get(&anchor)
                    .cloned()
                    .ok_or_else(|| error_at(span, "this alias refers to no anchor above it"));
            }
            Event::Scalar(text, style, anchor, tag) => (anchor, scalar(&text, style, tag.as_deref())),
            Event::SequenceStart(anchor, _) => (anchor, self.list(depth)?),
            Event::MappingStart(anchor, _) => (anchor, self.mapping(depth)?),
            _ => return Err(error_at(span, "a value is missing")),
        };
        // 0 means that the node has no anchor.
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<Node, String> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Node::List(items)),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Node, String> {
        let mut pairs = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(Node::Mapping(pairs));
            }
            let (Node::Text(name) | Node::Bare(name)) = self.node(event, span, depth + 1)? else {
                return Err(error_at(span, "the name of a rule must be a text"));
            };
            let (event, value_span) = self.next()?;
            pairs.push((name, span.start.line(), self.node(event, value_span, depth + 1)?));
        }
    }
}

fn error_at(span: Span, message: &str) -> String {
    format!("{}: {message}", span.start.line())
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Node {
    match tag {
        None => {}
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix == "str" => return Node::Text(text.to_owned()),
        // In YAML an unquoted exclamation mark begins a tag. Without it the text would be empty, which allows all
        // callers.
        Some(tag) => return Node::Tagged(format!("{}{}", tag.handle, tag.suffix)),
    }
    let lower = text.to_ascii_lowercase();
    match lower.as_str() {
        _ if style != ScalarStyle::Plain => Node::Text(text.to_owned()),
        "" | "~" | "null" => Node::Null,
        "true" | "false" | "yes" | "no" | "on" | "off" => Node::Bare(text.to_owned()),
        _ if text.parse::<f64>().is_ok() => Node::Bare(text.to_owned()),
        _ => Node::Text(text.to_owned()),
    }
}

/// The value of a rule as a check. An error is the end of a sentence that begins with the rule.
fn check_source(node: Node) -> Result<CheckSource, String> {
    match node {
        Node::Null => Ok(CheckSource::Text(String::new())),
        Node::Text(text) => Ok(CheckSource::Text(text)),
        Node::Bare(text) => Err(format!(
            "is {text}, which is not a text; put it in quotes, or write \"@\" or \"!\""
        )),
        Node::Tagged(tag) => Err(format!(
            "is {tag}, which YAML reads as a tag; put a check that begins with ! in quotes, as in \"!\""
        )),
        Node::Mapping(_) => Err("is a mapping; write one text, as in \"role:reader or role:admin\"".to_owned()),
        Node::List(items) => items
            .into_iter()
            .map(|item| match item {
                Node::Null => Ok(Vec::new()),
                Node::Text(text) if text.is_empty() => Ok(Vec::new()),
                Node::Text(text) => Ok(vec![text]),
                Node::List(words) => words
                    .into_iter()
                    .map(|word| match word {
                        Node::Text(text) => Ok(text),
                        _ => Err(NOT_A_CHECK.to_owned()),
                    })
                    .collect(),
                Node::Bare(_) | Node::Tagged(_) | Node::Mapping(_) => Err(NOT_A_CHECK.to_owned()),
            })
            .collect::<Result<_, _>>()
            .map(CheckSource::Lists),
    }
}

const NOT_A_CHECK: &str = "is neither a text nor lists of texts; write one text, as in \"role:reader or role:admin\"";
