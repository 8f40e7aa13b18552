//! Branch and bound over the rules that the relaxed placement ignores. Each part of the search is a minimum-cost flow.
//!
//! The flow is exact for a single role and two dimensions without mixed domains: the first part is the answer. The
//! chosen cells may break a rule outside of the flow. Then the search divides the part: by the number of replicas below
//! a domain, or in a cell.

pub mod bounds;
mod division;
pub mod evaluate;
pub mod flow;
pub mod graph;
pub mod growth;
pub mod relaxed;
pub mod role_prices;
pub mod roles;

use self::division::Division;
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
    /// If the search found nothing: the most new replicas with a place.
    pub most: u32,
    /// Whether a single flow gave the answer.
    pub is_one_flow: bool,
    /// Whether no replica more has a place beside the placement. Always false if room to grow was not asked.
    pub is_stuck: bool,
}

impl Outcome {
    /// Nothing, because only this many replicas can be placed.
    pub fn of_ceiling(most: u32) -> Outcome {
        Outcome {
            best: None,
            is_exact: true,
            most,
            is_one_flow: true,
            is_stuck: false,
        }
    }
}

/// The replicas to place, and the budget.
#[derive(Clone, Copy)]
pub struct WantedReplicas<'a> {
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

impl WantedReplicas<'_> {
    pub fn is_of_one_role(&self) -> bool {
        self.missing.iter().filter(|missing| **missing > 0).count() <= 1
    }
}

/// The best way to place new replicas. [`Outcome::is_stuck`] says whether the placement leaves room to grow.
pub fn search(
    items: &impl Items,
    compared: &Compared,
    cells: &Cells,
    wanted: WantedReplicas,
    growth: Option<&Growth>,
) -> Outcome {
    let mut search = Search::new(items, compared, cells, wanted, None);
    search.parts = vec![Part::default()];
    let (parts, most) = search.run(wanted.has_fallback);
    let is_stuck = match (growth, &search.best) {
        (Some(growth), Some(found)) => !search.has_room(growth, &found.choice) && !is(Mutant::NoLookAhead),
        _ => false,
    };
    Outcome {
        is_stuck,
        ..search.outcome((parts, most))
    }
}

/// The best placement with room for the next replica, if any is as good as `without_room` in the fields before room to
/// grow. `cells` has all cells for such a placement.
pub fn search_with_room(
    items: &impl Items,
    compared: &Compared,
    cells: &Cells,
    wanted: WantedReplicas,
    (growth, without_room): (&Growth, Cost),
) -> Outcome {
    let mut search = Search::new(items, compared, cells, wanted, Some((growth, without_room)));
    let empty: Vec<(u32, Range)> = growth.empty(cells).collect();
    let with_room = growth.cells().take_while(|_| !wanted.budget.count_list(1));
    let parts = with_room.map(|cell| Part {
        cells: empty.iter().copied().chain(growth.range(cells, cell)).collect(),
        room_in: Some(cell),
        ..Part::default()
    });
    search.parts = parts.collect();
    let found = search.run(true);
    search.outcome(found)
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
    wanted: WantedReplicas<'a>,
    parts: Vec<Part>,
    best: Option<Best>,
    is_exact: bool,
    /// Every placement has to leave room for the next replica, and to be as good as this cost in the fields before room
    /// to grow.
    growth: Option<(&'a Growth<'a>, Cost)>,
}

impl<'a, I: Items> Search<'a, I> {
    fn new(
        items: &'a I,
        compared: &'a Compared,
        cells: &'a Cells,
        wanted: WantedReplicas<'a>,
        growth: Option<(&'a Growth<'a>, Cost)>,
    ) -> Search<'a, I> {
        Search {
            items,
            relaxation: Relaxation::new(compared, cells, (wanted.new, wanted.cost_before), wanted.budget),
            wanted,
            parts: Vec::new(),
            best: None,
            is_exact: true,
            growth,
        }
    }

    fn outcome(self, (parts, most): (u32, u32)) -> Outcome {
        Outcome {
            best: self.best.map(|best| (best.cost, best.replicas)),
            is_exact: self.is_exact,
            most,
            is_one_flow: parts == 1,
            is_stuck: false,
        }
    }

    /// Searches all parts. Returns the number of solved parts, and the most replicas with a place if
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

    /// Whether the next replica has a place beside a choice.
    fn has_room(&self, growth: &Growth, choice: &Choice) -> bool {
        let dimensions = 0..self.relaxation.compared.dimensions.len();
        let counts: Vec<Vec<u32>> = dimensions.map(|at| self.relaxation.counts(choice, at)).collect();
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
            Err(Unassigned::Together(item, counts)) => {
                let parts = Division::new(&self.relaxation).by_roles(&part, item, &counts);
                return self.parts.extend(parts);
            }
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
                let counts = self.relaxation.counts(choice, at);
                evaluate(at, dimension, &counts, &relaxation.direct[at])
            });
        all.collect()
    }

    /// Searches the parts of a part, so that the choice is not found again where the choice breaks a rule.
    fn divide(&mut self, part: Part, choice: &Choice, site: Option<Site>) {
        self.parts
            .extend(Division::new(&self.relaxation).by_choice(&part, choice, site));
    }
}
