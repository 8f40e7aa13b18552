//! 64 providers side by side, in three parts that are copied apart.

use std::sync::{Arc, OnceLock};

use super::change::ProviderRow;
use super::fixed::Fixed;
use super::hot::Hot;
use super::identity::Identity;
use super::kept::Asked;
use super::layout::Layout;
use super::room::Room;

/// After so many claims what readers made of a block is forgotten, because much of it may have become untrue.
const CLAIMS: u8 = 32;

/// The parts of a block; copying one copies their pointers.
#[derive(Clone, Debug)]
pub(in crate::search) struct Block {
    /// The lanes that are taken.
    pub present: u64,
    /// The lanes whose provider has no parent.
    pub roots: u64,
    pub identity: Arc<Identity>,
    pub fixed: Arc<Fixed>,
    pub hot: Arc<Hot>,
    /// Worked out when a search first asks for it, forgotten when a tree of the block changes.
    pub layout: Arc<OnceLock<Layout>>,
    /// The same, forgotten with every claim.
    room: Arc<OnceLock<Room>>,
    /// Made of usage and of what is kept, forgotten with either.
    noted: Arc<OnceLock<u64>>,
    /// How many claims there were since what readers made was forgotten.
    claims: u8,
    /// What readers made of who the providers are and what they have; forgotten when one of them is or has anything else.
    pub kept: Arc<Asked>,
}

impl Block {
    pub fn empty() -> Self {
        let (identity, hot) = (Arc::new(Identity::empty()), Arc::new(Hot::empty()));
        Self {
            present: 0,
            roots: 0,
            identity,
            fixed: Arc::default(),
            hot,
            layout: Arc::default(),
            room: Arc::default(),
            noted: Arc::default(),
            claims: 0,
            kept: Arc::default(),
        }
    }

    /// Who the provider of a lane is; what it has is set apart.
    pub fn identify(&mut self, lane: usize, row: &ProviderRow) {
        let bit = 1u64 << lane;
        self.present |= bit;
        self.roots = if row.parent.is_none() {
            self.roots | bit
        } else {
            self.roots & !bit
        };
        Arc::make_mut(&mut self.identity).set(lane, row);
        self.forget_layout();
        self.forget_kept();
    }

    /// To be called where a provider joins or leaves a tree that has its root here.
    pub fn forget_layout(&mut self) {
        self.layout = Arc::default();
    }

    /// What claims change, to be changed.
    pub fn heat(&mut self) -> &mut Hot {
        self.room = Arc::default();
        self.noted = Arc::default();
        self.claims += 1;
        if self.claims == CLAIMS {
            self.forget_kept();
        }
        Arc::make_mut(&mut self.hot)
    }

    /// What can be told of all together.
    pub fn room(&self) -> &Room {
        self.room.get_or_init(|| Room::of(&self.fixed, &self.hot))
    }

    /// What a reader notes of the lanes, made of usage and of what is kept.
    pub fn noted(&self, make: impl FnOnce() -> u64) -> u64 {
        *self.noted.get_or_init(make)
    }

    /// To be called where what readers may have made of the block is no longer true.
    pub fn forget_kept(&mut self) {
        self.kept = Arc::default();
        self.noted = Arc::default();
        self.claims = 0;
    }

    /// What the provider of a lane has, all of it. Most rows that are read again have what they had.
    pub fn fill(&mut self, lane: usize, row: &ProviderRow) {
        if !self.fixed.is(lane, row) {
            Arc::make_mut(&mut self.fixed).set(lane, row);
            self.forget_kept();
        }
        self.heat().set(lane, row);
    }

    /// Makes a lane vacant. Whoever still reads the version before this one must not find what is made of the next.
    pub fn clear(&mut self, lane: usize) {
        self.present &= !(1 << lane);
        self.roots &= !(1 << lane);
        self.forget_layout();
        self.forget_kept();
        Arc::make_mut(&mut self.identity).clear(lane);
        Arc::make_mut(&mut self.fixed).clear(lane);
        self.heat().clear(lane);
    }

    /// Gives back memory that parts took too much while they grew. To be called when none is shared yet.
    pub fn shrink(&mut self) {
        Arc::make_mut(&mut self.identity).shrink();
        Arc::make_mut(&mut self.fixed).shrink();
        Arc::make_mut(&mut self.hot).shrink();
    }
}
