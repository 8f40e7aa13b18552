//! Looks up names of a search that the snapshot does not know: a foreign writer may have created them. Only if the tables
//! do not have them either is the name unknown.

use std::collections::BTreeSet;

use diesel::prelude::*;

use crate::db::engines::dialect::in_lists;
use crate::db::schema::{placement_aggregates, resource_classes, traits};
use crate::db::{DbConnection, DbResult};
use crate::search::{Catalog, Members, ProviderQuery, Request, Traits};

/// See the module.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Names {
    classes: BTreeSet<String>,
    traits: BTreeSet<String>,
    aggregates: BTreeSet<String>,
}

impl From<&Request> for Names {
    fn from(request: &Request) -> Names {
        let mut names = Names::default();
        names.add_traits(&request.root_required);
        for group in &request.groups {
            names.add(&group.resources, &group.traits, &group.member_of);
        }
        names
    }
}

impl From<&ProviderQuery> for Names {
    fn from(query: &ProviderQuery) -> Names {
        let mut names = Names::default();
        names.add(&query.resources, &query.traits, &query.members);
        names
    }
}

impl Names {
    fn add(&mut self, resources: &[(String, i64)], traits: &Traits, members: &Members) {
        self.classes.extend(resources.iter().map(|(class, _)| class.clone()));
        self.add_traits(traits);
        let aggregates = members.any_of.iter().flatten().chain(&members.forbidden);
        self.aggregates.extend(aggregates.cloned());
    }

    fn add_traits(&mut self, traits: &Traits) {
        let named = traits.required.iter().flatten().chain(&traits.forbidden);
        self.traits.extend(named.cloned());
    }

    /// The names that `catalog` does not have.
    pub fn unknown_to(mut self, catalog: &Catalog) -> Names {
        self.classes.retain(|name| catalog.class_id(name).is_none());
        self.traits.retain(|name| catalog.trait_id(name).is_none());
        self.aggregates.retain(|uuid| catalog.aggregate_id(uuid).is_none());
        self
    }

    pub fn is_empty(&self) -> bool {
        *self == Names::default()
    }

    /// Whether the tables have any of the names.
    pub fn any_is_there(&self, conn: &mut DbConnection) -> DbResult<bool> {
        fn listed(names: &BTreeSet<String>) -> Vec<&str> {
            names.iter().map(String::as_str).collect()
        }
        let mut found: Vec<i32> = in_lists(&listed(&self.classes), |names| {
            use resource_classes as t;
            t::table.filter(t::name.eq_any(names)).select(t::id).load(&mut *conn)
        })?;
        found.extend::<Vec<i32>>(in_lists(&listed(&self.traits), |names| {
            traits::table
                .filter(traits::name.eq_any(names))
                .select(traits::id)
                .load(&mut *conn)
        })?);
        found.extend::<Vec<i32>>(in_lists(&listed(&self.aggregates), |uuids| {
            use placement_aggregates as t;
            t::table.filter(t::uuid.eq_any(uuids)).select(t::id).load(&mut *conn)
        })?);
        Ok(!found.is_empty())
    }
}
