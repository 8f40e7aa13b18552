//! The body of a row of `placet_changes`, as JSON: the record by which other processes learn what a commit changed.

use serde::{Deserialize, Serialize};

use crate::model::batch::save::Committed;
use crate::search::{ClassId, Delta, ProviderId};

/// Provider id, by how much its generation moved, its new time in microseconds, usage changes by class, and its new
/// generation, which receivers compare with theirs.
type DeltaBody = (i32, u32, Option<i64>, Vec<(i32, i64)>, i64);

/// Short keys, because every commit writes a row. An empty body is a fence.
#[derive(Serialize, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Body {
    /// Providers of which only usage and generation changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    d: Vec<DeltaBody>,
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
                (it.provider.0, it.moves, it.modified, used, it.generation)
            })
            .collect(),
        r: committed.reload.iter().map(|id| id.0).collect(),
        x: committed.removed.iter().map(|id| id.0).collect(),
        c: committed.catalog,
    };
    serde_json::to_string(&body).unwrap_or_else(|error| {
        // Numbers and lists cannot fail to serialise. If they did, every process that reads this record reloads everything.
        log::error!("A change record could not be serialised; other processes reload everything: {error}");
        String::new()
    })
}

/// Parses a body; `None` if this placet cannot read it, such as one of another version.
pub fn read(body: &str) -> Option<Committed> {
    let body: Body = serde_json::from_str(body).ok()?;
    let delta = |(provider, moves, modified, used, generation): DeltaBody| Delta {
        provider: ProviderId(provider),
        moves,
        generation,
        modified,
        used: used.into_iter().map(|(class, more)| (ClassId(class), more)).collect(),
    };
    Some(Committed {
        deltas: body.d.into_iter().map(delta).collect(),
        reload: body.r.into_iter().map(ProviderId).collect(),
        removed: body.x.into_iter().map(ProviderId).collect(),
        catalog: body.c,
        ..Committed::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        let committed = Committed {
            deltas: vec![Delta {
                provider: ProviderId(3),
                moves: 2,
                generation: 9,
                modified: Some(77),
                used: vec![(ClassId(0), -4), (ClassId(10_000), 5)],
            }],
            reload: [ProviderId(5)].into(),
            removed: vec![ProviderId(6)],
            catalog: true,
            ..Committed::default()
        };
        assert_eq!(read(&body(&committed)), Some(committed));
        assert_eq!(read("{}"), Some(Committed::default()), "a fence");
        for strange in ["", "{\"q\": 1}", "{\"d\": [[1, 2]]}"] {
            assert_eq!(read(strange), None, "{strange}");
        }
    }
}
