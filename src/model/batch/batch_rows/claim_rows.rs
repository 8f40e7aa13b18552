//! Reads the rows behind a refusal of claims and releases by a single statement.
//!
//! Naively, a refusal would be verified as a batch is decided from the database: some eleven statements. They also read
//! rows that claims do not need, such as traits, and rows that only writes need, such as owners.
//!
//! So a single statement reads the rows behind the refusal, and nothing else. Ids of providers are taken from the
//! snapshot; the statement shows whether the ids still belong to the uuids.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::db::claim_rows::{self, ClaimKeys, ClaimRow};
use crate::db::engines::dialect::folding;
use crate::db::{DbConnection, DbResult};
use crate::model::batch::base::Rows;
use crate::model::batch::collation::CollatedNames;
use crate::model::batch::footprint::{Footprint, Reach};
use crate::model::batch::state::{ConsumerEntry, ConsumerRow};
use crate::model::snapshot::lineage;
use crate::model::snapshot::load::parts::{Parts, ProviderColumns, UsedColumns};
use crate::search::{Catalog, ClassId, ProviderId, ProviderRow, Snapshot};

/// The rows on which refusals of claims and releases depend. They are not enough to write the changes.
pub struct ClaimState {
    /// Without ids and owners.
    pub consumers: BTreeMap<String, ConsumerEntry>,
    /// The providers without names and places in trees, and the classes of the commands.
    pub rows: Rows,
}

/// Whether [`claim_rows()`] may read the rows of the commands: claims that wipe no consumer, and releases, but no
/// workloads. The generations of a wiped consumer's providers move, and the command does not name these providers.
fn is_read_by_one_statement(footprint: &Footprint<'_>) -> bool {
    footprint.reach == Reach::Claims && footprint.wiped.is_empty() && footprint.workloads.is_empty()
}

/// The rows of the footprint, at one moment. `None` if the statement cannot read all rows:
/// - [`is_read_by_one_statement`] is false.
/// - A provider is not in the snapshot, or has a different id there.
/// - States are needed, and a named provider is not up in the snapshot: another process may have changed the state.
/// - Two consumers are equal to the database, or the keys are too many.
pub fn claim_rows(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
    snapshot: &Snapshot,
) -> DbResult<Option<ClaimState>> {
    let uuids: Vec<&str> = footprint.consumers.iter().copied().collect();
    let Ok(collated) = CollatedNames::distinct(conn, &uuids) else {
        return Ok(None);
    };
    if !is_read_by_one_statement(footprint) {
        return Ok(None);
    }
    let provider_ids = footprint.known_providers(snapshot);
    if footprint.needs_states && !lineage::are_up(snapshot, &provider_ids) {
        return Ok(None);
    }
    let keys = ClaimKeys {
        consumers: uuids,
        providers: footprint.providers.iter().copied().collect(),
        provider_ids,
        classes: footprint.classes.iter().copied().collect(),
    };
    let Some(found) = claim_rows::read(conn, &keys)? else {
        return Ok(None);
    };
    let mut consumers: BTreeMap<String, ConsumerEntry> = BTreeMap::new();
    let mut parts = Parts::default();
    let mut classes: Vec<(ClassId, Arc<str>)> = Vec::new();
    for row in found {
        match row {
            ClaimRow::Consumer { uuid, generation } => {
                let entry = consumers.entry(collated.as_requested(uuid)).or_default();
                entry.now = Some(ConsumerRow {
                    generation: generation.into(),
                    ..ConsumerRow::default()
                });
            }
            ClaimRow::Allocation {
                consumer,
                provider,
                class,
                used,
            } => {
                let entry = consumers.entry(collated.as_requested(consumer)).or_default();
                let allocation = (ProviderId(provider), ClassId(class), used.into());
                entry.allocations.push(allocation);
            }
            ClaimRow::Provider { id, uuid, generation } => {
                if !keys.provider_ids.contains(&id) {
                    return Ok(None);
                }
                // Only answers show the name, so the snapshot's name is new enough.
                let slot = snapshot.by_id(ProviderId(id));
                let name = slot.map(|slot| snapshot.name(slot).to_owned());
                parts
                    .providers
                    .push(ProviderColumns::unplaced(id, uuid, name, generation));
            }
            ClaimRow::Inventory(row) => parts.inventories.push(row),
            ClaimRow::Usage { provider, class, used } => parts.used.push(UsedColumns {
                provider,
                class,
                used: Some(used),
            }),
            ClaimRow::Class { id, name } => classes.push((ClassId(id), name.into())),
        }
    }
    let providers: Vec<ProviderRow> = parts.into_rows(conn).collect();
    let catalog =
        Catalog::new(classes, Vec::new(), Vec::new()).with_declarations(Arc::clone(snapshot.catalog().declarations()));
    let rows = Rows::new(catalog, providers, folding(conn), HashMap::new()).with_classes_alone();
    Ok(Some(ClaimState { consumers, rows }))
}
