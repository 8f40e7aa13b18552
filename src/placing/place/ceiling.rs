//! An upper bound of the number of replicas under the rules of each dimension. The bound saves flows for numbers
//! without a placement.

use crate::placing::compared::{Compared, ComparedDimension};

/// An upper bound of the new replicas with a place, `most` at most. `direct`: the free places directly in each domain,
/// by compared dimension.
pub fn ceiling(compared: &Compared, direct: &[Vec<u32>], most: u32) -> u32 {
    let all = compared.dimensions.iter().zip(direct);
    let ceilings = all.map(|(dimension, direct)| of_dimension(dimension, direct) - dimension.placed[0]);
    ceilings.min().map_or(most, |ceiling| ceiling.min(most))
}

/// The most replicas in the whole dimension, new and placed.
fn of_dimension(dimension: &ComparedDimension, direct: &[u32]) -> u32 {
    let (tree, demands) = (&dimension.tree, &dimension.demands);
    let mut most = vec![0_u32; tree.len()];
    for domain in (0..tree.len() as u32).rev().filter(|&domain| tree.is_live(domain)) {
        let is_limited_level = tree.children(domain) == tree.limited_level();
        let children = tree.children(domain).iter().map(|&child| {
            let placed = dimension.placed[child as usize];
            let cap = dimension.cap(child, is_limited_level).unwrap_or(u32::MAX);
            (placed, most[child as usize].min(cap.max(placed)))
        });
        let even = match children.clone().map(|(_, most)| most).min() {
            Some(least) if demands.is_even => least.saturating_add(1),
            _ => u32::MAX,
        };
        let below: u32 = children.map(|(placed, most)| most.min(even.max(placed))).sum();
        let all = dimension.beside(domain) + i64::from(direct[domain as usize]) + i64::from(below);
        most[domain as usize] = all.clamp(0, u32::MAX.into()) as u32;
    }
    most[0]
}
