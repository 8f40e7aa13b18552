//! The subject of a sentence, and the providers that a sentence names beside the hosts.

use super::MAX_EXAMPLES;
use super::causes::{Cause, CauseHosts};
use super::words::{Words, counted, listed};
use crate::search::{HostSet, ProviderState, Slot};

impl Words<'_> {
    /// The hosts with a verb. If sharing providers are the cause, the verb is that of the sharing providers.
    pub fn has(&self, found: &CauseHosts, one: &str, many: &str) -> String {
        let is_shared = matches!(found.cause, Cause::Sharing { .. });
        let (one, many) = if is_shared {
            (
                format!("shares providers that {many}"),
                format!("share providers that {many}"),
            )
        } else {
            (one.to_owned(), many.to_owned())
        };
        match self.named {
            Some(name) => format!("{name} {one}"),
            None => counted(found.hosts.len(), &one, &many),
        }
    }

    /// The sharing providers that fail a condition. If the hosts fail the condition themselves: the providers that
    /// could serve if they were up.
    pub fn providers(&self, found: &CauseHosts) -> String {
        let (Cause::Sharing { class }, Some(providers)) = (found.cause, &found.providers) else {
            return self.not_up(found);
        };
        let hosts = HostSet::of(self.snapshot, found.hosts.iter().copied());
        let pools = self.examples(providers.pools_of(&hosts).into_iter());
        format!("; in reach for {}: {pools}", self.conditions.classes[class])
    }

    /// The providers that could serve if they were up.
    pub fn not_up(&self, found: &CauseHosts) -> String {
        match found.not_up[..] {
            [] => String::new(),
            _ => format!("; not up: {}", self.examples(found.not_up.iter().copied())),
        }
    }

    /// The names of the first [`MAX_EXAMPLES`] providers, with their states if the providers are not up.
    fn examples(&self, mut providers: impl Iterator<Item = Slot>) -> String {
        let name = |slot: Slot| {
            let name = self.snapshot.name(slot);
            match self.snapshot.state(slot) {
                ProviderState::Up => name.to_owned(),
                state => format!("{name} ({})", state.name()),
            }
        };
        let names: Vec<String> = providers.by_ref().take(MAX_EXAMPLES).map(name).collect();
        let further = if providers.next().is_some() { ", …" } else { "" };
        listed(names.iter()) + further
    }
}
