//! Looks up names of a search that the snapshot lacks.
//!
//! A foreign writer may have created these names. A name is unknown only if the tables lack the name too.
//!
//! The tables may also have a provider in a different spelling: MariaDB's usual collations ignore case and trailing
//! spaces, and OpenStack Placement finds the provider there. The snapshot compares exactly, so names in the search are
//! replaced by the spelling in the tables. Classes, traits and aggregates are compared exactly on every database, as in
//! OpenStack Placement.

use std::collections::{BTreeSet, HashMap};

use diesel::prelude::*;

use crate::db::engines::dialect::{Folding, folding, in_lists};
use crate::db::schema::{resource_classes, resource_providers};
use crate::db::{DbConnection, DbResult};
use crate::model::snapshot::load;
use crate::search::{Catalog, Members, ProviderQuery, Request, Snapshot, Traits};

/// A search whose names can be looked up.
pub trait NamedSearch: Send + 'static {
    /// Adds all names in the search.
    fn add_names(&self, names: &mut Names);
    /// Replaces names by their stored spelling.
    fn respell(&mut self, stored: &StoredSpellings);
}

/// The names of a search, or the names to look up.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Names {
    classes: BTreeSet<String>,
    traits: BTreeSet<String>,
    aggregates: BTreeSet<String>,
    /// Uuids of providers.
    providers: BTreeSet<String>,
    /// The name of a provider.
    provider_name: Option<String>,
}

/// The result of a look-up in the tables.
pub struct StoredSpellings {
    /// Whether the tables have a class, a trait or an aggregate that the snapshot lacks.
    pub has_foreign_names: bool,
    fold: Folding,
    /// Stored uuids of providers by their folded form.
    providers: HashMap<String, String>,
    provider_name: Option<String>,
}

impl NamedSearch for Request {
    fn add_names(&self, names: &mut Names) {
        names.add_traits(&self.root_required);
        for group in &self.groups {
            names.add(&group.resources, &group.traits, &group.member_of);
            names.providers.extend(group.in_tree.clone());
        }
    }

    fn respell(&mut self, stored: &StoredSpellings) {
        for group in &mut self.groups {
            if let Some(uuid) = &mut group.in_tree {
                stored.respell_provider(uuid);
            }
        }
    }
}

impl NamedSearch for ProviderQuery {
    fn add_names(&self, names: &mut Names) {
        names.add(&self.resources, &self.traits, &self.members);
        names.providers.extend(self.in_tree.iter().chain(&self.uuid).cloned());
        names.provider_name.clone_from(&self.name);
    }

    fn respell(&mut self, stored: &StoredSpellings) {
        for uuid in [&mut self.in_tree, &mut self.uuid].into_iter().flatten() {
            stored.respell_provider(uuid);
        }
        if let (Some(name), Some(stored)) = (&mut self.name, &stored.provider_name) {
            name.clone_from(stored);
        }
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
        let all = traits.required.iter().flatten().chain(&traits.forbidden);
        self.traits.extend(all.cloned());
    }

    /// Adds uuids of providers.
    pub fn add_providers<'a>(&mut self, uuids: impl Iterator<Item = &'a String>) {
        self.providers.extend(uuids.cloned());
    }

    /// The names in a search that `snapshot` lacks, and the tables may have. Names of providers are dropped if the
    /// database compares exactly: the snapshot has every provider, so only a different spelling is worth a look-up. No
    /// class and no trait has a NUL in its name, which PostgreSQL refuses even in a comparison.
    pub fn unknown_to(snapshot: &Snapshot, search: &impl NamedSearch, compares_exactly: bool) -> Names {
        let mut names = Names::default();
        search.add_names(&mut names);
        let catalog = snapshot.catalog();
        let may_exist = |name: &String| !name.contains('\0');
        names
            .classes
            .retain(|name| may_exist(name) && catalog.class_id(name).is_none());
        names
            .traits
            .retain(|name| may_exist(name) && catalog.trait_id(name).is_none());
        names.aggregates.retain(|uuid| catalog.aggregate_id(uuid).is_none());
        names
            .providers
            .retain(|uuid| !compares_exactly && snapshot.by_uuid(uuid).is_none());
        names
            .provider_name
            .take_if(|name| compares_exactly || snapshot.by_name(name).is_some());
        names
    }

    pub fn is_empty(&self) -> bool {
        *self == Names::default()
    }

    /// Looks the names up in the tables, with one statement for each kind (several for a long list).
    pub fn look_up(&self, conn: &mut DbConnection, known: &Catalog) -> DbResult<StoredSpellings> {
        let classes: Vec<String> = in_lists(&as_strs(&self.classes), |names| {
            use resource_classes as t;
            t::table.filter(t::name.eq_any(names)).select(t::name).load(&mut *conn)
        })?;
        let traits = load::traits_named(conn, &as_strs(&self.traits))?;
        let aggregates = load::aggregates_named(conn, &as_strs(&self.aggregates))?;
        let providers: Vec<String> = in_lists(&as_strs(&self.providers), |uuids| {
            use resource_providers as t;
            t::table.filter(t::uuid.eq_any(uuids)).select(t::uuid).load(&mut *conn)
        })?;
        let fold = folding(conn);
        Ok(StoredSpellings {
            has_foreign_names: classes.iter().any(|name| known.class_id(name).is_none())
                || traits.iter().any(|(_, name)| known.trait_id(name).is_none())
                || aggregates.iter().any(|(_, uuid)| known.aggregate_id(uuid).is_none()),
            fold,
            providers: providers.into_iter().map(|uuid| (fold(&uuid), uuid)).collect(),
            provider_name: self.stored_name(conn)?,
        })
    }

    /// The stored spelling of the provider's name. Asks the database, because only the database knows which names its
    /// collation equates.
    fn stored_name(&self, conn: &mut DbConnection) -> DbResult<Option<String>> {
        use resource_providers as t;
        let Some(name) = &self.provider_name else {
            return Ok(None);
        };
        let stored: Option<Option<String>> = t::table
            .filter(t::name.eq(name))
            .select(t::name)
            .first(conn)
            .optional()?;
        Ok(stored.flatten())
    }
}

impl StoredSpellings {
    /// Replaces the uuid of a provider.
    pub fn respell_provider(&self, uuid: &mut String) {
        if let Some(stored) = self.providers.get(&(self.fold)(uuid)) {
            uuid.clone_from(stored);
        }
    }
}

fn as_strs(names: &BTreeSet<String>) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}
