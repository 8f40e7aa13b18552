//! Even counts of the oracle.

use super::node::Node;

/// Whether each domain with a new replica ends at most 1 above the least of its siblings, at every level. A domain
/// without a new replica may stand above.
pub fn is_even(node: &Node) -> bool {
    let live = node.live();
    let least = live.iter().map(|child| child.count).min().unwrap_or(0);
    live.iter()
        .all(|child| child.count == child.placed || child.count <= least + 1)
        && live.into_iter().all(is_even)
}

/// The least and the most replicas of the domains with a new replica, if `total` replicas are in all of these domains:
/// each new replica goes to a domain with the fewest.
pub fn poured(live: &[&Node], total: u32) -> (u32, u32) {
    let mut counts: Vec<u32> = live.iter().map(|child| child.placed).collect();
    let least_of = |counts: &[u32]| counts.iter().copied().min().unwrap_or(0);
    let mut most = least_of(&counts);
    while counts.iter().sum::<u32>() < total {
        let least = least_of(&counts);
        let at = counts.iter().position(|count| *count == least).unwrap_or(0);
        counts[at] += 1;
        most = counts[at];
    }
    (least_of(&counts), most)
}

/// The distance of the domains below a node from the shares of `from.0` to `from.1` replicas.
pub fn uneven(node: &Node, from: (u32, u32)) -> i64 {
    let live = node.live();
    if live.is_empty() {
        return 0;
    }
    let below: u32 = live.iter().map(|child| child.count).sum();
    let in_children = live.iter().map(|child| child.placed).sum::<u32>();
    let inside = |number: u32| (number + in_children).saturating_sub(node.placed);
    let (least, most) = match node.direct {
        0 => (inside(from.0), inside(from.1)),
        _ => (below, below),
    };
    let (least, most) = (poured(&live, least).0, poured(&live, most).1);
    let distances = live.into_iter().map(|child| {
        let range = if child.placed > most {
            (0, child.placed)
        } else {
            (least, most)
        };
        let distance = range.0.saturating_sub(child.count) + child.count.saturating_sub(range.1);
        i64::from(distance) + uneven(child, range)
    });
    distances.sum()
}
