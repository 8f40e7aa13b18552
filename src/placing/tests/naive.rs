//! The oracle: all sets of hosts, one after the other, judged over trees of paths. The oracle shares no code with the
//! layer except the types of questions and answers.

mod even;
mod limits;
mod node;
mod safe;

use self::even::{is_even, uneven};
use self::limits::limit;
use self::node::{Node, square};
use super::worlds::{World, subsets};
use crate::placing::{Affinity, AffinityKind, Axis, Level, Members, Mode, PlacedReplica, Rule, Spread, Workload};

/// The levels of domains whose squares are compared.
const LEVELS: usize = 4;

/// A question. The replicas are the present replicas, and the new replicas at the end.
pub struct Question<'a> {
    pub world: &'a World,
    pub workload: &'a Workload<'a>,
    /// Hosts with room for a new replica, each judged alone.
    pub free: &'a [bool],
}

/// The costs for the comparison of placements, the least first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub soft: i64,
    pub over: i64,
    /// 1 if no replica more has a place.
    pub is_stuck: i64,
    pub prefer: i64,
    pub score: i64,
    /// The sums of squares of the domains' counts, from the first level down, and of the hosts' counts.
    pub squares: Vec<u64>,
}

fn segments(path: &str) -> Vec<String> {
    let mut prefixes = Vec::new();
    for (at, _) in path.match_indices('/').filter(|(at, _)| *at > 0) {
        prefixes.push(path[..at].to_owned());
    }
    prefixes.push(path.to_owned());
    prefixes
}

fn n(workload: &Workload) -> u32 {
    workload.wanted.iter().sum()
}

fn names_host(rule: &Rule) -> bool {
    let names = matches!(rule, Rule::Spread(spread) if spread.axes.contains(&Axis::Host));
    names || matches!(rule, Rule::Within(within) if within.axis == Axis::Host)
}

fn quorum(n: u32) -> u32 {
    n / 2 + 1
}

impl Question<'_> {
    fn is_eligible(&self, host: usize) -> bool {
        self.has_domains(host) && self.world.eligible[host].iter().any(|any| *any)
    }

    /// Whether a host has a path in each dimension of a hard spread. A workload of one needs none.
    pub fn has_domains(&self, host: usize) -> bool {
        if n(self.workload) <= 1 {
            return true;
        }
        let has_path = |axis: &Axis| match axis {
            Axis::Host => true,
            Axis::Domain(dimension) => self.world.paths[*dimension][host].is_some(),
        };
        let mut rules = self.workload.rules.iter();
        rules.all(|rule| match rule {
            Rule::Spread(spread) if spread.level == Level::Hard => spread.axes.iter().all(has_path),
            _ => true,
        })
    }

    fn eligible(&self) -> u32 {
        (0..self.world.names.len())
            .filter(|&host| self.is_eligible(host))
            .count() as u32
    }

    fn tree(&self, axis: Axis, new: &[PlacedReplica]) -> Node {
        let (mut root, all) = (Node::default(), self.hosts_of_replicas(new));
        for host in 0..self.world.names.len() {
            let path = match axis {
                Axis::Host => vec![host.to_string()],
                Axis::Domain(dimension) => self.world.paths[dimension][host]
                    .as_ref()
                    .map_or(Vec::new(), |path| segments(path)),
            };
            let here = all.iter().enumerate();
            let here = here.filter(|(_, hosts)| hosts.contains(&(host as u32)));
            let here: Vec<usize> = here.map(|(at, _)| at).collect();
            let eligible = u32::from(self.is_eligible(host));
            let mut node = &mut root;
            let add = |node: &mut Node| {
                node.hosts += eligible;
                for &replica in &here {
                    let is_new = node.inside.insert(replica);
                    node.count += u32::from(is_new);
                    node.placed += u32::from(is_new && replica < self.workload.placed.len());
                }
            };
            add(node);
            for segment in path {
                node = node.children.entry(segment).or_default();
                add(node);
            }
            node.direct += u32::from(self.free.get(host).copied().unwrap_or(false));
        }
        root
    }

    pub fn mode(&self, spread: &Spread) -> Mode {
        if spread.mode != Mode::Adaptive {
            return spread.mode;
        }
        let mut product = 1;
        for &axis in &spread.axes {
            let domains = self.tree(axis, &[]).first_level().len() as u32;
            if domains == 0 || !n(self.workload).is_multiple_of(domains) {
                return Mode::MaxDifference;
            }
            product *= domains;
        }
        if self.eligible() <= product {
            Mode::QuorumSafe
        } else {
            Mode::MaxDifference
        }
    }

    /// Whether a spread holds with these new replicas.
    fn holds(&self, spread: &Spread, new: &[PlacedReplica]) -> bool {
        let n = n(self.workload);
        let mode = self.mode(spread);
        spread.axes.iter().all(|&axis| {
            let tree = self.tree(axis, new);
            let first = tree.first_level();
            let limited = tree.limited();
            let at_most = |most: u32| limited.iter().all(|node| node.count <= most.max(node.placed));
            let is_strict = spread.strict && self.workload.quorum && n > 1;
            let by_mode = match mode {
                Mode::MaxDifference | Mode::Adaptive => is_even(&tree),
                Mode::QuorumSafe => first.is_empty() || at_most(limit(n, first.len() as u32)),
                Mode::OneEach if axis == Axis::Host => tree.live().iter().all(|node| node.count <= node.placed.max(1)),
                Mode::OneEach => first.is_empty() || at_most(1),
            };
            by_mode && (!is_strict || at_most(n - quorum(n)))
        })
    }

    fn affinity_is_broken(&self, affinity: &Affinity, host: u32) -> bool {
        let is_member = match &affinity.members {
            Members::Hosts(hosts) => hosts.contains(&host),
            Members::Domains { dimension, domains } => {
                let tree = &self.world.cluster.dimensions[*dimension].tree;
                let path = self.world.paths[*dimension][host as usize].as_ref();
                let inside = path.map_or(Vec::new(), |path| segments(path));
                domains
                    .iter()
                    .any(|domain| inside.iter().any(|path| **path == *tree.path(*domain)))
            }
        };
        is_member == (affinity.kind == AffinityKind::AntiAffinity)
    }

    /// Whether a rule holds with these new replicas.
    pub fn keeps(&self, rule: &Rule, new: &[PlacedReplica]) -> bool {
        match rule {
            Rule::Spread(spread) => self.holds(spread, new),
            Rule::Affinity(affinity) => {
                let new = self.hosts_of_replicas(new).split_off(self.workload.placed.len());
                let mut hosts = new.into_iter().flatten();
                hosts.all(|host| !self.affinity_is_broken(affinity, host))
            }
            // `super::within` asks about each domain by itself.
            Rule::Within(_) => true,
        }
    }

    /// Whether all hard rules and the room admit these new replicas.
    pub fn admits(&self, new: &[PlacedReplica]) -> bool {
        self.has_room(new) && self.keeps_hard(new)
    }

    /// Whether the hosts of these new replicas are eligible, and have room for all.
    fn has_room(&self, new: &[PlacedReplica]) -> bool {
        let one_a_host = !self.workload.rules.iter().any(names_host);
        let on_host = |host: u32| new.iter().filter(move |replica| replica.host == host);
        new.iter().all(|replica| {
            let at = replica.host as usize;
            let same_role = on_host(replica.host).filter(|other| other.role == replica.role).count() as u32;
            let all = on_host(replica.host).count() as u32;
            let placed = self.hosts_of_replicas(&[]);
            let placed = placed.iter().filter(|hosts| hosts.contains(&replica.host)).count() as u32;
            self.world.eligible[at][replica.role]
                && self.has_domains(at)
                && same_role <= self.world.offers[at][replica.role].0
                && (same_role == all || all <= self.world.together)
                && (!one_a_host || all + placed <= 1)
        })
    }

    /// Whether these new replicas keep all hard rules.
    fn keeps_hard(&self, new: &[PlacedReplica]) -> bool {
        let is_hard = |rule: &&Rule| match rule {
            Rule::Spread(Spread { level, .. }) | Rule::Affinity(Affinity { level, .. }) => *level == Level::Hard,
            Rule::Within(_) => false,
        };
        let mut hard = self.workload.rules.iter().filter(is_hard);
        hard.all(|rule| self.keeps(rule, new) && self.stays_safe(rule, new))
    }

    /// The costs of a placement, score included.
    pub fn key(&self, new: &[PlacedReplica]) -> Key {
        let mut key = Key {
            soft: 0,
            over: 0,
            is_stuck: i64::from(self.is_stuck(new)),
            prefer: 0,
            score: 0,
            squares: self.squares(new),
        };
        for replica in new {
            let (_, over, score) = self.world.offers[replica.host as usize][replica.role];
            key.over += over;
            key.score += score;
        }
        for rule in self.workload.rules {
            let (level, amount) = match rule {
                Rule::Spread(spread) => (spread.level, self.amount(spread, new)),
                Rule::Affinity(affinity) => {
                    let broken = new
                        .iter()
                        .filter(|replica| self.affinity_is_broken(affinity, replica.host));
                    (affinity.level, broken.count() as i64)
                }
                Rule::Within(_) => continue,
            };
            match level {
                Level::Hard => {}
                Level::Soft => key.soft += amount,
                Level::Prefer => key.prefer += amount,
            }
        }
        key
    }

    /// Whether a hard spread admits no replica more beside the new replicas, of the role of a new replica, on any host
    /// with room. The layer does not ask if a hard spread names hosts, or if hosts take replicas of several roles.
    fn is_stuck(&self, new: &[PlacedReplica]) -> bool {
        let mut rules = self.workload.rules.iter();
        let is_hard = |rule: &Rule| matches!(rule, Rule::Spread(spread) if spread.level == Level::Hard);
        let is_about_hosts = rules.clone().any(|rule| is_hard(rule) && names_host(rule));
        let is_mixed = new.iter().any(|replica| replica.role != new[0].role);
        let is_short = self.workload.placed.len() + new.len() < n(self.workload) as usize;
        if is_short || is_about_hosts || !rules.clone().any(is_hard) || is_mixed && rules.any(names_host) {
            return false;
        }
        let hosts = 0..self.world.names.len() as u32;
        let mut more = hosts.flat_map(|host| new.iter().map(move |replica| PlacedReplica { host, ..*replica }));
        let placed = [self.workload.placed, new].concat();
        !more.any(|replica| {
            let mut wanted = self.workload.wanted.to_vec();
            wanted[replica.role] += 1;
            let before = Workload {
                wanted: &wanted,
                ..*self.workload
            };
            let after = Workload {
                placed: &placed,
                ..before
            };
            let of = |workload| Question { workload, ..*self };
            of(&before).has_room(&[new, &[replica]].concat()) && of(&after).keeps_hard(&[replica])
        })
    }

    /// The squares of the counts in up to two dimensions; of more dimensions the layer compares the greatest two.
    fn squares(&self, new: &[PlacedReplica]) -> Vec<u64> {
        let is_named = |axis: Axis| {
            self.workload
                .rules
                .iter()
                .any(|rule| matches!(rule, Rule::Spread(spread) if spread.axes.contains(&axis)))
        };
        let mut sums = vec![0; LEVELS + 1];
        let dimensions = (0..self.world.paths.len()).filter(|&dimension| is_named(Axis::Domain(dimension)));
        let dimensions: Vec<usize> = dimensions.collect();
        if dimensions.len() > 2 {
            return sums;
        }
        for dimension in dimensions {
            let tree = self.tree(Axis::Domain(dimension), new);
            let mut fork = &tree;
            while let [only] = fork.live()[..] {
                fork.add_square_beside(&mut sums[..LEVELS]);
                fork = only;
            }
            fork.add_squares(&mut sums[..LEVELS]);
        }
        if is_named(Axis::Host) {
            let hosts = self.tree(Axis::Host, new);
            sums[LEVELS] += hosts.live().iter().map(|host| square(host.count)).sum::<u64>();
        }
        sums
    }

    /// The distance of counts from a spread: replicas above a limit, and outside of an even share.
    fn amount(&self, spread: &Spread, new: &[PlacedReplica]) -> i64 {
        let mode = self.mode(spread);
        let total = (self.workload.placed.len() + new.len()) as u32;
        let amounts = spread.axes.iter().map(|&axis| {
            let tree = self.tree(axis, new);
            let judged = if axis == Axis::Host {
                tree.live()
            } else {
                tree.limited()
            };
            let above = self.cap(spread, axis, &tree).map_or(0, |cap| {
                judged
                    .iter()
                    .map(|node| i64::from(node.count.saturating_sub(cap)))
                    .sum()
            });
            above
                + if mode == Mode::MaxDifference {
                    uneven(&tree, (total, total))
                } else {
                    0
                }
        });
        amounts.sum()
    }

    /// All placements of `new` missing replicas within hard rules and room.
    pub fn placements(&self, missing: &[u32], new: u32) -> Vec<Vec<PlacedReplica>> {
        let roles: Vec<usize> = (0..missing.len())
            .flat_map(|role| vec![role; missing[role] as usize])
            .collect();
        let mut found = Vec::new();
        for chosen in subsets(roles.len(), new as usize) {
            let roles: Vec<usize> = chosen.into_iter().map(|at| roles[at]).collect();
            self.extend(&roles, &mut Vec::new(), &mut found);
        }
        found
    }

    fn extend(&self, roles: &[usize], new: &mut Vec<PlacedReplica>, found: &mut Vec<Vec<PlacedReplica>>) {
        let Some((&role, rest)) = roles.split_first() else {
            if self.admits(new) {
                found.push(new.clone());
            }
            return;
        };
        // Replicas of a role are alike, so their hosts ascend.
        let from = new.last().filter(|last| last.role == role).map_or(0, |last| last.host);
        for host in (from..self.world.names.len() as u32).filter(|&host| self.free[host as usize]) {
            new.push(PlacedReplica { role, host });
            self.extend(rest, new, found);
            new.pop();
        }
    }
}
