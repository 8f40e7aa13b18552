//! Writes claims of consumers that are all new: generations and allocations in one statement, which also looks whether
//! such a consumer holds something all the same. Their rows were made, and lock them, before it began.

use super::{Guard, Save, allocations, resource_providers};
use crate::db::DbResult;
use crate::db::together::Together;

/// Whether the batch is of that kind.
pub fn is_for(save: &Save<'_>) -> bool {
    save.state.consumers.values().any(|entry| entry.unread)
}

pub fn write(save: &mut Save<'_>) -> DbResult<Guard> {
    let mut together = Together::default();
    let moved = resource_providers::move_together(save, &mut together);
    let inserted = allocations::insert_together(save, &mut together);
    let unread = save.state.consumers.iter().filter(|(_, entry)| entry.unread);
    together.count(
        "allocations",
        "consumer_id",
        unread.map(|(uuid, _)| Some(uuid.clone())).collect(),
    );
    let counted = together.run(save.conn)?;
    Ok(match counted == [moved, inserted, 0] {
        true => Guard::Held,
        false => Guard::Lost,
    })
}
