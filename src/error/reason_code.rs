//! The codes of reasons: why a candidate or a consumer is refused.

/// The lack of a refused candidate or consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReasonCode {
    /// The provider has too little free capacity.
    NoRoom,
    /// The provider has room, but not within the normal limit of the class.
    NoRoomNormal,
    /// The amount violates `min_unit`, `max_unit` or `step_size`.
    Units,
    /// The provider has no inventory of the class.
    NoInventory,
    ProviderNotFound,
    ClassNotFound,
    /// A query has no candidate.
    NoCandidate,
    /// Each group of a query could be served by a tree, but no tree serves all groups together.
    Groups,
    /// `in_tree` names no resource provider.
    InTree,
    /// Providers lack a required trait or have a forbidden trait.
    Traits,
    /// Providers are not in a required aggregate, or are in a forbidden aggregate.
    Aggregates,
    /// The roots of providers do not match `root_required`.
    RootTraits,
    /// The condition `where` is not true for providers or their hosts.
    Condition,
    /// The hosts of providers are not in a required domain, or are in a forbidden domain.
    Domain,
    /// Providers are draining, off or lost.
    State,
    /// Replicas of a workload have no place together.
    NoPlace,
    /// The hosts that a workload may use have too little room in sum.
    NoCapacity,
    /// A rule `spread` of a workload keeps hosts out, or is broken.
    Spread,
    /// A rule `together` keeps hosts out, or is broken.
    Together,
    /// A rule `apart` keeps hosts out, or is broken.
    Apart,
    /// A rule `within` of a workload keeps hosts out, or is broken.
    Within,
    /// Fewer replicas than the workload's `min` are on hosts that are up.
    Min,
    /// Hosts have a replica of the workload already.
    OneAHost,
    /// Replicas with rules about domains stand on the host whose domains are to change.
    DomainInUse,
    /// Rules of a second workload name the workload that is to be deleted.
    WorkloadInUse,
    /// A second consumer of the same call got no place, and the call is atomic.
    OtherRefused,
    /// The consumer's generation is not the generation that the caller expects.
    ConcurrentUpdate,
    /// The generation of the consumer cannot increase any further.
    ConsumerGenerationLimit,
    /// The generation of a provider cannot increase any further.
    ProviderGenerationLimit,
}

impl ReasonCode {
    /// The code that clients read.
    pub fn name(self) -> &'static str {
        match self {
            ReasonCode::NoRoom => "placet.no_room",
            ReasonCode::NoRoomNormal => "placet.no_room_normal",
            ReasonCode::Units => "placet.units",
            ReasonCode::NoInventory => "placet.no_inventory",
            ReasonCode::ProviderNotFound => "placet.provider_not_found",
            ReasonCode::ClassNotFound => "placet.class_not_found",
            ReasonCode::NoCandidate => "placet.no_candidate",
            ReasonCode::Groups => "placet.groups",
            ReasonCode::InTree => "placet.in_tree",
            ReasonCode::Traits => "placet.required",
            ReasonCode::Aggregates => "placet.member_of",
            ReasonCode::RootTraits => "placet.root_required",
            ReasonCode::Condition => "placet.where",
            ReasonCode::Domain => "placet.domain",
            ReasonCode::State => "placet.state",
            ReasonCode::NoPlace => "placet.no_place",
            ReasonCode::NoCapacity => "placet.no_capacity",
            ReasonCode::Spread => "placet.spread",
            ReasonCode::Together => "placet.together",
            ReasonCode::Apart => "placet.apart",
            ReasonCode::Within => "placet.within",
            ReasonCode::Min => "placet.min",
            ReasonCode::OneAHost => "placet.one_a_host",
            ReasonCode::DomainInUse => "placet.domain_in_use",
            ReasonCode::WorkloadInUse => "placet.workload_in_use",
            ReasonCode::OtherRefused => "placet.other_refused",
            ReasonCode::ConcurrentUpdate => "placement.concurrent_update",
            ReasonCode::ConsumerGenerationLimit | ReasonCode::ProviderGenerationLimit => "placet.generation_limit",
        }
    }

    /// The code without its namespace.
    pub fn short_name(self) -> &'static str {
        let name = self.name();
        name.split_once('.').map_or(name, |(_, name)| name)
    }

    /// Whether the code concerns the consumer, so no further candidate can help.
    pub fn concerns_consumer(self) -> bool {
        matches!(self, ReasonCode::ConcurrentUpdate | ReasonCode::ConsumerGenerationLimit)
    }
}
