//! What every bench writes down: rows, requests, and the settings of a search. What only some of them need is theirs.

use placet::search::{ClassId, Group, GroupPolicy, Inventory, ProviderId, ProviderRow, Request, Settings, Traits};

/// Those of a deployment that cuts nothing, one tree after the other.
pub fn settings() -> Settings {
    Settings::uncut(1)
}

/// A root with nothing.
pub fn row(id: i32) -> ProviderRow {
    ProviderRow::bare(ProviderId(id), format!("uuid-{id}"), format!("name-{id}"))
}

/// How rows are written down.
pub trait Writing {
    fn with(self, class: ClassId, total: i32) -> Self;
    fn below(self, root: i32) -> Self;
}

impl Writing for ProviderRow {
    fn with(mut self, class: ClassId, total: i32) -> Self {
        self.inventories.insert(class, Inventory::whole(total));
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
