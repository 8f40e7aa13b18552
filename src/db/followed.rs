//! What other processes committed, as a process finds it out: one query for all that it has not seen.
//!
//! Each writer's revisions are gapless and become visible in order, so how far each was followed says exactly what was
//! seen. Where that does not hold any more, everything must be read again, and [`News::after`] says why.

mod query;

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::dialect::Purpose;
use super::rows::{Look, Value};
use super::together::Part;
use super::{Database, DbConnection, DbResult, SetupError};
use crate::mutants::{self, Mutant};
use query::Row;

/// How far a writer was followed: its revision, and the random token of that commit. By default, where all begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

/// All that `known` lacks, by one statement, which sees one moment on every engine; by another one where it shows a writer
/// that nobody knew, which happens once for each.
pub fn news(conn: &mut DbConnection, known: &Revisions) -> DbResult<News> {
    let mut asked = Cow::Borrowed(known);
    loop {
        let news = sorted(query::run(conn, &asked)?);
        let new = news
            .now
            .writers
            .iter()
            .filter(|(id, _)| !asked.writers.contains_key(*id));
        let new: Vec<(String, Mark)> = new.map(|(id, _)| (id.clone(), Mark::default())).collect();
        if new.iter().all(|(id, _)| news.now.of(id) == 0) {
            return Ok(news);
        }
        asked.to_mut().writers.extend(new);
    }
}

fn sorted(rows: Vec<Row>) -> News {
    let (mut now, mut changes) = (Revisions::default(), Vec::new());
    for (kind, writer, revision, token, body) in rows {
        match kind {
            query::EPOCH => now.epoch = token,
            query::WRITER => drop(now.writers.insert(writer, Mark { revision, token })),
            _ => changes.push(Told {
                writer,
                revision,
                token,
                body,
            }),
        }
    }
    changes.sort_by(|one, other| (&one.writer, one.revision).cmp(&(&other.writer, other.revision)));
    News { now, changes }
}

/// How far every writer is, by one statement as a rule; for what is read beside it, in the transaction in which that is read.
pub fn revisions(conn: &mut DbConnection) -> DbResult<Revisions> {
    let found = query::look(conn)?;
    if found.is_empty() {
        // Without an epoch, as where only OpenStack's tables were restored, there may be writers all the same.
        return Ok(news(conn, &Revisions::default())?.now);
    }
    let mut now = Revisions::default();
    for (epoch, id, revision, token) in found {
        now.epoch = epoch;
        if let (Some(id), Some(revision), Some(token)) = (id, revision, token) {
            now.writers.insert(id, Mark { revision, token });
        }
    }
    Ok(now)
}

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
}
