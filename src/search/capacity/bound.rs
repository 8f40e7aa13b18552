//! An upper bound of the number of consumers that fit, from sums over the inventories of the ways.
//!
//! A consumer takes at least the least amount of a class in a way. So the free amounts of the class, divided by this
//! amount, bound the number of consumers. Ways without a common provider are bounded one by one.
//!
//! Many hosts have ways of the same shape. So the bounds of a shape are derived once, as functions of the free amounts.

use std::collections::BTreeSet;

use super::ways::{HostWays, WayAmount, WayInventory, free};
use crate::interrupt::{Interrupt, OPERATIONS_A_STEP};
use crate::search::candidate::Placement;
use crate::search::snapshot::{ClassId, Slot, Snapshot};

/// A number of consumers, and the class that bounds the number. [`u64::MAX`] without a bound.
pub type BoundWithClass = (u64, Option<ClassId>);

/// The bounds of a host. Consumers are of two kinds: a consumer of a pool is served by pools, too.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostBound {
    /// Of all consumers, without the bound of the pools.
    pub all: BoundWithClass,
    /// The same, of consumers without a pool.
    pub without_pools: BoundWithClass,
    /// The same, of consumers of pools.
    pub with_pools: BoundWithClass,
}

impl HostBound {
    /// The bound of a host without pools.
    pub fn without_pools(all: BoundWithClass) -> HostBound {
        HostBound {
            all,
            without_pools: all,
            with_pools: (0, None),
        }
    }
}

/// The bounds of hosts whose ways have the same shape, by the hosts' own inventories.
#[derive(Debug)]
pub struct ShapeBounds {
    all: Vec<ComponentBound>,
    without_pools: Vec<ComponentBound>,
    with_pools: Vec<ComponentBound>,
}

impl ShapeBounds {
    pub fn new(ways: &HostWays) -> ShapeBounds {
        let bounds = |kind: Option<bool>| {
            let some = ways
                .iter()
                .filter(|way| kind.is_none_or(|kind| ways.has_pool(way) == kind));
            let own: BTreeSet<Vec<WayAmount>> = some.map(|way| ways.part(way, false)).collect();
            let components = components(own.iter().map(Vec::as_slice).collect(), &ways.inventories);
            let bounds = components.iter().map(|it| ComponentBound::new(it, &ways.inventories));
            bounds.collect()
        };
        ShapeBounds {
            all: bounds(None),
            without_pools: bounds(Some(false)),
            with_pools: bounds(Some(true)),
        }
    }

    /// The bound of a host with ways of this shape.
    pub fn of_host(&self, inventories: &[WayInventory]) -> HostBound {
        let of = |components: &[ComponentBound]| sum(components.iter().map(|component| component.of(inventories)));
        HostBound {
            all: of(&self.all),
            without_pools: of(&self.without_pools),
            with_pools: of(&self.with_pools),
        }
    }
}

/// The sum of bounds, with the class of the greatest.
pub fn sum(bounds: impl Iterator<Item = BoundWithClass>) -> BoundWithClass {
    let add = |(sum, greatest): (u64, BoundWithClass), bound: BoundWithClass| {
        // A bound of 0 may have no class.
        let greatest = if (bound.0, bound.1.is_some()) >= (greatest.0, greatest.1.is_some()) {
            bound
        } else {
            greatest
        };
        (sum.saturating_add(bound.0), greatest)
    };
    let (sum, (_, class)) = bounds.fold((0, (0, None)), add);
    (sum, class)
}

/// The bound of ways with common providers, as a function of the free amounts: of the class with the least bound.
#[derive(Debug)]
pub struct ComponentBound(Vec<ClassBound>);

/// The sum of the free amounts of some inventories in whole pieces, divided by the number of pieces of a consumer.
#[derive(Debug)]
struct ClassBound {
    class: ClassId,
    inventories: Vec<usize>,
    piece: i64,
    pieces: i64,
}

impl ComponentBound {
    pub fn new(ways: &[&[WayAmount]], inventories: &[WayInventory]) -> ComponentBound {
        if let [way] = ways {
            let of_amount = |&(at, piece): &WayAmount| ClassBound {
                class: inventories[at].class,
                inventories: vec![at],
                piece,
                pieces: 1,
            };
            return ComponentBound(way.iter().map(of_amount).collect());
        }
        let classes = ways
            .iter()
            .flat_map(|way| way.iter().map(|(at, _)| inventories[*at].class));
        let classes: BTreeSet<ClassId> = classes.collect();
        let bounds = classes
            .into_iter()
            .filter_map(|class| ClassBound::new(ways, inventories, class));
        ComponentBound(bounds.collect())
    }

    pub fn of(&self, inventories: &[WayInventory]) -> BoundWithClass {
        least_room(self.0.iter().map(|bound| (bound.of(inventories), bound.class)))
    }
}

impl ClassBound {
    /// `None` if a way takes nothing of the class.
    fn new(ways: &[&[WayAmount]], inventories: &[WayInventory], class: ClassId) -> Option<ClassBound> {
        let of_class = |way: &[WayAmount]| {
            let of_class = way.iter().filter(|(at, _)| inventories[*at].class == class);
            of_class.copied().collect::<Vec<WayAmount>>()
        };
        let amounts = |way: &[WayAmount]| {
            let mut amounts: Vec<i64> = of_class(way).iter().map(|(_, amount)| *amount).collect();
            amounts.sort_unstable();
            amounts
        };
        let first = amounts(ways.first()?);
        let are_equal = first.windows(2).all(|two| two[0] == two[1]) && ways.iter().all(|way| amounts(way) == first);
        let least = || ways.iter().map(|way| amounts(way).iter().sum()).min();
        let (piece, pieces) = match first.first() {
            Some(amount) if are_equal => (*amount, first.len() as i64),
            _ => (1, least().filter(|least| *least > 0)?),
        };
        let inventories: BTreeSet<usize> = ways.iter().flat_map(|way| of_class(way)).map(|(at, _)| at).collect();
        Some(ClassBound {
            class,
            inventories: inventories.into_iter().collect(),
            piece,
            pieces,
        })
    }

    fn of(&self, inventories: &[WayInventory]) -> i64 {
        let pieces = self.inventories.iter().map(|at| inventories[*at].free / self.piece);
        pieces.fold(0, i64::saturating_add) / self.pieces
    }
}

/// The bound of a single way.
pub fn bound_of_way(snapshot: &Snapshot, way: &[Placement]) -> BoundWithClass {
    let rooms = way
        .iter()
        .map(|it| (free(snapshot, it.slot, it.class) / it.amount, it.class));
    least_room(rooms)
}

/// The bound of all providers of a tree and all sharing providers.
pub fn bound_of_tree(
    snapshot: &Snapshot,
    host: Slot,
    amounts: &[(ClassId, i64)],
    interrupt: &Interrupt,
) -> BoundWithClass {
    let mut providers: BTreeSet<Slot> = snapshot.tree(host).into_iter().collect();
    providers.extend(snapshot.sharing());
    interrupt.spend((providers.len() * amounts.len()) as u64 / OPERATIONS_A_STEP);
    least_room(amounts.iter().map(|(class, amount)| {
        let rooms = providers.iter().map(|slot| free(snapshot, *slot, *class));
        (rooms.fold(0_i64, i64::saturating_add) / amount, *class)
    }))
}

/// The least number, with its class; no bound without numbers.
fn least_room(rooms: impl Iterator<Item = (i64, ClassId)>) -> BoundWithClass {
    let least = rooms.min_by_key(|(room, _)| *room);
    least.map_or((u64::MAX, None), |(room, class)| (room.unsigned_abs(), Some(class)))
}

/// The ways in sets without a common provider.
fn components<'w>(ways: Vec<&'w [WayAmount]>, inventories: &[WayInventory]) -> Vec<Vec<&'w [WayAmount]>> {
    let mut components: Vec<(BTreeSet<Slot>, Vec<&[WayAmount]>)> = Vec::new();
    for way in ways {
        let slots: BTreeSet<Slot> = way.iter().map(|(at, _)| inventories[*at].slot).collect();
        let (mut joined, mut of_joined) = (slots, vec![way]);
        components.retain_mut(|(slots, ways)| {
            let is_apart = slots.is_disjoint(&joined);
            if !is_apart {
                joined.append(slots);
                of_joined.append(ways);
            }
            is_apart
        });
        components.push((joined, of_joined));
    }
    components.into_iter().map(|(_, ways)| ways).collect()
}
