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

use super::assignment::PartAssignment;
use super::bound;
use super::nogoods::Nogoods;
use super::offers::TreeOffers;
use super::packing::Packing;
use super::packing_problem::PackingVerdict;
use super::split_request::SplitRequest;

/// The state of a search. The memory is reused for the next tree.
#[derive(Debug, Default)]
pub(super) struct BacktrackingSearch {
    pub assignment: PartAssignment,
    /// By depth, the option to try next.
    next_option: Vec<usize>,
    /// By depth, whether a solution was found with the parts before this depth as they are.
    found_below: Vec<bool>,
    nogoods: Nogoods,
    /// Whether the search met a dead end: a state without a solution below. From the first dead end on, bounds and
    /// nogoods are checked. Nogoods would have to be found again after an eviction.
    pub has_dead_end: bool,
    /// Whether the search met several dead ends, after which each step is checked for bin packing.
    checks_packing: bool,
    packing: Packing,
    /// Whether the current state is a solution that was returned.
    yielded: bool,
    exhausted: bool,
    /// How often a part was placed.
    pub steps: u64,
    /// The steps since the last solution, and some more for checks of very large requests.
    failed_steps: u64,
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
const MAX_FAILED_STEPS: u64 = 200_000;

/// The number of steps without a solution after which bin packing is checked.
const STEPS_BEFORE_PACKING: u64 = 16;

impl BacktrackingSearch {
    /// Begins the search of a tree. The more trees were `given_up` before, the fewer steps the search may take.
    pub fn begin(&mut self, request: &SplitRequest, offers: &TreeOffers, given_up: u32) {
        self.assignment.begin(request, offers);
        self.next_option.resize(request.parts.len(), 0);
        self.found_below.resize(request.parts.len(), false);
        // Deeper entries are set when the search reaches them.
        if let (Some(next), Some(found_below)) = (self.next_option.first_mut(), self.found_below.first_mut()) {
            (*next, *found_below) = (0, false);
        }
        self.nogoods.clear();
        self.packing.begin(given_up);
        self.max_failed_steps = MAX_FAILED_STEPS >> given_up;
        (self.has_dead_end, self.checks_packing, self.yielded) = (false, false, false);
        (self.failed_steps, self.gave_up, self.found) = (0, false, false);
        self.exhausted = !self.may_succeed(request, offers);
    }

    /// Finds the next solution: all parts of `assignment` are placed. False after the last solution.
    pub fn next(&mut self, request: &SplitRequest, offers: &TreeOffers) -> bool {
        while !self.exhausted && !request.settings.interrupt.is_set() {
            if self.failed_steps > self.max_failed_steps {
                (self.exhausted, self.gave_up) = (true, true);
                break;
            }
            let depth = self.assignment.depth;
            if depth == request.parts.len() {
                if !self.yielded && self.assignment.is_aligned(request, offers) {
                    self.note_found();
                    return true;
                }
                self.yielded = false;
                self.assignment.undo(request);
                continue;
            }
            let kind = self.assignment.next_kind(request);
            let Some(&provider) = offers.options[kind].get(self.next_option[depth]) else {
                self.backtrack(request, offers);
                continue;
            };
            self.next_option[depth] += 1;
            if self.assignment.can_take(request, offers, kind, provider as usize) {
                self.place(request, offers, kind, provider as usize);
                if self.may_succeed(request, offers) {
                    if let Some(next) = self.next_option.get_mut(depth + 1) {
                        (*next, self.found_below[depth + 1]) = (0, false);
                    }
                } else {
                    self.assignment.undo(request);
                }
            }
        }
        false
    }

    fn note_found(&mut self) {
        self.found_below.fill(true);
        (self.yielded, self.found, self.failed_steps) = (true, true, 0);
    }

    /// See [`TreeOffers::size`].
    pub fn size(&self) -> usize {
        self.assignment.size() + self.nogoods.size()
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
            let kind = self.assignment.next_kind(request);
            let provider = offers.options[kind][option as usize];
            self.next_option[self.assignment.depth] = option as usize + 1;
            self.place(request, offers, kind, provider as usize);
        }
        self.note_found();
    }

    fn place(&mut self, request: &SplitRequest, offers: &TreeOffers, kind: usize, provider: usize) {
        self.steps += 1;
        self.failed_steps += 1;
        self.assignment.place(request, offers, kind, provider);
    }

    /// Goes back to the part before, because all options of the next part were tried.
    fn backtrack(&mut self, request: &SplitRequest, offers: &TreeOffers) {
        if !self.found_below[self.assignment.depth] {
            self.has_dead_end = true;
            self.nogoods.record(request, offers, &self.assignment);
            if !self.checks_packing && self.failed_steps > STEPS_BEFORE_PACKING && !request.classes.is_empty() {
                self.checks_packing = true;
                let emptied = self.assignment.emptied();
                self.exhausted = self.cannot_be_packed(request, offers, Some(&emptied));
            }
        }
        if self.assignment.depth == 0 {
            self.exhausted = true;
        } else {
            self.assignment.undo(request);
            let depth = self.assignment.depth;
            if self.checks_packing && !self.found_below[depth] && self.cannot_be_packed(request, offers, None) {
                self.next_option[depth] = usize::MAX;
            }
        }
    }

    /// Whether there is no packing with the placed parts, or with the parts of a different assignment.
    fn cannot_be_packed(
        &mut self,
        request: &SplitRequest,
        offers: &TreeOffers,
        different: Option<&PartAssignment>,
    ) -> bool {
        let verdict = self
            .packing
            .check(request, offers, different.unwrap_or(&self.assignment));
        if self.packing.budget_exhausted {
            self.max_failed_steps = self.max_failed_steps.min(MAX_FAILED_STEPS / 20);
        }
        verdict == PackingVerdict::Impossible
    }

    /// False only if the remaining parts cannot be placed. Checks necessary conditions.
    fn may_succeed(&mut self, request: &SplitRequest, offers: &TreeOffers) -> bool {
        let assignment = &self.assignment;
        if !assignment.may_be_completed(request) {
            return false;
        }
        let is_due = self.has_dead_end && self.failed_steps > request.settings.limits.steps_before_bound;
        // Whether a placed part may leave no provider for a second part.
        let compete = request.isolate || !request.classes.is_empty();
        if assignment.depth == request.parts.len() || !is_due && (assignment.depth > 0 || !compete) {
            return true;
        }
        // The checks visit each kind with each provider, so for a large request the checks count as steps.
        self.failed_steps += (request.kinds.len() * offers.slots.len() / 2048) as u64;
        bound::may_succeed(request, offers, assignment)
            && !self.nogoods.contains(request, offers, assignment)
            && !(self.checks_packing && self.cannot_be_packed(request, offers, None))
    }
}
