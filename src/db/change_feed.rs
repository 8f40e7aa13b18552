//! The change feed: reads the commits of peers by one query.
//!
//! Each writer has a row in `placet_writers` with its revision, and each of its commits leaves a row in
//! `placet_changes`. The revisions of a writer have no gaps and become visible in order. So the last applied revision
//! of each writer determines the missing changes.
//!
//! Happy path: a page has all changes after the known revisions, to be applied. Unhappy path: changes were pruned, or
//! the database was restored. Then [`FeedPage::after`] returns the reason, and all tables have to be read again.

mod pruned;
pub mod pruning;
mod query;
mod revisions;

use std::borrow::Cow;

use super::engines::dialect::OpenMode;
use super::engines::guarded::GuardedWrite;
use super::engines::rows::{CountFrom, Value};
use super::{Database, DbConnection, DbResult, SetupError};
use crate::mutants::{self, Mutant};
pub use pruned::carry_over;
use query::FeedRow;
pub use revisions::{Position, Revisions};

/// A row of `placet_changes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRecord {
    pub writer: String,
    pub revision: i64,
    pub token: String,
    pub body: String,
}

/// The result of one query of the feed, at one moment of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedPage {
    /// The position of every writer at this moment.
    pub revisions: Revisions,
    /// The missing changes, by writer and revision.
    pub changes: Vec<ChangeRecord>,
}

/// Why changes alone cannot bring a snapshot up to date.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeedError {
    #[error("a writer without a heartbeat was pruned, with its changes")]
    EpochChanged { epoch: String },
    #[error("the row of writer {0} is gone (restored backup?)")]
    WriterMissing(String),
    #[error("writer {0} is at an older revision, or at another one of the same number (restored backup?)")]
    WriterRewound(String),
    #[error("changes of writer {0} were pruned before they were read")]
    Gap(String),
    #[error("a change of writer {0} cannot be read by this version of placet")]
    Unreadable(String),
}

impl FeedPage {
    /// The changes after `known`, the position with which the page was queried.
    ///
    /// # Errors
    /// If changes may be missing from the page.
    pub fn after(&self, known: &Revisions) -> Result<&[ChangeRecord], FeedError> {
        if self.revisions.epoch != known.epoch {
            return Err(FeedError::EpochChanged {
                epoch: self.revisions.epoch.clone(),
            });
        }
        for (writer, expected) in &known.writers {
            match self.revisions.writers.get(writer) {
                None => return Err(FeedError::WriterMissing(writer.clone())),
                Some(found) if found.revision > expected.revision || found == expected => {}
                Some(_) => return Err(FeedError::WriterRewound(writer.clone())),
            }
        }
        for (writer, position) in &self.revisions.writers {
            let from = known.of(writer);
            let changes = self.changes.iter().filter(|change| change.writer == *writer);
            let is_gapless = changes.map(|change| change.revision).eq(from + 1..=position.revision);
            if !is_gapless && !mutants::is(Mutant::IgnoreGaps) {
                return Err(FeedError::Gap(writer.clone()));
            }
        }
        Ok(&self.changes)
    }

    /// Whether the page shows the writer at this position.
    fn shows(&self, writer: &str, position: &Position) -> bool {
        let is_same = |change: &ChangeRecord| {
            change.writer == writer && change.revision == position.revision && change.token == position.token
        };
        self.revisions
            .writers
            .get(writer)
            .is_some_and(|found| found == position || position.revision == 0 || self.changes.iter().any(is_same))
    }
}

/// Whether the database has every commit up to `known`. False if the database went back, by a failover or a restore,
/// and if the changes that would show this were pruned.
pub fn contains(conn: &mut DbConnection, known: &Revisions) -> DbResult<bool> {
    let mut before = known.clone();
    for position in before.writers.values_mut() {
        position.revision = (position.revision - 1).max(0);
    }
    let page = read_page(conn, &before)?;
    let carried = carry_over(conn, known, &page.revisions.epoch)?;
    Ok(carried.is_some_and(|it| it.writers.iter().all(|(writer, position)| page.shows(writer, position))))
}

/// Opens a read-only connection for following the feed.
pub fn connect(database: &Database) -> Result<DbConnection, SetupError> {
    database.connect_to(OpenMode::Read)
}

/// All changes after `known`, by one statement, which sees one moment on every engine.
///
/// The statement selects the changes of known writers. If the result has unknown writers with commits, the statement is
/// repeated with these writers at their first position.
pub fn read_page(conn: &mut DbConnection, known: &Revisions) -> DbResult<FeedPage> {
    let mut queried = Cow::Borrowed(known);
    loop {
        let page = page(query::read(conn, &queried)?);
        let writers = page.revisions.writers.keys();
        let unknown: Vec<String> = writers
            .filter(|id| !queried.writers.contains_key(*id))
            .cloned()
            .collect();
        if unknown.iter().all(|id| page.revisions.of(id) == 0) {
            return Ok(page);
        }
        let origins = unknown.into_iter().map(|id| (id, Position::default()));
        queried.to_mut().writers.extend(origins);
    }
}

fn page(rows: Vec<FeedRow>) -> FeedPage {
    let (mut revisions, mut changes) = (Revisions::default(), Vec::new());
    for row in rows {
        let FeedRow {
            kind,
            writer,
            revision,
            token,
            body,
        } = row;
        match kind {
            query::EPOCH => revisions.epoch = token,
            query::WRITER => drop(revisions.writers.insert(writer, Position { revision, token })),
            _ => changes.push(ChangeRecord {
                writer,
                revision,
                token,
                body,
            }),
        }
    }
    changes.sort_by(|one, other| (&one.writer, one.revision).cmp(&(&other.writer, other.revision)));
    FeedPage { revisions, changes }
}

/// The position of every writer, by a cheaper statement than [`read_page`]'s. Rows that are read in the same
/// transaction show exactly the changes up to these revisions.
pub fn revisions(conn: &mut DbConnection) -> DbResult<Revisions> {
    let rows = query::positions(conn)?;
    if rows.is_empty() {
        // There is no epoch if only OpenStack's tables were restored. Writers may exist nevertheless.
        return Ok(read_page(conn, &Revisions::default())?.revisions);
    }
    let mut revisions = Revisions::default();
    for row in rows {
        revisions.epoch = row.epoch;
        if let (Some(writer), Some(revision), Some(token)) = (row.writer, row.revision, row.token) {
            revisions.writers.insert(writer, Position { revision, token });
        }
    }
    Ok(revisions)
}

/// Precondition: `known` has the position of every writer, and there is no unknown writer. Selects the epoch's row if
/// the precondition holds.
pub fn assert_peers_unchanged(known: &Revisions) -> GuardedWrite {
    let position = "id = ? AND revision = ? AND token = ?";
    let positions = match known.writers.len() {
        0 => "1 = 0".to_owned(),
        writers => vec![position; writers].join(" OR "),
    };
    let count = Value::Int(known.writers.len() as i64);
    let text = |value: &str| Value::Text(value.to_owned());
    let mut values = vec![text(&known.epoch), count.clone(), count];
    for (id, position) in &known.writers {
        values.extend([text(id), Value::Int(position.revision), text(&position.token)]);
    }
    let from = format!(
        "placet_epoch WHERE epoch = ? AND (SELECT COUNT(*) FROM placet_writers) = ? \
         AND ? = (SELECT COUNT(*) FROM placet_writers WHERE {positions})"
    );
    GuardedWrite::AssertExists(CountFrom(from), values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revisions(epoch: &str, writers: &[(&str, i64, &str)]) -> Revisions {
        let position = |(id, revision, token): &(&str, i64, &str)| {
            let (revision, token) = (*revision, (*token).to_owned());
            ((*id).to_owned(), Position { revision, token })
        };
        Revisions {
            epoch: epoch.into(),
            writers: writers.iter().map(position).collect(),
        }
    }

    fn change(writer: &str, revision: i64) -> ChangeRecord {
        ChangeRecord {
            writer: writer.into(),
            revision,
            token: "t".into(),
            body: "{}".into(),
        }
    }

    /// The number of changes in a page with these writers and changes, for a reader at position 2 of writer `a` under
    /// the epoch `e`.
    fn applicable(epoch: &str, writers: &[(&str, i64, &str)], changes: &[(&str, i64)]) -> Result<usize, FeedError> {
        let page = FeedPage {
            revisions: revisions(epoch, writers),
            changes: changes
                .iter()
                .map(|(writer, revision)| change(writer, *revision))
                .collect(),
        };
        page.after(&revisions("e", &[("a", 2, "t")])).map(<[ChangeRecord]>::len)
    }

    #[test]
    fn a_page_is_applied_only_if_no_change_can_be_missing() {
        assert_eq!(applicable("e", &[("a", 2, "t")], &[]), Ok(0));
        assert_eq!(applicable("e", &[("a", 4, "u")], &[("a", 3), ("a", 4)]), Ok(2));
        assert_eq!(
            applicable("e", &[("a", 2, "t"), ("b", 1, "x")], &[("b", 1)]),
            Ok(1),
            "a new writer"
        );
        let changed = Err(FeedError::EpochChanged { epoch: "f".into() });
        assert_eq!(applicable("f", &[("a", 2, "t")], &[]), changed);
        let missing = Err(FeedError::WriterMissing("a".into()));
        assert_eq!(applicable("e", &[("b", 0, "")], &[]), missing);
        let rewound = Err(FeedError::WriterRewound("a".into()));
        assert_eq!(applicable("e", &[("a", 1, "t")], &[]), rewound);
        assert_eq!(applicable("e", &[("a", 2, "u")], &[]), rewound);
        for pruned in [&[][..], &[("a", 4)], &[("a", 3)], &[("a", 3), ("a", 5)]] {
            let gap = Err(FeedError::Gap("a".into()));
            assert_eq!(applicable("e", &[("a", 4, "u")], pruned), gap, "{pruned:?}");
        }
        let writers = [("a", 2, "t"), ("b", 3, "x")];
        assert_eq!(
            applicable("e", &writers, &[("b", 3)]),
            Err(FeedError::Gap("b".into())),
            "of a new writer"
        );
    }
}
