//! Places classed into cells: all that are in the same domains of each compared dimension. A search decides how many of
//! each cell are taken; within a cell the cheapest are.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::compared::Compared;
use super::cost::Cost;

/// No more slots than this are worked out. With more, each item gets an equal part of them.
const MAX_SLOTS: u32 = 1 << 20;

/// The largest table that is kept dense.
const DENSE_ENTRIES: usize = 1 << 18;

/// What can be chosen: hosts for new replicas, or replicas that may stay.
pub trait Items {
    /// The number of items.
    fn count(&self) -> u32;

    /// The nearest live domain of an item in a compared dimension.
    fn leaf(&self, item: u32, compared: usize) -> u32;

    /// The cost of one more replica of a role on an item that gets `already` of it; `None` if there is no room.
    fn offer(&self, item: u32, role: usize, already: u32) -> Option<Cost>;

    /// What the rules on hosts add for the replica with this number, from 0; `None` if they admit no more.
    fn unit(&self, item: u32, number: u32) -> Option<Cost>;

    /// Whether these replicas fit together, by role.
    fn fits(&self, item: u32, counts: &[u32]) -> bool;
}

/// A place for one replica. With several roles the cost is that of the cheapest role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    pub cost: Cost,
    pub item: u32,
}

/// All cells with a free place.
pub struct Cells {
    dimensions: usize,
    /// By cell and compared dimension.
    leaves: Vec<u32>,
    /// Where the slots of each cell begin.
    starts: Vec<u32>,
    /// The cheapest first in each cell.
    slots: Vec<Slot>,
    /// The most slots of an item, if an item may have more places.
    pub cut: Option<u32>,
}

impl Cells {
    /// The cells of all items for `missing` replicas by role, of which each costs a price besides. Of one role only as
    /// many slots of a cell are kept as can be taken.
    pub fn of(items: &impl Items, compared: &Compared, missing: &[u32], prices: &[Cost]) -> Cells {
        let mut cells = Cells {
            dimensions: compared.dimensions.len(),
            leaves: Vec::new(),
            starts: Vec::new(),
            slots: Vec::new(),
            cut: None,
        };
        let mut numbers = CellNumbers::of(compared.dimensions.iter().map(|dimension| dimension.tree.len()));
        let wanted: Vec<(usize, u32, Cost)> = (0..missing.len())
            .filter(|&role| missing[role] > 0)
            .map(|role| (role, missing[role], prices[role]))
            .collect();
        let total: u32 = missing.iter().sum();
        let most = total.min((MAX_SLOTS / items.count().max(1)).max(1));
        let (mut costs, mut sizes) = (Vec::new(), Vec::new());
        let mut cell_of = Vec::with_capacity(items.count() as usize);
        for item in 0..items.count() {
            slot_costs(items, item, &wanted, most, &mut costs);
            if costs.is_empty() {
                continue;
            }
            if most < total && costs.len() as u32 == most && items.unit(item, most).is_some() {
                cells.cut = Some(most);
            }
            let cell = numbers.number(|compared| items.leaf(item, compared));
            if cell as usize >= sizes.len() {
                sizes.push(0);
                cells
                    .leaves
                    .extend((0..cells.dimensions).map(|compared| items.leaf(item, compared)));
            }
            sizes[cell as usize] += costs.len() as u32;
            cell_of.push((item, cell));
        }
        cells.allot(&sizes);
        // Costs are worked out again, because to keep them would take more time.
        let mut next = cells.starts.clone();
        for (item, cell) in cell_of {
            slot_costs(items, item, &wanted, most, &mut costs);
            for &cost in &costs {
                let at = &mut next[cell as usize];
                cells.slots[*at as usize] = Slot { cost, item };
                *at += 1;
            }
        }
        cells.sort(if wanted.len() > 1 { usize::MAX } else { total as usize });
        cells
    }

    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn slots(&self, cell: usize) -> &[Slot] {
        &self.slots[self.starts[cell] as usize..self.starts[cell + 1] as usize]
    }

    pub fn leaf(&self, cell: usize, compared: usize) -> u32 {
        self.leaves[cell * self.dimensions + compared]
    }

    /// The free places directly in each domain, `most` at most, by compared dimension.
    pub fn direct(&self, compared: &Compared, most: u32) -> Vec<Vec<u32>> {
        let all = compared.dimensions.iter().enumerate().map(|(at, dimension)| {
            let mut direct = vec![0_u32; dimension.tree.len()];
            for cell in 0..self.len() {
                let places = &mut direct[self.leaf(cell, at) as usize];
                *places = (*places + self.slots(cell).len() as u32).min(most);
            }
            direct
        });
        all.collect()
    }

    /// The cells in groups that are in the same domains of all compared dimensions but one.
    pub fn groups_without(&self, compared: &Compared, without: usize) -> Vec<Vec<u32>> {
        let others: Vec<usize> = (0..self.dimensions).filter(|&at| at != without).collect();
        let mut numbers = CellNumbers::of(others.iter().map(|&at| compared.dimensions[at].tree.len()));
        let mut groups: Vec<Vec<u32>> = Vec::new();
        for cell in 0..self.len() {
            let number = numbers.number(|at| self.leaf(cell, others[at])) as usize;
            if number >= groups.len() {
                groups.push(Vec::new());
            }
            groups[number].push(cell as u32);
        }
        groups
    }

    /// These cells alone, with the first places of each.
    pub fn only(&self, kept: &[(u32, u32)]) -> Cells {
        let mut cells = Cells {
            dimensions: self.dimensions,
            leaves: Vec::with_capacity(kept.len() * self.dimensions),
            starts: vec![0],
            slots: Vec::new(),
            cut: self.cut,
        };
        for &(cell, places) in kept {
            let from = cell as usize * self.dimensions;
            cells
                .leaves
                .extend_from_slice(&self.leaves[from..from + self.dimensions]);
            cells
                .slots
                .extend_from_slice(&self.slots(cell as usize)[..places as usize]);
            cells.starts.push(cells.slots.len() as u32);
        }
        cells
    }

    /// Makes room for the slots of cells of these sizes.
    fn allot(&mut self, sizes: &[u32]) {
        self.starts.push(0);
        for size in sizes {
            self.starts.push(self.starts[self.starts.len() - 1] + size);
        }
        let empty = Slot {
            cost: Cost::ZERO,
            item: 0,
        };
        self.slots = vec![empty; self.starts[sizes.len()] as usize];
    }

    /// Sorts the slots of each cell, and keeps this many of them.
    fn sort(&mut self, kept: usize) {
        let mut end = 0;
        for cell in 0..self.len() {
            let (from, to) = (self.starts[cell] as usize, self.starts[cell + 1] as usize);
            let all = &mut self.slots[from..to];
            let number = all.len().min(kept);
            if all.len() > kept {
                all.select_nth_unstable(kept);
            }
            all[..number].sort_unstable();
            self.slots.copy_within(from..from + number, end);
            self.starts[cell] = end as u32;
            end += number;
        }
        let cells = self.len();
        self.starts[cells] = end as u32;
        self.slots.truncate(end);
    }
}

/// The costs of an item's places, `most` at most. Of the place with number k it is at most what the cheapest k of all offers cost.
fn slot_costs(items: &impl Items, item: u32, roles: &[(usize, u32, Cost)], most: u32, costs: &mut Vec<Cost>) {
    costs.clear();
    let Some(first) = items.unit(item, 0) else { return };
    // Mostly there is one place for one role.
    if let [(role, _, price)] = *roles
        && items.unit(item, 1).is_none()
    {
        costs.extend(items.offer(item, role, 0).map(|offer| offer + price + first));
        return;
    }
    for &(role, missing, price) in roles {
        let offers = (0..missing.min(most)).map_while(|already| Some(items.offer(item, role, already)? + price));
        if items.unit(item, 1).is_none() {
            costs.extend(offers.take(1));
        } else {
            costs.extend(offers);
        }
    }
    costs.sort_unstable();
    costs.truncate(most as usize);
    let mut number = 0;
    costs.retain_mut(|cost| {
        let unit = if number == 0 {
            Some(first)
        } else {
            items.unit(item, number)
        };
        number += 1;
        *cost += unit.unwrap_or_default();
        unit.is_some()
    });
}

/// Numbers the combinations of domains that occur.
struct CellNumbers {
    levels: Vec<Pairs>,
}

impl CellNumbers {
    /// Of dimensions with these numbers of domains.
    fn of(domains: impl Iterator<Item = usize>) -> CellNumbers {
        let mut known = 1_usize;
        let levels = domains.map(|domains| {
            let pairs = Pairs::new(known, domains);
            known = known.saturating_mul(domains);
            pairs
        });
        CellNumbers {
            levels: levels.collect(),
        }
    }

    /// The number of a combination; a new one gets the next.
    fn number(&mut self, domain: impl Fn(usize) -> u32) -> u32 {
        let levels = self.levels.iter_mut().enumerate();
        levels.fold(0, |number, (at, level)| level.number(number, domain(at)))
    }
}

/// Numbers pairs in the order in which they come.
struct Pairs {
    seconds: usize,
    /// 0 is a pair that did not come yet.
    dense: Vec<u32>,
    sparse: HashMap<u64, u32, BuildHasherDefault<PairHasher>>,
    count: u32,
}

impl Pairs {
    fn new(firsts: usize, seconds: usize) -> Pairs {
        let entries = firsts.saturating_mul(seconds);
        Pairs {
            seconds,
            dense: vec![0; if entries <= DENSE_ENTRIES { entries } else { 0 }],
            sparse: HashMap::default(),
            count: 0,
        }
    }

    fn number(&mut self, first: u32, second: u32) -> u32 {
        let known = if self.dense.is_empty() {
            self.sparse
                .entry(u64::from(first) << 32 | u64::from(second))
                .or_default()
        } else {
            &mut self.dense[first as usize * self.seconds + second as usize]
        };
        if *known == 0 {
            self.count += 1;
            *known = self.count;
        }
        *known - 1
    }
}

/// Hashes one number. The pairs are placet's own, so no client chooses them to collide.
#[derive(Default)]
struct PairHasher(u64);

impl Hasher for PairHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}
