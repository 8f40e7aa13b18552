//! Bin packing: is there room for the parts that are left, all together?
//!
//! It knows of room alone (and that isolated groups need a provider each), not of traits, subtrees or steps of sums. So
//! what it refuses cannot be placed, and what it finds may still fail for another reason. A search in depth asks it
//! once it runs into dead ends: a few greedy ways first, then one provider after the other is filled (`filling`).

use super::super::interrupt::Interrupt;
use super::ask::Ask;
use super::board::Board;
use super::filling::Filling;

/// What became of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Fits,
    Never,
    /// Too much would have to be tried.
    Unknown,
}

/// Parts of one kind that are left.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub kind: usize,
    pub count: usize,
    /// By class of [`Ask::classes`], and after these one place, where groups are isolated.
    pub need: Vec<i64>,
}

/// A provider that could take some of them.
#[derive(Clone, Debug)]
pub(super) struct Bin {
    pub provider: usize,
    /// As [`Item::need`].
    pub room: Vec<i64>,
    /// Of which items it could take one.
    pub takes: Vec<bool>,
}

/// What is to be packed, biggest items first.
#[derive(Debug)]
pub(super) struct Problem {
    pub items: Vec<Item>,
    pub bins: Vec<Bin>,
    pub dimensions: usize,
}

/// How many choices one question may cost. A choice is far cheaper than a part placed.
const CHOICES: u64 = 600_000;

/// And all questions about one tree together.
const CHOICES_OF_A_TREE: u64 = 3_000_000;

/// Is there room for the `left` kinds beside what is `placed`, which are kinds with their providers?
pub(super) struct Question<'a> {
    pub placed: &'a [(usize, usize)],
    pub left: &'a [usize],
    /// What of each provider is taken, as in [`super::placing::Placing`].
    pub load: &'a [i64],
    pub granular: &'a [u32],
}

/// What is known of one tree.
#[derive(Debug, Default)]
pub(super) struct Packing {
    /// A way to pack all parts, if one was found: kinds and providers.
    way: Vec<(usize, usize)>,
    spent: u64,
    thrift: u32,
    /// Was it too hard, so that it is not asked any more?
    pub useless: bool,
}

impl Packing {
    /// Begins anew. The more trees were `given_up` before, the less is tried.
    pub fn forget(&mut self, given_up: u32) {
        self.way.clear();
        (self.spent, self.useless) = (0, false);
        self.thrift = given_up;
    }

    /// Answers as far as [`CHOICES`] go.
    pub fn judge(&mut self, ask: &Ask, board: &Board, question: &Question<'_>) -> Verdict {
        if self.useless {
            return Verdict::Unknown;
        }
        if self.is_on_the_way(ask, board, question.placed) {
            return Verdict::Fits;
        }
        let problem = Problem::of(ask, board, question);
        self.spent += 1 + (problem.items.len() * problem.bins.len() / 4) as u64;
        let found = problem.greedily();
        let (verdict, found) = match found {
            Some(found) => (Verdict::Fits, found),
            None => self.search(problem, &ask.interrupt),
        };
        if verdict == Verdict::Fits {
            self.way.clear();
            self.way.extend_from_slice(question.placed);
            self.way.extend(found);
        }
        self.useless = verdict == Verdict::Unknown || self.spent > CHOICES_OF_A_TREE >> self.thrift;
        verdict
    }

    /// The providers come in two orders, because what is hard in one may be easy in the other.
    fn search(&mut self, mut problem: Problem, interrupt: &Interrupt) -> (Verdict, Vec<(usize, usize)>) {
        for _ in 0..2 {
            let mut filling = Filling::new(&problem, (CHOICES / 2) >> self.thrift, interrupt);
            let verdict = filling.search();
            self.spent += filling.choices;
            if verdict != Verdict::Unknown {
                return (verdict, filling.found());
            }
            problem.bins.reverse();
        }
        (Verdict::Unknown, Vec::new())
    }

    /// Is what was placed a piece of the way that is known? Parts of one kind are as good as each other.
    fn is_on_the_way(&self, ask: &Ask, board: &Board, placed: &[(usize, usize)]) -> bool {
        if self.way.is_empty() {
            return false;
        }
        let mut counts = vec![0i32; ask.kinds.len() * board.slots.len()];
        let at = |&(kind, provider): &(usize, usize)| kind * board.slots.len() + provider;
        self.way.iter().for_each(|it| counts[at(it)] += 1);
        // Parts that need no room are on every way.
        let needs_room = |kind: usize| {
            let wanted = &ask.kinds[kind];
            !wanted.contested.is_empty() || ask.isolate && wanted.granular
        };
        placed.iter().filter(|it| needs_room(it.0)).all(|it| {
            counts[at(it)] -= 1;
            counts[at(it)] >= 0
        })
    }
}

impl Problem {
    fn of(ask: &Ask, board: &Board, question: &Question<'_>) -> Self {
        let classes = ask.classes.len();
        let dimensions = classes + usize::from(ask.isolate);
        let mut items: Vec<Item> = Vec::new();
        let mut at = vec![usize::MAX; ask.kinds.len()];
        for &kind in question.left {
            if at[kind] == usize::MAX {
                at[kind] = items.len();
                let mut need = vec![0; dimensions];
                let wanted = &ask.kinds[kind];
                wanted
                    .contested
                    .iter()
                    .for_each(|&(class, amount)| need[class] = amount);
                if ask.isolate {
                    need[classes] = i64::from(wanted.granular);
                }
                items.push(Item { kind, count: 0, need });
            }
            items[at[kind]].count += 1;
        }
        items.retain(|item| item.need.iter().any(|&need| need > 0));
        let room = |provider: usize| {
            let first = provider * classes;
            let mut room: Vec<i64> = (first..first + classes)
                .map(|at| board.room[at] - question.load[at])
                .collect();
            if ask.isolate {
                room.push(1 - i64::from(question.granular[provider]));
            }
            room
        };
        let mut bins: Vec<Bin> = (0..board.slots.len())
            .map(|provider| Bin {
                provider,
                room: room(provider),
                takes: vec![false; items.len()],
            })
            .collect();
        let weights = weights(&bins, dimensions);
        items.sort_by(|one, other| weigh(&other.need, &weights).total_cmp(&weigh(&one.need, &weights)));
        for (index, item) in items.iter().enumerate() {
            for &provider in &board.options[item.kind] {
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

    /// The biggest first, each where the least is left, where the most is, and where it comes first.
    fn greedily(&self) -> Option<Vec<(usize, usize)>> {
        let weights = weights(&self.bins, self.dimensions);
        let least: fn(f64) -> f64 = |left| left;
        let most: fn(f64) -> f64 = |left| -left;
        let first: fn(f64) -> f64 = |_| 0.0;
        [least, most, first]
            .into_iter()
            .find_map(|rank| self.put(&weights, rank))
    }

    fn put(&self, weights: &[f64], rank: fn(f64) -> f64) -> Option<Vec<(usize, usize)>> {
        let mut rooms: Vec<Vec<i64>> = self.bins.iter().map(|bin| bin.room.clone()).collect();
        let mut found = Vec::new();
        for (index, item) in self.items.iter().enumerate() {
            for _ in 0..item.count {
                let open = (0..rooms.len()).filter(|&bin| self.bins[bin].takes[index] && fits(&item.need, &rooms[bin]));
                let rated = open.map(|bin| (rank(weigh(&rooms[bin], weights)), bin));
                let (_, bin) = rated.min_by(|one, other| one.0.total_cmp(&other.0))?;
                take(&mut rooms[bin], &item.need);
                found.push((item.kind, self.bins[bin].provider));
            }
        }
        Some(found)
    }
}

/// So that classes of which there is much and little weigh alike.
fn weights(bins: &[Bin], dimensions: usize) -> Vec<f64> {
    let all = |at: usize| bins.iter().map(|bin| bin.room[at].max(0) as f64).sum::<f64>();
    (0..dimensions).map(|at| 1.0 / all(at).max(1.0)).collect()
}

fn weigh(amounts: &[i64], weights: &[f64]) -> f64 {
    let weighed = amounts
        .iter()
        .zip(weights)
        .map(|(&amount, weight)| amount as f64 * weight);
    weighed.sum()
}

pub(super) fn fits(need: &[i64], room: &[i64]) -> bool {
    need.iter().zip(room).all(|(need, room)| need <= room || *need == 0)
}

pub(super) fn take(room: &mut [i64], need: &[i64]) {
    room.iter_mut().zip(need).for_each(|(room, need)| *room -= need);
}

pub(super) fn give(room: &mut [i64], need: &[i64]) {
    room.iter_mut().zip(need).for_each(|(room, need)| *room += need);
}
