//! The normal limits of a batch's state.

use super::State;
use crate::model::limits::LimitRow;
use crate::search::{ClassId, NormalLimit};

/// The limit of a class that a command of the batch replaces.
#[derive(Debug, Clone, Copy, Default)]
pub struct LimitEntry {
    pub base: Option<LimitRow>,
    pub now: Option<LimitRow>,
}

impl State {
    /// The row of a class whose limit a command of the batch replaces.
    pub fn limit(&self, class: &str) -> Option<LimitRow> {
        self.limits.get(class).and_then(|entry| entry.now)
    }

    pub fn set_limit(&mut self, class: &str, row: LimitRow) {
        self.limits.entry(class.to_owned()).or_default().now = Some(row);
    }

    /// Whether any class may have a normal limit.
    pub fn has_normal_limits(&self) -> bool {
        !self.limits.is_empty() || self.base.catalog().has_normal_limits()
    }

    /// The normal limit of a class now.
    pub fn normal_limit(&self, class: ClassId) -> Option<NormalLimit> {
        let name = self.class_name(class);
        match self.limits.get(&*name) {
            Some(entry) => entry.now.and_then(|row| row.normal),
            None => self.base.catalog().normal_limit(&name),
        }
    }
}
