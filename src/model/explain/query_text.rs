//! A request as a query string, in the newest form of the query language.

use std::borrow::Cow;
use std::collections::BTreeSet;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::search::{Domain, Group, GroupPolicy, Request, Traits};

/// The characters of a value that end the value in a query string, or that URLs must not have.
const ENCODED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'&')
    .add(b'+')
    .add(b';')
    .add(b'<')
    .add(b'>');

/// A request as a query string.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct QueryText {
    pub text: String,
    /// Whether the text is longer than wanted. The parameters from the first long parameter on are left out.
    pub is_cut: bool,
}

impl QueryText {
    /// The groups and the conditions of a request in the parameters of `GET /v1/candidates`, in at most `max_bytes`.
    pub fn of(request: &Request, max_bytes: usize) -> QueryText {
        let mut writer = QueryWriter {
            query: QueryText::default(),
            max_bytes,
        };
        writer.add_request(request);
        writer.query
    }
}

struct QueryWriter {
    query: QueryText,
    max_bytes: usize,
}

impl QueryWriter {
    fn add_request(&mut self, request: &Request) {
        for group in &request.groups {
            if self.query.is_cut {
                return;
            }
            self.add_group(group);
        }
        if let Some(policy) = request.group_policy {
            let name = match policy {
                GroupPolicy::None => "none",
                GroupPolicy::Isolate => "isolate",
            };
            self.add("group_policy", "", [name]);
        }
        for suffixes in &request.same_subtrees {
            self.add(
                "same_subtree",
                "",
                separated(suffixes.iter().map(|suffix| ["", suffix])),
            );
        }
        self.add_root_traits(&request.root_required);
        if !request.host.condition.is_empty() {
            self.add("where", "", [&*request.host.condition.to_string()]);
        }
        for Domain { dimension, path } in &request.host.in_domains {
            self.add("in_domain", "", [&**dimension, ":", path]);
        }
        for Domain { dimension, path } in &request.host.not_in_domains {
            self.add("not_in_domain", "", [&**dimension, ":", path]);
        }
    }

    fn add_group(&mut self, group: &Group) {
        let suffix = &group.suffix;
        if !group.resources.is_empty() {
            let amounts = group.resources.iter().enumerate().flat_map(|(at, (class, amount))| {
                let separator = if at == 0 { "" } else { "," };
                [separator.into(), Cow::Borrowed(&**class), format!(":{amount}").into()]
            });
            self.add("resources", suffix, amounts);
        }
        for any_of in &group.traits.required {
            self.add("required", suffix, set(any_of));
        }
        if !group.traits.forbidden.is_empty() {
            let names = group.traits.forbidden.iter().map(|name| ["!", name]);
            self.add("required", suffix, separated(names));
        }
        for any_of in &group.member_of.any_of {
            self.add("member_of", suffix, set(any_of));
        }
        if !group.member_of.forbidden.is_empty() {
            let uuids = group.member_of.forbidden.iter().map(|uuid| ["", uuid]);
            self.add("member_of", suffix, ["!in:"].into_iter().chain(separated(uuids)));
        }
        if let Some(uuid) = &group.in_tree {
            self.add("in_tree", suffix, [&**uuid]);
        }
        if !group.condition.is_empty() {
            self.add("where", suffix, [&*group.condition.to_string()]);
        }
    }

    /// `root_required` occurs once, with single traits.
    fn add_root_traits(&mut self, traits: &Traits) {
        if *traits == Traits::default() {
            return;
        }
        let required = traits.required.iter().flatten().map(|name| ["", name]);
        let forbidden = traits.forbidden.iter().map(|name| ["!", name]);
        self.add("root_required", "", separated(required.chain(forbidden)));
    }

    /// Adds a parameter whose value is made of pieces, unless the query gets too long.
    fn add<'p, P: Into<Cow<'p, str>>>(&mut self, name: &str, suffix: &str, value: impl IntoIterator<Item = P>) {
        if self.query.is_cut {
            return;
        }
        let text = &mut self.query.text;
        let begin = text.len();
        text.extend([if text.is_empty() { "" } else { "&" }, name, suffix, "="]);
        for piece in value {
            let piece = piece.into();
            // An encoded piece is no shorter.
            if text.len() + piece.len() > self.max_bytes {
                self.query.is_cut = true;
                break;
            }
            text.extend(utf8_percent_encode(&piece, ENCODED));
        }
        self.query.is_cut |= text.len() > self.max_bytes;
        if self.query.is_cut {
            text.truncate(begin);
        }
    }
}

/// The pieces of items, with commas between the items.
fn separated<'p>(items: impl Iterator<Item = [&'p str; 2]>) -> impl Iterator<Item = &'p str> {
    items
        .enumerate()
        .flat_map(|(at, [start, end])| [if at == 0 { "" } else { "," }, start, end])
}

/// Alternative names.
fn set(any_of: &BTreeSet<String>) -> impl Iterator<Item = &str> {
    let start = if any_of.len() == 1 { "" } else { "in:" };
    [start]
        .into_iter()
        .chain(separated(any_of.iter().map(|name| ["", &**name])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_query_has_its_first_whole_parameters() {
        let group = |suffix: &str, name: String| Group {
            suffix: suffix.to_owned(),
            resources: vec![(name, 1)],
            ..Group::default()
        };
        let request = |names: [String; 3]| {
            let groups = ["", "_A", "_B"].into_iter().zip(names);
            Request::of_groups(groups.map(|(suffix, name)| group(suffix, name)).collect())
        };
        let long = request(["VCPU".to_owned(), "é".repeat(10_000_000), "PCPU".to_owned()]);
        let query = QueryText::of(&long, 100);
        assert_eq!((&*query.text, query.is_cut), ("resources=VCPU:1", true));
        assert!(query.text.capacity() < 1_000);
        let short = request(["VCPU".to_owned(), "MEMORY_MB".to_owned(), "PCPU".to_owned()]);
        let query = QueryText::of(&short, 100);
        assert_eq!(
            query.text,
            "resources=VCPU:1&resources_A=MEMORY_MB:1&resources_B=PCPU:1"
        );
        assert!(!query.is_cut);
        assert!(QueryText::of(&short, query.text.len() - 1).is_cut);
    }
}
