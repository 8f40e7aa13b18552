//! A problem of bin packing: the remaining parts of a request, the room of providers, and a greedy heuristic.

use super::assignment::PartAssignment;
use super::offers::TreeOffers;
use super::split_request::SplitRequest;

/// Whether the remaining parts can be packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PackingVerdict {
    Fits,
    Impossible,
    /// The budget was exhausted without a verdict.
    Unknown,
}

/// The remaining parts of one kind.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub kind: usize,
    pub count: usize,
    /// The amount of each class of [`SplitRequest::classes`]. With isolation there is one dimension more, in which a
    /// granular part needs 1 and a provider has room for 1.
    pub need: Vec<i64>,
}

/// A provider that can take an item.
#[derive(Clone, Debug)]
pub(super) struct Bin {
    pub provider: usize,
    /// The room in the dimensions of [`Item::need`].
    pub room: Vec<i64>,
    /// By item, whether the bin can take an item.
    pub takes: Vec<bool>,
}

impl Bin {
    /// Whether the bins take the same items and have the same room, whatever their providers.
    pub fn is_equal(&self, other: &Bin) -> bool {
        self.room == other.room && self.takes == other.takes
    }
}

/// Items to be packed into bins. The largest items come first.
#[derive(Debug)]
pub(super) struct PackingProblem {
    pub items: Vec<Item>,
    pub bins: Vec<Bin>,
    pub dimensions: usize,
}

impl PackingProblem {
    pub fn new(request: &SplitRequest, offers: &TreeOffers, assignment: &PartAssignment) -> Self {
        let dimensions = request.classes.len() + usize::from(request.isolate);
        let mut items = items(request, assignment, dimensions);
        let mut bins = bins(request, offers, assignment, items.len());
        let weights = weights(&bins, dimensions);
        items.sort_by(|one, other| weigh(&other.need, &weights).total_cmp(&weigh(&one.need, &weights)));
        for (index, item) in items.iter().enumerate() {
            for &provider in &offers.options[item.kind] {
                let bin = &mut bins[provider as usize];
                bin.takes[index] = fits(&item.need, &bin.room);
            }
        }
        bins.retain(|bin| bin.takes.contains(&true));
        bins.sort_by(|one, other| {
            let size = |bin: &Bin| weigh(&bin.room, &weights);
            let order = size(one).total_cmp(&size(other));
            order.then_with(|| (&one.room, &one.takes).cmp(&(&other.room, &other.takes)))
        });
        Self {
            items,
            bins,
            dimensions,
        }
    }

    /// Packs the largest items first, each into the bin with the least room left, with the most, or into the first one.
    pub fn pack_greedily(&self) -> Option<Vec<(usize, usize)>> {
        let weights = weights(&self.bins, self.dimensions);
        let best_fit: fn(f64) -> f64 = |free| free;
        let worst_fit: fn(f64) -> f64 = |free| -free;
        let first_fit: fn(f64) -> f64 = |_| 0.0;
        let mut ranks = [best_fit, worst_fit, first_fit].into_iter();
        ranks.find_map(|rank| self.pack_by(&weights, rank))
    }

    /// Packs each item into the bin with the lowest rank.
    fn pack_by(&self, weights: &[f64], rank: fn(f64) -> f64) -> Option<Vec<(usize, usize)>> {
        let mut rooms: Vec<Vec<i64>> = self.bins.iter().map(|bin| bin.room.clone()).collect();
        let mut found = Vec::new();
        for (index, item) in self.items.iter().enumerate() {
            for _ in 0..item.count {
                let open = (0..rooms.len()).filter(|&bin| self.bins[bin].takes[index] && fits(&item.need, &rooms[bin]));
                let ranked = open.map(|bin| (rank(weigh(&rooms[bin], weights)), bin));
                let (_, bin) = ranked.min_by(|one, other| one.0.total_cmp(&other.0))?;
                subtract(&mut rooms[bin], &item.need);
                found.push((item.kind, self.bins[bin].provider));
            }
        }
        Some(found)
    }
}

/// The remaining parts, counted by kind, without parts that need no room.
fn items(request: &SplitRequest, assignment: &PartAssignment, dimensions: usize) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut index = vec![usize::MAX; request.kinds.len()];
    for kind in assignment.remaining_kinds(request) {
        if index[kind] == usize::MAX {
            index[kind] = items.len();
            let part_kind = &request.kinds[kind];
            let mut need = vec![0; dimensions];
            for &(class, amount) in &part_kind.contested {
                need[class] = amount;
            }
            if request.isolate {
                need[request.classes.len()] = i64::from(part_kind.granular);
            }
            items.push(Item { kind, count: 0, need });
        }
        items[index[kind]].count += 1;
    }
    items.retain(|item| item.need.iter().any(|&need| need > 0));
    items
}

/// All providers with their free room. No bin takes an item yet.
fn bins(request: &SplitRequest, offers: &TreeOffers, assignment: &PartAssignment, items: usize) -> Vec<Bin> {
    let classes = request.classes.len();
    let room = |provider: usize| {
        let all = provider * classes..(provider + 1) * classes;
        let mut room: Vec<i64> = all.map(|at| offers.room[at] - assignment.load[at]).collect();
        if request.isolate {
            room.push(1 - i64::from(assignment.granular_parts[provider]));
        }
        room
    };
    let bin = |provider: usize| Bin {
        provider,
        room: room(provider),
        takes: vec![false; items],
    };
    (0..offers.slots.len()).map(bin).collect()
}

/// Weights of the dimensions, so that classes with large and with small amounts count alike.
fn weights(bins: &[Bin], dimensions: usize) -> Vec<f64> {
    let all = |at: usize| bins.iter().map(|bin| bin.room[at].max(0) as f64).sum::<f64>();
    (0..dimensions).map(|at| 1.0 / all(at).max(1.0)).collect()
}

fn weigh(amounts: &[i64], weights: &[f64]) -> f64 {
    let pairs = amounts.iter().zip(weights);
    pairs.map(|(&amount, weight)| amount as f64 * weight).sum()
}

pub(super) fn fits(need: &[i64], room: &[i64]) -> bool {
    need.iter().zip(room).all(|(need, room)| need <= room || *need == 0)
}

/// Subtracts an item's need from a room.
pub(super) fn subtract(room: &mut [i64], need: &[i64]) {
    room.iter_mut().zip(need).for_each(|(room, need)| *room -= need);
}

/// Undoes [`subtract`].
pub(super) fn add_back(room: &mut [i64], need: &[i64]) {
    room.iter_mut().zip(need).for_each(|(room, need)| *room += need);
}
