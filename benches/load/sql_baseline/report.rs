//! The minimal SQL of a compute node's report: one query for each GET, and one transaction for the PUT.
//!
//! The transaction compares and increments the generation, and updates the one inventory that changed.

use std::hint::black_box;
use std::time::Instant;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::Error::NotFound;
use placet::benchmarked::schema::{
    allocations, consumers, inventories, placement_aggregates, resource_provider_aggregates, resource_provider_traits,
    resource_providers, traits,
};

use super::Client;
use crate::statistics::Statistics;

/// Generation, class, total, reserved, units, step and ratio.
type InventoryRow = (Option<i32>, i32, i32, i32, i32, i32, i32, f64);

impl Client<'_> {
    /// Each query, and the transaction, counts as the request that it stands for.
    pub fn report(&mut self, statistics: &mut Statistics) -> QueryResult<()> {
        let cloud = self.cloud;
        let host = cloud.host_of(&mut self.random, self.number, self.clients);
        let (root, compute) = (host.root.id, host.compute[0].id);
        for query in [Self::tree, Self::aggregates, Self::traits, Self::allocations] {
            let start = Instant::now();
            query(self, root)?;
            statistics.record_completed(start);
        }
        let start = Instant::now();
        let inventories = self.inventories(compute)?;
        statistics.record_completed(start);
        let &(generation, _, _, reserved, ..) = inventories
            .iter()
            .find(|(_, class, ..)| *class == cloud.classes.memory)
            .ok_or(NotFound)?;
        let start = Instant::now();
        self.update_reserved(compute, generation.unwrap_or_default(), reserved ^ 1)?;
        statistics.record_completed(start);
        Ok(())
    }

    fn tree(&mut self, root: i32) -> QueryResult<()> {
        use resource_providers as t;
        type Row = (i32, String, Option<String>, Option<i32>, Option<i32>, Option<i32>);
        let rows: Vec<Row> = t::table
            .filter(t::root_provider_id.eq(root))
            .select((
                t::id,
                t::uuid,
                t::name,
                t::generation,
                t::parent_provider_id,
                t::root_provider_id,
            ))
            .load(&mut self.conn)?;
        expect_rows(rows)
    }

    fn aggregates(&mut self, provider: i32) -> QueryResult<()> {
        use {placement_aggregates as a, resource_provider_aggregates as t, resource_providers as p};
        let rows: Vec<(Option<i32>, Option<String>)> = p::table
            .inner_join(t::table.on(t::resource_provider_id.eq(p::id)))
            .inner_join(a::table.on(a::id.eq(t::aggregate_id)))
            .filter(p::id.eq(provider))
            .select((p::generation, a::uuid))
            .load(&mut self.conn)?;
        expect_rows(rows)
    }

    fn traits(&mut self, provider: i32) -> QueryResult<()> {
        use {resource_provider_traits as t, resource_providers as p, traits as n};
        let rows: Vec<(Option<i32>, String)> = p::table
            .inner_join(t::table.on(t::resource_provider_id.eq(p::id)))
            .inner_join(n::table.on(n::id.eq(t::trait_id)))
            .filter(p::id.eq(provider))
            .select((p::generation, n::name))
            .load(&mut self.conn)?;
        expect_rows(rows)
    }

    fn allocations(&mut self, provider: i32) -> QueryResult<()> {
        use {allocations as t, consumers as c, resource_providers as p};
        let rows: Vec<(Option<i32>, String, i32, i32, i32)> = p::table
            .inner_join(t::table.on(t::resource_provider_id.eq(p::id)))
            .inner_join(c::table.on(c::uuid.eq(t::consumer_id)))
            .filter(p::id.eq(provider))
            .select((
                p::generation,
                t::consumer_id,
                c::generation,
                t::resource_class_id,
                t::used,
            ))
            .load(&mut self.conn)?;
        expect_rows(rows)
    }

    fn inventories(&mut self, provider: i32) -> QueryResult<Vec<InventoryRow>> {
        use {inventories as t, resource_providers as p};
        p::table
            .inner_join(t::table.on(t::resource_provider_id.eq(p::id)))
            .filter(p::id.eq(provider))
            .select((
                p::generation,
                t::resource_class_id,
                t::total,
                t::reserved,
                t::min_unit,
                t::max_unit,
                t::step_size,
                t::allocation_ratio,
            ))
            .load(&mut self.conn)
    }

    fn update_reserved(&mut self, provider: i32, generation: i32, reserved: i32) -> QueryResult<()> {
        use inventories as t;
        self.begin()?;
        self.advance(provider, generation)?;
        let memory = t::table
            .filter(t::resource_provider_id.eq(provider))
            .filter(t::resource_class_id.eq(self.cloud.classes.memory));
        let updated = diesel::update(memory)
            .set(t::reserved.eq(reserved))
            .execute(&mut self.conn)?;
        if updated != 1 {
            return Err(NotFound);
        }
        self.conn.batch_execute("COMMIT")
    }
}

/// Fails without rows: every host has some of each kind. Their contents are not used.
fn expect_rows<T>(rows: Vec<T>) -> QueryResult<()> {
    if black_box(rows).is_empty() {
        Err(NotFound)
    } else {
        Ok(())
    }
}
