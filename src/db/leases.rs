//! The rows of `placet_leases`: until when each host that reports is taken for alive, by the database's clock.
//!
//! A report equal to the last report renews the lease alone. Many renewals share a statement. A renewal is no commit of
//! the writer: the revision stays, and no process reads the host again.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{Duration, NaiveDateTime};
use diesel::dsl::{count_star, sql};
use diesel::prelude::*;
use diesel::sql_types::Timestamp;

use super::engines::dialect::{clock, clock_after, in_lists, padded};
use super::engines::rows::Value;
use super::engines::rows::statement::{Fragment, Statement};
use super::schema::placet_leases as t;
use super::{DbConnection, DbResult};

/// The name of the health of a host whose lease holds.
pub const UP: &str = "up";
/// The name of the health of a host whose lease is over.
pub const UNKNOWN: &str = "unknown";

/// A row, without the time of its creation.
#[derive(Debug, Clone)]
pub struct StoredLease {
    pub host: String,
    pub values: LeaseValues,
    pub held_until: NaiveDateTime,
    pub health: String,
    /// The database's time of the read.
    pub now: NaiveDateTime,
}

/// The values of a report in the lease.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct LeaseValues {
    pub user: String,
    pub holder: String,
    pub boot: String,
    /// The boots before this one, the newest first, separated by spaces.
    pub former_boots: String,
    pub number: i64,
    pub digest: String,
    /// In seconds.
    pub term: i32,
}

type LeaseColumns = (String, LeaseValues, NaiveDateTime, String, NaiveDateTime);

impl StoredLease {
    fn new((host, values, held_until, health, now): LeaseColumns) -> StoredLease {
        StoredLease {
            host,
            values,
            held_until,
            health,
            now,
        }
    }

    /// Whether the lease is over by the database's clock.
    pub fn is_over(&self) -> bool {
        self.held_until < self.now
    }
}

/// A report that may be equal to the last report of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renewal {
    pub host: String,
    pub user: String,
    pub holder: String,
    pub boot: String,
    pub number: i64,
    pub digest: String,
}

macro_rules! stored {
    ($conn:expr) => {
        (
            t::host,
            (
                t::user_id,
                t::holder,
                t::boot,
                t::former_boots,
                t::number,
                t::digest,
                t::term,
            ),
            t::held_until,
            t::health,
            sql::<Timestamp>(&clock($conn)),
        )
    };
}

/// The leases of these hosts.
pub fn of_hosts(conn: &mut DbConnection, hosts: &[&str]) -> DbResult<Vec<StoredLease>> {
    let columns = stored!(&*conn);
    let rows: Vec<LeaseColumns> = in_lists(hosts, |hosts| {
        t::table
            .filter(t::host.eq_any(hosts))
            .select(columns.clone())
            .load(&mut *conn)
    })?;
    Ok(rows.into_iter().map(StoredLease::new).collect())
}

/// The leases of hosts with a greater uuid, in the order of the uuids.
pub fn page(conn: &mut DbConnection, after: &str, limit: usize) -> DbResult<Vec<StoredLease>> {
    let columns = stored!(&*conn);
    let rows: Vec<LeaseColumns> = t::table
        .filter(t::host.gt(after))
        .order(t::host)
        .limit(i64::try_from(limit).unwrap_or(i64::MAX))
        .select(columns)
        .load(conn)?;
    Ok(rows.into_iter().map(StoredLease::new).collect())
}

/// The hosts whose health is [`UNKNOWN`].
pub fn unknown(conn: &mut DbConnection) -> DbResult<Vec<String>> {
    t::table.filter(t::health.eq(UNKNOWN)).select(t::host).load(conn)
}

/// The number of leases by their health.
pub fn count_by_health(conn: &mut DbConnection) -> DbResult<BTreeMap<String, u64>> {
    let rows: Vec<(String, i64)> = t::table
        .group_by(t::health)
        .select((t::health, count_star()))
        .load(conn)?;
    let rows = rows.into_iter();
    Ok(rows.map(|(health, count)| (health, count.unsigned_abs())).collect())
}

/// The hosts whose health is [`UNKNOWN`], and whose lease has been over for this number of seconds.
pub fn unknown_for(conn: &mut DbConnection, seconds: u32) -> DbResult<BTreeSet<String>> {
    let now = sql::<Timestamp>(&clock(conn));
    let rows: Vec<(String, NaiveDateTime, NaiveDateTime)> = t::table
        .filter(t::health.eq(UNKNOWN))
        .select((t::host, t::held_until, now))
        .load(conn)?;
    let is_long = |(_, held_until, now): &(String, NaiveDateTime, NaiveDateTime)| {
        *now - *held_until >= Duration::seconds(seconds.into())
    };
    Ok(rows.into_iter().filter(is_long).map(|(host, ..)| host).collect())
}

/// The hosts in the list whose health is [`UNKNOWN`].
pub fn unknown_among(conn: &mut DbConnection, hosts: &[&str]) -> DbResult<Vec<String>> {
    in_lists(hosts, |hosts| {
        t::table
            .filter(t::host.eq_any(hosts))
            .filter(t::health.eq(UNKNOWN))
            .select(t::host)
            .load(&mut *conn)
    })
}

/// The hosts whose health is [`UP`], each with whether the host is silent: less than half of the term is left.
///
/// Agents report at different times, so the leases of hosts that fall silent together end one after the other. When the
/// first lease ends, all of these hosts are silent.
pub fn living(conn: &mut DbConnection) -> DbResult<Vec<(String, bool)>> {
    let now = sql::<Timestamp>(&clock(conn));
    let rows: Vec<(String, NaiveDateTime, i32, NaiveDateTime)> = t::table
        .filter(t::health.eq(UP))
        .select((t::host, t::held_until, t::term, now))
        .load(conn)?;
    let is_silent = |held_until: NaiveDateTime, term: i32, now| (held_until - now) * 2 < Duration::seconds(term.into());
    let rows = rows.into_iter();
    Ok(rows
        .map(|(host, held_until, term, now)| (host, is_silent(held_until, term, now)))
        .collect())
}

/// The hosts whose health is [`UP`] although the lease is over. A term above `watched` seconds was not watched
/// as a whole, and the lease is left out.
pub fn overdue(conn: &mut DbConnection, watched: i32) -> DbResult<Vec<String>> {
    let now = sql::<Timestamp>(&clock(conn));
    t::table
        .filter(t::health.eq(UP))
        .filter(t::held_until.lt(now))
        .filter(t::term.le(watched))
        .order(t::host)
        .select(t::host)
        .load(conn)
}

/// Inserts the lease of a host, which holds from now on. Returns the number of rows.
pub fn insert(conn: &mut DbConnection, host: &str, new: &LeaseValues) -> DbResult<usize> {
    let text = format!(
        "INSERT INTO placet_leases (created_at, held_until, health, host, user_id, holder, boot, former_boots, number, \
         digest, term) VALUES ({}, {}, '{UP}', ?, ?, ?, ?, ?, ?, ?, ?)",
        clock(conn),
        clock_after(conn, &new.term.to_string()),
    );
    let values = [Value::Text(host.to_owned())].into_iter().chain(values(new));
    run(conn, text, &values.collect::<Vec<_>>())
}

/// Replaces a lease, which holds from now on. Guard: the number and the health, as the caller has read both.
pub fn replace(
    conn: &mut DbConnection,
    host: &str,
    (number, health): (i64, &str),
    new: &LeaseValues,
) -> DbResult<usize> {
    let text = format!(
        "UPDATE placet_leases SET held_until = {}, health = '{UP}', user_id = ?, holder = ?, boot = ?, \
         former_boots = ?, number = ?, digest = ?, term = ? WHERE host = ? AND number = ? AND health = ?",
        clock_after(conn, &new.term.to_string()),
    );
    let guard = [text_value(host), Value::Int(number), text_value(health)];
    let values = values(new).into_iter().chain(guard);
    run(conn, text, &values.collect::<Vec<_>>())
}

/// Ends the lease of a host. Guard: the lease is over, and no report has renewed the lease since `number`.
pub fn end(conn: &mut DbConnection, host: &str, number: i64) -> DbResult<usize> {
    let text = format!(
        "UPDATE placet_leases SET health = '{UNKNOWN}' WHERE host = ? AND number = ? AND health = '{UP}' \
         AND held_until < {}",
        clock(conn)
    );
    run(conn, text, &[text_value(host), Value::Int(number)])
}

/// Renews leases by reports equal to the last report of each host, in a single statement. Returns the leases of the
/// hosts after the statement: a lease with the values of the report is renewed.
///
/// A lease of health [`UP`] alone is renewed. Health changes by a command. Of several reports of a host the first
/// counts: the number of a refused report would else stand in the lease.
pub fn renew(conn: &mut DbConnection, renewals: &[Renewal]) -> DbResult<Vec<StoredLease>> {
    let mut hosts = BTreeSet::new();
    let first: Vec<&Renewal> = renewals.iter().filter(|it| hosts.insert(it.host.as_str())).collect();
    let (mut numbers, mut conditions, mut bound) = (String::new(), Vec::new(), Vec::new());
    for renewal in padded(&first) {
        numbers.push_str(" WHEN ? THEN ?");
        bound.extend([text_value(&renewal.host), Value::Int(renewal.number)]);
    }
    for renewal in padded(&first) {
        conditions.push("host = ? AND user_id = ? AND holder = ? AND boot = ? AND digest = ? AND number < ?");
        let texts = [
            &renewal.host,
            &renewal.user,
            &renewal.holder,
            &renewal.boot,
            &renewal.digest,
        ];
        bound.extend(texts.map(|text| text_value(text)));
        bound.push(Value::Int(renewal.number));
    }
    let text = format!(
        "UPDATE placet_leases SET held_until = {}, number = CASE host{numbers} END WHERE health = '{UP}' AND ({})",
        clock_after(conn, "term"),
        conditions.join(" OR ")
    );
    run(conn, text, &bound)?;
    of_hosts(conn, &hosts.into_iter().collect::<Vec<_>>())
}

fn values(new: &LeaseValues) -> [Value; 7] {
    [
        text_value(&new.user),
        text_value(&new.holder),
        text_value(&new.boot),
        text_value(&new.former_boots),
        Value::Int(new.number),
        text_value(&new.digest),
        Value::Int(new.term.into()),
    ]
}

fn text_value(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn run(conn: &mut DbConnection, text: String, values: &[Value]) -> DbResult<usize> {
    let statement: Statement = Fragment::new(text, values).uncached();
    statement.run(conn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::tests::support::TestDatabase;

    const HOST: &str = "host";

    fn renewal(user: &str, number: i64) -> Renewal {
        Renewal {
            host: HOST.to_owned(),
            user: user.to_owned(),
            holder: "agent".to_owned(),
            boot: "boot".to_owned(),
            number,
            digest: "digest".to_owned(),
        }
    }

    fn values(term: i32) -> LeaseValues {
        LeaseValues {
            user: "owner".to_owned(),
            holder: "agent".to_owned(),
            boot: "boot".to_owned(),
            former_boots: String::new(),
            number: 1,
            digest: "digest".to_owned(),
            term,
        }
    }

    #[test]
    fn a_host_is_silent_when_less_than_half_of_the_term_is_left() {
        let (_test, database) = TestDatabase::synced();
        let conn = &mut database.connect().unwrap();
        let left = |seconds: &str| clock_after(conn, seconds);
        let ends = [
            ("in time", left("40")),
            ("late", left("20")),
            ("over", "'2001-01-01 00:00:00.000'".to_owned()),
        ];
        for (host, end) in [&ends[..], &[("unknown", left("20"))]].concat() {
            insert(conn, host, &values(60)).unwrap();
            let text = format!("UPDATE placet_leases SET held_until = {end} WHERE host = ?");
            run(conn, text, &[text_value(host)]).unwrap();
        }
        let text = format!("UPDATE placet_leases SET health = '{UNKNOWN}' WHERE host = 'unknown'");
        run(conn, text, &[]).unwrap();
        let mut shown = living(conn).unwrap();
        shown.sort();
        assert_eq!(
            shown,
            [("in time", false), ("late", true), ("over", true)].map(|(host, it)| (host.to_owned(), it))
        );
        assert_eq!(overdue(conn, 60).unwrap(), ["over"]);
    }

    /// If both reports shared a statement, the number of the second user stood in the lease. Later reports were older.
    #[test]
    fn a_report_of_a_second_user_leaves_no_number_in_the_lease() {
        let (_test, database) = TestDatabase::synced();
        let conn = &mut database.connect().unwrap();
        insert(conn, HOST, &values(60)).unwrap();
        let hostile = renewal("second", i64::MAX);
        for (renewals, number) in [
            (vec![hostile.clone(), renewal("owner", 2)], 1),
            (vec![renewal("owner", 3), hostile], 3),
            (vec![renewal("owner", 2)], 3),
            (vec![renewal("owner", 4)], 4),
        ] {
            let stored = renew(conn, &renewals).unwrap();
            assert_eq!(stored.len(), 1, "{renewals:?}");
            assert_eq!(stored[0].values.number, number, "{renewals:?}");
        }
    }
}
