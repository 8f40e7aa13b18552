//! The release of a consumer's allocations. The providers keep their generations.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::model::allocations::{ProviderShare, Release};
use crate::model::batch::command::{ClaimCounts, Load, Write};
use crate::model::batch::decide::Rules;
use crate::model::batch::footprint::{Footprint, Reach};
use crate::model::batch::state::State;
use crate::search::ProviderId;

/// `DELETE /allocations/{consumer}`. The answer is the released allocations.
impl Write for Release {
    type Answer = Vec<ProviderShare>;

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.consumers.insert(&self.consumer);
    }

    fn load(&self) -> Load {
        Load::of(1, Reach::Claims)
    }

    fn counts(&self) -> ClaimCounts {
        ClaimCounts {
            claiming: 0,
            releasing: 1,
        }
    }

    fn decide(&self, state: &mut State, _: &Rules) -> Result<Vec<ProviderShare>> {
        if state.consumer(&self.consumer).allocations.is_empty() {
            return Err(Error::NoAllocations {
                consumer: self.consumer.clone(),
            });
        }
        let released = shares(state, &self.consumer);
        state.release_allocations(&self.consumer);
        state.consumer(&self.consumer).now = None;
        Ok(released)
    }
}

/// The allocations of a consumer, by provider.
fn shares(state: &mut State, consumer: &str) -> Vec<ProviderShare> {
    let mut by_provider: BTreeMap<ProviderId, Vec<(Arc<str>, i64)>> = BTreeMap::new();
    for (provider, class, used) in state.consumer(consumer).allocations.clone() {
        by_provider
            .entry(provider)
            .or_default()
            .push((state.class_name(class), used));
    }
    let share = |(id, resources)| {
        let row = state.provider(id)?;
        Some(ProviderShare {
            provider: Arc::clone(&row.uuid),
            name: Some(Arc::clone(&row.name)),
            generation: row.generation,
            resources,
        })
    };
    by_provider.into_iter().filter_map(share).collect()
}
