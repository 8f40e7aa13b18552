//! What other processes committed, as a process finds it out: one query for all that it has not seen.
//!
//! Each writer's revisions are gapless and become visible in order, so how far each was followed says exactly what was
//! seen. Where that does not hold any more, everything must be read again, and [`News::after`] says why.

use std::collections::BTreeMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Text};

use super::dialect::Purpose;
use super::rows::{Look, Value};
use super::together::Part;
use super::{Database, DbConnection, DbResult, SetupError};
use crate::mutants::{self, Mutant};

/// How far a writer was followed: its revision, and the random token of that commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub revision: i64,
    pub token: String,
}

/// How far every writer was followed, under one epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revisions {
    pub epoch: String,
    pub writers: BTreeMap<String, Mark>,
}

impl Revisions {
    /// The last revision that was followed. Every writer begins at 0.
    pub fn of(&self, writer: &str) -> i64 {
        self.writers.get(writer).map_or(0, |mark| mark.revision)
    }

    /// Takes over what `newer` knows more.
    pub fn raise(&mut self, newer: Revisions) {
        for (writer, mark) in newer.writers {
            if mark.revision >= self.of(&writer) {
                self.writers.insert(writer, mark);
            }
        }
    }
}

/// A row of `placet_changes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub writer: String,
    pub revision: i64,
    pub token: String,
    pub body: String,
}

/// What one query found, all of it in one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// How far every writer is.
    pub now: Revisions,
    /// What was not known, each writer's in order.
    pub changes: Vec<Told>,
}

/// Why what is known cannot be brought up to date by changes alone.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("rows of a silent writer were cleared away")]
    OtherEpoch,
    #[error("the row of writer {0} is gone")]
    Absent(String),
    #[error("writer {0} is not where it was: the database went back")]
    WentBack(String),
    #[error("changes of writer {0} are missing")]
    Gap(String),
}

impl News {
    /// The changes that `known`, with which the query was sent, lacks.
    pub fn after(&self, known: &Revisions) -> Result<&[Told], Broken> {
        if self.now.epoch != known.epoch {
            return Err(Broken::OtherEpoch);
        }
        for (writer, was) in &known.writers {
            match self.now.writers.get(writer) {
                None => return Err(Broken::Absent(writer.clone())),
                Some(is) if is.revision < was.revision => return Err(Broken::WentBack(writer.clone())),
                Some(is) if is.revision == was.revision && is.token != was.token => {
                    return Err(Broken::WentBack(writer.clone()));
                }
                Some(_) => {}
            }
        }
        for (writer, is) in &self.now.writers {
            let from = known.of(writer);
            let revisions = self.changes.iter().filter(|it| it.writer == *writer);
            let gapless = revisions.map(|it| it.revision).eq(from + 1..=is.revision);
            if !gapless && !mutants::is(Mutant::IgnoreGaps) {
                return Err(Broken::Gap(writer.clone()));
            }
        }
        Ok(&self.changes)
    }
}

/// A connection that only reads, for whoever follows.
pub fn connect(database: &Database) -> Result<DbConnection, SetupError> {
    database.connect_to(Purpose::Read)
}

/// All that `known` lacks, by one statement, which sees one moment on every engine.
pub fn news(conn: &mut DbConnection, known: &Revisions) -> DbResult<News> {
    let mut found = News {
        now: Revisions::default(),
        changes: Vec::new(),
    };
    let rows: Vec<Row> = diesel::sql_query(statement(known)).load(conn)?;
    for row in rows {
        match row.kind {
            EPOCH => found.now.epoch = row.token,
            WRITER => {
                let mark = Mark {
                    revision: row.revision,
                    token: row.token,
                };
                found.now.writers.insert(row.writer, mark);
            }
            _ if row.revision <= known.of(&row.writer) => {}
            _ => found.changes.push(Told {
                writer: row.writer,
                revision: row.revision,
                token: row.token,
                body: row.body,
            }),
        }
    }
    found
        .changes
        .sort_by(|one, other| (&one.writer, one.revision).cmp(&(&other.writer, other.revision)));
    Ok(found)
}

/// How far every writer is; to be read in the transaction in which everything is read.
pub fn revisions(conn: &mut DbConnection) -> DbResult<Revisions> {
    use super::schema::{placet_epoch, placet_writers as w};
    let epoch: Option<String> = placet_epoch::table.select(placet_epoch::epoch).first(conn).optional()?;
    let writers: Vec<(String, i64, String)> = w::table.select((w::id, w::revision, w::token)).load(conn)?;
    Ok(Revisions {
        epoch: epoch.unwrap_or_default(),
        writers: writers
            .into_iter()
            .map(|(id, revision, token)| (id, Mark { revision, token }))
            .collect(),
    })
}

const EPOCH: i32 = 0;
const WRITER: i32 = 1;

/// That everybody is where `known` says, and that nobody else is there: a look that finds the epoch's row then.
pub fn nobody_moved(known: &Revisions) -> Part {
    let mark = "id = ? AND revision = ? AND token = ?";
    let marks = match known.writers.len() {
        0 => "1 = 0".to_owned(),
        several => vec![mark; several].join(" OR "),
    };
    let count = Value::Int(known.writers.len() as i64);
    let text = |it: &str| Value::Text(it.to_owned());
    let mut values = vec![text(&known.epoch), count.clone(), count];
    for (id, mark) in &known.writers {
        values.extend([text(id), Value::Int(mark.revision), text(&mark.token)]);
    }
    let from = format!(
        "placet_epoch WHERE epoch = ? AND (SELECT COUNT(*) FROM placet_writers) = ? \
         AND ? = (SELECT COUNT(*) FROM placet_writers WHERE {marks})"
    );
    Part::There(Look(from), values)
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Integer)]
    kind: i32,
    #[diesel(sql_type = Text)]
    writer: String,
    #[diesel(sql_type = BigInt)]
    revision: i64,
    #[diesel(sql_type = Text)]
    token: String,
    #[diesel(sql_type = Text)]
    body: String,
}

/// The text is the same for every engine. Known writers' changes are ranges of the primary key with constant ends, for
/// MariaDB takes no others; those of writers that are new are found by joining, and commonly there are none. CROSS JOIN
/// keeps SQLite from looking at the changes first.
fn statement(known: &Revisions) -> String {
    // An id that is none of placet's stays out of the text, and is followed as if it were new each time.
    let named: Vec<(&String, &Mark)> = known.writers.iter().filter(|(id, _)| is_plain(id)).collect();
    let ranges: Vec<String> = named
        .iter()
        .map(|(id, mark)| format!("(c.writer = '{id}' AND c.revision > {})", mark.revision))
        .collect();
    let ids: Vec<String> = named.iter().map(|(id, _)| format!("'{id}'")).collect();
    let (ranges, new) = match named.is_empty() {
        true => ("1 = 0".to_owned(), "1 = 1".to_owned()),
        false => (ranges.join(" OR "), format!("w.id NOT IN ({})", ids.join(", "))),
    };
    format!(
        "SELECT 0 AS kind, '' AS writer, 0 AS revision, e.epoch AS token, '' AS body FROM placet_epoch e \
         UNION ALL SELECT 1, w.id, w.revision, w.token, '' FROM placet_writers w \
         UNION ALL SELECT 2, c.writer, c.revision, c.token, c.body FROM placet_changes c WHERE {ranges} \
         UNION ALL SELECT 2, c.writer, c.revision, c.token, c.body FROM placet_writers w \
         CROSS JOIN placet_changes c WHERE c.writer = w.id AND {new}"
    )
}

fn is_plain(id: &str) -> bool {
    id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revisions(epoch: &str, writers: &[(&str, i64, &str)]) -> Revisions {
        let mark = |(id, revision, token): &(&str, i64, &str)| {
            let (revision, token) = (*revision, (*token).to_owned());
            ((*id).to_owned(), Mark { revision, token })
        };
        Revisions {
            epoch: epoch.into(),
            writers: writers.iter().map(mark).collect(),
        }
    }

    fn told(writer: &str, revision: i64) -> Told {
        Told {
            writer: writer.into(),
            revision,
            token: "t".into(),
            body: "{}".into(),
        }
    }

    /// What `after` says of writers and changes, to somebody who knows `a` at 2 under the epoch `e`.
    fn judge(epoch: &str, writers: &[(&str, i64, &str)], changes: &[(&str, i64)]) -> Result<usize, Broken> {
        let news = News {
            now: revisions(epoch, writers),
            changes: changes
                .iter()
                .map(|(writer, revision)| told(writer, *revision))
                .collect(),
        };
        news.after(&revisions("e", &[("a", 2, "t")])).map(<[Told]>::len)
    }

    #[test]
    fn changes_are_followed_only_where_nothing_can_be_missing() {
        assert_eq!(judge("e", &[("a", 2, "t")], &[]), Ok(0));
        assert_eq!(judge("e", &[("a", 4, "u")], &[("a", 3), ("a", 4)]), Ok(2));
        assert_eq!(
            judge("e", &[("a", 2, "t"), ("b", 1, "x")], &[("b", 1)]),
            Ok(1),
            "a new writer"
        );
        assert_eq!(judge("f", &[("a", 2, "t")], &[]), Err(Broken::OtherEpoch));
        assert_eq!(judge("e", &[("b", 0, "")], &[]), Err(Broken::Absent("a".into())));
        assert_eq!(judge("e", &[("a", 1, "t")], &[]), Err(Broken::WentBack("a".into())));
        assert_eq!(judge("e", &[("a", 2, "u")], &[]), Err(Broken::WentBack("a".into())));
        for pruned in [&[][..], &[("a", 4)], &[("a", 3)], &[("a", 3), ("a", 5)]] {
            let writers = [("a", 4, "u")];
            assert_eq!(judge("e", &writers, pruned), Err(Broken::Gap("a".into())), "{pruned:?}");
        }
        let late = [("a", 2, "t"), ("b", 3, "x")];
        assert_eq!(
            judge("e", &late, &[("b", 3)]),
            Err(Broken::Gap("b".into())),
            "of a new writer"
        );
    }

    #[test]
    fn the_query_scans_no_changes() {
        #[derive(QueryableByName)]
        struct Step {
            #[diesel(sql_type = Text)]
            detail: String,
        }
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:///{}", folder.path().join("followed.sqlite").display());
        let database = Database::open(&crate::db::Settings::new(url)).unwrap();
        database.sync().unwrap();
        for known in [&[][..], &[("a", 2, "t")], &[("a", 2, "t"), ("b", 3, "u"), ("c", 0, "")]] {
            let explain = format!("EXPLAIN QUERY PLAN {}", statement(&revisions("e", known)));
            let steps: Vec<Step> = diesel::sql_query(explain)
                .load(&mut connect(&database).unwrap())
                .unwrap();
            let steps: Vec<String> = steps.into_iter().map(|step| step.detail).collect();
            assert!(
                steps.iter().any(|step| step.starts_with("SEARCH c USING INDEX")),
                "{steps:?}"
            );
            // With nobody known, the ranges are empty: a scan that is never run.
            let scanned = steps.iter().any(|step| step.starts_with("SCAN c"));
            assert!(!scanned || known.is_empty(), "{steps:?}");
        }
    }

    #[test]
    fn no_id_that_is_not_placets_gets_into_the_statement() {
        let known = revisions("e", &[("a'; DROP TABLE traits; --", 2, "t"), ("b-1", 3, "t")]);
        let statement = statement(&known);
        assert!(
            !statement.contains("DROP") && statement.contains("'b-1'"),
            "{statement}"
        );
    }
}
