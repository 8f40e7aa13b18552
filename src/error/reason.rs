//! Why a consumer gets no place: one form for every refusal of the native API about places.

#[cfg(test)]
mod tests;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::reason_code::ReasonCode;
use crate::cut::cut;

/// The maximum number of kept reasons of a code. Further reasons are only counted.
const KEPT_OF_A_CODE: usize = 15;

/// The figures of an amount without room: for the log.
///
/// All figures compare as equal: on different rows a refusal has different figures, and is the same refusal.
#[derive(Debug, Clone, Default)]
pub struct Room {
    /// The name of the provider.
    pub provider_name: Option<Arc<str>>,
    pub requested: i64,
    /// By all consumers but this consumer.
    pub used: i64,
    pub capacity: i64,
}

impl PartialEq for Room {
    fn eq(&self, _: &Room) -> bool {
        true
    }
}

impl Eq for Room {}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} requested, {} used of a capacity of {}",
            self.requested, self.used, self.capacity
        )
    }
}

/// A provider in a line of the log: its name with its uuid, or the uuid alone.
pub fn named(name: Option<&str>, uuid: &str) -> String {
    name.map_or_else(|| uuid.to_owned(), |name| format!("{name} ({uuid})"))
}

/// One reason. Fields that do not apply are `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    pub code: ReasonCode,
    /// The position of the candidate in the caller's list, from 0.
    pub candidate: Option<usize>,
    /// The index of a workload's rule.
    pub rule: Option<usize>,
    /// Uuid.
    pub resource_provider: Option<String>,
    /// The name of `resource_provider`, if it exists.
    pub provider_name: Option<Arc<str>>,
    pub resource_class: Option<String>,
    /// In units of the class.
    pub requested: Option<i64>,
    /// The remaining room for this consumer; less than zero if the provider is overcommitted. Of several providers, the
    /// largest room of a single provider, or of the providers of a single host.
    pub free: Option<i64>,
    /// Dimension and path, as `fault:fd:/dc1`; the dimension alone for a reason about all domains of the dimension.
    pub domain: Option<String>,
    /// A sentence.
    pub detail: String,
}

impl Reason {
    /// A reason with only a code and a sentence.
    pub fn new(code: ReasonCode, detail: String) -> Reason {
        Reason {
            code,
            candidate: None,
            rule: None,
            resource_provider: None,
            provider_name: None,
            resource_class: None,
            requested: None,
            free: None,
            domain: None,
            detail,
        }
    }

    /// The reason with each text cut after `bytes`.
    fn shortened(&self, bytes: usize) -> Reason {
        let cut = |text: &String| cut(text, bytes).to_owned();
        Reason {
            resource_provider: self.resource_provider.as_ref().map(cut),
            resource_class: self.resource_class.as_ref().map(cut),
            domain: self.domain.as_ref().map(cut),
            detail: cut(&self.detail),
            provider_name: self.provider_name.clone(),
            ..*self
        }
    }

    /// The code with the class, the provider and the amounts, as far as the three apply. A reason about several
    /// providers has the sentence, and the amounts unless the sentence has the amounts.
    fn short(&self) -> String {
        let mut words = self.code.name().to_owned();
        match (&self.resource_provider, &self.resource_class) {
            (Some(provider), class) => {
                if let Some(class) = class {
                    words += &format!(" {class}");
                }
                words += &format!(" on {}", named(self.provider_name.as_deref(), provider));
            }
            (None, _) => words += &format!(": {}", self.detail.trim_end_matches('.')),
        }
        if self.resource_provider.is_none() && self.detail.contains(" requested") {
            return words;
        }
        match (self.requested, self.free) {
            (Some(requested), Some(free)) => words += &format!(": {requested} requested, {free} free"),
            (Some(requested), None) => words += &format!(": {requested} requested"),
            (None, _) => {}
        }
        words
    }
}

/// The reasons of a consumer, bounded in number, and the count of each code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reasons {
    kept: Vec<Reason>,
    /// The first reason has the sentences of this number of reasons, which followed the first reason. The last of these
    /// reasons may not be kept any more.
    said: usize,
    /// The number of reasons that were found and not kept.
    unkept: usize,
    counts: BTreeMap<ReasonCode, usize>,
}

impl Reasons {
    /// A reason with the sentences of the first `said` parts, and the parts. Each part has the number of times that the
    /// part applies.
    pub fn of_whole(whole: Reason, said: usize, parts: impl IntoIterator<Item = (Reason, usize)>) -> Reasons {
        let mut reasons = Reasons::from(whole);
        for (at, (part, times)) in parts.into_iter().enumerate() {
            let before = reasons.kept.len();
            reasons.add_counted(part, times);
            if at < said {
                reasons.said += reasons.kept.len() - before;
            }
        }
        reasons
    }

    pub fn add(&mut self, reason: Reason) {
        self.add_counted(reason, 1);
    }

    /// Adds a reason that applies `times`, for example to as many providers.
    pub fn add_counted(&mut self, reason: Reason, times: usize) {
        *self.counts.entry(reason.code).or_insert(0) += times;
        self.add_detail(reason);
    }

    /// Counts a reason of this code if no more reasons of the code are kept. If not, returns false: the caller makes
    /// the reason, and adds the reason. Of thousands of candidates a few reasons are kept.
    pub fn count_unkept(&mut self, code: ReasonCode) -> bool {
        let is_unkept = !self.keeps_more(code);
        if is_unkept {
            self.unkept += 1;
            *self.counts.entry(code).or_insert(0) += 1;
        }
        is_unkept
    }

    /// Adds a reason that explains further reasons. The reason is not counted: the subject is counted with these
    /// reasons.
    pub fn add_detail(&mut self, reason: Reason) {
        if self.keeps_more(reason.code) {
            self.kept.push(reason);
        } else {
            self.unkept += 1;
        }
    }

    fn keeps_more(&self, code: ReasonCode) -> bool {
        self.kept.iter().filter(|kept| kept.code == code).count() < KEPT_OF_A_CODE
    }

    /// In the order of finding; of each code the first reasons.
    pub fn kept(&self) -> &[Reason] {
        &self.kept
    }

    /// The kept reasons whose sentence is no part of the first reason.
    fn unsaid(&self) -> impl Iterator<Item = &Reason> {
        self.kept.iter().take(1).chain(self.kept.iter().skip(1 + self.said))
    }

    /// How often each code applies, with the reasons that were not kept and without explaining reasons.
    pub fn counts(&self) -> impl Iterator<Item = (ReasonCode, usize)> {
        self.counts.iter().map(|(code, count)| (*code, *count))
    }

    pub fn has(&self, code: ReasonCode) -> bool {
        self.counts.contains_key(&code) || self.kept.iter().any(|kept| kept.code == code)
    }

    /// Whether there are reasons, all with this code.
    pub fn are_all(&self, code: ReasonCode) -> bool {
        self.counts.keys().eq([&code])
    }

    /// Whether a reason concerns the consumer itself, so no further place would help.
    pub fn concern_consumer(&self) -> bool {
        self.kept.iter().any(|reason| reason.code.concerns_consumer())
    }

    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The first `count` reasons, with each text cut after `bytes`. The counts are those of all reasons.
    pub fn shortened(&self, count: usize, bytes: usize) -> Reasons {
        let kept: Vec<Reason> = self
            .kept
            .iter()
            .take(count)
            .map(|reason| reason.shortened(bytes))
            .collect();
        // A sentence that was cut off is said by the reason of its own.
        let is_first_cut = self.kept.first() != kept.first();
        let said = if is_first_cut { 0 } else { self.said };
        Reasons {
            // A reason that the first reason says is shown although the reason is not kept.
            unkept: self.unkept + self.kept.len().saturating_sub(kept.len().max(1 + said)),
            said,
            kept,
            counts: self.counts.clone(),
        }
    }

    /// The first reasons in a few words, and the number of further reasons, for the log.
    pub fn short(&self) -> String {
        let reasons: Vec<String> = self.unsaid().take(3).map(Reason::short).collect();
        let more = self.unsaid().count() + self.unkept - reasons.len();
        if more == 0 {
            return reasons.join("; ");
        }
        format!("{}; {more} more reasons", reasons.join("; "))
    }
}

impl From<Reason> for Reasons {
    fn from(reason: Reason) -> Reasons {
        let mut reasons = Reasons::default();
        reasons.add(reason);
        reasons
    }
}

/// A consumer of a refused call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedConsumer {
    /// Uuid.
    pub consumer: String,
    /// Empty if the consumer would have got a place.
    pub reasons: Reasons,
}

/// Replicas of a workload without a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoPlace {
    /// The number of replicas without a place.
    pub missing: u32,
    pub reasons: Reasons,
    /// False if the search was given up: a place may exist.
    pub is_exact: bool,
}

/// A call that claims nothing, because at least one of its consumers gets no place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRefusal {
    /// All consumers of the call, in the call's order.
    pub consumers: Vec<RefusedConsumer>,
}

impl ClaimRefusal {
    /// The consumers that get no place for a reason of their own.
    pub fn refused(&self) -> impl Iterator<Item = &RefusedConsumer> {
        let has_own = |consumer: &&RefusedConsumer| {
            let mut codes = consumer.reasons.counts().map(|(code, _)| code);
            codes.any(|code| code != ReasonCode::OtherRefused)
        };
        self.consumers.iter().filter(has_own)
    }

    /// Whether a consumer has a newer generation than the caller expects, or a row changed on which a request without
    /// consumers rests. The caller has to read the row again.
    pub fn is_stale(&self) -> bool {
        self.consumers.is_empty() || self.first_stale().is_some()
    }

    fn first_stale(&self) -> Option<&RefusedConsumer> {
        self.refused()
            .find(|consumer| consumer.reasons.has(ReasonCode::ConcurrentUpdate))
    }

    /// The consumer that stands for all: the first stale consumer, which decides the code of the refusal, else the
    /// first consumer.
    fn example(&self) -> Option<&RefusedConsumer> {
        self.first_stale().or_else(|| self.refused().next())
    }

    /// The first reasons of one refused consumer in a few words, for the log.
    pub fn short(&self) -> String {
        let Some(first) = self.example() else {
            return String::new();
        };
        let more = match self.refused().count() - 1 {
            0 => String::new(),
            others => format!("; {others} more consumers"),
        };
        format!("consumer {}: {}{more}", first.consumer, first.reasons.short())
    }
}

impl fmt::Display for ClaimRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (refused, all) = (self.refused().count(), self.consumers.len());
        write!(
            f,
            "{refused} of {all} consumers cannot be placed, so nothing was claimed."
        )?;
        let Some(first) = self.example() else {
            return Ok(());
        };
        write!(f, " Consumer {}:", first.consumer)?;
        let mut reasons = first.reasons.unsaid().take(3);
        reasons.try_for_each(|reason| write!(f, " {}", reason.detail))
    }
}
