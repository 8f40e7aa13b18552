//! What the log and a refused caller read of held rows: which rows, for how long, and how many requests wait.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::batch::RowNames;
use super::{Batch, Job, Writer, refuse_expired_with};

/// How long a row is held before the log says so.
const LOGGED_AFTER: Duration = Duration::from_secs(1);
/// How many rows a line names.
const SHOWN_ROWS: usize = 5;

/// The held rows that were found, until a probe finds them free.
#[derive(Default)]
pub(super) struct HeldRowsLog(BTreeMap<Row, Held>);

/// A row in the order of its table, by its uuid.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Provider(String),
    Consumer(String),
}

struct Held {
    since: Instant,
    is_logged: bool,
}

/// Rows of one line, and for how long the first of them was held.
type Line = Option<(Vec<Row>, Duration)>;

impl HeldRowsLog {
    /// Notes rows that were found held.
    pub fn note(&mut self, rows: &RowNames, now: Instant) {
        for row in rows_of(rows) {
            self.0.entry(row).or_insert(Held {
                since: now,
                is_logged: false,
            });
        }
    }

    /// Takes over what a probe found. Returns the rows of a line about held ones, and those of a line about free ones.
    fn probed(&mut self, rows: &RowNames, now: Instant) -> (Line, Line) {
        self.note(rows, now);
        let held: Vec<Row> = rows_of(rows).collect();
        let (mut late, mut freed) = (Vec::new(), Vec::new());
        self.0.retain(|row, state| {
            let is_held = held.binary_search(row).is_ok();
            let time = now - state.since;
            if is_held && !state.is_logged && time >= LOGGED_AFTER {
                state.is_logged = true;
                late.push((row.clone(), time));
            }
            if !is_held && state.is_logged {
                freed.push((row.clone(), time));
            }
            is_held
        });
        (line(late), line(freed))
    }

    /// Forgets all rows. Returns how many of them the log has named.
    fn forget(&mut self) -> usize {
        let logged = self.0.values().filter(|held| held.is_logged).count();
        self.0.clear();
        logged
    }
}

/// In the order of [`Row`].
fn rows_of(rows: &RowNames) -> impl Iterator<Item = Row> {
    let providers = rows.providers.iter().cloned().map(Row::Provider);
    providers.chain(rows.consumers.iter().cloned().map(Row::Consumer))
}

fn line(rows: Vec<(Row, Duration)>) -> Line {
    let longest = rows.iter().map(|(_, time)| *time).max()?;
    Some((rows.into_iter().map(|(row, _)| row).collect(), longest))
}

impl<B: Batch> Writer<B> {
    /// Says in the log what an operator can act on after a probe; `None`: it failed. `waiting` requests wait for rows.
    pub(super) fn log_held(&mut self, rows: Option<&RowNames>, waiting: usize) {
        let Some(rows) = rows else {
            if self.parked.log.forget() > 0 {
                log::info!("Whether the locked rows are free is not known, because the database does not say");
            }
            return;
        };
        let (held, freed) = self.parked.log.probed(rows, Instant::now());
        if let Some((rows, time)) = freed {
            log::info!(
                "Rows that another transaction had locked are free again, after {:.2} s: {}",
                time.as_secs_f64(),
                self.described(&rows)
            );
        }
        if let Some((rows, time)) = held {
            log::warn!(
                "Another transaction has locked rows for {:.2} s: {}. Requests that wait for locked rows: {waiting}. \
                 Find it among the sessions of the database server, and end it if it hangs",
                time.as_secs_f64(),
                self.described(&rows)
            );
        }
    }

    /// Refuses the parked jobs whose deadline has passed, with the rows for which they waited. Returns the others.
    pub(super) fn refuse_expired_parked(&self, jobs: Vec<Job<B>>) -> Vec<Job<B>> {
        refuse_expired_with(jobs, |job| {
            let named = self.batch.named_rows(&[&job.command]);
            let rows: Vec<Row> = rows_of(&named.common(&self.parked.rows)).collect();
            if rows.is_empty() {
                return "Another transaction has locked rows or gaps that the request needs.".to_owned();
            }
            format!("Another transaction has locked {}.", self.described(&rows))
        })
    }

    /// The rows by uuid and name, at most [`SHOWN_ROWS`] of them.
    fn described(&self, rows: &[Row]) -> String {
        let shown = rows.iter().take(SHOWN_ROWS).map(|row| match row {
            Row::Consumer(uuid) => format!("consumer {uuid}"),
            Row::Provider(uuid) => match self.batch.provider_name(uuid) {
                Some(name) => format!("provider {uuid} ({name})"),
                None => format!("provider {uuid}"),
            },
        });
        let mut text = shown.collect::<Vec<_>>().join(", ");
        if rows.len() > SHOWN_ROWS {
            text.push_str(&format!(" and {} more", rows.len() - SHOWN_ROWS));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn consumers(uuids: &[&str]) -> RowNames {
        RowNames {
            consumers: uuids.iter().map(|uuid| (*uuid).to_owned()).collect(),
            ..RowNames::default()
        }
    }

    fn seconds(line: Line) -> Option<(usize, u64)> {
        line.map(|(rows, time)| (rows.len(), time.as_secs()))
    }

    #[test]
    fn found_n4_each_row_is_logged_once_when_it_is_held_and_once_when_it_is_free() {
        let (began, mut log) = (Instant::now(), HeldRowsLog::default());
        let mut probe = |rows: &[&str], at: u64| {
            let (held, freed) = log.probed(&consumers(rows), began + Duration::from_secs(at));
            (seconds(held), seconds(freed))
        };
        assert_eq!(probe(&["a"], 0), (None, None));
        assert_eq!(probe(&["a"], 2), (Some((1, 2)), None));
        // Another row does not make the first one look free, and is held since it was found.
        assert_eq!(probe(&["a", "b"], 10), (None, None));
        assert_eq!(probe(&["a", "b"], 11), (Some((1, 1)), None));
        assert_eq!(probe(&["b"], 20), (None, Some((1, 20))));
        assert_eq!(probe(&[], 25), (None, Some((1, 15))));
        // A row that was held for a moment is not worth a line.
        assert_eq!(probe(&["a"], 30), (None, None));
        assert_eq!(probe(&[], 30), (None, None));
    }
}
