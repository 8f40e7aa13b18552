//! The minimal SQL of a claim: compare and increment each provider's generation, insert a consumer and three
//! allocations.

use std::time::Instant;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use placet::benchmarked::DbConnection;
use placet::benchmarked::schema::{allocations, consumers};

use super::Client;
use crate::cloud::{CLAIM_DISK_GB, CLAIM_MEMORY_MB, CLAIM_VCPU};
use crate::statistics::Statistics;

/// Provider, class, amount.
type AllocationRow = (i32, i32, i32);

impl Client<'_> {
    pub fn claim(&mut self, statistics: &mut Statistics) -> QueryResult<()> {
        let start = Instant::now();
        let (compute, disk) = self.cloud.claim_target(&mut self.random, false);
        let mut providers = vec![compute.id, disk.id];
        // All clients lock rows in the same order, which prevents deadlocks.
        providers.sort_unstable();
        providers.dedup();
        self.begin()?;
        let known: Vec<_> = providers.iter().map(|&id| (id, self.generation(id))).collect();
        for (provider, generation) in &known {
            self.advance(*provider, *generation)?;
        }
        let consumer = self.random.uuid().to_string();
        self.insert_consumer(&consumer)?;
        let classes = &self.cloud.classes;
        let rows = [
            (compute.id, classes.vcpu, CLAIM_VCPU),
            (compute.id, classes.memory, CLAIM_MEMORY_MB),
            (disk.id, classes.disk, CLAIM_DISK_GB),
        ];
        insert_allocations(&mut self.conn, &consumer, rows)?;
        self.conn.batch_execute("COMMIT")?;
        for (provider, generation) in known {
            self.note_advanced(provider, generation);
        }
        statistics.record_completed(start);
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

/// diesel keeps the prepared statement of an array, whose length is fixed. It does not for a `Vec`.
fn insert_allocations(conn: &mut DbConnection, consumer: &str, rows: [AllocationRow; 3]) -> QueryResult<usize> {
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
    // The statement's type depends on the backend.
    match conn {
        DbConnection::Sqlite(inner) => insert.execute(inner),
        DbConnection::Postgresql(inner) => insert.execute(inner),
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(inner) => insert.execute(inner),
    }
}
