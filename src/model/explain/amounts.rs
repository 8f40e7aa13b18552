//! The sentences about amounts, with the provider with the most.

use std::collections::BTreeSet;

use super::causes::{Cause, CauseHosts};
use super::words::{Words, listed};
use crate::error::{Reason, ReasonCode};
use crate::search::{AmountRule, ClassProviders, ClassRoom, HostSet, HostSum, ProviderAmount};

impl Words<'_> {
    /// Hosts left out by a rule about the amounts of a class. The room of a host is the room of the providers of the
    /// tree, or of sharing providers.
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
        let limit = found.providers.as_deref().and_then(|providers| {
            let hosts = HostSet::of(self.snapshot, found.hosts.iter().copied());
            let room = providers.room(&hosts)?;
            let of_room = |room: &ClassRoom| of_rule(rule, room);
            let sum = (amounts.len() > 1).then(|| providers.greatest_sum(&hosts, of_room));
            Some(AmountLimit {
                words: self,
                rule,
                cause: found.cause,
                amounts: &amounts,
                requested,
                providers,
                hosts,
                room,
                sum: sum.flatten().filter(|sum| sum.providers > 1),
            })
        });
        let amount = exact(requested).map(|amount| format!("{amount} requested"));
        let figures = amount.filter(|_| limit.is_some()).into_iter();
        let figures: Vec<String> = figures.chain(limit.as_ref().and_then(AmountLimit::words)).collect();
        let figures = match figures[..] {
            [] => String::new(),
            _ => format!(": {}", figures.join(", ")),
        };
        let (code, one, many) = match rule {
            AmountRule::Units => (
                ReasonCode::Units,
                "does not allow this amount of",
                "do not allow this amount of",
            ),
            AmountRule::Capacity => (ReasonCode::NoRoom, "is too small for", "are too small for"),
            AmountRule::Room => (
                ReasonCode::NoRoom,
                "has too little room for",
                "have too little room for",
            ),
            AmountRule::NormalRoom => (
                ReasonCode::NoRoomNormal,
                "has too little room within the normal limit for",
                "have too little room within the normal limit for",
            ),
        };
        let what = self.has(found, one, many);
        let not_up = self.not_up(found);
        Reason {
            resource_class: Some(name.to_owned()),
            requested: exact(requested),
            free: limit.filter(|_| rule != AmountRule::Units).map(|limit| limit.most()),
            ..Reason::new(code, format!("{what} {name}{of}{figures}{not_up}."))
        }
    }
}

/// The most of a class on hosts, compared with a request.
struct AmountLimit<'a> {
    words: &'a Words<'a>,
    rule: AmountRule,
    cause: Cause,
    /// By group.
    amounts: &'a [i64],
    /// The sum of the amounts.
    requested: i64,
    providers: &'a ClassProviders<'a>,
    hosts: HostSet,
    room: ClassRoom,
    /// For several groups, the greatest sum of the providers of a host. `None` if the host has a single provider.
    sum: Option<HostSum>,
}

impl AmountLimit<'_> {
    /// The most of any provider, or of all providers of a host if several groups request the class.
    fn most(&self) -> i64 {
        self.sum.map_or(of_rule(self.rule, &self.room).amount, |sum| sum.amount)
    }

    fn words(&self) -> Option<String> {
        let most = of_rule(self.rule, &self.room);
        match (self.rule, self.sum) {
            (AmountRule::Units, _) => self.units(most),
            _ if most.amount >= self.requested => None,
            (_, Some(sum)) => Some(self.of_host(sum, most)),
            (_, None) => Some(self.of_provider(most)),
        }
    }

    fn of_host(&self, HostSum { amount, host, .. }: HostSum, most: ProviderAmount) -> String {
        let free = if self.rule == AmountRule::Capacity { "" } else { " free" };
        let host = self.words.snapshot.name(host);
        if amount < self.requested {
            format!("at most {amount}{free} on all providers of {host}")
        } else {
            let piece = most.amount.max(0);
            format!("{amount}{free} on all providers of {host}, in pieces of at most {piece}")
        }
    }

    /// The amount of one provider. The name of the provider says where room could be made.
    fn of_provider(&self, most: ProviderAmount) -> String {
        let amount = most.amount;
        let limit = match self.rule {
            AmountRule::Capacity => format!("at most {}", amount.max(0)),
            _ if amount < 0 => format!("0 free, over by at least {}", amount.unsigned_abs()),
            _ => format!("at most {amount} free"),
        };
        let normal = match self.rule {
            AmountRule::Capacity => self.room.limit.amount,
            _ => self.room.normal_free.amount,
        };
        let within = if normal < amount {
            format!(" ({} within the normal limit)", normal.max(0))
        } else {
            String::new()
        };
        let is_of_interest = self.rule != AmountRule::Capacity;
        format!("{limit}{within}{}", self.name(most, is_of_interest))
    }

    /// The bounds by which the amounts are refused. `None` if the providers allow the amounts, and fail a further
    /// condition of the group.
    fn units(&self, most: ProviderAmount) -> Option<String> {
        if most.amount < self.amounts.iter().copied().max().unwrap_or_default() {
            return Some(format!("max_unit is at most {}{}", most.amount, self.name(most, false)));
        }
        let refusing = |amount: &i64| self.providers.refusing_units(&self.hosts, *amount, self.words.strict);
        let bounds: BTreeSet<(&str, i32)> = self.amounts.iter().flat_map(refusing).collect();
        let bounds: Vec<String> = bounds
            .into_iter()
            .map(|(name, bound)| format!("{name} {bound}"))
            .collect();
        (!bounds.is_empty()).then(|| format!("refused by {}", listed(bounds.iter())))
    }

    /// The provider, behind a comma: a sharing provider, or any provider of interest. Empty for the subject of the
    /// sentence.
    fn name(&self, most: ProviderAmount, is_of_interest: bool) -> String {
        let name = self.words.snapshot.name(most.provider);
        let is_shared = matches!(self.cause, Cause::Sharing { .. });
        if (is_shared || is_of_interest) && self.words.named != Some(name) {
            format!(", on {name}")
        } else {
            String::new()
        }
    }
}

/// The amount compared with the request by a rule.
fn of_rule(rule: AmountRule, room: &ClassRoom) -> ProviderAmount {
    match rule {
        AmountRule::Capacity => room.capacity,
        AmountRule::Units => room.max_unit,
        AmountRule::Room => room.free,
        AmountRule::NormalRoom => room.normal_free,
    }
}

/// `i64::MAX` stands for any larger amount.
fn exact(requested: i64) -> Option<i64> {
    Some(requested).filter(|amount| *amount < i64::MAX)
}
