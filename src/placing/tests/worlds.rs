//! Small clusters with the eligibility, offers and paths of their hosts.

use std::collections::BTreeSet;

use crate::interrupt::Interrupt;
use crate::placing::release::Released;
use crate::placing::{
    Axis, Cluster, Dimension, DomainTree, Effort, Eligible, Hosts, Judgement, Level, Mode, Offer, Placed,
    PlacedReplica, Releasable, Rule, Spread, Workload, judge, needed_dimensions, place, release,
};

/// A cluster and its hosts.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub names: Vec<String>,
    /// By dimension and host.
    pub paths: Vec<Vec<Option<String>>>,
    pub cluster: Cluster,
    /// By host and role.
    pub eligible: Vec<Vec<bool>>,
    /// By host and role: the room in replicas, the amount over normal limits by a replica, and the score.
    pub offers: Vec<Vec<(u32, i64, i64)>>,
    /// The most new replicas of a host, of all roles together.
    pub together: u32,
}

impl Hosts for World {
    fn offer(&self, host: u32, role: usize, already: u32) -> Option<Offer> {
        let (room, over, score) = self.offers[host as usize][role];
        (already < room).then_some(Offer { over, score })
    }

    fn fits(&self, _host: u32, counts: &[u32]) -> bool {
        counts.iter().sum::<u32>() <= self.together
    }
}

impl World {
    /// Hosts in one dimension, each with its path.
    pub fn of_paths(names: &[String], paths: &[String]) -> World {
        let paths: Vec<[&str; 1]> = paths.iter().map(|path| [path.as_str()]).collect();
        let hosts = names.iter().map(String::as_str).zip(paths.iter().map(|path| &path[..]));
        World::of(&hosts.collect::<Vec<_>>())
    }

    /// A world of hosts with paths by dimension. All hosts are eligible, with room for 1,000 replicas of a single role.
    pub fn of(hosts: &[(&str, &[&str])]) -> World {
        let mut world = World {
            names: hosts.iter().map(|(name, _)| (*name).to_owned()).collect(),
            eligible: vec![vec![true]; hosts.len()],
            offers: vec![vec![(1000, 0, 0)]; hosts.len()],
            together: 1000,
            ..World::default()
        };
        let dimensions = hosts.first().map_or(0, |(_, paths)| paths.len());
        for dimension in 0..dimensions {
            let path = |(_, paths): &(&str, &[&str])| Some(paths[dimension].to_owned()).filter(|path| !path.is_empty());
            world.paths.push(hosts.iter().map(path).collect());
        }
        world.build();
        world
    }

    /// Makes the cluster from the paths.
    pub fn build(&mut self) {
        let dimensions = self.paths.iter().map(|paths| {
            let mut tree = DomainTree::default();
            let leaf = |path: &Option<String>| path.as_ref().map_or(DomainTree::ROOT, |path| tree.intern(path));
            let leaves = paths.iter().map(leaf).collect();
            Dimension { tree, leaves }
        });
        self.cluster = Cluster::new(self.names.len() as u32, dimensions.collect());
    }

    /// Lets only these hosts be eligible.
    pub fn only(mut self, names: &[&str]) -> World {
        for (name, eligible) in self.names.iter().zip(&mut self.eligible) {
            eligible.fill(names.contains(&name.as_str()));
        }
        self
    }

    pub fn host(&self, name: &str) -> u32 {
        let at = self.names.iter().position(|known| known == name);
        at.unwrap_or_else(|| panic!("there is no host {name}")) as u32
    }

    pub fn replicas_on(&self, names: &[&str]) -> Vec<PlacedReplica> {
        let placed = names.iter().map(|name| PlacedReplica {
            role: 0,
            host: self.host(name),
        });
        placed.collect()
    }

    pub fn judge(&self, workload: &Workload) -> Judgement {
        self.judge_alive(workload, &vec![true; workload.placed.len()])
    }

    /// `alive` says of each placed replica whether the host is up.
    pub fn judge_alive(&self, workload: &Workload, alive: &[bool]) -> Judgement {
        judge(
            (&self.cluster, &self.eligible_for(workload)),
            workload,
            alive,
            &Interrupt::default(),
        )
    }

    /// The eligible hosts by the roles of a workload.
    pub fn eligible_for(&self, workload: &Workload) -> Eligible {
        let of_role = |role| self.eligible.iter().map(|of_host: &Vec<bool>| of_host[role]).collect();
        let by_role = (0..workload.wanted.len()).map(of_role).collect();
        Eligible::for_workload(
            &self.cluster,
            by_role,
            (
                needed_dimensions(workload.rules),
                workload.wanted.iter().sum::<u32>() <= 1,
            ),
            &Interrupt::default(),
        )
    }

    pub fn placed(&self, workload: &Workload, effort: &Effort) -> Placed {
        place((&self.cluster, &self.eligible_for(workload)), self, workload, effort)
    }

    pub fn released(&self, workload: &Workload, replicas: &[Releasable]) -> Released {
        let eligible = self.eligible_for(workload);
        release(&self.cluster, &eligible, workload, replicas, &Interrupt::default())
    }

    /// The hosts of the missing replicas of an atomic request, by name.
    pub fn place(&self, workload: &Workload) -> Result<BTreeSet<String>, Box<Placed>> {
        let placed = self.placed(workload, &atomic());
        match placed.refusal {
            None => Ok(placed
                .replicas
                .iter()
                .map(|replica| self.names[replica.host as usize].clone())
                .collect()),
            Some(_) => Err(Box::new(placed)),
        }
    }

    /// All sets of `n` eligible hosts without a fault in the layer's own judgement.
    pub fn sets(&self, rules: &[Rule], n: u32) -> Vec<BTreeSet<String>> {
        let wanted = [n];
        let all = subsets(self.names.len(), n as usize).into_iter().filter(|set| {
            let placed: Vec<PlacedReplica> = set
                .iter()
                .map(|&host| PlacedReplica {
                    role: 0,
                    host: host as u32,
                })
                .collect();
            let workload = Workload {
                placed: &placed,
                ..workload(&wanted, rules)
            };
            set.iter().all(|&host| self.eligible[host][0]) && self.judge(&workload).violations.is_empty()
        });
        all.map(|set| set.into_iter().map(|host| self.names[host].clone()).collect())
            .collect()
    }
}

/// Each placement has an interrupt of its own.
pub fn atomic() -> Effort {
    Effort {
        interrupt: Interrupt::default(),
        atomic: true,
        seed: 7,
        budget: Effort::BUDGET,
    }
}

/// The dimensions `fault` and `upgrade` of the tables.
pub const BOTH: [Axis; 2] = [Axis::Domain(0), Axis::Domain(1)];

pub fn spread(mode: Mode, axes: &[Axis]) -> Rule {
    Rule::Spread(Spread {
        level: Level::Hard,
        mode,
        axes: axes.to_vec(),
        strict: false,
    })
}

pub fn strict(mode: Mode, axes: &[Axis]) -> Rule {
    Rule::Spread(Spread {
        level: Level::Hard,
        mode,
        axes: axes.to_vec(),
        strict: true,
    })
}

/// A workload with a quorum and without a replica yet.
pub fn workload<'a>(wanted: &'a [u32], rules: &'a [Rule]) -> Workload<'a> {
    Workload {
        wanted,
        rules,
        quorum: true,
        placed: &[],
        further: &[],
    }
}

/// All sets of `n` numbers below `all`.
pub fn subsets(all: usize, n: usize) -> Vec<Vec<usize>> {
    let sets = (0_u32..1 << all).filter(|bits| bits.count_ones() as usize == n);
    sets.map(|bits| (0..all).filter(|at| bits >> at & 1 == 1).collect())
        .collect()
}
