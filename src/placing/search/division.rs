//! Divides a part of the search, so that no placement is lost: by the number of replicas below a domain, in a cell, or
//! of a role on an item.

use super::bounds::Split;
use super::evaluate::Site;
use super::relaxed::{Choice, Part, Relaxation};
use crate::placing::compared::even::Range;

/// The divisions of the parts of a relaxation.
pub struct Division<'a> {
    relaxation: &'a Relaxation<'a>,
}

impl<'a> Division<'a> {
    pub fn new(relaxation: &'a Relaxation<'a>) -> Division<'a> {
        Division { relaxation }
    }

    /// Divides a part without losing a placement, so that the choice is not found again where the choice breaks a rule.
    pub fn by_choice(&self, part: &Part, choice: &Choice, site: Option<Site>) -> Vec<Part> {
        if let Some((split, at)) = self.wide_range(choice, site) {
            return self.by_range(part, split, at);
        }
        let Some((cell, number, is_over)) = self.open_cell(part, choice, site) else {
            return Vec::new();
        };
        let range = self.cell_range(part, cell);
        let last = if is_over { number - 1 } else { number };
        let (fewer, more) = (Range::of(range.least, last), Range::of(last + 1, range.most));
        let order = if is_over { [more, fewer] } else { [fewer, more] };
        let parts = order.map(|range| {
            let mut part = self.copy(part);
            part.cells.insert(cell, range);
            part
        });
        parts.into()
    }

    /// A range of replicas below a domain that is wider in the flow than in the rules, and the number in the choice.
    fn wide_range(&self, choice: &Choice, site: Option<Site>) -> Option<(Split, u32)> {
        if let Some(site) = site {
            let end = self
                .relaxation
                .flow
                .iter()
                .position(|compared| *compared == Some(site.compared))?;
            let range = choice.below[end].as_ref()?[site.parent as usize];
            let split = Split {
                compared: site.compared,
                domain: site.parent,
                range,
            };
            return (range.least < range.most && range.holds(site.below)).then_some((split, site.below));
        }
        self.relaxation
            .flow
            .iter()
            .zip(&choice.below)
            .find_map(|(compared, below)| {
                let (compared, below) = ((*compared)?, below.as_ref()?);
                let dimension = &self.relaxation.compared.dimensions[compared];
                dimension.demands.even_cost?;
                let counts = self.relaxation.counts(choice, compared);
                let count = |children: &[u32]| children.iter().map(|&child| counts[child as usize]).sum();
                (0..dimension.tree.len() as u32).find_map(|domain| {
                    let range = below[domain as usize];
                    let split = Split {
                        compared,
                        domain,
                        range,
                    };
                    (self.relaxation.has_hub(compared, domain) && range.least < range.most)
                        .then(|| (split, count(dimension.tree.children(domain))))
                })
            })
    }

    /// A copy to divide further.
    fn copy(&self, part: &Part) -> Part {
        let Part {
            splits, cells, roles, ..
        } = part;
        let size = splits.len() + cells.len() + roles.len();
        self.relaxation.budget.count(size as u64);
        part.clone()
    }

    fn by_range(&self, part: &Part, split: Split, at: u32) -> Vec<Part> {
        let Range { least, most } = split.range;
        let lower = at.checked_sub(1).map(|before| Range::of(least, before));
        let parts = [lower, Some(Range::of(at + 1, most)), Some(Range::of(at, at))];
        let ranges = parts.into_iter().flatten().filter(|range| range.least <= range.most);
        let parts = ranges.map(|range| {
            let mut part = self.copy(part);
            part.splits
                .retain(|other| (other.compared, other.domain) != (split.compared, split.domain));
            part.splits.push(Split { range, ..split });
            part
        });
        parts.collect()
    }

    /// Replicas that do not fit together do not fit with more replicas. So each new part has fewer replicas of a role
    /// there.
    pub fn by_roles(&self, part: &Part, item: u32, counts: &[u32]) -> Vec<Part> {
        let used = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let parts = used.map(|(role, &count)| {
            let mut part = self.copy(part);
            part.roles.insert((item, role), count - 1);
            part
        });
        parts.collect()
    }

    fn cell_range(&self, part: &Part, cell: u32) -> Range {
        let most = self.relaxation.cells.slots(cell as usize).len() as u32;
        part.cells
            .get(&cell)
            .copied()
            .unwrap_or(Range::of(0, most.min(self.relaxation.new)))
    }

    /// A cell whose number is not fixed, the number in the choice, and whether fewer replicas are tried first. A cell
    /// in the domain of `site` comes first.
    fn open_cell(&self, part: &Part, choice: &Choice, site: Option<Site>) -> Option<(u32, u32, bool)> {
        let cells = self.relaxation.cells;
        let taken = || choice.taken.iter().copied();
        let levels = site.map_or(1, |site| {
            self.relaxation.compared.dimensions[site.compared].tree.levels()
        });
        self.relaxation.budget.count(cells.len() as u64 * levels);
        let mut numbers = vec![0; cells.len()];
        taken().for_each(|(cell, number)| numbers[cell as usize] = number);
        let is_there = |cell: u32| {
            site.is_none_or(|site| {
                let tree = &self.relaxation.compared.dimensions[site.compared].tree;
                tree.is_in(cells.leaf(cell as usize, site.compared), site.domain)
            })
        };
        let can_fall = |(cell, number): &(u32, u32)| *number > self.cell_range(part, *cell).least;
        if site.is_none_or(|site| site.is_over) {
            let there = taken().filter(|(cell, _)| is_there(*cell)).filter(can_fall);
            if let Some((cell, number)) = there.max_by_key(|(_, number)| *number) {
                return Some((cell, number, true));
            }
        } else {
            let number = |cell: u32| numbers[cell as usize];
            let mut there = (0..cells.len() as u32).filter(|&cell| is_there(cell));
            if let Some(cell) = there.find(|&cell| number(cell) < self.cell_range(part, cell).most) {
                return Some((cell, number(cell), false));
            }
        }
        if let Some((cell, number)) = taken().find(can_fall) {
            return Some((cell, number, true));
        }
        let mut open = (0..cells.len() as u32).map(|cell| (cell, self.cell_range(part, cell)));
        let (cell, range) = open.find(|(_, range)| range.least < range.most)?;
        let number = numbers[cell as usize];
        Some((cell, number, number > range.least))
    }
}
