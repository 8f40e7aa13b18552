//! The body of a row of `placet_changes`, as JSON: the record by which other processes learn the changes of a commit.

use serde::{Deserialize, Serialize};

use super::committed::Committed;
use crate::search::{ClassId, Delta, NameKinds, ProviderId};

/// Provider id, number of moves of the generation, new time in microseconds, usage changes by class, and the new
/// generation. Receivers compare the new generation with their own.
type DeltaBody = (i32, u32, Option<i64>, Vec<(i32, i64)>, i64);

/// Short keys, because every commit writes a row. An empty body is a fence.
#[derive(Serialize, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct ChangeBody {
    /// Providers of which only usage and generation changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    d: Vec<DeltaBody>,
    /// Ids of providers to read again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    r: Vec<i32>,
    /// Ids of deleted providers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    x: Vec<i32>,
    /// Whether to read the names of all classes again, and all declarations.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    rc: bool,
    /// Whether to read the names of all traits again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    t: bool,
    /// Whether to read the uuids of all aggregates again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    a: bool,
}

/// The body of a commit's record.
pub fn encode(committed: &Committed) -> String {
    let body = ChangeBody {
        d: committed
            .deltas
            .iter()
            .map(|delta| {
                let used = delta.used.iter().map(|(class, change)| (class.0, *change)).collect();
                (delta.provider.0, delta.moves, delta.modified, used, delta.generation)
            })
            .collect(),
        r: committed.reload.iter().map(|id| id.0).collect(),
        x: committed.removed.iter().map(|id| id.0).collect(),
        rc: committed.names.classes,
        t: committed.names.traits,
        a: committed.names.aggregates,
    };
    serde_json::to_string(&body).expect("numbers and lists can be written")
}

/// Parses a body; `None` if this version of placet cannot read it.
pub fn decode(body: &str) -> Option<Committed> {
    let body: ChangeBody = serde_json::from_str(body).ok()?;
    let delta = |(provider, moves, modified, used, generation): DeltaBody| Delta {
        provider: ProviderId(provider),
        moves,
        generation,
        modified,
        used: used
            .into_iter()
            .map(|(class, change)| (ClassId(class), change))
            .collect(),
    };
    Some(Committed {
        deltas: body.d.into_iter().map(delta).collect(),
        reload: body.r.into_iter().map(ProviderId).collect(),
        removed: body.x.into_iter().map(ProviderId).collect(),
        names: NameKinds {
            classes: body.rc,
            traits: body.t,
            aggregates: body.a,
        },
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
            names: NameKinds {
                traits: true,
                ..NameKinds::default()
            },
            ..Committed::default()
        };
        assert_eq!(decode(&encode(&committed)), Some(committed));
        assert_eq!(decode("{}"), Some(Committed::default()), "a fence");
        for invalid in ["", "{\"q\": 1}", "{\"d\": [[1, 2]]}"] {
            assert_eq!(decode(invalid), None, "{invalid}");
        }
    }
}
