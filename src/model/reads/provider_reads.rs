//! The reads that compute nodes repeat for their provider, coalesced.
//!
//! Every change of inventories and traits moves the provider's generation. One statement, sent after the request
//! arrived, reads the generation and time. If the snapshot shows the same, the request is answered from the snapshot.
//! Changes of aggregates may move no generation, and allocations are not in memory, so both are read from the tables.
//! If the snapshot and the row differ, or the uuid has a different spelling, the request reads alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use super::blocking::within_timeout;
use super::coalescer::Coalescer;
use super::reader::Reader;
use crate::db::{Database, DbConnection, SetupError};
use crate::error::Result;
use crate::model::Moment;
use crate::model::aggregates::{self, ProviderAggregates};
use crate::model::allocations::{self, ProviderAllocations};
use crate::model::inventories::{self, Inventories};
use crate::model::resource_providers::{self, ProviderVersion};
use crate::model::snapshot::store::SnapshotStore;
use crate::model::standard::FIRST_CUSTOM_CLASS;
use crate::model::traits::{self, ProviderTraits, Trait};
use crate::search::{Catalog, Slot, Snapshot, TraitId};

/// The coalesced reads, and the caches of the reads.
pub struct ProviderReads {
    store: Arc<SnapshotStore>,
    versions: Coalescer<String, Option<ProviderVersion>>,
    aggregates: Coalescer<String, Option<Arc<ProviderAggregates>>>,
    allocations: Coalescer<String, Option<Arc<ProviderAllocations>>>,
    trait_times: RwLock<TraitTimes>,
}

/// The times of traits, read while the snapshot had this catalog. A trait that a provider has cannot be deleted. So the
/// trait's time cannot change while the trait's id is the same.
#[derive(Default)]
struct TraitTimes {
    catalog: Catalog,
    by_id: HashMap<TraitId, Moment>,
}

/// Turns a statement that reads several providers into a read of each. `None` for a uuid that the tables do not have in
/// this spelling.
fn each<T: Clone>(
    read_all: impl Fn(&mut DbConnection, &[&str]) -> Result<HashMap<String, T>>,
) -> impl Fn(&Database, &[&String]) -> Result<Vec<Option<T>>> {
    move |database, uuids| {
        let distinct: BTreeSet<&str> = uuids.iter().map(|uuid| uuid.as_str()).collect();
        let distinct: Vec<&str> = distinct.into_iter().collect();
        let found = database.ask(|conn| read_all(conn, &distinct))?;
        Ok(uuids.iter().map(|uuid| found.get(*uuid).cloned()).collect())
    }
}

impl ProviderReads {
    pub fn start(database: &Database, store: Arc<SnapshotStore>) -> std::result::Result<ProviderReads, SetupError> {
        // One thread for reads that take hardly longer than their round trip, so that many requests share each read.
        // Two for allocations, which have many rows: while one thread processes rows, the server works for the second.
        Ok(ProviderReads {
            store,
            versions: Coalescer::start(database, 1, each(resource_providers::versions))?,
            aggregates: Coalescer::start(database, 1, each(aggregates::of_providers))?,
            allocations: Coalescer::start(database, 2, each(allocations::of_providers))?,
            trait_times: RwLock::default(),
        })
    }

    /// The provider in the newest snapshot, if the database has the same version of the provider.
    async fn verified(&self, uuid: &str) -> Result<Option<(Arc<Snapshot>, Slot, ProviderVersion)>> {
        let Some(version) = self.versions.read(uuid.to_owned()).await? else {
            return Ok(None);
        };
        let snapshot = self.store.newest();
        let slot = snapshot.by_uuid(uuid).filter(|_| !self.store.is_invalid());
        let is_same = |slot: &Slot| {
            (snapshot.id(*slot), snapshot.generation(*slot), snapshot.modified(*slot))
                == (version.id, version.generation, version.modified)
        };
        Ok(slot.filter(is_same).map(|slot| (snapshot, slot, version)))
    }

    /// The inventories from the snapshot; `None` if the tables must be read.
    async fn inventories(&self, uuid: &str) -> Result<Option<Inventories>> {
        let Some((snapshot, slot, version)) = self.verified(uuid).await? else {
            return Ok(None);
        };
        let named = |(class, inventory, _used)| {
            // A custom class may have been renamed. A rename moves no generation.
            let name = snapshot
                .catalog()
                .class_name(class)
                .filter(|_| class.0 < FIRST_CUSTOM_CLASS)?;
            Some((class, (name.clone(), inventory)))
        };
        let inventories: Option<BTreeMap<_, _>> = snapshot.inventories(slot).map(named).collect();
        Ok(inventories.map(|inventories| Inventories {
            provider: uuid.into(),
            generation: version.generation,
            inventories: inventories.into_values().collect(),
            modified: version.inventories_updated_at,
        }))
    }

    /// The traits from the snapshot; `None` if the tables must be read.
    async fn traits(&self, uuid: &str) -> Result<Option<ProviderTraits>> {
        let Some((snapshot, slot, version)) = self.verified(uuid).await? else {
            return Ok(None);
        };
        let times = self.trait_times.read().unwrap_or_else(PoisonError::into_inner);
        if !times.catalog.ptr_eq(snapshot.catalog()) {
            return Ok(None);
        }
        let ids: BTreeSet<TraitId> = snapshot.traits(slot).collect();
        let cached = |id: TraitId| {
            Some(Trait {
                name: snapshot.catalog().trait_name(id)?.clone(),
                modified: *times.by_id.get(&id)?,
            })
        };
        let traits: Option<Vec<Trait>> = ids.into_iter().map(cached).collect();
        Ok(traits.map(|traits| ProviderTraits {
            generation: version.generation,
            traits,
        }))
    }

    /// Caches the times of traits, read while the snapshot had `catalog`.
    fn cache_trait_times(&self, found: &ProviderTraits, catalog: &Catalog) {
        if !catalog.ptr_eq(self.store.newest().catalog()) {
            return;
        }
        let mut times = self.trait_times.write().unwrap_or_else(PoisonError::into_inner);
        if !times.catalog.ptr_eq(catalog) {
            times.catalog = catalog.clone();
            times.by_id.clear();
        }
        let read = found.traits.iter();
        let by_id = read.filter_map(|read| Some((catalog.trait_id(&read.name)?, read.modified)));
        times.by_id.extend(by_id);
    }
}

/// Whether the text looks like a uuid. Any different text is read alone: if the database refuses the text, only this
/// request fails, and not every request of the statement.
fn may_coalesce(uuid: &str) -> bool {
    uuid.len() == 36 && uuid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Reads an answer about a provider.
pub struct ProviderReader {
    pub(in crate::model) reader: Reader,
    /// `None` on a replica and on SQLite.
    pub(in crate::model) coalesced: Option<Arc<ProviderReads>>,
}

impl ProviderReader {
    /// Reads with the `coalesced` read if possible, else with the `single` read; both within the timeout.
    async fn coalesced_or<T: Send + 'static>(
        self,
        uuid: String,
        coalesced: impl AsyncFnOnce(&ProviderReads, &str) -> Result<Option<T>>,
        single: impl Fn(&mut DbConnection, &str) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        let (reader, provider_reads) = (self.reader, self.coalesced.filter(|_| may_coalesce(&uuid)));
        within_timeout(reader.timeout, async {
            if let Some(provider_reads) = provider_reads
                && let Some(found) = coalesced(&provider_reads, &uuid).await?
            {
                return Ok(found);
            }
            reader.ask(move |conn| single(conn, &uuid)).await
        })
        .await
    }

    /// See [`inventories::list`].
    pub async fn inventories(self, uuid: String) -> Result<Inventories> {
        self.coalesced_or(uuid, ProviderReads::inventories, inventories::list)
            .await
    }

    /// See [`traits::of_provider`].
    pub async fn traits(self, uuid: String) -> Result<ProviderTraits> {
        let provider_reads = self.coalesced.clone();
        let single = move |conn: &mut DbConnection, uuid: &str| {
            let Some(reads) = &provider_reads else {
                return traits::of_provider(conn, uuid);
            };
            let catalog = reads.store.newest().catalog().clone();
            let found = traits::of_provider(conn, uuid)?;
            reads.cache_trait_times(&found, &catalog);
            Ok(found)
        };
        self.coalesced_or(uuid, ProviderReads::traits, single).await
    }

    /// See [`aggregates::of_provider`].
    pub async fn aggregates(self, uuid: String) -> Result<Arc<ProviderAggregates>> {
        let coalesced = async |reads: &ProviderReads, uuid: &str| reads.aggregates.read(uuid.to_owned()).await;
        self.coalesced_or(uuid, coalesced, aggregates::of_provider).await
    }

    /// See [`allocations::of_provider`].
    pub async fn allocations(self, uuid: String) -> Result<Arc<ProviderAllocations>> {
        let coalesced = async |reads: &ProviderReads, uuid: &str| reads.allocations.read(uuid.to_owned()).await;
        self.coalesced_or(uuid, coalesced, allocations::of_provider).await
    }
}
