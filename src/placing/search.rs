//! Branch and bound over the rules that the relaxed placement ignores. Each part of the search is a minimum-cost flow.
//!
//! The flow is exact for one role and two dimensions without mixed domains: the first part is the answer. If the chosen
//! cells break a rule that the flow ignores, the search divides the part: by the number of replicas below a domain, or
//! in a cell.

pub mod bounds;
pub mod evaluate;
pub mod flow;
pub mod growth;
pub mod relaxed;
pub mod role_prices;
pub mod roles;

use self::bounds::Split;
use self::evaluate::{Site, Verdict, evaluate};
use self::growth::Growth;
use self::relaxed::{Choice, Nothing, Part, Relaxation};
use self::roles::{Assigned, Assignment, Unassigned, assign};
use super::budget::Budget;
use super::cells::Cells;
use super::cells::items::Items;
use super::compared::Compared;
use super::compared::even::Range;
use super::cost::Cost;
use crate::mutants::{Mutant, is};

/// Once a placement is known, the search for a better one ends when a tenth of the budget is spent.
const SHARE_FOR_BETTER: u64 = 10;

/// The result of a search.
pub struct Outcome {
    pub best: Option<(Cost, Vec<Assigned>)>,
    /// Whether the search was complete.
    pub is_exact: bool,
    /// If the search found nothing: the most new replicas that can be placed.
    pub most: u32,
    /// Whether a single flow gave the answer.
    pub is_one_flow: bool,
}

impl Outcome {
    /// Nothing, because only this many replicas can be placed.
    pub fn of_ceiling(most: u32) -> Outcome {
        Outcome {
            best: None,
            is_exact: true,
            most,
            is_one_flow: true,
        }
    }
}

/// The replicas to place, and the budget.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// The most new replicas of each role.
    pub missing: &'a [u32],
    /// The number of new replicas.
    pub new: u32,
    /// The cost of the hosts before a replica is placed.
    pub cost_before: Cost,
    /// The first flow is completed even if the budget is spent.
    pub budget: &'a Budget<'a>,
    /// Whether the caller has a further answer if the search finds nothing.
    pub has_fallback: bool,
}

impl Wanted<'_> {
    pub fn is_of_one_role(&self) -> bool {
        self.missing.iter().filter(|missing| **missing > 0).count() <= 1
    }
}

/// The best way to place new replicas. With `growth`, of placements that are equal in all that comes before room to
/// grow, a placement with room for one replica more comes before the others.
pub fn search(
    items: &impl Items,
    compared: &Compared,
    cells: &Cells,
    wanted: Wanted,
    growth: Option<&Growth>,
) -> Outcome {
    let mut search = Search {
        items,
        relaxation: Relaxation::new(compared, cells, (wanted.new, wanted.cost_before), wanted.budget),
        wanted,
        parts: vec![Part::default()],
        best: None,
        is_exact: true,
        growth: None,
    };
    let (mut parts, most) = search.run(wanted.has_fallback);
    if let Some(growth) = growth
        && let Some(found) = &search.best
        && !search.has_room(growth, &found.choice)
        && !is(Mutant::NoLookAhead)
    {
        parts += search.look_for_room(growth);
    }
    Outcome {
        best: search.best.map(|best| (best.cost, best.replicas)),
        is_exact: search.is_exact,
        most,
        is_one_flow: parts == 1,
    }
}

/// The best placement so far.
struct Best {
    cost: Cost,
    replicas: Vec<Assigned>,
    choice: Choice,
}

struct Search<'a, I> {
    items: &'a I,
    relaxation: Relaxation<'a>,
    wanted: Wanted<'a>,
    parts: Vec<Part>,
    best: Option<Best>,
    is_exact: bool,
    /// Every placement has to leave room for one replica more, and to be as good as this placement in all that comes
    /// before room to grow.
    growth: Option<(&'a Growth, Cost)>,
}

impl<'a, I: Items> Search<'a, I> {
    /// Searches all parts. Returns the number of parts that were solved, and the most replicas that can be placed if
    /// the first part has no placement.
    fn run(&mut self, has_fallback: bool) -> (u32, u32) {
        let budget = self.wanted.budget;
        let begin = budget.spent();
        let (mut most, mut parts) = (self.wanted.new.saturating_sub(1), 0);
        while let Some(part) = self.parts.pop() {
            let has_answer = self.best.is_some() || has_fallback;
            let is_spent = budget.is_spent() || has_answer && budget.has_spent(SHARE_FOR_BETTER, begin);
            if parts > 0 && is_spent || budget.has_ended() {
                self.is_exact = false;
                break;
            }
            match self.relaxation.solve(&part, self.growth.map(|(growth, _)| growth)) {
                Ok(choice) => self.judge(part, choice),
                Err(Nothing::Most(number)) if parts == 0 => most = number,
                Err(_) => {}
            }
            parts += 1;
        }
        (parts, most)
    }

    /// Replaces the best placement by the best placement with room for one replica more, if there is one that is as
    /// good in all that comes before. Returns the number of parts that were solved.
    fn look_for_room(&mut self, growth: &'a Growth) -> u32 {
        let Some(without_room) = self.best.take() else { return 0 };
        self.growth = Some((growth, without_room.cost));
        let cells = growth.cells().take_while(|_| !self.wanted.budget.count_list(1));
        self.parts = cells
            .map(|cell| Part {
                cells: growth.range(self.relaxation.cells, cell).into_iter().collect(),
                room_in: Some(cell),
                ..Part::default()
            })
            .collect();
        let (parts, _) = self.run(true);
        self.best = self.best.take().or(Some(without_room));
        parts
    }

    /// Whether one replica more has a place beside a choice.
    fn has_room(&self, growth: &Growth, choice: &Choice) -> bool {
        let dimensions = 0..self.relaxation.compared.dimensions.len();
        let counts: Vec<Vec<u32>> = dimensions.map(|at| self.counts(choice, at)).collect();
        growth.admits(&counts, self.relaxation.cells, &choice.taken, self.wanted.budget)
    }

    /// Keeps a choice that is the best so far. Divides the part if the part may contain a better choice.
    fn judge(&mut self, part: Part, choice: Choice) {
        let growth = self.growth;
        let is_worse = |cost: Cost| growth.is_some_and(|(growth, without_room)| growth.is_worse(cost, without_room));
        if self.best.as_ref().is_some_and(|best| choice.cost >= best.cost) || is_worse(choice.cost) {
            return;
        }
        let verdicts = self.verdicts(&choice);
        self.wanted.budget.count(self.relaxation.cells.len() as u64);
        if let Some(site) = verdicts.iter().find_map(|verdict| verdict.broken) {
            return self.divide(part, &choice, Some(site));
        }
        if let Some((growth, _)) = self.growth
            && !self.has_room(growth, &choice)
        {
            return self.divide(part, &choice, None);
        }
        let rules = verdicts.iter().fold(Cost::ZERO, |sum, verdict| sum + verdict.cost);
        let (cells, taken) = (self.relaxation.cells, choice.taken.as_slice());
        match assign(
            (self.items, &part.roles),
            (cells, taken),
            self.wanted.missing,
            (self.wanted.budget, 1),
        ) {
            Ok(Assignment {
                cost,
                replicas,
                is_cheapest,
                ..
            }) => {
                self.is_exact &= is_cheapest;
                let total = cost + rules + self.wanted.cost_before;
                let is_solved = total <= choice.cost;
                let is_best = self.best.as_ref().is_none_or(|best| total < best.cost);
                if total.keeps_hard_bounds() && !is_worse(total) && is_best {
                    self.best = Some(Best {
                        cost: total,
                        replicas,
                        choice: choice.clone(),
                    });
                }
                if is_solved {
                    return;
                }
            }
            Err(Unassigned::None) => {}
            Err(Unassigned::Together(item, counts)) => return self.divide_roles(&part, item, &counts),
        }
        let outside = |verdict: &&Verdict| {
            verdict
                .costly
                .is_some_and(|site| !self.relaxation.flow.contains(&Some(site.compared)))
        };
        let site = verdicts.iter().find(outside).and_then(|verdict| verdict.costly);
        self.divide(part, &choice, site);
    }

    fn verdicts(&self, choice: &Choice) -> Vec<Verdict> {
        let relaxation = &self.relaxation;
        let all = relaxation
            .compared
            .dimensions
            .iter()
            .enumerate()
            .map(|(at, dimension)| {
                self.wanted.budget.count(dimension.tree.len() as u64);
                let counts = self.counts(choice, at);
                evaluate(at, dimension, &counts, &relaxation.direct[at])
            });
        all.collect()
    }

    /// The replicas in each domain of a compared dimension and below, new and placed.
    fn counts(&self, choice: &Choice, compared: usize) -> Vec<u32> {
        let dimension = &self.relaxation.compared.dimensions[compared];
        let mut counts = vec![0; dimension.tree.len()];
        for &(cell, number) in &choice.taken {
            counts[self.relaxation.cells.leaf(cell as usize, compared) as usize] += number;
        }
        dimension.tree.sum_up(&mut counts);
        for (count, placed) in counts.iter_mut().zip(&dimension.placed) {
            *count += placed;
        }
        counts
    }

    /// Divides a part without losing a placement, so that the choice is not found again where the choice breaks a rule.
    fn divide(&mut self, part: Part, choice: &Choice, site: Option<Site>) {
        if let Some((split, at)) = self.wide_range(choice, site) {
            return self.divide_range(&part, split, at);
        }
        let Some((cell, number, is_over)) = self.open_cell(&part, choice, site) else {
            return;
        };
        let range = self.cell_range(&part, cell);
        let last = if is_over { number - 1 } else { number };
        let (fewer, more) = (Range::of(range.least, last), Range::of(last + 1, range.most));
        let order = if is_over { [more, fewer] } else { [fewer, more] };
        for range in order {
            let mut part = self.copy(&part);
            part.cells.insert(cell, range);
            self.parts.push(part);
        }
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
                let counts = self.counts(choice, compared);
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
        self.wanted.budget.count(size as u64);
        part.clone()
    }

    fn divide_range(&mut self, part: &Part, split: Split, at: u32) {
        let Range { least, most } = split.range;
        let lower = at.checked_sub(1).map(|before| Range::of(least, before));
        let parts = [lower, Some(Range::of(at + 1, most)), Some(Range::of(at, at))];
        for range in parts.into_iter().flatten().filter(|range| range.least <= range.most) {
            let mut part = self.copy(part);
            part.splits
                .retain(|other| (other.compared, other.domain) != (split.compared, split.domain));
            part.splits.push(Split { range, ..split });
            self.parts.push(part);
        }
    }

    /// Replicas that do not fit together do not fit with more replicas. So each new part has fewer replicas of a role
    /// there.
    fn divide_roles(&mut self, part: &Part, item: u32, counts: &[u32]) {
        for (role, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let mut part = self.copy(part);
            part.roles.insert((item, role), count - 1);
            self.parts.push(part);
        }
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
        self.wanted.budget.count(cells.len() as u64 * levels);
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
