//! Tests of the search as a whole, on small worlds: providers in trees, with inventories and usage.

mod by_host;
mod candidates;
mod capacity;
mod descriptions;
mod explanations;
mod interrupts;
mod oracle;
mod over_normal;
mod properties;
mod providers;
mod ranks;
mod requests;
mod samples;
mod sequences;
mod sharing;
mod totals;
mod trees;
mod versions;
mod wide;
mod worlds;
mod zone_maps;

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use super::candidate::Candidate;
use super::candidates::CandidateIter;
use super::request::{Group, MemberOf, Request, Traits};
use super::settings::{SearchLimits, SearchSettings, TreeOrder};
use super::snapshot::{
    AggregateId, Catalog, ClassId, Inventory, ProviderId, ProviderRow, Slot, Snapshot, TextIndex, TraitId,
};
use crate::error::Result;
use oracle::World;
pub(super) use properties::few_cases;

pub(super) const VCPU: ClassId = ClassId(0);
pub(super) const DISK: ClassId = ClassId(2);

/// Classes VCPU, MEMORY_MB, DISK_GB (0 to 2), traits SHARES, T2, T3, T4, aggregates a1, a2, a3.
pub(super) fn catalog() -> Catalog {
    let named = |names: &[&str]| names.iter().map(|&name| Arc::from(name)).collect::<Vec<Arc<str>>>();
    Catalog::new(
        (0..)
            .map(ClassId)
            .zip(named(&["VCPU", "MEMORY_MB", "DISK_GB"]))
            .collect(),
        (1..)
            .map(TraitId)
            .zip(named(&["MISC_SHARES_VIA_AGGREGATE", "T2", "T3", "T4"]))
            .collect(),
        (1..).map(AggregateId).zip(named(&["a1", "a2", "a3"])).collect(),
    )
}

pub(super) fn uuid(id: i32) -> String {
    format!("uuid-{id}")
}

/// A root without anything.
pub(super) fn bare(id: i32) -> ProviderRow {
    ProviderRow::bare(ProviderId(id), uuid(id), format!("name-{id}"))
}

pub(super) fn stock(total: i32) -> Inventory {
    Inventory::whole(total)
}

impl ProviderRow {
    fn with(mut self, class: ClassId, total: i32) -> Self {
        self.inventories.insert(class, stock(total));
        self
    }

    fn using(mut self, class: ClassId, used: i64) -> Self {
        self.used.insert(class, used);
        self
    }

    fn below(mut self, parent: i32, root: i32) -> Self {
        (self.parent, self.root) = (Some(ProviderId(parent)), ProviderId(root));
        self
    }

    fn traits<const N: usize>(mut self, ids: [i32; N]) -> Self {
        self.traits = ids.map(TraitId).into();
        self
    }

    fn in_aggregates<const N: usize>(mut self, ids: [i32; N]) -> Self {
        self.aggregates = ids.map(AggregateId).into();
        self
    }
}

/// A snapshot in whose indexes many names and uuids collide.
pub(super) fn build_colliding(rows: Vec<ProviderRow>) -> Snapshot {
    Snapshot::lay_out_with(
        [TextIndex::colliding(), TextIndex::colliding()],
        catalog(),
        Snapshot::sorted_by_tree(rows),
    )
}

pub(super) fn rows(all: impl IntoIterator<Item = ProviderRow>) -> World {
    all.into_iter().map(|row| (row.id, row)).collect()
}

pub(super) fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// A group without a suffix.
pub(super) fn group(resources: &[(&str, i64)]) -> Group {
    let resources = resources
        .iter()
        .map(|&(class, amount)| (class.to_owned(), amount))
        .collect();
    Group {
        resources,
        ..Group::default()
    }
}

pub(super) fn request(group: Group) -> Request {
    Request::of_groups(vec![group])
}

/// Small, so that random worlds of a few providers reach the bound and the eviction of waiting trees.
const TIGHT_LIMITS: SearchLimits = SearchLimits {
    steps_before_bound: 0,
    waiting_words: 500,
    explanation_searches: usize::MAX,
};

pub(super) fn settings() -> SearchSettings {
    SearchSettings {
        limits: TIGHT_LIMITS,
        ..SearchSettings::uncut(7)
    }
}

/// A whole answer.
#[derive(Debug)]
pub(super) struct Found {
    pub candidates: Vec<Candidate>,
    pub summaries: Vec<Slot>,
    pub cut: bool,
}

impl<S: Deref<Target = Snapshot>> CandidateIter<S> {
    pub(super) fn found(self) -> Result<Found> {
        let mut selection = self.select();
        let candidates = selection.by_ref().collect::<Result<_>>()?;
        Ok(Found {
            candidates,
            cut: selection.is_cut(),
            summaries: selection.into_summaries().into_iter().flatten().collect(),
        })
    }
}

pub(super) fn required(names: &[&str]) -> Traits {
    Traits {
        required: names.iter().map(|&name| set(&[name])).collect(),
        forbidden: BTreeSet::new(),
    }
}

pub(super) fn member_of(uuids: &[&str]) -> MemberOf {
    MemberOf {
        any_of: vec![set(uuids)],
        forbidden: BTreeSet::new(),
    }
}
