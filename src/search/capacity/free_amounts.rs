//! The free amounts of the classes of a request on some hosts.

use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::search::candidates::check_interrupt;
use crate::search::snapshot::{BlockSlots, ClassId, Slot, Snapshot};

/// The number of hosts between two checks of the interrupt.
const HOSTS_A_CHECK: usize = 1 << 10;

/// The free amount of a class on hosts that can serve the request if room does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeAmount {
    pub class: ClassId,
    /// The amount of a consumer.
    pub requested: i64,
    /// In sum.
    pub sum: i64,
    /// On a single provider.
    pub largest: i64,
    /// Whether a provider has a total of [`i32::MAX`], which stands for no limit.
    pub is_unlimited: bool,
}

impl FreeAmount {
    fn none(class: ClassId, requested: i64) -> FreeAmount {
        FreeAmount {
            class,
            requested,
            sum: 0,
            largest: 0,
            is_unlimited: false,
        }
    }

    /// Adds providers of a block.
    fn add(&mut self, snapshot: &Snapshot, providers: BlockSlots) {
        let Some(first) = providers.first() else { return };
        let block = snapshot.blocks.get(first.block());
        let Some(column) = block.profile.column(self.class) else {
            return;
        };
        let used = block.usage.used(self.class);
        for lane in providers.map(Slot::lane).filter(|lane| column.present >> lane & 1 == 1) {
            let free = column.limits[lane].saturating_sub(used[lane]).max(0);
            self.sum = self.sum.saturating_add(free);
            self.largest = free.max(self.largest);
            self.is_unlimited |= column.total(lane) == i32::MAX;
        }
    }
}

/// The free amounts of hosts with the providers below, by class of `amounts`.
///
/// # Errors
/// [`crate::error::Error::BadRequest`] if the interrupt is set.
pub fn of(
    snapshot: &Snapshot,
    hosts: &[Slot],
    amounts: &[(ClassId, i64)],
    interrupt: &Interrupt,
) -> Result<Vec<FreeAmount>> {
    let none = |&(class, requested): &(ClassId, i64)| FreeAmount::none(class, requested);
    let mut free: Vec<FreeAmount> = amounts.iter().map(none).collect();
    for hosts in hosts.chunks(HOSTS_A_CHECK) {
        let mut providers: Vec<BlockSlots> = Vec::new();
        hosts
            .iter()
            .for_each(|host| snapshot.cached_tree(*host, &mut providers));
        // For each block, the trees and each class.
        interrupt.spend((providers.len() * (1 + amounts.len())) as u64);
        check_interrupt(interrupt)?;
        for free in &mut free {
            providers.iter().for_each(|slots| free.add(snapshot, *slots));
        }
    }
    Ok(free)
}
