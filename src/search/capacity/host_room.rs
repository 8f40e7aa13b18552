//! How often each host serves the request, found from the ways of the host.

use std::collections::HashMap;
use std::iter;

use super::bound::{HostBound, ShapeBounds, bound_of_tree, bound_of_way, sum};
use super::packing::pack_alone;
use super::pools::{PooledHost, WayPools};
use super::ways::HostWays;
use crate::error::Result;
use crate::interrupt::{Interrupt, OPERATIONS_A_STEP};
use crate::search::candidate::Placement;
use crate::search::candidates::check_interrupt;
use crate::search::snapshot::{ClassId, Slot, Snapshot};

/// The most ways of a tree that are compared, if a way may have several providers: a tree has as many ways as
/// combinations of providers, and a host with pools keeps its ways.
pub const MAX_WAYS: usize = 64;

/// The room of each host that can serve the request if room does not count.
#[derive(Debug)]
pub struct HostRooms {
    pub all: Vec<HostRoom>,
    /// By the index of the host's slot, the index in `all`, or [`NO_ROOM`].
    positions: Vec<u32>,
    pub pools: WayPools,
}

const NO_ROOM: u32 = u32::MAX;

/// The maximum number of known shapes, some MB. When the maximum is reached, all shapes are dropped.
const MAX_SHAPES: usize = 1 << 10;

/// How often a host serves the request.
#[derive(Debug)]
pub struct HostRoom {
    host: Slot,
    /// The number of consumers in a packing; 0 of a host with pools, because the packing depends on further hosts.
    pub found: u64,
    pub bound: HostBound,
    pub pooled: Option<PooledHost>,
    /// The number of ways that were found.
    ways: usize,
}

impl HostRoom {
    /// Bounds the host by all providers of the tree, because the host may have further ways.
    fn bound_by_tree(&mut self, snapshot: &Snapshot, amounts: &[(ClassId, i64)], interrupt: &Interrupt) {
        self.bound = HostBound::without_pools(bound_of_tree(snapshot, self.host, amounts, interrupt));
        self.pooled.iter_mut().for_each(PooledHost::forget_parts);
    }
}

impl HostRooms {
    /// `None` if the host is not known.
    pub fn of(&self, host: Slot) -> Option<&HostRoom> {
        self.all.get(self.positions[host.index()] as usize)
    }

    fn add(&mut self, room: HostRoom) {
        self.positions[room.host.index()] = self.all.len() as u32;
        self.all.push(room);
    }

    /// Bounds hosts with at least this number of ways by their trees, because further ways were not found.
    pub fn bound_by_trees(
        &mut self,
        min_ways: usize,
        snapshot: &Snapshot,
        amounts: &[(ClassId, i64)],
        interrupt: &Interrupt,
    ) -> Result<()> {
        for room in self.all.iter_mut().filter(|room| room.ways >= min_ways) {
            room.bound_by_tree(snapshot, amounts, interrupt);
            check_interrupt(interrupt)?;
        }
        Ok(())
    }

    /// Adds the hosts without a way, each with the class of which the tree has least.
    pub fn add_full(
        &mut self,
        snapshot: &Snapshot,
        amounts: &[(ClassId, i64)],
        hosts: &[Slot],
        interrupt: &Interrupt,
    ) -> Result<()> {
        for &host in hosts {
            if self.of(host).is_some() {
                continue;
            }
            let (_, class) = bound_of_tree(snapshot, host, amounts, interrupt);
            self.add(HostRoom {
                host,
                found: 0,
                bound: HostBound::without_pools((0, class)),
                pooled: None,
                ways: 0,
            });
            check_interrupt(interrupt)?;
        }
        Ok(())
    }
}

/// Finds the room of one host after the other.
pub struct RoomFinder<'a> {
    snapshot: &'a Snapshot,
    interrupt: &'a Interrupt,
    rooms: HostRooms,
    /// By shape of ways.
    bounds: HashMap<Vec<u64>, ShapeBounds>,
    /// The current host, with the placements of the ways, and by way the end of the way's placements.
    host: Option<Slot>,
    placements: Vec<Placement>,
    ends: Vec<usize>,
}

impl<'a> RoomFinder<'a> {
    pub fn new(snapshot: &'a Snapshot, interrupt: &'a Interrupt) -> RoomFinder<'a> {
        RoomFinder {
            snapshot,
            interrupt,
            rooms: HostRooms {
                all: Vec::new(),
                positions: vec![NO_ROOM; snapshot.slots()],
                pools: WayPools::default(),
            },
            bounds: HashMap::new(),
            host: None,
            placements: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Adds a way of a host. The ways of a host come one after the other.
    pub fn add(&mut self, host: Slot, way: &[Placement]) {
        if self.host != Some(host) {
            self.end_host();
            self.host = Some(host);
        }
        self.placements.extend_from_slice(way);
        self.ends.push(self.placements.len());
    }

    pub fn finish(mut self) -> HostRooms {
        self.end_host();
        self.rooms
    }

    fn end_host(&mut self) {
        let Some(host) = self.host.take() else { return };
        self.interrupt
            .spend((self.placements.len() as u64).div_ceil(OPERATIONS_A_STEP));
        let room = self.room(host);
        self.rooms.add(room);
        self.placements.clear();
        self.ends.clear();
    }

    fn room(&mut self, host: Slot) -> HostRoom {
        let mut room = HostRoom {
            host,
            found: 0,
            bound: HostBound::default(),
            pooled: None,
            ways: self.ends.len(),
        };
        let has_pools = self.placements.iter().any(|it| self.snapshot.is_sharing(it.slot));
        if !has_pools && (self.ends.len() == 1 || self.are_apart()) {
            // As of most hosts.
            let (most, class) = sum(self.ways().map(|way| bound_of_way(self.snapshot, way)));
            room.found = class.map_or(0, |_| most);
            room.bound = HostBound::without_pools((most, class));
            return room;
        }
        let ways = HostWays::new(self.snapshot, &self.placements, &self.ends);
        room.bound = self.bound(&ways);
        if has_pools {
            room.pooled = Some(self.rooms.pools.add(ways));
        } else {
            room.found = pack_alone(&ways, room.bound.all.0, self.interrupt);
        }
        room
    }

    /// The ways of the current host.
    fn ways(&self) -> impl Iterator<Item = &[Placement]> {
        let starts = iter::once(&0).chain(&self.ends);
        starts
            .zip(&self.ends)
            .map(|(start, end)| &self.placements[*start..*end])
    }

    /// Whether each way has a single provider, a different provider for each way.
    fn are_apart(&self) -> bool {
        let is_single = |way: &[Placement]| way.windows(2).all(|two| two[0].slot == two[1].slot);
        if !self.ways().all(is_single) {
            return false;
        }
        let mut providers: Vec<Slot> = self.ways().flat_map(|way| way.first()).map(|it| it.slot).collect();
        let ways = providers.len();
        providers.sort_unstable();
        providers.dedup();
        providers.len() == ways
    }

    fn bound(&mut self, ways: &HostWays) -> HostBound {
        let shape = ways.shape();
        if let Some(bounds) = self.bounds.get(&shape) {
            return bounds.of_host(&ways.inventories);
        }
        if self.bounds.len() == MAX_SHAPES {
            self.bounds.clear();
        }
        // Ways are compared in pairs.
        self.interrupt
            .spend((self.ends.len() * self.placements.len()) as u64 / OPERATIONS_A_STEP);
        let bounds = self.bounds.entry(shape).or_insert(ShapeBounds::new(ways));
        bounds.of_host(&ways.inventories)
    }
}
