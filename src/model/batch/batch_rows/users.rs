//! Reads the providers of classes and traits that commands remove, and the times when traits were created.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDateTime;
use diesel::prelude::*;

use crate::db::engines::dialect::in_lists;
use crate::db::schema::{inventories, resource_classes, resource_provider_traits, traits};
use crate::db::{DbConnection, DbResult};
use crate::model::Moment;
use crate::model::batch::footprint::Footprint;
use crate::search::{ClassId, ProviderId, TraitId};

/// Providers with an inventory of a class that commands remove. A class may have an inventory on every host, so at most
/// `touched` + 1 providers are read for each class. The batch can remove the class from `touched` providers, so a
/// further provider shows that the class stays in use.
pub fn class_users(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
    touched: usize,
) -> DbResult<BTreeSet<(ClassId, ProviderId)>> {
    use inventories as t;
    let mut users = BTreeSet::new();
    for name in &footprint.removed_classes {
        let rows: Vec<(i32, i32)> = t::table
            .inner_join(resource_classes::table.on(resource_classes::id.eq(t::resource_class_id)))
            .filter(resource_classes::name.eq(*name))
            .select((t::resource_class_id, t::resource_provider_id))
            .limit(one_above(touched))
            .load(conn)?;
        let rows = rows.into_iter();
        users.extend(rows.map(|(class, provider)| (ClassId(class), ProviderId(provider))));
    }
    Ok(users)
}

fn one_above(touched: usize) -> i64 {
    i64::try_from(touched).unwrap_or(i64::MAX).saturating_add(1)
}

/// When the traits of the footprint were created.
pub fn trait_times(conn: &mut DbConnection, footprint: &Footprint<'_>) -> DbResult<BTreeMap<String, Moment>> {
    let names: Vec<&str> = footprint.traits.iter().copied().collect();
    let rows: Vec<(String, Option<NaiveDateTime>)> = in_lists(&names, |names| {
        traits::table
            .filter(traits::name.eq_any(names))
            .select((traits::name, traits::created_at))
            .load(&mut *conn)
    })?;
    Ok(rows
        .into_iter()
        .filter_map(|(name, time)| Some((name, time?.and_utc())))
        .collect())
}

/// Providers with a trait that commands delete, limited as in [`class_users`].
pub fn trait_users(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
    touched: usize,
) -> DbResult<BTreeSet<(TraitId, ProviderId)>> {
    use resource_provider_traits as t;
    let mut users = BTreeSet::new();
    for name in &footprint.removed_traits {
        let rows: Vec<(i32, i32)> = t::table
            .inner_join(traits::table.on(traits::id.eq(t::trait_id)))
            .filter(traits::name.eq(*name))
            .select((t::trait_id, t::resource_provider_id))
            .limit(one_above(touched))
            .load(conn)?;
        let rows = rows.into_iter();
        users.extend(rows.map(|(trait_id, provider)| (TraitId(trait_id), ProviderId(provider))));
    }
    Ok(users)
}
