//! Which replicas stay, which go and which exchange their roles, by what the caller says.

use std::collections::BTreeSet;

use super::{Kept, Planning};
use crate::error::{Error, Result};
use crate::model::workloads::{Replica, ids, near};

fn bad_request<T>(detail: String) -> Result<T> {
    Err(Error::BadRequest { detail })
}

impl Planning<'_> {
    /// Sorts the replicas that exist, and those that are adopted, into those that stay and those that go.
    pub fn take_stock(&mut self) -> Result<()> {
        let put = &self.job.put;
        let mut all: Vec<(Replica, bool)> = match &self.job.stored {
            Some(stored) => stored.replicas.iter().map(|it| (it.clone(), false)).collect(),
            None => Vec::new(),
        };
        self.adopt(&mut all)?;
        for [one, other] in &put.swaps {
            let find = |id: &str| all.iter().position(|(it, _)| it.row.id == id);
            let (Some(one_at), Some(other_at)) = (find(one), find(other)) else {
                return bad_request(format!("swap: the workload has no replicas {one} and {other}."));
            };
            let role = all[one_at].0.row.role.clone();
            all[one_at].0.row.role = std::mem::replace(&mut all[other_at].0.row.role, role);
            let has_changed = all[one_at].0.row.role != all[other_at].0.row.role;
            for at in [one_at, other_at] {
                all[at].1 |= has_changed && all[at].0.is_placed();
            }
        }
        for (replica, is_swapped) in all {
            let is_left_out = put.ids.as_ref().is_some_and(|ids| !ids.contains(&replica.row.id));
            match self.role(&replica.row.role).filter(|_| !is_left_out) {
                Some(role) => self.kept.push(Kept {
                    host: near::host_of(&self.job.snapshot, &self.list, &replica),
                    replica,
                    role,
                    is_swapped,
                }),
                None => self.gone.push(replica),
            }
        }
        self.kept
            .sort_by(|one, other| ids::natural_order(&one.replica.row.id, &other.replica.row.id));
        Ok(())
    }

    /// Adds the consumers that become replicas.
    fn adopt(&self, all: &mut Vec<(Replica, bool)>) -> Result<()> {
        let mut used: BTreeSet<String> = all.iter().map(|(it, _)| it.row.id.clone()).collect();
        for (adopted, replica) in self.job.adopted.iter() {
            if let Some((own, _)) = all.iter().find(|(it, _)| it.row.consumer == adopted.consumer) {
                if adopted.id.as_ref().is_some_and(|id| *id != own.row.id) {
                    return bad_request(format!(
                        "adopt: consumer {} is already replica {} of the workload.",
                        adopted.consumer, own.row.id
                    ));
                }
                continue;
            }
            let mut replica = replica.clone();
            let free = ids::free(self.job.put.ids.as_deref(), &used).next();
            let Some(id) = adopted.id.clone().or(free) else {
                return bad_request(format!("adopt: no id is free for consumer {}.", adopted.consumer));
            };
            let is_listed = self.job.put.ids.as_ref().is_none_or(|ids| ids.contains(&id));
            if !is_listed || !used.insert(id.clone()) {
                return bad_request(format!("adopt: id {id} is not free for consumer {}.", adopted.consumer));
            }
            let lacking = self.job.roles.iter().find(|role| {
                let count = all.iter().filter(|(it, _)| it.row.role == role.name).count();
                count < role.count as usize
            });
            let Some(role) = adopted.role.clone().or(lacking.map(|role| role.name.clone())) else {
                return bad_request(format!(
                    "adopt: no role lacks a replica for consumer {}.",
                    adopted.consumer
                ));
            };
            if self.role(&role).is_none() {
                return bad_request(format!("adopt: there is no role {role}."));
            }
            replica.row.id = id;
            replica.row.role = role;
            replica.row.revision = self.revision;
            all.push((replica, false));
        }
        Ok(())
    }
}
