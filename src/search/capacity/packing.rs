//! Packs a host with consumers: a lower bound of the number of consumers that fit.

use std::cmp::Reverse;

use super::ways::{HostWays, WayAmount};
use crate::interrupt::{Interrupt, OPERATIONS_A_STEP};

/// Of ways with common inventories, a way gets this share of its room before the ways are compared again.
const SHARE: i64 = 8;

/// The number of consumers placed on a host without pools. `most`: no packing has more.
///
/// If each way in turn gets all of its room, the packing is found fast, and mostly has `most` consumers.
pub fn pack_alone(ways: &HostWays, most: u64, interrupt: &Interrupt) -> u64 {
    let all: Vec<&[WayAmount]> = ways.iter().collect();
    let pack = |share| {
        let mut left: Vec<i64> = ways.inventories.iter().map(|inventory| inventory.free).collect();
        fill(&all, &mut left, share, interrupt)
    };
    let whole = pack(1);
    if whole == most { whole } else { whole.max(pack(SHARE)) }
}

/// Places consumers on a host with pools, as long as amounts are `left` by inventory. Ways with fewer amounts from
/// pools come first, because further hosts may need the pools. Returns the number of consumers.
pub fn pack_with_pools(ways: &HostWays, left: &mut [i64], interrupt: &Interrupt) -> u64 {
    let pool_amounts = |way: &&[WayAmount]| way.iter().filter(|(at, _)| ways.inventories[*at].is_of_pool).count();
    let mut by_pools: Vec<&[WayAmount]> = ways.iter().collect();
    by_pools.sort_by_key(pool_amounts);
    let chunks = by_pools.chunk_by(|one, next| pool_amounts(one) == pool_amounts(next));
    chunks.fold(0, |consumers: u64, ways| {
        let share = if ways.len() == 1 { 1 } else { SHARE };
        consumers.saturating_add(fill(ways, left, share, interrupt))
    })
}

/// Places consumers in the way with the most room, again and again. The interrupt ends the packing. Returns the number
/// of consumers.
fn fill(ways: &[&[WayAmount]], left: &mut [i64], share: i64, interrupt: &Interrupt) -> u64 {
    let operations: usize = ways.iter().map(|way| way.len()).sum();
    let mut consumers: u64 = 0;
    while !interrupt.count((operations as u64).div_ceil(OPERATIONS_A_STEP)) {
        let rooms = ways.iter().enumerate().map(|(at, way)| (room(way, left), Reverse(at)));
        let Some((room @ 1.., Reverse(at))) = rooms.max() else {
            break;
        };
        let count = (room / share).max(1);
        ways[at].iter().for_each(|(at, amount)| left[*at] -= amount * count);
        consumers = consumers.saturating_add(count.unsigned_abs());
    }
    consumers
}

/// How many consumers a way can serve.
fn room(way: &[WayAmount], left: &[i64]) -> i64 {
    way.iter()
        .map(|(at, amount)| left[*at] / amount)
        .min()
        .unwrap_or_default()
}
