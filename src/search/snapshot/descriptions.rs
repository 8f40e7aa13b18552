//! The description of a provider: type, properties, domains and state, as plain values. The snapshot keeps descriptions
//! in columns (`described_lanes`).

use std::collections::BTreeMap;
use std::sync::Arc;

/// The built-in properties, which every provider has or may have. They cannot be set.
pub const BUILT_IN_PROPERTIES: [&str; 5] = ["ProviderName", "ProviderUuid", PROVIDER_TYPE, "NodeName", "NodeType"];

/// The type of a provider, which is kept with the provider's properties.
pub(in crate::search) const PROVIDER_TYPE: &str = "ProviderType";

/// The own description of one provider, without inherited values. The default says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The property `PROVIDER_TYPE`.
    pub kind: Option<Arc<str>>,
    pub properties: Properties,
    /// By dimension, a path whose segments are separated by `/`, as `domain_path` returns it.
    pub domains: BTreeMap<Arc<str>, Arc<str>>,
    /// The state that a person gave. Never `ProviderState::Unknown`.
    pub state: ProviderState,
    /// Whether the lease of the host is over. No client writes this, and no row of a description has it.
    pub is_unknown: bool,
}

/// Typed properties by name. `None` hides an inherited property.
pub type Properties = BTreeMap<Arc<str>, Option<PropertyValue>>;

/// A typed value. Values of different types are never equal, and only integers are ordered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PropertyValue {
    Text(Arc<str>),
    Boolean(bool),
    Integer(i64),
}

/// Whether a provider may get anything new. A provider below a provider that is not up gets nothing either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProviderState {
    #[default]
    Up,
    Draining,
    Off,
    Lost,
    /// Not given by a person: the lease of the host is over, and whether the host works is unknown.
    Unknown,
}

impl ProviderState {
    /// All states with their names.
    pub const ALL: [(&'static str, ProviderState); 5] = [
        ("up", ProviderState::Up),
        ("draining", ProviderState::Draining),
        ("off", ProviderState::Off),
        ("lost", ProviderState::Lost),
        ("unknown", ProviderState::Unknown),
    ];

    /// The states that a person gives.
    pub const GIVEN: &'static [(&'static str, ProviderState)] = ProviderState::ALL.split_at(4).0;

    /// The state of this name that a person gives.
    pub fn by_name(name: &str) -> Option<ProviderState> {
        let found = ProviderState::GIVEN.iter().find(|(known, _)| *known == name);
        found.map(|&(_, state)| state)
    }

    pub fn name(self) -> &'static str {
        ProviderState::ALL[self as usize].0
    }
}

impl Description {
    /// The state that counts for claims: that of a person, or `ProviderState::Unknown` without a lease.
    pub fn counted_state(&self) -> ProviderState {
        match self.state {
            ProviderState::Up if self.is_unknown => ProviderState::Unknown,
            state => state,
        }
    }

    /// Whether the description says nothing, and needs no room in the snapshot.
    pub fn is_empty(&self) -> bool {
        *self == Description::default()
    }
}

/// A path of a domain without slashes at its end, by which equal domains are equal texts.
pub fn domain_path(path: &str) -> &str {
    path.trim_end_matches('/')
}

/// Whether a path is the domain `top` or lies in the domain. Whole segments are compared.
pub fn is_in_domain(path: &str, top: &str) -> bool {
    path.strip_prefix(top)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_holds_the_paths_that_begin_with_its_whole_segments() {
        let top = domain_path("fd:/dc1/");
        let inside = |path: &str| is_in_domain(path, top);
        assert_eq!(
            ["fd:/dc1", "fd:/dc1/r0", "fd:/dc10", "fd:", "fd:/DC1/r0"].map(inside),
            [true, true, false, false, false]
        );
    }

    #[test]
    fn a_state_has_a_name() {
        for &(name, state) in ProviderState::GIVEN {
            assert_eq!((ProviderState::by_name(name), state.name()), (Some(state), name));
        }
        assert_eq!(ProviderState::by_name("unknown"), None, "a person does not say so");
        assert_eq!(ProviderState::by_name("UP"), None);
    }
}
