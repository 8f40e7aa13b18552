//! A claim: the generation of each provider compared and moved, a consumer, three allocations, COMMIT.

use std::time::Instant;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use placet::db::DbConnection;
use placet::db::schema::{allocations, consumers};

use super::Client;
use crate::claim::{DISK_GB, MEMORY_MB, VCPU, place};
use crate::tally::Tally;

/// Provider, class, amount.
type Row = (i32, i32, i32);

impl Client<'_> {
    pub fn claim(&mut self, tally: &mut Tally) -> QueryResult<()> {
        let since = Instant::now();
        let (compute, disk) = place(self.cloud, &mut self.dice, false);
        let mut providers = vec![compute.id, disk.id];
        // Locked in one order, or two clients would wait for each other.
        providers.sort_unstable();
        providers.dedup();
        self.begin()?;
        let known: Vec<_> = providers.iter().map(|it| (*it, self.generation(*it))).collect();
        for (provider, generation) in &known {
            self.advance(*provider, *generation)?;
        }
        let consumer = self.dice.uuid().to_string();
        self.insert_consumer(&consumer)?;
        let classes = &self.cloud.classes;
        let rows = [
            (compute.id, classes.vcpu, VCPU),
            (compute.id, classes.memory, MEMORY_MB),
            (disk.id, classes.disk, DISK_GB),
        ];
        insert_allocations(&mut self.conn, &consumer, rows)?;
        self.conn.batch_execute("COMMIT")?;
        for (provider, generation) in known {
            self.moved(provider, generation);
        }
        tally.done(since);
        Ok(())
    }

    fn insert_consumer(&mut self, consumer: &str) -> QueryResult<usize> {
        use consumers as t;
        let row = (
            t::uuid.eq(consumer),
            t::project_id.eq(self.cloud.project),
            t::user_id.eq(self.cloud.user),
            t::generation.eq(1),
        );
        diesel::insert_into(t::table).values(row).execute(&mut self.conn)
    }
}

/// An array, whose length is known, is prepared once; rows of which there may be any number are not.
fn insert_allocations(conn: &mut DbConnection, consumer: &str, rows: [Row; 3]) -> QueryResult<usize> {
    use allocations as t;
    let rows = rows.map(|(provider, class, used)| {
        (
            t::resource_provider_id.eq(provider),
            t::consumer_id.eq(consumer.to_owned()),
            t::resource_class_id.eq(class),
            t::used.eq(used),
        )
    });
    let insert = diesel::insert_into(t::table).values(rows);
    // diesel builds it for one backend at a time.
    match conn {
        DbConnection::Sqlite(inner) => insert.execute(inner),
        DbConnection::Postgresql(inner) => insert.execute(inner),
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(inner) => insert.execute(inner),
    }
}
