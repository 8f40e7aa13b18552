//! How a commit is told to other processes: the body of a row of `placet_changes`, as JSON.

use serde::Serialize;

use super::save::Committed;

/// Provider id, how often its generation moved, its new time in microseconds, and usage changes class by class.
type Delta = (i32, u32, Option<i64>, Vec<(i32, i64)>);

/// Short keys, for a row is written with every commit.
#[derive(Serialize)]
struct Body {
    /// Providers of which only usage and generation changed.
    d: Vec<Delta>,
    /// Ids of providers to be read again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    r: Vec<i32>,
    /// Ids of providers that are gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    x: Vec<i32>,
    /// Whether classes, traits or aggregates are to be read again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    c: bool,
}

/// The body for a commit.
pub fn body(committed: &Committed) -> String {
    let body = Body {
        d: committed
            .deltas
            .iter()
            .map(|it| {
                let used = it.used.iter().map(|(class, more)| (class.0, *more)).collect();
                (it.provider.0, it.moves, it.modified, used)
            })
            .collect(),
        r: committed.reload.iter().map(|id| id.0).collect(),
        x: committed.removed.iter().map(|id| id.0).collect(),
        c: committed.catalog,
    };
    serde_json::to_string(&body).unwrap_or_else(|error| {
        // Numbers and lists alone cannot fail to be written; a reader that meets this reloads everything.
        log::error!("A change could not be described: {error}");
        String::new()
    })
}
