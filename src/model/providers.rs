//! The descriptions of providers: type, properties, domains and state (`/v1/providers`). A description has a generation
//! of its own, so a new description never collides with the provider's generation.
//!
//! A row has the provider's uuid beside the provider's id. OpenStack Placement deletes a provider without the
//! description, and SQLite reuses ids. So a row with a different uuid is ignored, and replaced by the next description.

mod body;
mod listing;
mod states;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use diesel::prelude::*;

use super::pages;
use super::reads::reader::Reader;
use crate::db::engines::dialect::in_lists;
use crate::db::schema::{allocations, octet_length, placet_descriptions as table, resource_providers as providers};
use crate::db::{DbConnection, DbResult, leases};
use crate::error::{Error, Result};
use crate::search::{Description, ProviderId, ProviderRow, ProviderState, Snapshot};

pub use body::{decode_properties, encode, encode_properties};
pub use listing::{ProviderField, ProviderListQuestion, ProviderPage, fetch_described, fetch_page};
pub use states::{DomainState, HostOfDomain, SetStates, set_states};

/// The standard trait that Nova's request filter forbids on the root provider of a host.
pub const DISABLED_TRAIT: &str = "COMPUTE_STATUS_DISABLED";

/// The description of one provider, as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// Of the provider.
    pub uuid: String,
    pub name: String,
    /// `None` if the provider was never described.
    pub generation: Option<i64>,
    pub description: Description,
    /// Whether a write has left a sharing provider not up: no trait keeps Nova's claims away from the provider.
    pub nova_still_claims: bool,
}

/// A new description of one provider.
#[derive(Debug, Clone)]
pub struct Describe {
    /// Uuid.
    pub provider: String,
    /// The name that the provider must have; `None`: any name.
    pub name: Option<String>,
    /// The generation that the caller knows; `None` if the provider was never described.
    pub generation: Option<i64>,
    pub description: Description,
}

/// `PUT` and `PATCH /v1/providers/{uuid}`, and of several providers `PUT /v1/providers`.
#[derive(Debug, Clone)]
pub struct DescribeAll {
    pub providers: Vec<Describe>,
    /// Whether the body names the providers. If so, a refusal says the place in the body.
    pub is_list: bool,
    /// Whether domains may change on which rules of placed replicas depend.
    pub is_forced: bool,
}

/// This many properties and domains of a description take as long as one row of a different table.
const MEMBERS_OF_A_ROW: usize = 4;

impl DescribeAll {
    /// About how many rows the command writes. The time to write and read the descriptions counts too.
    pub fn rows(&self) -> usize {
        let members = |new: &Describe| new.description.properties.len() + new.description.domains.len();
        let members: usize = self.providers.iter().map(members).sum();
        self.providers.len() + members / MEMBERS_OF_A_ROW
    }
}

/// A row of `placet_descriptions`, without the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescriptionRow {
    pub generation: i64,
    /// Whether placet gave the provider the trait by which Nova avoids the provider.
    pub sets_trait: bool,
    pub description: Description,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = table)]
struct Columns {
    resource_provider_id: i32,
    uuid: String,
    generation: i32,
    state: String,
    sets_trait: i32,
    body: String,
}

impl Columns {
    fn into_row(self) -> DescriptionRow {
        let description = body::decode(&self.state, &self.body).unwrap_or_else(|| {
            log::error!(
                "placet_descriptions has a description of provider {} that cannot be read: it is ignored; describe the \
                 provider again",
                self.uuid
            );
            Description::default()
        });
        DescriptionRow {
            generation: self.generation.into(),
            sets_trait: self.sets_trait != 0,
            description,
        }
    }
}

/// The providers of a page, by uuid, and the uuid after which the next page begins. All rows are of one moment.
pub async fn fetch_list(
    reader: Reader,
    after: Option<String>,
    limit: usize,
) -> Result<(Vec<Described>, Option<String>)> {
    let read = reader.read(move |conn| {
        let mut query = providers::table.into_boxed();
        if let Some(after) = &after {
            query = query.filter(providers::uuid.gt(after));
        }
        let found: Vec<(i32, String, Option<String>)> = query
            .order(providers::uuid)
            .limit(i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1))
            .select((providers::id, providers::uuid, providers::name))
            .load(conn)?;
        let bytes = body_bytes(conn, &found.iter().map(|(id, ..)| *id).collect::<Vec<_>>())?;
        let (found, has_more) = pages::cut(found, limit, |(id, ..)| bytes.get(id).copied().unwrap_or(0));
        let next = found.last().filter(|_| has_more).map(|(_, uuid, _)| uuid.clone());
        Ok((described(conn, found)?, next))
    });
    read.await
}

/// The lengths of the descriptions of these providers.
fn body_bytes(conn: &mut DbConnection, ids: &[i32]) -> DbResult<HashMap<i32, usize>> {
    let found: Vec<(i32, i32)> = in_lists(ids, |ids| {
        table::table
            .filter(table::resource_provider_id.eq_any(ids))
            .select((table::resource_provider_id, octet_length(table::body)))
            .load(&mut *conn)
    })?;
    let lengths = found.into_iter();
    Ok(lengths
        .map(|(id, bytes)| (id, usize::try_from(bytes).unwrap_or(0)))
        .collect())
}

/// One provider.
///
/// # Errors
/// [`Error::ProviderNotFound`].
pub async fn fetch(reader: Reader, uuid: String) -> Result<Described> {
    let read = reader.read(move |conn| {
        let found = providers::table
            .filter(providers::uuid.eq(&uuid))
            .select((providers::id, providers::uuid, providers::name))
            .load(conn)?;
        let found = described(conn, found)?.pop();
        found.ok_or_else(|| Error::ProviderNotFound { uuid: uuid.clone() })
    });
    read.await
}

fn described(conn: &mut DbConnection, found: Vec<(i32, String, Option<String>)>) -> Result<Vec<Described>> {
    let keys: Vec<(i32, &str)> = found.iter().map(|(id, uuid, _)| (*id, uuid.as_str())).collect();
    let mut rows = rows(conn, &keys)?;
    let described = found.into_iter().map(|(id, uuid, name)| {
        let row = rows.remove(&ProviderId(id));
        Described {
            uuid,
            name: name.unwrap_or_default(),
            generation: row.as_ref().map(|row| row.generation),
            description: row.map(|row| row.description).unwrap_or_default(),
            nova_still_claims: false,
        }
    });
    Ok(described.collect())
}

/// The descriptions of providers, which `keys` names by id and uuid.
pub fn rows(conn: &mut DbConnection, keys: &[(i32, &str)]) -> DbResult<BTreeMap<ProviderId, DescriptionRow>> {
    let uuids: BTreeMap<i32, &str> = keys.iter().copied().collect();
    let ids: Vec<i32> = uuids.keys().copied().collect();
    let found: Vec<Columns> = in_lists(&ids, |ids| {
        table::table
            .filter(table::resource_provider_id.eq_any(ids))
            .select(Columns::as_select())
            .load(&mut *conn)
    })?;
    let is_of_provider = |row: &Columns| uuids.get(&row.resource_provider_id) == Some(&row.uuid.as_str());
    let rows = found.into_iter().filter(is_of_provider);
    Ok(rows
        .map(|row| (ProviderId(row.resource_provider_id), row.into_row()))
        .collect())
}

/// The states of providers whose own state is not up, or whose lease is over. `keys` has the ids and uuids.
pub fn not_up(conn: &mut DbConnection, keys: &[(i32, &str)]) -> DbResult<BTreeMap<ProviderId, ProviderState>> {
    let uuids: BTreeMap<i32, &str> = keys.iter().copied().collect();
    let ids: Vec<i32> = uuids.keys().copied().collect();
    let found: Vec<(i32, String, String)> = in_lists(&ids, |ids| {
        table::table
            .filter(table::resource_provider_id.eq_any(ids))
            .filter(table::state.ne(ProviderState::Up.name()))
            .select((table::resource_provider_id, table::uuid, table::state))
            .load(&mut *conn)
    })?;
    let states = found.into_iter().filter_map(|(id, uuid, state)| {
        let state = ProviderState::by_name(&state)?;
        (uuids.get(&id) == Some(&uuid.as_str())).then_some((ProviderId(id), state))
    });
    let mut states: BTreeMap<ProviderId, ProviderState> = states.collect();
    let names: Vec<&str> = keys.iter().map(|(_, uuid)| *uuid).collect();
    let unknown: BTreeSet<String> = leases::unknown_among(conn, &names)?.into_iter().collect();
    for (id, _) in keys.iter().filter(|(_, uuid)| unknown.contains(*uuid)) {
        states.entry(ProviderId(*id)).or_insert(ProviderState::Unknown);
    }
    Ok(states)
}

/// The consumers with allocations of any provider of these trees, each with the root of the tree.
pub fn consumers_of_trees(conn: &mut DbConnection, roots: &[i32]) -> DbResult<Vec<(ProviderId, String)>> {
    let found: Vec<(Option<i32>, String)> = in_lists(roots, |roots| {
        allocations::table
            .inner_join(providers::table.on(providers::id.eq(allocations::resource_provider_id)))
            .filter(providers::root_provider_id.eq_any(roots))
            .select((providers::root_provider_id, allocations::consumer_id))
            .distinct()
            .load(&mut *conn)
    })?;
    let found = found.into_iter();
    Ok(found
        .filter_map(|(root, consumer)| Some((ProviderId(root?), consumer)))
        .collect())
}

/// The descriptions of `reloaded` providers. A provider without a description gets an empty description.
pub fn of_reloaded(conn: &mut DbConnection, reloaded: &[ProviderRow]) -> DbResult<Vec<(ProviderId, Description)>> {
    let keys: Vec<(i32, &str)> = reloaded.iter().map(|row| (row.id.0, &*row.uuid)).collect();
    let mut rows = rows(conn, &keys)?;
    let uuids: Vec<&str> = keys.iter().map(|(_, uuid)| *uuid).collect();
    let unknown: BTreeSet<String> = leases::unknown_among(conn, &uuids)?.into_iter().collect();
    let described = reloaded.iter().map(|row| {
        let stored = rows.remove(&row.id).map(|row| row.description).unwrap_or_default();
        let is_unknown = unknown.contains(&*row.uuid);
        (row.id, Description { is_unknown, ..stored })
    });
    Ok(described.collect())
}

/// `snapshot` with all descriptions of the tables.
pub fn describe_all(conn: &mut DbConnection, snapshot: Snapshot) -> DbResult<Snapshot> {
    let found: Vec<Columns> = table::table.select(Columns::as_select()).load(conn)?;
    let known = found.into_iter().filter_map(|columns| {
        let id = ProviderId(columns.resource_provider_id);
        let slot = snapshot.by_id(id)?;
        (snapshot.uuid(slot) == columns.uuid).then(|| (id, columns.into_row().description))
    });
    let mut known: BTreeMap<ProviderId, Description> = known.collect();
    for host in leases::unknown(conn)? {
        if let Some(slot) = snapshot.by_uuid(&host) {
            known.entry(snapshot.id(slot)).or_default().is_unknown = true;
        }
    }
    Ok(snapshot.with_descriptions(known))
}
