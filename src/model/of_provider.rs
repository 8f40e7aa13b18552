//! What a compute node asks of its provider over and over, read for all requests that wait together.
//!
//! What a generation guards is answered from the snapshot, where one statement, sent after the request came, finds the
//! provider as the snapshot shows it: then nobody has changed that since, whoever it be. What moves no generation is read:
//! aggregates, and allocations, which are not in memory. What does not agree, or is spelled otherwise, is read as by itself.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::Moment;
use super::aggregates::{self, ProviderAggregates};
use super::allocations::{self, ProviderAllocations};
use super::inventories::{self, Inventories};
use super::live::Live;
use super::reader::{Reader, in_time};
use super::resource_providers::{self, Seen};
use super::shared::Shared;
use super::standard::FIRST_CUSTOM_CLASS;
use super::traits::{self, ProviderTraits, Trait};
use crate::db::{Database, DbConnection, SetupError};
use crate::error::Result;
use crate::search::{Catalog, Slot, Snapshot, TraitId};

/// What is read together, and what is known in memory.
pub struct Together {
    live: Arc<Live>,
    seen: Shared<Seen>,
    aggregates: Shared<Arc<ProviderAggregates>>,
    allocations: Shared<Arc<ProviderAllocations>>,
    times: RwLock<Times>,
}

/// Since when traits are there, as far as that was read while the names were these. A trait of a provider cannot go, so
/// neither can its time change while its id is the same.
struct Times {
    catalog: Catalog,
    known: HashMap<TraitId, Moment>,
}

impl Together {
    pub fn start(database: &Database, live: Arc<Live>) -> std::result::Result<Together, SetupError> {
        // Of what takes hardly longer than the way to the server, much is to be shared: by one thread. Rows of allocations are
        // many, and while one thread makes something of them the server is to look for those of another.
        Ok(Together {
            live,
            seen: Shared::start(database, 1, resource_providers::seen)?,
            aggregates: Shared::start(database, 1, aggregates::of_providers)?,
            allocations: Shared::start(database, 2, allocations::of_providers)?,
            times: RwLock::new(Times {
                catalog: Catalog::default(),
                known: HashMap::new(),
            }),
        })
    }

    /// The provider in the newest snapshot, if that is what the database has.
    async fn shown(&self, uuid: &str) -> Result<Option<(Arc<Snapshot>, Slot, Seen)>> {
        let Some(seen) = self.seen.of(uuid).await? else {
            return Ok(None);
        };
        let snapshot = self.live.newest();
        let slot = snapshot.by_uuid(uuid).filter(|_| !self.live.is_doubtful());
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
            // A custom class may be renamed, and nothing but its row tells of it.
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
                modified: seen.stocked,
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

    /// Remembers the times of traits that were read while the names were those of `catalog`.
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

/// What is no uuid is asked for by itself: the database may refuse a text, and with it everybody who shares its statement.
fn may_be_shared(uuid: &str) -> bool {
    uuid.len() == 36 && uuid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

impl Reader {
    /// What is read together of a provider, where there is anything; else what is read by itself. All of it in time.
    async fn together_or<T: Send + 'static>(
        self,
        uuid: String,
        shared: impl AsyncFnOnce(&Together, &str) -> Result<Option<T>>,
        ask: impl Fn(&mut DbConnection, &str) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        in_time(self.patience, async {
            let together = self.together.clone().filter(|_| may_be_shared(&uuid));
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
        let shared = async |together: &Together, uuid: &str| together.inventories(uuid).await;
        self.together_or(uuid, shared, inventories::list).await
    }

    /// See [`traits::of_provider`].
    pub async fn traits(self, uuid: String) -> Result<ProviderTraits> {
        let together = self.together.clone();
        let shared = async |together: &Together, uuid: &str| together.traits(uuid).await;
        let ask = move |conn: &mut DbConnection, uuid: &str| {
            let catalog = together.as_ref().map(|it| it.live.newest().catalog().clone());
            let found = traits::of_provider(conn, uuid)?;
            if let (Some(together), Some(catalog)) = (&together, catalog) {
                together.learn(&found, &catalog);
            }
            Ok(found)
        };
        self.together_or(uuid, shared, ask).await
    }

    /// See [`aggregates::of_provider`].
    pub async fn aggregates(self, uuid: String) -> Result<Arc<ProviderAggregates>> {
        let shared = async |together: &Together, uuid: &str| together.aggregates.of(uuid).await;
        let ask = |conn: &mut DbConnection, uuid: &str| aggregates::of_provider(conn, uuid).map(Arc::new);
        self.together_or(uuid, shared, ask).await
    }

    /// See [`allocations::of_provider`].
    pub async fn allocations(self, uuid: String) -> Result<Arc<ProviderAllocations>> {
        let shared = async |together: &Together, uuid: &str| together.allocations.of(uuid).await;
        let ask = |conn: &mut DbConnection, uuid: &str| allocations::of_provider(conn, uuid).map(Arc::new);
        self.together_or(uuid, shared, ask).await
    }
}
