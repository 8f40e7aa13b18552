//! Specs stored as texts by a test, and read again.

use super::*;

/// Reads the bodies of [`stored`]. Any other body is a workload with one role, which is enough for the revision.
pub fn read(body: &str) -> Result<Spec> {
    let split = body.split_once(' ');
    let Some((count, rest)) = split.and_then(|(count, rest)| Some((count.parse().ok()?, rest))) else {
        return Ok(spec(0, None));
    };
    let rule = |mode: &str| match mode {
        "even" => vec![spread(Mode::MaxDifference, &["fault"])],
        "one-each" => vec![spread(Mode::OneEach, &["fault"])],
        _ => Vec::new(),
    };
    let (mode, expression) = rest.split_once(' ').unwrap_or((rest, ""));
    let mut spec = spec(count, Some(rule(mode)));
    spec.roles[0].query = query(1, expression);
    Ok(spec)
}

/// A new workload whose spec is read again from its body: a number of replicas, `even`, `one-each` or `free`, and
/// perhaps an expression.
pub fn stored(n: u32, generation: Option<i64>, body: &str) -> Put {
    Put {
        body: body.to_owned(),
        ..put(n, generation, read(body).unwrap())
    }
}
