//! The reasons of the last refused queries.
//!
//! In a full cloud, callers repeat the same few queries, and the snapshot rarely changes. An explanation takes many
//! times as long as the empty search before, so equal queries on one version of the snapshot share an explanation.

use std::sync::Arc;

use super::QueryText;
use crate::error::{Reasons, Result};
use crate::model::version_cache::VersionCache;
use crate::search::{Request, Snapshot};

/// The reasons of a longer query are not kept.
const MAX_QUERY_BYTES: usize = 2_000;

/// The number of kept explanations. An explanation takes some kB, with long names in a long query some 10 kB.
const MAX_EXPLANATIONS: usize = 64;

/// The last explanations, by query and by whether normal limits count.
#[derive(Debug, Default)]
pub struct KnownReasons(VersionCache<(QueryText, bool), Reasons, MAX_EXPLANATIONS>);

impl KnownReasons {
    /// The reasons of a query on a version of the snapshot. `explain` is called if the reasons are not known.
    ///
    /// # Errors
    /// Of `explain`.
    pub fn of(
        &self,
        snapshot: &Arc<Snapshot>,
        (request, is_normal): (&Request, bool),
        explain: impl FnOnce() -> Result<Reasons>,
    ) -> Result<Reasons> {
        let query = QueryText::of(request, MAX_QUERY_BYTES);
        if query.is_cut {
            return explain();
        }
        let question = (query, is_normal);
        if let Some(known) = self.0.get(snapshot, &question) {
            return Ok(known);
        }
        let reasons = explain()?;
        self.0.add(snapshot, question, reasons.clone());
        Ok(reasons)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Reason, ReasonCode};
    use crate::search::Group;

    impl KnownReasons {
        /// The number of kept explanations.
        pub fn count(&self) -> usize {
            self.0.count()
        }
    }

    fn request(amount: usize) -> Request {
        let group = Group {
            resources: vec![("VCPU".to_owned(), amount as i64)],
            ..Group::default()
        };
        Request::of_groups(vec![group])
    }

    #[test]
    fn an_equal_query_on_the_same_version_is_explained_once() {
        let (known, version, next) = (KnownReasons::default(), Arc::default(), Arc::default());
        let mut explanations = 0;
        let mut ask = |snapshot: &Arc<Snapshot>, amount: usize, is_normal: bool| {
            let reasons = known.of(snapshot, (&request(amount), is_normal), || {
                explanations += 1;
                Ok(Reasons::from(Reason::new(
                    ReasonCode::NoRoom,
                    format!("{amount} {is_normal}"),
                )))
            });
            (reasons.unwrap().kept()[0].detail.clone(), explanations)
        };
        assert_eq!(ask(&version, 1, false), ("1 false".to_owned(), 1));
        assert_eq!(ask(&version, 1, false), ("1 false".to_owned(), 1));
        assert_eq!(ask(&version, 1, true), ("1 true".to_owned(), 2));
        assert_eq!(ask(&version, 2, false), ("2 false".to_owned(), 3));
        assert_eq!(ask(&next, 1, false), ("1 false".to_owned(), 4));
        assert_eq!(ask(&version, 1, false), ("1 false".to_owned(), 4));
    }

    #[test]
    fn the_reasons_of_a_long_query_are_not_kept() {
        let (known, version) = (KnownReasons::default(), Arc::default());
        let mut long = request(1);
        long.groups[0].resources[0].0 = "X".repeat(MAX_QUERY_BYTES);
        known.of(&version, (&long, false), || Ok(Reasons::default())).unwrap();
        assert_eq!(known.count(), 0);
    }
}
