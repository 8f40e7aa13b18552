//! Looks up names of a search that the snapshot lacks.
//!
//! A foreign writer may have created these names. A name is unknown only if the tables lack the name too.
//!
//! The tables may also have a name of a provider that the database takes for equal: MariaDB's usual collations ignore
//! trailing spaces and accents, and OpenStack Placement finds the provider there. The snapshot ignores the case of
//! letters alone, so the database is asked for the stored name. Classes, traits and aggregates are compared exactly on
//! every database, as in OpenStack Placement.

use std::collections::BTreeSet;

use diesel::prelude::*;

use crate::db::engines::dialect::in_lists;
use crate::db::schema::{resource_classes, resource_providers};
use crate::db::{DbConnection, DbResult};
use crate::model::snapshot::load;
use crate::search::{Catalog, MemberOf, ProviderQuery, Request, Snapshot, Traits};

/// The names of a search, or the names to look up. Uuids of providers are not among the names, because the snapshot has
/// every provider.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Names {
    classes: BTreeSet<String>,
    traits: BTreeSet<String>,
    aggregates: BTreeSet<String>,
    /// The name of a provider.
    provider_name: Option<String>,
}

impl Names {
    pub fn of_providers(query: &ProviderQuery) -> Names {
        let mut names = Names::default();
        names.add(&query.resources, &query.traits, &query.members);
        names.provider_name.clone_from(&query.name);
        names
    }

    /// The names in all these requests for candidates.
    pub fn of_candidates<'a>(requests: impl IntoIterator<Item = &'a Request>) -> Names {
        let mut names = Names::default();
        for request in requests {
            names.add_traits(&request.root_required);
            for group in &request.groups {
                names.add(&group.resources, &group.traits, &group.member_of);
            }
        }
        names
    }

    fn add(&mut self, resources: &[(String, i64)], traits: &Traits, members: &MemberOf) {
        self.classes.extend(resources.iter().map(|(class, _)| class.clone()));
        self.add_traits(traits);
        let aggregates = members.any_of.iter().flatten().chain(&members.forbidden);
        self.aggregates.extend(aggregates.cloned());
    }

    fn add_traits(&mut self, traits: &Traits) {
        let all = traits.required.iter().flatten().chain(&traits.forbidden);
        self.traits.extend(all.cloned());
    }

    /// The names that `snapshot` lacks, and the tables may have. The name of a provider is dropped if the database
    /// compares exactly. No class and no trait has a NUL in its name, which PostgreSQL refuses even in a comparison.
    pub fn unknown_to(&self, snapshot: &Snapshot, compares_exactly: bool) -> Names {
        let catalog = snapshot.catalog();
        let lacking = |names: &BTreeSet<String>, is_known: &dyn Fn(&str) -> bool| {
            let unknown = names.iter().filter(|name| !name.contains('\0') && !is_known(name));
            unknown.cloned().collect()
        };
        let may_be_stored = |name: &&String| !compares_exactly && snapshot.by_name(name).is_none();
        Names {
            classes: lacking(&self.classes, &|name| catalog.class_id(name).is_some()),
            traits: lacking(&self.traits, &|name| catalog.trait_id(name).is_some()),
            aggregates: lacking(&self.aggregates, &|uuid| catalog.aggregate_id(uuid).is_some()),
            provider_name: self.provider_name.as_ref().filter(may_be_stored).cloned(),
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Names::default()
    }

    /// Looks the names up in the tables, with one statement for each kind (several for a long list). Returns whether
    /// the tables have a class, a trait or an aggregate that `known` lacks, and the stored name of the provider.
    pub fn look_up(&self, conn: &mut DbConnection, known: &Catalog) -> DbResult<(bool, Option<String>)> {
        let classes: Vec<String> = in_lists(&as_strs(&self.classes), |names| {
            use resource_classes as t;
            t::table.filter(t::name.eq_any(names)).select(t::name).load(&mut *conn)
        })?;
        let traits = load::traits_named(conn, &as_strs(&self.traits))?;
        let aggregates = load::aggregates_named(conn, &as_strs(&self.aggregates))?;
        // Only the database knows which names its collation equates.
        let stored_name = self.provider_name.as_ref().map(|name| {
            use resource_providers as t;
            let stored = t::table.filter(t::name.eq(name)).select(t::name).first(conn);
            stored.optional().map(Option::<Option<String>>::flatten)
        });
        let has_foreign_names = classes.iter().any(|name| known.class_id(name).is_none())
            || traits.iter().any(|(_, name)| known.trait_id(name).is_none())
            || aggregates.iter().any(|(_, uuid)| known.aggregate_id(uuid).is_none());
        Ok((has_foreign_names, stored_name.transpose()?.flatten()))
    }
}

fn as_strs(names: &BTreeSet<String>) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}
