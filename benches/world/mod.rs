//! What every bench writes down: rows, requests, and the settings of a search. What only some of them need is theirs.

use std::collections::{BTreeMap, BTreeSet};

use placet::search::{
    ClassId, Group, GroupPolicy, Interrupt, Inventory, ProviderId, ProviderRow, Request, Settings, Strategy, Traits,
};

/// Those of a deployment that cuts nothing, one tree after the other.
pub fn settings() -> Settings {
    Settings {
        seed: 1,
        max: None,
        ceiling: usize::MAX,
        strategy: Strategy::DepthFirst,
        strict_step: false,
        interrupt: Interrupt::default(),
    }
}

/// A root with nothing.
pub fn row(id: i32) -> ProviderRow {
    ProviderRow {
        id: ProviderId(id),
        uuid: format!("uuid-{id}").into(),
        name: format!("name-{id}").into(),
        generation: 0,
        parent: None,
        root: ProviderId(id),
        modified: 0,
        inventories: BTreeMap::new(),
        used: BTreeMap::new(),
        traits: BTreeSet::new(),
        aggregates: BTreeSet::new(),
    }
}

/// How rows are written down.
pub trait Writing {
    fn with(self, class: ClassId, total: i32) -> Self;
    fn below(self, root: i32) -> Self;
}

impl Writing for ProviderRow {
    fn with(mut self, class: ClassId, total: i32) -> Self {
        let stock = Inventory {
            total,
            reserved: 0,
            min_unit: 1,
            max_unit: total,
            step_size: 1,
            allocation_ratio: 1.0,
        };
        self.inventories.insert(class, stock);
        self
    }

    fn below(mut self, root: i32) -> Self {
        (self.parent, self.root) = (Some(ProviderId(root)), ProviderId(root));
        self
    }
}

/// `resources{suffix}` of a query; without a suffix it is the group that several providers may serve together.
pub fn group(suffix: &str, resources: &[(&str, i64)]) -> Group {
    Group {
        suffix: suffix.to_owned(),
        resources: resources
            .iter()
            .map(|(class, amount)| ((*class).to_owned(), *amount))
            .collect(),
        ..Group::default()
    }
}

pub fn request(groups: Vec<Group>, policy: GroupPolicy, limit: Option<usize>) -> Request {
    Request {
        groups,
        group_policy: Some(policy),
        same_subtrees: Vec::new(),
        root_required: Traits::default(),
        limit,
        nested: true,
    }
}
