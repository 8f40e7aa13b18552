//! The places of consumers: their allocations, with the names of providers and classes.

use std::collections::HashMap;
use std::sync::Arc;

use diesel::prelude::*;

use crate::db::engines::dialect::in_lists;
use crate::db::schema::{allocations, consumers, projects, resource_classes, resource_providers};
use crate::db::{DbConnection, DbResult};
use crate::model::allocations::ProviderShare;

/// A consumer with its allocations.
#[derive(Debug, Default)]
pub struct Place {
    /// `None` if OpenStack Placement has written allocations without a consumer.
    pub generation: Option<i64>,
    pub project: Option<String>,
    pub allocations: Vec<ProviderShare>,
}

impl Place {
    /// Whether the consumer may be a replica of a workload of this project. A consumer without a row has no project.
    pub fn is_of(&self, project: &str) -> bool {
        self.project.as_ref().is_none_or(|its_project| its_project == project)
    }
}

/// A consumer; the uuid, name and generation of a provider; a class, and the amount.
type Used = (String, String, Option<String>, Option<i32>, String, i32);

/// The consumers, by uuid.
pub fn places(conn: &mut DbConnection, uuids: &[&str]) -> DbResult<HashMap<String, Place>> {
    let rows: Vec<(String, i32, Option<String>)> = in_lists(uuids, |uuids| {
        consumers::table
            .left_join(projects::table.on(projects::id.eq(consumers::project_id)))
            .filter(consumers::uuid.eq_any(uuids))
            .select((consumers::uuid, consumers::generation, projects::external_id.nullable()))
            .load(&mut *conn)
    })?;
    let place = |(uuid, generation, project): (String, i32, Option<String>)| {
        let place = Place {
            generation: Some(generation.into()),
            project,
            allocations: Vec::new(),
        };
        (uuid, place)
    };
    let mut places: HashMap<String, Place> = rows.into_iter().map(place).collect();
    let rows: Vec<Used> = in_lists(uuids, |uuids| {
        allocations::table
            .inner_join(resource_providers::table.on(resource_providers::id.eq(allocations::resource_provider_id)))
            .inner_join(resource_classes::table.on(resource_classes::id.eq(allocations::resource_class_id)))
            .filter(allocations::consumer_id.eq_any(uuids))
            .order(allocations::id)
            .select((
                allocations::consumer_id,
                resource_providers::uuid,
                resource_providers::name,
                resource_providers::generation.nullable(),
                resource_classes::name,
                allocations::used,
            ))
            .load(&mut *conn)
    })?;
    for (consumer, provider, name, generation, class, used) in rows {
        let shares = &mut places.entry(consumer).or_default().allocations;
        let resource = (Arc::from(class), used.into());
        match shares.iter_mut().find(|share| *share.provider == *provider) {
            Some(share) => share.resources.push(resource),
            None => shares.push(ProviderShare {
                provider: provider.into(),
                name: name.map(Arc::from),
                generation: generation.unwrap_or_default().into(),
                resources: vec![resource],
            }),
        }
    }
    Ok(places)
}
