//! An inventory: the total of a class at a provider, and the rules for amounts of the class.

/// A row of table `inventories`, without its ids. All amounts are in units of the class.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Inventory {
    pub total: i32,
    pub reserved: i32,
    pub min_unit: i32,
    pub max_unit: i32,
    pub step_size: i32,
    pub allocation_ratio: f64,
}

impl Inventory {
    /// An inventory without reservation or overcommitment, of which any amount may be taken.
    pub fn whole(total: i32) -> Inventory {
        Inventory {
            total,
            reserved: 0,
            min_unit: 1,
            max_unit: total,
            step_size: 1,
            allocation_ratio: 1.0,
        }
    }

    /// `(total - reserved) * allocation_ratio`, not rounded. OpenStack Placement compares the float (a claim is refused
    /// if capacity < used + amount), and only the displayed number is rounded down.
    pub fn capacity(&self) -> f64 {
        (f64::from(self.total) - f64::from(self.reserved)) * self.allocation_ratio
    }

    /// The highest sum of usage that capacity grants. For integers `sum <= capacity` is `sum <= floor(capacity)`, so
    /// the snapshot holds integers. Clamped to ±2^62, so that `limit - amount` never overflows.
    ///
    /// The rule of capacity is `used + amount <= limit`. [`Inventory::has_room`] is the rule for claims. The search
    /// does not call `has_room`: its pruning compares `limit - used` with amounts, their maxima and their sums. A rule
    /// of a different form, such as a limit that depends on the amount, must be changed in all these places:
    ///
    /// - `scan.rs`, `lanes_with_room`: 64 providers at once;
    /// - `snapshot/free_capacity.rs` and `snapshot/zone_map.rs`: maximum and minimum of `limit - used` in a block and a
    ///   region;
    /// - `snapshot/amount_rules.rs`, `Snapshot::room`, from which `trees/offers.rs` has the room of each provider;
    /// - `trees/assignment.rs` (`can_take`), `trees/bound.rs`, `trees/packing_problem.rs`, `trees/bin_completion.rs`
    ///   and `trees/capacity_bound.rs`: sums of amounts against the room of a provider;
    /// - `tests/oracle.rs`: the tests' own form of the rule.
    ///
    /// Outside of the search, `model/batch/decide/inventories.rs` and `model/snapshot/comparison.rs` compare usage with
    /// capacity too.
    pub fn limit(&self) -> i64 {
        const BOUND: i64 = 1 << 62;
        // `as` saturates. A ratio that is not a number grants nothing.
        if self.capacity().is_nan() {
            -BOUND
        } else {
            (self.capacity().floor() as i64).clamp(-BOUND, BOUND)
        }
    }

    /// Whether capacity grants `amount` in addition to `used`. Units are checked by [`Inventory::allows_amount`].
    pub fn has_room(&self, used: i64, amount: i64) -> bool {
        used.saturating_add(amount) <= self.limit()
    }

    /// Whether `min_unit <= amount <= max_unit`, and the amount is a multiple of `step_size`. An amount equal to
    /// `min_unit` need not be a multiple, as OpenStack's specification says, unless `strict` asks for the rule of
    /// OpenStack's code.
    pub fn allows_amount(&self, amount: i64, strict: bool) -> bool {
        self.units().allow(amount, strict)
    }

    pub(in crate::search) fn units(&self) -> Units {
        Units {
            min_unit: self.min_unit,
            max_unit: self.max_unit,
            step_size: self.step_size,
        }
    }
}

/// The bounds of one amount. Hosts of one kind have the same bounds, so a block stores the bounds once for many lanes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::search) struct Units {
    pub min_unit: i32,
    pub max_unit: i32,
    pub step_size: i32,
}

impl Units {
    pub fn allow(self, amount: i64, strict: bool) -> bool {
        // The step is nearly always 1, and a division takes longer than all the rest.
        let in_steps = || self.step_size == 1 || self.step_size > 0 && amount % i64::from(self.step_size) == 0;
        i64::from(self.min_unit) <= amount
            && amount <= i64::from(self.max_unit)
            && (in_steps() || (!strict && amount == i64::from(self.min_unit)))
    }

    /// The bounds that refuse an amount, with their names. Empty for an allowed amount.
    pub fn refusing(self, amount: i64, strict: bool) -> impl Iterator<Item = (&'static str, i32)> {
        let is_refused = !self.allow(amount, strict);
        let is_off_step = self.step_size <= 0 || amount % i64::from(self.step_size) != 0;
        let refusing = [
            ("min_unit", self.min_unit, amount < i64::from(self.min_unit)),
            ("max_unit", self.max_unit, amount > i64::from(self.max_unit)),
            ("step_size", self.step_size, is_off_step),
        ];
        let refusing = refusing.into_iter().filter(move |(.., refuses)| is_refused && *refuses);
        refusing.map(|(name, bound, _)| (name, bound))
    }

    /// The largest allowed amount that is at most `most`.
    pub fn largest_allowed(self, most: i64, strict: bool) -> Option<i64> {
        let most = most.min(self.max_unit.into());
        let min_unit = i64::from(self.min_unit);
        let in_steps = (self.step_size > 0).then(|| most - most.rem_euclid(self.step_size.into()));
        let mut allowed = [in_steps, Some(min_unit)].into_iter().flatten();
        allowed.find(|amount| *amount > 0 && *amount <= most && self.allow(*amount, strict))
    }

    /// The smallest allowed amount that is at least `least`, which is above zero.
    pub fn smallest_allowed(self, least: i64, strict: bool) -> Option<i64> {
        let step = i64::from(self.step_size);
        let least = least.max(self.min_unit.into());
        let in_steps = (step > 0).then(|| least.saturating_add((step - least % step) % step));
        let allowed = [Some(least), in_steps].into_iter().flatten();
        allowed
            .filter(|amount| *amount > 0)
            .find(|amount| self.allow(*amount, strict))
    }

    /// Whether a sum of allowed amounts may be no multiple of `step_size`.
    pub fn may_sum_between_steps(self, strict: bool) -> bool {
        !strict && (self.step_size <= 0 || self.min_unit % self.step_size != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::Inventory;

    fn inventory(total: i32, reserved: i32, ratio: f64) -> Inventory {
        Inventory {
            total,
            reserved,
            min_unit: 5,
            max_unit: 20,
            step_size: 10,
            allocation_ratio: ratio,
        }
    }

    #[test]
    fn an_amount_of_min_unit_need_not_be_a_multiple_unless_strict() {
        let steps = inventory(100, 0, 1.0);
        let granted = |strict| (1..=30).filter(|&n| steps.allows_amount(n, strict)).collect::<Vec<_>>();
        assert_eq!(granted(false), [5, 10, 20]);
        assert_eq!(granted(true), [10, 20]);
    }

    #[test]
    fn the_allowed_amounts_next_to_an_amount_are_the_last_and_the_first_of_all() {
        for (min_unit, max_unit, step_size) in [(5, 20, 10), (1, 16, 1), (4, 64, 4), (7, 6, 1), (3, 30, 0), (25, 30, 9)]
        {
            let units = Inventory {
                min_unit,
                max_unit,
                step_size,
                ..inventory(100, 0, 1.0)
            }
            .units();
            for (most, strict) in (0..40).flat_map(|most| [(most, false), (most, true)]) {
                let last = (1..=most).rev().find(|amount| units.allow(*amount, strict));
                assert_eq!(units.largest_allowed(most, strict), last, "{units:?}, {most}, {strict}");
                let first = (most.max(1)..=100).find(|amount| units.allow(*amount, strict));
                assert_eq!(
                    units.smallest_allowed(most.max(1), strict),
                    first,
                    "{units:?}, {most}, {strict}"
                );
            }
        }
    }

    #[test]
    fn the_bounds_that_refuse_an_amount_are_named() {
        let units = inventory(100, 0, 1.0).units();
        let refusing = |amount, strict| units.refusing(amount, strict).collect::<Vec<_>>();
        assert_eq!(refusing(3, false), [("min_unit", 5), ("step_size", 10)]);
        assert_eq!(refusing(5, false), []);
        assert_eq!(refusing(5, true), [("step_size", 10)]);
        assert_eq!(refusing(15, false), [("step_size", 10)]);
        assert_eq!(refusing(30, false), [("max_unit", 20)]);
        for (amount, strict) in (1..=30).flat_map(|amount| [(amount, false), (amount, true)]) {
            assert_eq!(
                refusing(amount, strict).is_empty(),
                units.allow(amount, strict),
                "{amount} {strict}"
            );
        }
    }

    #[test]
    fn capacity_is_compared_without_rounding_to_the_nearest() {
        // 7 * 0.9 = 6.3 and 10 * 1.1 = 11.000000000000002
        assert!(inventory(7, 0, 0.9).has_room(0, 6));
        assert!(!inventory(7, 0, 0.9).has_room(0, 7));
        assert!(inventory(10, 0, 1.1).has_room(5, 6));
        assert!(!inventory(10, 0, 1.1).has_room(6, 6));
    }

    #[test]
    fn a_reservation_beyond_the_total_leaves_room_only_below_zero() {
        let overreserved = inventory(3, 4, 0.5);
        assert_eq!(overreserved.capacity(), -0.5);
        assert!(!overreserved.has_room(-1, 1));
        assert!(overreserved.has_room(-2, 1));
    }

    #[test]
    fn extreme_numbers_neither_overflow_nor_grant_by_accident() {
        let huge = inventory(i32::MAX, 0, 3.4e38);
        assert!(huge.has_room(0, i64::from(i32::MAX)));
        assert!(!huge.has_room(i64::MAX, i64::MAX));
        assert!(!inventory(i32::MIN, i32::MAX, 3.4e38).has_room(0, 1));
        assert!(!inventory(1, 0, f64::NAN).has_room(0, 1));
    }
}
