//! The reads that compute nodes repeat for their provider, coalesced.
//!
//! Inventories and traits are guarded by the provider's generation. They are answered from the snapshot if one statement,
//! sent after the request came, finds the provider with the generation and time that the snapshot shows: then no program has
//! changed them since. Aggregates move no generation, and allocations are not in memory, so both are read from the tables.
//! If the snapshot and the row differ, or the uuid is spelled in another way, the request reads by itself.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::coalescer::Coalescer;
use super::reader::{Reader, in_time};
use crate::db::{Database, DbConnection, SetupError};
use crate::error::Result;
use crate::model::Moment;
use crate::model::aggregates::{self, ProviderAggregates};
use crate::model::allocations::{self, ProviderAllocations};
use crate::model::inventories::{self, Inventories};
use crate::model::resource_providers::{self, Seen};
use crate::model::snapshot::store::SnapshotStore;
use crate::model::standard::FIRST_CUSTOM_CLASS;
use crate::model::traits::{self, ProviderTraits, Trait};
use crate::search::{Catalog, Slot, Snapshot, TraitId};

/// The coalesced reads, and what is known in memory.
pub struct ProviderReads {
    live: Arc<SnapshotStore>,
    seen: Coalescer<Seen>,
    aggregates: Coalescer<Arc<ProviderAggregates>>,
    allocations: Coalescer<Arc<ProviderAllocations>>,
    times: RwLock<Times>,
}

/// The times of traits, read while the catalog was this one. A trait that a provider has cannot be deleted, so its time
/// cannot change while its id is the same.
struct Times {
    catalog: Catalog,
    known: HashMap<TraitId, Moment>,
}

impl ProviderReads {
    pub fn start(database: &Database, live: Arc<SnapshotStore>) -> std::result::Result<ProviderReads, SetupError> {
        // A read that takes hardly longer than its round trip should be shared by many requests: one thread. Allocations have many
        // rows: while one thread processes them, the server works for the other.
        Ok(ProviderReads {
            live,
            seen: Coalescer::start(database, 1, resource_providers::seen)?,
            aggregates: Coalescer::start(database, 1, aggregates::of_providers)?,
            allocations: Coalescer::start(database, 2, allocations::of_providers)?,
            times: RwLock::new(Times {
                catalog: Catalog::default(),
                known: HashMap::new(),
            }),
        })
    }

    /// The provider in the newest snapshot, if the database has the same.
    async fn shown(&self, uuid: &str) -> Result<Option<(Arc<Snapshot>, Slot, Seen)>> {
        let Some(seen) = self.seen.of(uuid).await? else {
            return Ok(None);
        };
        let snapshot = self.live.newest();
        let slot = snapshot.by_uuid(uuid).filter(|_| !self.live.is_invalid());
        let agrees = |slot: &Slot| {
            (snapshot.id(*slot), snapshot.generation(*slot), snapshot.modified(*slot))
                == (seen.id, seen.generation, seen.modified)
        };
        Ok(slot.filter(agrees).map(|slot| (snapshot, slot, seen)))
    }

    async fn inventories(&self, uuid: &str) -> Result<Option<Inventories>> {
        let Some((snapshot, slot, seen)) = self.shown(uuid).await? else {
            return Ok(None);
        };
        let named = |(class, inventory, _used)| {
            // A custom class may be renamed, and only its row shows that.
            let name = snapshot
                .catalog()
                .class_name(class)
                .filter(|_| class.0 < FIRST_CUSTOM_CLASS)?;
            Some((class, (name.clone(), inventory)))
        };
        let found: Option<Vec<_>> = snapshot.inventories(slot).map(named).collect();
        Ok(found.map(|mut found| {
            found.sort_unstable_by_key(|(class, _)| *class);
            Inventories {
                provider: uuid.into(),
                generation: seen.generation,
                inventories: found.into_iter().map(|(_, named)| named).collect(),
                modified: seen.inventories_updated_at,
            }
        }))
    }

    async fn traits(&self, uuid: &str) -> Result<Option<ProviderTraits>> {
        let Some((snapshot, slot, seen)) = self.shown(uuid).await? else {
            return Ok(None);
        };
        let times = self.times.read().unwrap_or_else(PoisonError::into_inner);
        if !times.catalog.is(snapshot.catalog()) {
            return Ok(None);
        }
        let mut ids: Vec<TraitId> = snapshot.traits(slot).collect();
        ids.sort_unstable();
        let known = |id: TraitId| {
            Some(Trait {
                name: snapshot.catalog().trait_name(id)?.clone(),
                modified: *times.known.get(&id)?,
            })
        };
        let traits: Option<Vec<Trait>> = ids.into_iter().map(known).collect();
        Ok(traits.map(|traits| ProviderTraits {
            generation: seen.generation,
            traits,
        }))
    }

    /// Stores the times of traits that were read while the catalog was `catalog`.
    fn learn(&self, found: &ProviderTraits, catalog: &Catalog) {
        if !catalog.is(self.live.newest().catalog()) {
            return;
        }
        let mut times = self.times.write().unwrap_or_else(PoisonError::into_inner);
        if !times.catalog.is(catalog) {
            times.catalog = catalog.clone();
            times.known.clear();
        }
        let read = found.traits.iter();
        times
            .known
            .extend(read.filter_map(|it| Some((catalog.trait_id(&it.name)?, it.modified))));
    }
}

/// A text that is no uuid is read by itself: the database may refuse it, and with it every request that shares its statement.
fn may_be_shared(uuid: &str) -> bool {
    uuid.len() == 36 && uuid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

impl Reader {
    /// Reads coalesced if possible, else by itself; both within the timeout.
    async fn coalesced_or<T: Send + 'static>(
        self,
        uuid: String,
        shared: impl AsyncFnOnce(&ProviderReads, &str) -> Result<Option<T>>,
        ask: impl Fn(&mut DbConnection, &str) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        in_time(self.timeout, async {
            let together = self.provider_reads.clone().filter(|_| may_be_shared(&uuid));
            if let Some(together) = together
                && let Some(found) = shared(&together, &uuid).await?
            {
                return Ok(found);
            }
            self.ask(move |conn| ask(conn, &uuid)).await
        })
        .await
    }

    /// See [`inventories::list`].
    pub async fn inventories(self, uuid: String) -> Result<Inventories> {
        let shared = async |together: &ProviderReads, uuid: &str| together.inventories(uuid).await;
        self.coalesced_or(uuid, shared, inventories::list).await
    }

    /// See [`traits::of_provider`].
    pub async fn traits(self, uuid: String) -> Result<ProviderTraits> {
        let together = self.provider_reads.clone();
        let shared = async |together: &ProviderReads, uuid: &str| together.traits(uuid).await;
        let ask = move |conn: &mut DbConnection, uuid: &str| {
            let catalog = together.as_ref().map(|it| it.live.newest().catalog().clone());
            let found = traits::of_provider(conn, uuid)?;
            if let (Some(together), Some(catalog)) = (&together, catalog) {
                together.learn(&found, &catalog);
            }
            Ok(found)
        };
        self.coalesced_or(uuid, shared, ask).await
    }

    /// See [`aggregates::of_provider`].
    pub async fn aggregates(self, uuid: String) -> Result<Arc<ProviderAggregates>> {
        let shared = async |together: &ProviderReads, uuid: &str| together.aggregates.of(uuid).await;
        let ask = |conn: &mut DbConnection, uuid: &str| aggregates::of_provider(conn, uuid).map(Arc::new);
        self.coalesced_or(uuid, shared, ask).await
    }

    /// See [`allocations::of_provider`].
    pub async fn allocations(self, uuid: String) -> Result<Arc<ProviderAllocations>> {
        let shared = async |together: &ProviderReads, uuid: &str| together.allocations.of(uuid).await;
        let ask = |conn: &mut DbConnection, uuid: &str| allocations::of_provider(conn, uuid).map(Arc::new);
        self.coalesced_or(uuid, shared, ask).await
    }
}
