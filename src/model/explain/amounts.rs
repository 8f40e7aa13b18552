//! The sentences about amounts, with the provider that has the most.

use super::causes::{Cause, CauseHosts};
use super::words::{Words, counted};
use crate::error::{Reason, ReasonCode};
use crate::search::{AmountRule, ProviderAmount};

impl Words<'_> {
    /// Hosts that fail a rule about the amounts of a class. The room of a host is the room of its own providers, or of
    /// sharing providers.
    pub fn amount(&self, rule: AmountRule, class: usize, found: &CauseHosts) -> Reason {
        let name = self.conditions.classes[class];
        let requests = self.conditions.request.groups.iter().flat_map(|group| &group.resources);
        let requests = requests.filter(|(class, _)| class == name);
        let amounts: Vec<i64> = requests.map(|(_, amount)| *amount).collect();
        let requested = amounts.iter().copied().fold(0, i64::saturating_add);
        let of = match amounts.len() {
            1 => String::new(),
            groups => format!(" of {groups} groups"),
        };
        let most = found.room.map(|room| match rule {
            AmountRule::Capacity => room.capacity,
            AmountRule::Units => room.max_unit,
            AmountRule::Room => room.free,
            AmountRule::NormalRoom => room.normal_free,
        });
        let compared = match rule {
            AmountRule::Units => amounts.iter().copied().max().unwrap_or_default(),
            _ => requested,
        };
        let amount = exact(requested).map(|amount| format!("{amount} requested"));
        let limit = most.and_then(|most| self.limit(rule, found.cause, most, compared));
        let figures: Vec<String> = amount.filter(|_| most.is_some()).into_iter().chain(limit).collect();
        let figures = match figures[..] {
            [] => String::new(),
            _ => format!(": {}", figures.join(", ")),
        };
        let code = match rule {
            AmountRule::Units => ReasonCode::Units,
            AmountRule::NormalRoom => ReasonCode::NoRoomNormal,
            AmountRule::Capacity | AmountRule::Room => ReasonCode::NoRoom,
        };
        let what = what(rule, found);
        Reason {
            resource_class: Some(name.to_owned()),
            requested: exact(requested),
            free: most.filter(|_| rule != AmountRule::Units).map(|most| most.amount),
            ..Reason::new(code, format!("{what} {name}{of}{figures}."))
        }
    }

    /// The most of any provider. `None` if a provider of these hosts has enough, and fails another condition of the
    /// group. The name of the provider says where room could be made.
    fn limit(&self, rule: AmountRule, cause: Cause, most: ProviderAmount, compared: i64) -> Option<String> {
        let ProviderAmount { amount, provider } = most;
        let is_below = amount < compared;
        let limit = match rule {
            AmountRule::Units if !is_below => return Some("see min_unit, max_unit and step_size".to_owned()),
            _ if !is_below => return None,
            AmountRule::Units => format!("max_unit is at most {amount}"),
            AmountRule::Capacity => format!("at most {amount}"),
            AmountRule::Room | AmountRule::NormalRoom => format!("at most {amount} free"),
        };
        let is_of_interest = cause == Cause::Sharing || matches!(rule, AmountRule::Room | AmountRule::NormalRoom);
        let name = if is_of_interest {
            format!(", on {}", self.snapshot.name(provider))
        } else {
            String::new()
        };
        Some(limit + &name)
    }
}

/// The hosts with what is too small: the hosts themselves, or sharing providers.
fn what(rule: AmountRule, found: &CauseHosts) -> String {
    let has = |one: &str, many: &str| counted(found.hosts.len(), one, many);
    let share = |what: &str| has(&format!("shares providers {what}"), &format!("share providers {what}"));
    match (rule, found.cause) {
        (AmountRule::Capacity, Cause::Sharing) => share("that are too small for"),
        (AmountRule::Units, Cause::Sharing) => share("that do not allow this amount of"),
        (AmountRule::Room, Cause::Sharing) => share("with too little room for"),
        (AmountRule::NormalRoom, Cause::Sharing) => share("with too little room within the normal limit for"),
        (AmountRule::Capacity, _) => has("is too small for", "are too small for"),
        (AmountRule::Units, _) => has("does not allow this amount of", "do not allow this amount of"),
        (AmountRule::Room, _) => has("has too little room for", "have too little room for"),
        (AmountRule::NormalRoom, _) => has(
            "has too little room within the normal limit for",
            "have too little room within the normal limit for",
        ),
    }
}

/// `i64::MAX` stands for any larger amount.
fn exact(requested: i64) -> Option<i64> {
    Some(requested).filter(|amount| *amount < i64::MAX)
}
