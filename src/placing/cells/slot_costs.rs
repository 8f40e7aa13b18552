//! The costs of the slots of an item, for replicas of one role or of several roles.

use super::items::Items;
use crate::placing::budget::Budget;
use crate::placing::cost::Cost;

/// The most slots that are computed. With more slots, each usable item gets an equal part.
const MAX_SLOTS: u32 = 1 << 20;

/// Computes the costs of slots for the missing replicas.
pub struct SlotCosts<'a> {
    pub budget: &'a Budget<'a>,
    /// The roles with missing replicas, each with the number and the price of a replica.
    roles: Vec<(usize, u32, Cost)>,
    /// The most slots of an item.
    pub most: u32,
    /// The most slots of a cell that can be taken.
    pub most_of_cell: u32,
    total: u32,
    /// The prices of all missing replicas, in the cost of each placement.
    pub paid: Cost,
}

impl<'a> SlotCosts<'a> {
    /// For `missing` replicas by role, each with a price.
    pub fn new(items: &impl Items, missing: &[u32], prices: &[Cost], budget: &'a Budget<'a>) -> SlotCosts<'a> {
        let wanted = (0..missing.len()).filter(|&role| missing[role] > 0);
        let wanted: Vec<(usize, u32, Cost)> = wanted.map(|role| (role, missing[role], prices[role])).collect();
        let total: u32 = missing.iter().sum();
        SlotCosts {
            budget,
            most: total.min((MAX_SLOTS / items.usable().max(1)).max(1)),
            // With several roles the taken slots need not be the cheapest.
            most_of_cell: if wanted.len() > 1 { u32::MAX } else { total },
            paid: wanted
                .iter()
                .fold(Cost::ZERO, |sum, &(_, number, price)| sum + price * number),
            roles: wanted,
            total,
        }
    }

    /// Whether an item with this number of slots may have more places.
    pub fn is_cut(&self, items: &impl Items, item: u32, slots: usize) -> bool {
        self.most < self.total && slots as u32 == self.most && items.most(item) > self.most
    }

    /// Writes the costs of an item's slots, the cheapest first. The cost of slot k is at most the cost of the cheapest
    /// k of all offers. Writes nothing if the answer is not wanted any more.
    pub fn of_item(&self, items: &impl Items, item: u32, costs: &mut Vec<Cost>) {
        costs.clear();
        let most = items.most(item).min(self.most);
        if self.budget.count_list(1) || most == 0 {
            return;
        }
        // Usually an item has one slot for one role.
        if let [(role, _, price)] = *self.roles
            && most == 1
        {
            let offer = items.offer(item, role, 0);
            costs.extend(offer.map(|offer| offer + price + items.unit(item, 0)));
            return;
        }
        for &(role, missing, price) in &self.roles {
            let more = (0..missing.min(most)).take_while(|_| !self.budget.count_list(1));
            costs.extend(more.map_while(|already| Some(items.offer(item, role, already)? + price)));
        }
        if costs.len() > most as usize {
            costs.select_nth_unstable(most as usize);
            costs.truncate(most as usize);
        }
        costs.sort_unstable();
        for (number, cost) in (0..).zip(costs) {
            *cost += items.unit(item, number);
        }
    }
}
