//! Reads a policy file in YAML or JSON: names of rules, each with a check as a text or as lists of lists.
//!
//! The checks themselves are parsed in `parse`.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};

/// A rule in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRule {
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
pub fn read(text: &str) -> Result<Vec<FileRule>, String> {
    let mut reader = YamlReader {
        events: Parser::new_from_str(text.trim_start_matches('\u{feff}')),
        anchors: HashMap::new(),
    };
    let entries = match reader.document()? {
        YamlNode::Null => Vec::new(),
        YamlNode::Mapping(pairs) => pairs,
        _ => {
            return Err(
                "1: this is not a mapping of names to checks; write each rule as \"name\": \"check\"".to_owned(),
            );
        }
    };
    entries
        .into_iter()
        .map(|(name, line, node)| match check_source(node) {
            Ok(check) => Ok(FileRule { name, line, check }),
            Err(reason) => Err(format!("{line}: the check of {name:?} {reason}")),
        })
        .collect()
}

/// The subset of YAML that a policy file may use.
#[derive(Debug, Clone)]
enum YamlNode {
    Null,
    Text(String),
    /// An unquoted number or truth value, which is not a check.
    Bare(String),
    /// A node with an explicit tag.
    Tagged(String),
    List(Vec<YamlNode>),
    Mapping(Vec<(String, usize, YamlNode)>),
}

/// Nesting limit: a mapping of lists of lists of texts needs no more.
const MAX_DEPTH: usize = 4;

struct YamlReader<'a> {
    events: Parser<'a, StrInput<'a>>,
    anchors: HashMap<usize, YamlNode>,
}

impl<'a> YamlReader<'a> {
    fn document(&mut self) -> Result<YamlNode, String> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(root.unwrap_or(YamlNode::Null)),
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

    fn node(&mut self, event: Event, span: Span, depth: usize) -> Result<YamlNode, String> {
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

    fn list(&mut self, depth: usize) -> Result<YamlNode, String> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(YamlNode::List(items)),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<YamlNode, String> {
        let mut pairs = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(YamlNode::Mapping(pairs));
            }
            let (YamlNode::Text(name) | YamlNode::Bare(name)) = self.node(event, span, depth + 1)? else {
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

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> YamlNode {
    match tag {
        None => {}
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix == "str" => return YamlNode::Text(text.to_owned()),
        // In YAML an unquoted exclamation mark begins a tag. Without it the text would be empty, which allows all
        // callers.
        Some(tag) => return YamlNode::Tagged(format!("{}{}", tag.handle, tag.suffix)),
    }
    let lower = text.to_ascii_lowercase();
    match lower.as_str() {
        _ if style != ScalarStyle::Plain => YamlNode::Text(text.to_owned()),
        "" | "~" | "null" => YamlNode::Null,
        "true" | "false" | "yes" | "no" | "on" | "off" => YamlNode::Bare(text.to_owned()),
        _ if text.parse::<f64>().is_ok() => YamlNode::Bare(text.to_owned()),
        _ => YamlNode::Text(text.to_owned()),
    }
}

/// The value of a rule as a check. An error is the end of a sentence that begins with the rule.
fn check_source(node: YamlNode) -> Result<CheckSource, String> {
    match node {
        YamlNode::Null => Ok(CheckSource::Text(String::new())),
        YamlNode::Text(text) => Ok(CheckSource::Text(text)),
        YamlNode::Bare(text) => Err(format!(
            "is {text}, which is not a text; put it in quotes, or write \"@\" or \"!\""
        )),
        YamlNode::Tagged(tag) => Err(format!(
            "is {tag}, which YAML reads as a tag; put a check that begins with ! in quotes, as in \"!\""
        )),
        YamlNode::Mapping(_) => Err("is a mapping; write one text, as in \"role:reader or role:admin\"".to_owned()),
        YamlNode::List(items) => items
            .into_iter()
            .map(|item| match item {
                YamlNode::Null => Ok(Vec::new()),
                YamlNode::Text(text) if text.is_empty() => Ok(Vec::new()),
                YamlNode::Text(text) => Ok(vec![text]),
                YamlNode::List(words) => words
                    .into_iter()
                    .map(|word| match word {
                        YamlNode::Text(text) => Ok(text),
                        _ => Err(NOT_A_CHECK.to_owned()),
                    })
                    .collect(),
                YamlNode::Bare(_) | YamlNode::Tagged(_) | YamlNode::Mapping(_) => Err(NOT_A_CHECK.to_owned()),
            })
            .collect::<Result<_, _>>()
            .map(CheckSource::Lists),
    }
}

const NOT_A_CHECK: &str = "is neither a text nor lists of texts; write one text, as in \"role:reader or role:admin\"";
