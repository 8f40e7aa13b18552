//! Builders for the inputs of a search: provider rows, groups, requests and settings. Each bench adds its own to these.

use placet::benchmarked::{
    ClassId, Group, GroupPolicy, HostConditions, Inventory, ProviderId, ProviderRow, Request, SearchSettings, Traits,
};

/// No limits, and one tree after the other.
pub fn settings() -> SearchSettings {
    SearchSettings::uncut(1)
}

/// A root provider without inventories, traits or aggregates.
pub fn row(id: i32) -> ProviderRow {
    ProviderRow::bare(ProviderId(id), format!("uuid-{id}"), format!("name-{id}"))
}

/// Builder methods of rows.
pub trait BuildRow {
    /// Adds an inventory that can be used wholly.
    fn with(self, class: ClassId, total: i32) -> Self;
    /// Makes it a child of a root provider.
    fn below(self, root: i32) -> Self;
}

impl BuildRow for ProviderRow {
    fn with(mut self, class: ClassId, total: i32) -> Self {
        self.inventories.insert(class, Inventory::whole(total));
        self
    }

    fn below(mut self, root: i32) -> Self {
        (self.parent, self.root) = (Some(ProviderId(root)), ProviderId(root));
        self
    }
}

/// `resources{suffix}` of a query. Several providers may serve the group without a suffix.
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
        host: HostConditions::default(),
        limit,
        nested: true,
    }
}
