//! Specs stored as texts by a test, and read again.

use std::cell::RefCell;

use super::neighbours::{apart, together_with_first};
use super::*;

thread_local! {
    /// A change by a concurrent client, made when this thread next reads a spec.
    pub static CHANGE: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// Reads the bodies of [`stored`], `apart_from` and `together`. `[]` cannot be read. Any other body is a workload with
/// one role, which is enough for the revision.
pub fn read(body: &str) -> Result<Spec> {
    if let Some(change) = CHANGE.take() {
        change();
    }
    let body = body.trim_end();
    match body {
        "[]" => return Err(Error::BadRequest { detail: String::new() }),
        "{}" => return Ok(spec(1, None)),
        _ if body.starts_with("together") => return Ok(spec(0, Some(vec![together_with_first()]))),
        _ if body.lines().all(|line| uuid::Uuid::parse_str(line).is_ok()) => {
            return Ok(spec(0, Some(body.lines().map(|other| apart(other, "fault")).collect())));
        }
        _ => {}
    }
    let split = body.split_once(' ');
    let Some((count, rest)) = split.and_then(|(count, rest)| Some((count.parse().ok()?, rest))) else {
        return Ok(spec(0, None));
    };
    let rules = |mode: &str| match mode {
        "default" => None,
        "even" => Some(vec![spread(Mode::MaxDifference, &["fault"])]),
        "one-each" => Some(vec![spread(Mode::OneEach, &["fault"])]),
        _ => Some(Vec::new()),
    };
    let (mode, expression) = rest.split_once(' ').unwrap_or((rest, ""));
    let mut parts = mode.split('+');
    let mut spec = spec(count, rules(parts.next().unwrap_or_default()));
    spec.roles[0].query = query(1, expression);
    for need in parts {
        let group = &mut spec.roles[0].query.request.groups[0];
        match need.split_once(':') {
            Some(("trait", name)) => group.traits.required = vec![[name.to_owned()].into()],
            Some((_, class)) => group.resources.push((class.to_owned(), 1)),
            None if need == "min" => spec.min = Some(count),
            None => {}
        }
    }
    Ok(spec)
}

/// A new workload whose spec is read again from its body: a number of replicas, `even`, `one-each`, `free` or
/// `default`, and perhaps an expression. `+trait:NAME` and `+class:NAME` after the rule add a need of each replica, and
/// `+min` needs all replicas.
pub fn stored(n: u32, generation: Option<i64>, body: &str) -> Put {
    Put {
        body: body.to_owned(),
        ..put(n, generation, read(body).unwrap())
    }
}
