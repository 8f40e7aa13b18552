//! The cloud that clients load, read from the file that `benches/compare/cloud.py` describes it in.

use std::path::Path;

use serde::Deserialize;

use crate::random::Random;

/// What every claim takes. The amounts fit on every host many times.
pub const CLAIM_VCPU: i32 = 1;
pub const CLAIM_MEMORY_MB: i32 = 512;
pub const CLAIM_DISK_GB: i32 = 1;

/// A provider with its id in the tables and its uuid in the API.
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
    /// A host without free capacity, whose claims are refused. Only some clouds have one.
    full_host: Option<Host>,
    pub classes: ClassIds,
    pub project: i32,
    pub user: i32,
}

/// The ids that resource classes have in the tables.
#[derive(Deserialize)]
pub struct ClassIds {
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

    /// The full host.
    pub fn full_host(&self) -> Result<&Host, std::io::Error> {
        let missing = || std::io::Error::other("--refused needs a cloud with a full host");
        self.full_host.as_ref().ok_or_else(missing)
    }

    /// The providers of a claim on a random host: of compute, and of disk (of the first host if `one_pool`).
    pub fn claim_target(&self, random: &mut Random, one_pool: bool) -> (&Provider, &Provider) {
        let host = random.pick(&self.hosts);
        let disk = if one_pool { &self.hosts[0].disk } else { &host.disk };
        (random.pick(&host.compute), disk)
    }

    /// A random host of the share that belongs to client `number` of `clients`.
    pub fn host_of(&self, random: &mut Random, number: usize, clients: usize) -> &Host {
        let share = self.hosts.len() / clients;
        &self.hosts[number + clients * (random.next() % share as u64) as usize]
    }
}
