//! What a compute node asks and tells in a period: a statement for each question, and a transaction that compares and
//! moves the generation and changes the one row of its inventories that is not as it was.

use std::hint::black_box;
use std::time::Instant;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::Error::NotFound;
use placet::db::schema::{
    allocations, consumers, inventories, placement_aggregates, resource_provider_aggregates, resource_provider_traits,
    resource_providers, traits,
};

use super::Client;
use crate::tally::Tally;

/// Generation, class, total, reserved, units, step and ratio.
type Stock = (Option<i32>, i32, i32, i32, i32, i32, i32, f64);

impl Client<'_> {
    /// Each question, and the change, is counted as the request that it stands for.
    pub fn report(&mut self, tally: &mut Tally) -> QueryResult<()> {
        let cloud = self.cloud;
        let host = cloud.host_of(&mut self.dice, self.number, self.of);
        let (root, compute) = (host.root.id, host.compute[0].id);
        for ask in [Self::tree, Self::aggregates, Self::traits, Self::allocations] {
            let since = Instant::now();
            ask(self, root)?;
            tally.done(since);
        }
        let since = Instant::now();
        let stocks = self.stocks(compute)?;
        tally.done(since);
        let memory = stocks
            .iter()
            .find(|stock| stock.1 == cloud.classes.memory)
            .ok_or(NotFound)?;
        let since = Instant::now();
        self.change(compute, memory.0.unwrap_or_default(), memory.3 ^ 1)?;
        tally.done(since);
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
        some(rows)
    }

    fn aggregates(&mut self, provider: i32) -> QueryResult<()> {
        use {placement_aggregates as a, resource_provider_aggregates as t, resource_providers as p};
        let rows: Vec<(Option<i32>, Option<String>)> = p::table
            .inner_join(t::table.on(t::resource_provider_id.eq(p::id)))
            .inner_join(a::table.on(a::id.eq(t::aggregate_id)))
            .filter(p::id.eq(provider))
            .select((p::generation, a::uuid))
            .load(&mut self.conn)?;
        some(rows)
    }

    fn traits(&mut self, provider: i32) -> QueryResult<()> {
        use {resource_provider_traits as t, resource_providers as p, traits as n};
        let rows: Vec<(Option<i32>, String)> = p::table
            .inner_join(t::table.on(t::resource_provider_id.eq(p::id)))
            .inner_join(n::table.on(n::id.eq(t::trait_id)))
            .filter(p::id.eq(provider))
            .select((p::generation, n::name))
            .load(&mut self.conn)?;
        some(rows)
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
        some(rows)
    }

    fn stocks(&mut self, provider: i32) -> QueryResult<Vec<Stock>> {
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

    fn change(&mut self, provider: i32, generation: i32, reserved: i32) -> QueryResult<()> {
        use inventories as t;
        self.begin()?;
        self.advance(provider, generation)?;
        let memory = t::table
            .filter(t::resource_provider_id.eq(provider))
            .filter(t::resource_class_id.eq(self.cloud.classes.memory));
        let changed = diesel::update(memory)
            .set(t::reserved.eq(reserved))
            .execute(&mut self.conn)?;
        if changed != 1 {
            return Err(NotFound);
        }
        self.conn.batch_execute("COMMIT")
    }
}

/// Every host has something of everything; what it is nobody looks at.
fn some<T>(rows: Vec<T>) -> QueryResult<()> {
    if black_box(rows).is_empty() {
        Err(NotFound)
    } else {
        Ok(())
    }
}
