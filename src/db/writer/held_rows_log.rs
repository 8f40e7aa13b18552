//! The log lines and refusals about held rows: which rows, for how long, and how many requests wait.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::batch::{Batch, RowNames};

/// How long a row is held before the log names the row.
const LOGGED_AFTER: Duration = Duration::from_secs(1);
/// How many rows a line names.
const SHOWN_ROWS: usize = 5;

/// The known held rows, until a probe finds each row free.
#[derive(Default)]
pub(super) struct HeldRowsLog(BTreeMap<Row, Held>);

/// A row, by table and uuid.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Provider(String),
    Consumer(String),
}

struct Held {
    since: Instant,
    is_logged: bool,
}

/// The rows of a log line, and how long the first row was held.
type Line = Option<(Vec<Row>, Duration)>;

impl HeldRowsLog {
    /// Notes held rows.
    pub fn note(&mut self, rows: &RowNames, now: Instant) {
        for row in rows_of(rows) {
            self.0.entry(row).or_insert(Held {
                since: now,
                is_logged: false,
            });
        }
    }

    /// Takes over the result of a probe. Returns the line about held rows, and the line about freed rows.
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

    /// Logs the result of a probe for operators; `None`: the probe failed. `waiting` requests wait for rows.
    pub fn report<B: Batch>(&mut self, rows: Option<&RowNames>, waiting: usize, batch: &B) {
        let Some(rows) = rows else {
            if self.forget() > 0 {
                log::info!("Whether the locked rows are free is not known, because the database does not say");
            }
            return;
        };
        let (held, freed) = self.probed(rows, Instant::now());
        if let Some((rows, time)) = freed {
            log::info!(
                "Rows that another transaction had locked are free again, after {:.2} s: {}",
                time.as_secs_f64(),
                described(&rows, batch)
            );
        }
        if let Some((rows, time)) = held {
            log::warn!(
                "Another transaction has locked rows for {:.2} s: {}. Requests that wait for locked rows: {waiting}. \
                 Find it among the sessions of the database server, and end it if it hangs",
                time.as_secs_f64(),
                described(&rows, batch)
            );
        }
    }

    /// Forgets all rows. Returns how many rows the log has named.
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

/// The rows by uuid and name, at most [`SHOWN_ROWS`] rows.
fn described<B: Batch>(rows: &[Row], batch: &B) -> String {
    let shown = rows.iter().take(SHOWN_ROWS).map(|row| match row {
        Row::Consumer(uuid) => format!("consumer {uuid}"),
        Row::Provider(uuid) => match batch.provider_name(uuid) {
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

/// The detail for a job that waited until its deadline. `rows` are the held rows that the job names.
pub(super) fn refusal<B: Batch>(rows: &RowNames, batch: &B) -> String {
    if rows.is_empty() {
        return "Another transaction has locked rows or gaps that the request needs.".to_owned();
    }
    let named: Vec<Row> = rows_of(rows).collect();
    format!("Another transaction has locked {}.", described(&named, batch))
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
        // A second row does not make the first row look free, and counts from its own discovery.
        assert_eq!(probe(&["a", "b"], 10), (None, None));
        assert_eq!(probe(&["a", "b"], 11), (Some((1, 1)), None));
        assert_eq!(probe(&["b"], 20), (None, Some((1, 20))));
        assert_eq!(probe(&[], 25), (None, Some((1, 15))));
        // A row held for a moment is not worth a line.
        assert_eq!(probe(&["a"], 30), (None, None));
        assert_eq!(probe(&[], 30), (None, None));
    }
}
