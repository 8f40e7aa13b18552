//! A backtracking search for the solutions of one tree: every way to place all parts of a request on its providers.
//!
//! The search places one part after the other (depth-first), the parts with the fewest options first. If no option is
//! left, the last placement is undone. Plain backtracking may enter dead ends exponentially often before the next
//! solution is found, or proven not to exist. So each step is checked:
//!
//! - `bound`: necessary conditions, as sums of room and matchings;
//! - `nogoods`: a state without a solution is recorded and not entered again, nor is a state that differs only by an
//!   exchange of equal providers (symmetry);
//! - `packing`: whether the remaining parts can be packed at all, once several dead ends were met.
//!
//! Checks start after the first dead end; most searches meet none. After each solution they pause for some steps.

use super::bit_matrix::union_with;
use super::bound;
use super::nogoods::Nogoods;
use super::offers::TreeOffers;
use super::packing::{Packing, PackingVerdict, PartialAssignment};
use super::split_request::SplitRequest;
use super::subtrees::Subtrees;

/// The state of a search: the parts that are placed so far. The memory is reused for the next tree.
#[derive(Debug, Default)]
pub(super) struct BacktrackingSearch {
    /// The parts in the order in which they are placed.
    pub order: Vec<usize>,
    /// The number of parts that are placed.
    pub depth: usize,
    /// By depth, the provider of the part.
    pub chosen: Vec<u32>,
    /// By depth, the option to try next.
    next_option: Vec<usize>,
    /// By depth, whether a solution was found with the parts before this depth as they are.
    found_below: Vec<bool>,
    /// By provider and contested class, the sum of the amounts placed.
    pub load: Vec<i64>,
    /// By provider, the number of granular parts placed.
    pub granular_parts: Vec<u32>,
    /// By depth, the required traits that the providers of placed parts have.
    covered: Vec<u64>,
    /// By depth, the required traits that the options of the remaining parts have.
    coverable: Vec<u64>,
    /// The number of words of a set of required traits.
    trait_words: usize,
    pub subtrees: Subtrees,
    nogoods: Nogoods,
    /// Whether the search met a dead end: a state without a solution below. From the first dead end on, bounds and
    /// nogoods are checked.
    has_dead_end: bool,
    /// Whether the search met several dead ends, after which each step is checked for bin packing.
    checks_packing: bool,
    packing: Packing,
    /// Whether the current state is a solution that was returned.
    yielded: bool,
    exhausted: bool,
    /// How often a part was placed.
    pub steps: u64,
    /// The steps since the last solution, and some more for checks of very large requests.
    pub failed_steps: u64,
    max_failed_steps: u64,
    /// Whether the search ended before all solutions were tried.
    pub gave_up: bool,
    pub found: bool,
}

/// The number of steps without a solution after which the rest of a tree is given up. A step of a very large request
/// counts as several.
///
/// Bounds, nogoods and packing decide repeated amounts, amounts with a common divisor and equal providers in far fewer
/// steps. Bin packing of amounts that are all different in several classes remains: no method decides it fast.
pub const MAX_FAILED_STEPS: u64 = 200_000;

/// The number of steps without a solution after which bin packing is checked.
const STEPS_BEFORE_PACKING: u64 = 16;

impl BacktrackingSearch {
    /// Begins the search of a tree. The more trees were `given_up` before, the fewer steps the search may take.
    pub fn begin(&mut self, request: &SplitRequest, offers: &TreeOffers, given_up: u32) {
        let (parts, providers) = (request.parts.len(), offers.slots.len());
        self.order.clear();
        self.order.extend(0..parts);
        let priority = |part: usize| {
            let kind = request.parts[part].kind;
            (
                offers.options[kind].len(),
                std::cmp::Reverse(request.kinds[kind].largest),
                kind,
                part,
            )
        };
        if parts > 1 {
            self.order.sort_unstable_by_key(|&part| priority(part));
        }
        self.depth = 0;
        self.chosen.resize(parts, 0);
        self.next_option.resize(parts, 0);
        self.found_below.resize(parts, false);
        // Deeper entries are set when the search reaches them.
        if let (Some(next), Some(found_below)) = (self.next_option.first_mut(), self.found_below.first_mut()) {
            (*next, *found_below) = (0, false);
        }
        reset_vec(&mut self.load, offers.room.len(), 0);
        reset_vec(&mut self.granular_parts, providers, 0);
        self.begin_traits(request, offers);
        self.subtrees.begin(request, offers, &self.order);
        self.nogoods.clear();
        self.packing.begin(given_up);
        self.max_failed_steps = MAX_FAILED_STEPS >> given_up;
        (self.has_dead_end, self.checks_packing, self.yielded) = (false, false, false);
        (self.failed_steps, self.gave_up, self.found) = (0, false, false);
        self.exhausted = !self.may_succeed(request, offers);
    }

    fn begin_traits(&mut self, request: &SplitRequest, offers: &TreeOffers) {
        let required = request.unsuffixed.as_ref().map_or(0, |group| group.required.len());
        self.trait_words = required.div_ceil(64);
        if self.trait_words == 0 {
            return;
        }
        let size = (request.parts.len() + 1) * self.trait_words;
        reset_vec(&mut self.covered, size, 0);
        reset_vec(&mut self.coverable, size, 0);
        for depth in (0..request.parts.len()).rev() {
            let (here, later) = self.coverable[depth * self.trait_words..].split_at_mut(self.trait_words);
            here.copy_from_slice(&later[..self.trait_words]);
            let kind = request.parts[self.order[depth]].kind;
            if !request.kinds[kind].granular {
                offers.cover_together(kind, here);
            }
        }
    }

    /// Finds the next solution: `chosen` has the provider of each part in `order`. False after the last solution.
    pub fn next(&mut self, request: &SplitRequest, offers: &TreeOffers) -> bool {
        while !self.exhausted && !request.interrupt.is_set() {
            if self.failed_steps > self.max_failed_steps {
                (self.exhausted, self.gave_up) = (true, true);
                break;
            }
            if self.depth == self.order.len() {
                if !self.yielded && sums_are_aligned(offers, &self.load, request.classes.len()) {
                    self.found_below.fill(true);
                    (self.yielded, self.found) = (true, true);
                    self.failed_steps = 0;
                    return true;
                }
                self.yielded = false;
                self.undo(request);
                continue;
            }
            let kind = request.parts[self.order[self.depth]].kind;
            let Some(&provider) = offers.options[kind].get(self.next_option[self.depth]) else {
                self.backtrack(request, offers);
                continue;
            };
            self.next_option[self.depth] += 1;
            if self.can_take(request, offers, kind, provider as usize) {
                self.place(request, offers, kind, provider as usize);
                if self.may_succeed(request, offers) {
                    if let Some(next) = self.next_option.get_mut(self.depth) {
                        (*next, self.found_below[self.depth]) = (0, false);
                    }
                } else {
                    self.undo(request);
                }
            }
        }
        false
    }

    /// Whether the search met a dead end, and so has nogoods that would have to be found again after an eviction.
    pub fn has_learned(&self) -> bool {
        self.has_dead_end
    }

    /// See [`TreeOffers::size`].
    pub fn size(&self) -> usize {
        4 * self.order.len() + self.load.len() + self.granular_parts.len() + self.subtrees.size() + self.nogoods.size()
    }

    /// The solution that was just found, as [`BacktrackingSearch::resume`] needs it: by depth, the option taken.
    pub fn solution(&self) -> impl Iterator<Item = u32> {
        self.next_option.iter().map(|&next| next as u32 - 1)
    }

    /// Begins the search of the same tree again, and continues after a solution that was found before.
    pub fn resume(
        &mut self,
        request: &SplitRequest,
        offers: &TreeOffers,
        given_up: u32,
        solution: impl Iterator<Item = u32>,
    ) {
        self.begin(request, offers, given_up);
        for option in solution {
            let kind = request.parts[self.order[self.depth]].kind;
            let provider = offers.options[kind][option as usize];
            self.next_option[self.depth] = option as usize + 1;
            self.place(request, offers, kind, provider as usize);
        }
        self.found_below.fill(true);
        (self.yielded, self.found, self.failed_steps) = (true, true, 0);
    }

    /// Whether a provider could take one more part of this kind.
    pub fn can_take(&self, request: &SplitRequest, offers: &TreeOffers, kind: usize, provider: usize) -> bool {
        let part_kind = &request.kinds[kind];
        let first = provider * request.classes.len();
        let has_room =
            |&(class, amount): &(usize, i64)| self.load[first + class] <= offers.room[first + class] - amount;
        let can_hold = |&rule: &usize| {
            self.subtrees
                .can_hold_with(rule, self.depth, offers.above.row(provider))
        };
        !(request.isolate && part_kind.granular && self.granular_parts[provider] > 0)
            && part_kind.contested.iter().all(has_room)
            && part_kind.subtrees.iter().all(can_hold)
            && (request.nested || self.is_alone_in_tree(offers, provider))
    }

    /// Whether no other provider of its tree serves a part.
    fn is_alone_in_tree(&self, offers: &TreeOffers, provider: usize) -> bool {
        let mut placed = self.chosen[..self.depth].iter().map(|&other| other as usize);
        placed.all(|other| other == provider || offers.trees[other] != offers.trees[provider])
    }

    pub fn covered(&self) -> &[u64] {
        &self.covered[self.depth * self.trait_words..(self.depth + 1) * self.trait_words]
    }

    fn place(&mut self, request: &SplitRequest, offers: &TreeOffers, kind: usize, provider: usize) {
        self.steps += 1;
        self.failed_steps += 1;
        let part_kind = &request.kinds[kind];
        for &(class, amount) in &part_kind.contested {
            self.load[provider * request.classes.len() + class] += amount;
        }
        self.granular_parts[provider] += u32::from(part_kind.granular);
        self.chosen[self.depth] = provider as u32;
        if self.trait_words > 0 {
            let (before, after) = self.covered[self.depth * self.trait_words..].split_at_mut(self.trait_words);
            after[..self.trait_words].copy_from_slice(before);
            if !part_kind.granular {
                union_with(&mut after[..self.trait_words], offers.covers.row(provider));
            }
        }
        self.subtrees
            .place(offers, self.depth, &part_kind.subtrees, request.subtrees, provider);
        self.depth += 1;
    }

    /// Removes the last part.
    fn undo(&mut self, request: &SplitRequest) {
        self.depth -= 1;
        let part_kind = &request.kinds[request.parts[self.order[self.depth]].kind];
        let provider = self.chosen[self.depth] as usize;
        for &(class, amount) in &part_kind.contested {
            self.load[provider * request.classes.len() + class] -= amount;
        }
        self.granular_parts[provider] -= u32::from(part_kind.granular);
    }

    /// Goes back to the part before, because all options of the next part were tried.
    fn backtrack(&mut self, request: &SplitRequest, offers: &TreeOffers) {
        if !self.found_below[self.depth] {
            self.has_dead_end = true;
            self.with_nogoods(|nogoods, this| nogoods.record(request, offers, this));
            if !self.checks_packing && self.failed_steps > STEPS_BEFORE_PACKING && !request.classes.is_empty() {
                self.checks_packing = true;
                self.exhausted = self.check_packing(request, offers, 0) == PackingVerdict::Impossible;
            }
        }
        if self.depth == 0 {
            self.exhausted = true;
        } else {
            self.undo(request);
            if self.checks_packing
                && !self.found_below[self.depth]
                && self.check_packing(request, offers, self.depth) == PackingVerdict::Impossible
            {
                self.next_option[self.depth] = usize::MAX;
            }
        }
    }

    /// Whether the parts from `depth` on can be packed after the parts before. `depth` is 0 or the current depth.
    fn check_packing(&mut self, request: &SplitRequest, offers: &TreeOffers, depth: usize) -> PackingVerdict {
        let kind = |&part: &usize| request.parts[part].kind;
        let chosen = self.chosen.iter().map(|&provider| provider as usize);
        let placed: Vec<(usize, usize)> = self.order[..depth].iter().map(kind).zip(chosen).collect();
        let remaining: Vec<usize> = self.order[depth..].iter().map(kind).collect();
        let empty = (vec![0; self.load.len()], vec![0; self.granular_parts.len()]);
        let (load, granular_parts) = if depth == self.depth {
            (&self.load, &self.granular_parts)
        } else {
            (&empty.0, &empty.1)
        };
        let assignment = PartialAssignment {
            placed: &placed,
            remaining: &remaining,
            load,
            granular_parts,
        };
        let mut packing = std::mem::take(&mut self.packing);
        let verdict = packing.check(request, offers, &assignment);
        if packing.budget_exhausted {
            self.max_failed_steps = self.max_failed_steps.min(MAX_FAILED_STEPS / 20);
        }
        self.packing = packing;
        verdict
    }

    /// The parts that are placed, each with the index of its provider.
    pub fn placed(&self) -> impl Iterator<Item = (usize, usize)> {
        let chosen = self.chosen[..self.depth].iter().map(|&provider| provider as usize);
        self.order.iter().copied().zip(chosen)
    }

    fn with_nogoods<T>(&mut self, act: impl FnOnce(&mut Nogoods, &Self) -> T) -> T {
        let mut nogoods = std::mem::take(&mut self.nogoods);
        let result = act(&mut nogoods, self);
        self.nogoods = nogoods;
        result
    }

    /// False only if the remaining parts cannot be placed. Checks necessary conditions.
    fn may_succeed(&mut self, request: &SplitRequest, offers: &TreeOffers) -> bool {
        if self.trait_words > 0 {
            let covered = self.covered().iter();
            let coverable = &self.coverable[self.depth * self.trait_words..];
            let together = covered
                .zip(coverable)
                .map(|(covered, coverable)| (covered | coverable).count_ones());
            let required = request.unsuffixed.as_ref().map_or(0, |group| group.required.len());
            if together.sum::<u32>() as usize != required {
                return false;
            }
        }
        if !(0..request.subtrees).all(|rule| self.subtrees.can_hold(rule, self.depth)) {
            return false;
        }
        let is_due = self.has_dead_end && self.failed_steps > request.limits.steps_before_bound;
        if self.depth < self.order.len() && (is_due || self.depth == 0 && request.parts_compete()) {
            // The checks visit each kind with each provider, so for a large request the checks count as steps.
            self.failed_steps += (request.kinds.len() * offers.slots.len() / 2048) as u64;
            return bound::may_succeed(request, offers, self)
                && !self.with_nogoods(|nogoods, this| nogoods.contains(request, offers, this))
                && !(self.checks_packing
                    && self.check_packing(request, offers, self.depth) == PackingVerdict::Impossible);
        }
        true
    }
}

/// Whether all sums on one provider are allowed by `step_size`.
fn sums_are_aligned(offers: &TreeOffers, load: &[i64], classes: usize) -> bool {
    offers.unaligned.iter().all(|unaligned| {
        let sum = load[unaligned.provider * classes + unaligned.class];
        sum == 0 || unaligned.units.allow(sum, false)
    })
}

fn reset_vec<T: Clone>(all: &mut Vec<T>, len: usize, value: T) {
    all.clear();
    all.resize(len, value);
}
