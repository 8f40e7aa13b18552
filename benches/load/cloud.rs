//! Where claims can go: the file that `benches/compare/cloud.py` writes. And the dice that clients roll.

use std::path::Path;

use serde::Deserialize;

/// A provider by the name that the API knows and the one that tables know.
#[derive(Clone, Deserialize)]
pub struct Provider {
    pub id: i32,
    pub uuid: String,
}

#[derive(Deserialize)]
pub struct Host {
    pub root: Provider,
    /// Each has VCPU and MEMORY_MB.
    pub compute: Vec<Provider>,
    /// Has DISK_GB: one of `compute`, the root, or a shared pool.
    pub disk: Provider,
}

#[derive(Deserialize)]
pub struct Cloud {
    pub hosts: Vec<Host>,
    /// By name, as the tables number them.
    pub classes: Classes,
    pub project: i32,
    pub user: i32,
}

#[derive(Deserialize)]
pub struct Classes {
    #[serde(rename = "VCPU")]
    pub vcpu: i32,
    #[serde(rename = "MEMORY_MB")]
    pub memory: i32,
    #[serde(rename = "DISK_GB")]
    pub disk: i32,
}

impl Cloud {
    pub fn read(path: &Path) -> Result<Cloud, Box<dyn std::error::Error>> {
        Ok(serde_json::from_slice(&std::fs::read(path)?)?)
    }

    /// A random host of those that client `number` of so many has for itself.
    pub fn host_of(&self, dice: &mut Dice, number: usize, of: usize) -> &Host {
        let turns = self.hosts.len() / of;
        &self.hosts[number + of * (dice.roll() % turns as u64) as usize]
    }
}

/// SplitMix64, one for each client.
pub struct Dice(u64);

impl Dice {
    /// No two runs roll alike, because consumers of an earlier run are still there.
    pub fn new(client: usize) -> Self {
        Dice(uuid::Uuid::new_v4().as_u64_pair().0 ^ client as u64)
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[(self.roll() % all.len() as u64) as usize]
    }

    pub fn uuid(&mut self) -> uuid::Uuid {
        let bits = u128::from(self.roll()) << 64 | u128::from(self.roll());
        uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid()
    }
}
