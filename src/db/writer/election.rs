//! The election of one leader among the processes on a database. The leader does the background work of all processes.
//!
//! The leader holds a row for a term, and renews the term long before the end. If the leader stops, a second process
//! takes the row after the end of the term. The database's clock measures the term, because the clocks of hosts need
//! not agree.
//!
//! Each command of background work names the expected state. So a paused process does no harm if the process still
//! believes in the lead.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::batch::Batch;
use super::failure::BatchResult;
use super::session::WriteSession;
use crate::db::boot_instant::BootInstant;
use crate::db::engines::dialect;
use crate::db::engines::rows::Value;
use crate::db::engines::rows::statement::Fragment;
use crate::db::{DbConnection, DbResult};
use crate::mutants::{self, Mutant};

/// How long a leader holds the row after a renewal.
const TERM: Duration = Duration::from_secs(TERM_SECONDS);
const TERM_SECONDS: u64 = 10;
/// The time between two attempts of a process to take or to renew the row: a third of the term.
pub const ELECTION_INTERVAL: Duration = Duration::from_secs(3);

const LEADS: &str = "This process leads now: it does the background work of all processes on the database";
const FOLLOWS: &str = "This process leads no longer: a different process does the background work";

/// Whether this process leads.
#[derive(Debug, Default)]
pub struct Leadership(Mutex<Option<Lead>>);

/// An uninterrupted lead of this process.
#[derive(Debug, Clone, Copy)]
struct Lead {
    since: BootInstant,
    until: BootInstant,
}

impl Leadership {
    /// Whether this process leads now.
    pub fn is_held(&self) -> bool {
        self.since().is_some()
    }

    /// When the uninterrupted lead of this process began; `None` if the process does not lead.
    pub fn since(&self) -> Option<BootInstant> {
        let lead = *self.lead();
        lead.filter(|lead| lead.until > BootInstant::now())
            .map(|lead| lead.since)
    }

    /// Holds the lead for a term after the moment at which a request was sent. The database began the term later.
    fn hold(&self, sent: BootInstant) {
        let mut lead = self.lead();
        let since = lead.filter(|lead| lead.until > sent).map_or(sent, |lead| lead.since);
        *lead = Some(Lead {
            since,
            until: sent + TERM,
        });
    }

    fn end(&self) {
        *self.lead() = None;
    }

    fn lead(&self) -> MutexGuard<'_, Option<Lead>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part of one process in the election.
pub(super) struct Election {
    leadership: Arc<Leadership>,
    interval: Duration,
    due: Instant,
}

impl Election {
    pub fn new(leadership: Arc<Leadership>, interval: Duration) -> Election {
        Election {
            leadership,
            interval,
            due: Instant::now(),
        }
    }

    /// When the next attempt is due.
    pub fn due_at(&self) -> Instant {
        self.due
    }

    /// Takes or renews the row, if an attempt is due. After a failure the lead ends with its term.
    pub fn run_if_due<B: Batch>(&mut self, session: &mut WriteSession<B>) {
        if self.due > Instant::now() {
            return;
        }
        self.due = Instant::now() + self.interval;
        let (sent, led) = (BootInstant::now(), self.leadership.is_held());
        match attempt(session) {
            Ok(leads) => {
                let leads = leads || mutants::is(Mutant::AllLead);
                if leads {
                    self.leadership.hold(sent);
                } else {
                    self.leadership.end();
                }
                if leads != led && session.connection.conn.as_ref().is_some_and(dialect::has_other_writers) {
                    log::info!("{}", if leads { LEADS } else { FOLLOWS });
                }
            }
            Err(failure) => {
                log::debug!(
                    "The election of a leader failed, and is repeated in {} s: {failure}",
                    self.interval.as_secs()
                );
                if failure.is_connection_lost() {
                    session.connection.conn = None;
                }
            }
        }
    }

    /// Gives the row away: a second process leads at once.
    pub fn resign<B: Batch>(&self, session: &mut WriteSession<B>) {
        if !self.leadership.is_held() {
            return;
        }
        self.leadership.end();
        let id = session.identity.id().to_owned();
        let given = session.connection.conn.as_mut().map(|conn| give_away(conn, &id));
        if let Some(Err(error)) = given {
            log::debug!("The lead could not be given away, and ends with its term: {error}");
        }
    }
}

fn attempt<B: Batch>(session: &mut WriteSession<B>) -> BatchResult<bool> {
    session.reopen()?;
    let id = session.identity.id().to_owned();
    Ok(take(session.connection.require()?, &id)?)
}

/// Takes the row if its term has ended, or renews the term of its holder. Returns whether `process` holds the row.
///
/// On SQLite a single process serves the database, and leads without a row. A term longer than [`TERM`] was written
/// before the database's clock was set back, and counts as ended.
fn take(conn: &mut DbConnection, process: &str) -> DbResult<bool> {
    if !dialect::has_other_writers(conn) {
        return Ok(true);
    }
    let after = |seconds: u64| dialect::clock_after(conn, &seconds.to_string());
    let (now, until, beyond) = (after(0), after(TERM_SECONDS), after(2 * TERM_SECONDS));
    let text = format!(
        "UPDATE placet_leader SET term = CASE WHEN holder = ? THEN term ELSE term + 1 END, held_until = {until}, \
         holder = ? WHERE id = 1 AND (holder = ? OR held_until < {now} OR held_until > {beyond})"
    );
    let process = Value::Text(process.to_owned());
    Ok(Fragment::new(text, [&process; 3]).cached().run(conn)? == 1)
}

fn give_away(conn: &mut DbConnection, process: &str) -> DbResult<usize> {
    if !dialect::has_other_writers(conn) {
        return Ok(0);
    }
    let text = format!(
        "UPDATE placet_leader SET held_until = {} WHERE id = 1 AND holder = ?",
        dialect::clock(conn)
    );
    Fragment::new(text, [&Value::Text(process.to_owned())])
        .cached()
        .run(conn)
}

#[cfg(test)]
mod tests {
    use diesel::connection::SimpleConnection;

    use super::*;
    use crate::db::tests::support::TestDatabase;

    /// Makes the present term end in this number of seconds.
    fn set_term(conn: &mut DbConnection, seconds: u64) {
        let until = dialect::clock_after(conn, &seconds.to_string());
        conn.batch_execute(&format!("UPDATE placet_leader SET held_until = {until}"))
            .unwrap();
    }

    #[test]
    fn one_process_leads_until_its_term_ends_or_it_resigns() {
        let (_test, database) = TestDatabase::synced();
        let conn = &mut database.connect().unwrap();
        if !dialect::has_other_writers(conn) {
            assert!(take(conn, "alone").unwrap() && take(conn, "alone").unwrap());
            return;
        }
        assert_eq!([take(conn, "a").unwrap(), take(conn, "b").unwrap()], [true, false]);
        set_term(conn, TERM_SECONDS / 2);
        assert!(!take(conn, "b").unwrap(), "half of the term is left");
        set_term(conn, 0);
        assert_eq!([take(conn, "b").unwrap(), take(conn, "a").unwrap()], [true, false]);
        assert_eq!(give_away(conn, "a").unwrap(), 0, "only the holder gives the row away");
        assert_eq!(give_away(conn, "b").unwrap(), 1);
        assert!(take(conn, "a").unwrap());
        set_term(conn, 3 * TERM_SECONDS);
        assert!(take(conn, "b").unwrap(), "the database's clock was set back");
    }

    #[test]
    fn a_lead_ends_a_term_after_the_last_renewal_was_sent() {
        let leadership = Leadership::default();
        assert!(!leadership.is_held());
        let began = BootInstant::now();
        leadership.hold(began);
        leadership.hold(began + Duration::from_millis(1));
        assert_eq!(leadership.since(), Some(began), "a renewal continues the lead");
        let late = began + 2 * TERM;
        leadership.hold(late);
        assert_eq!(leadership.since(), Some(late), "a renewal after the end begins a lead");
        leadership.end();
        assert!(!leadership.is_held());
    }
}
