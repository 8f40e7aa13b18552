//! The purpose of a claim, which decides whether the claim may use the room between the normal and the hard limit.

/// The purpose of a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    #[default]
    Normal,
    Place,
    Replace,
    Upgrade,
    Repair,
    Defragment,
    Failover,
    Maintenance,
    Balance,
}

impl Purpose {
    /// All purposes with their names.
    pub const ALL: [(&'static str, Purpose); 9] = [
        ("normal", Purpose::Normal),
        ("place", Purpose::Place),
        ("replace", Purpose::Replace),
        ("upgrade", Purpose::Upgrade),
        ("repair", Purpose::Repair),
        ("defragment", Purpose::Defragment),
        ("failover", Purpose::Failover),
        ("maintenance", Purpose::Maintenance),
        ("balance", Purpose::Balance),
    ];

    pub fn by_name(name: &str) -> Option<Purpose> {
        let mut all = Purpose::ALL.iter();
        all.find(|(known, _)| *known == name).map(|&(_, purpose)| purpose)
    }

    /// Whether the claim may exceed the normal limit if there is no room below.
    pub fn may_exceed_normal(self) -> bool {
        !matches!(self, Purpose::Normal | Purpose::Balance)
    }
}
