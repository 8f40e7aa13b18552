//! Random small clusters with a workload, as strategies of proptest: rules of all kinds, and present replicas.

use proptest::collection::vec;
use proptest::prelude::*;

use super::naive::Question;
use super::worlds::World;
use crate::placing::{
    Affinity, AffinityKind, Axis, DomainId, FurtherHost, Level, Members, Mode, PlacedReplica, Rule, Spread, Workload,
};

const MAX_HOSTS: usize = 10;
const MAX_REPLICAS: u32 = 6;

/// A world with a workload.
#[derive(Clone, Debug)]
pub struct Case {
    pub world: World,
    pub wanted: Vec<u32>,
    pub quorum: bool,
    pub rules: Vec<Rule>,
    pub placed: Vec<PlacedReplica>,
    pub further: Vec<FurtherHost>,
}

impl Case {
    pub fn workload(&self) -> Workload<'_> {
        Workload {
            wanted: &self.wanted,
            rules: &self.rules,
            quorum: self.quorum,
            placed: &self.placed,
            further: &self.further,
        }
    }

    pub fn missing(&self) -> Vec<u32> {
        let mut missing = self.wanted.clone();
        for replica in &self.placed {
            missing[replica.role] = missing[replica.role].saturating_sub(1);
        }
        missing
    }

    /// Hosts with room for one of `new` new replicas, by the rules about hosts alone.
    pub fn free(&self, new: u32) -> Vec<bool> {
        let missing = self.missing();
        let is_about_hosts = |rule: &&Rule| match rule {
            Rule::Affinity(_) => true,
            Rule::Within(within) => within.axis == Axis::Host,
            Rule::Spread(spread) => spread.axes.contains(&Axis::Host),
        };
        let about_hosts = self
            .rules
            .iter()
            .filter(is_about_hosts)
            .cloned()
            .map(|rule| match rule {
                Rule::Spread(spread) => Rule::Spread(Spread {
                    level: Level::Soft,
                    ..spread
                }),
                other => other,
            });
        let about_hosts: Vec<Rule> = about_hosts.collect();
        let alone = Workload {
            rules: &about_hosts,
            ..self.workload()
        };
        let question = Question {
            world: &self.world,
            workload: &alone,
            free: &[],
        };
        let workload = self.workload();
        let with_all = Question {
            workload: &workload,
            ..question
        };
        let standing = self.workload().standing();
        let most = with_all.most_on_hosts(new);
        let is_full = |host: u32| standing.hosts().filter(|(_, at)| *at == host).count() as u32 >= most;
        let takes = |role: usize, host: u32| {
            missing[role] > 0
                && !is_full(host)
                && with_all.has_domains(host as usize)
                && question.admits(&[PlacedReplica { role, host }])
        };
        let hosts = 0..self.world.names.len() as u32;
        hosts
            .map(|host| (0..missing.len()).any(|role| takes(role, host)))
            .collect()
    }
}

fn any_level() -> impl Strategy<Value = Level> {
    prop_oneof![4 => Just(Level::Hard), 1 => Just(Level::Soft), 1 => Just(Level::Prefer)]
}

fn any_mode() -> impl Strategy<Value = Mode> {
    prop_oneof![
        3 => Just(Mode::MaxDifference),
        2 => Just(Mode::QuorumSafe),
        3 => Just(Mode::Adaptive),
        1 => Just(Mode::OneEach),
    ]
}

/// A path of up to `levels` levels with `domains` domains in each. Some hosts have no path, or a path with an early
/// end.
fn any_path(levels: usize, domains: u8) -> impl Strategy<Value = Option<String>> {
    let path = vec(0..domains, levels).prop_map(|segments| {
        let segments: Vec<String> = segments.into_iter().map(|segment| segment.to_string()).collect();
        segments.join("/")
    });
    let path = (path, 1..=levels, 0..12_u8).prop_map(move |(path, kept, ends_early)| {
        let kept = if ends_early == 0 { kept } else { levels };
        path.split('/').take(kept).collect::<Vec<_>>().join("/")
    });
    prop_oneof![15 => path.prop_map(Some), 1 => Just(None)]
}

fn any_world(roles: usize, dimensions: usize) -> impl Strategy<Value = World> {
    let host = (
        any_path(3, 3),
        any_path(1, 4),
        any_path(2, 3),
        vec(0..8_u8, roles),
        vec((0..6_u32, 0..4_i64, -3..6_i64), roles),
    );
    (vec(host, 1..=MAX_HOSTS), 1..=3_usize, 1..=4_u32).prop_map(move |(hosts, levels, together)| {
        let mut world = World {
            together,
            paths: vec![Vec::new(); dimensions],
            ..World::default()
        };
        for (at, (fault, upgrade, zone, eligible, offers)) in hosts.into_iter().enumerate() {
            world.names.push(format!("h{at}"));
            let cut =
                |path: Option<String>| path.map(|path| path.split('/').take(levels).collect::<Vec<_>>().join("/"));
            let paths = [cut(fault), upgrade, zone];
            for (dimension, path) in world.paths.iter_mut().zip(paths) {
                dimension.push(path);
            }
            world
                .eligible
                .push(eligible.into_iter().map(|eligible| eligible > 0).collect());
            let offers = offers
                .into_iter()
                .map(|(room, over, score)| (room.min(2), (over - 2).max(0), score));
            world.offers.push(offers.collect());
        }
        world.build();
        world
    })
}

fn any_rule(dimensions: usize, on_hosts: bool) -> impl Strategy<Value = Rule> {
    let all: Vec<Axis> = (0..dimensions)
        .map(Axis::Domain)
        .chain(on_hosts.then_some(Axis::Host))
        .collect();
    let count = all.len();
    let axes = proptest::sample::subsequence(all, 1..=count);
    let spread = (any_level(), any_mode(), axes, 0..6_u8).prop_map(|(level, mode, axes, strict)| {
        Rule::Spread(Spread {
            level,
            mode,
            axes,
            strict: strict == 0,
        })
    });
    let kind = || prop_oneof![Just(AffinityKind::AntiAffinity), Just(AffinityKind::Affinity)];
    let members = (0..dimensions, vec(1..6_u32, 1..4)).prop_map(|(dimension, domains)| Members::Domains {
        dimension,
        domains: domains.into_iter().map(DomainId).collect(),
    });
    let hosts = vec(0..MAX_HOSTS as u32, 0..5).prop_map(Members::Hosts);
    let affinity = (any_level(), kind(), prop_oneof![members, hosts])
        .prop_map(|(level, kind, members)| Rule::Affinity(Affinity { level, kind, members }));
    prop_oneof![4 => spread, 1 => affinity]
}

/// Removes the dimensions and domains from a rule that the world lacks.
fn fitting(mut rule: Rule, world: &World) -> Rule {
    if let Rule::Affinity(Affinity {
        members: Members::Domains { dimension, domains },
        ..
    }) = &mut rule
    {
        domains.retain(|domain| (domain.0 as usize) < world.cluster.dimensions[*dimension].tree.count());
    }
    rule
}

pub fn any_case(roles: usize, dimensions: usize, on_hosts: bool) -> impl Strategy<Value = Case> {
    let placed = vec((0..roles, 0..MAX_HOSTS as u32), 0..4);
    let rules = vec(any_rule(dimensions, on_hosts), 0..3);
    let wanted = vec(0..=MAX_REPLICAS / roles as u32, roles);
    let quorum = proptest::bool::weighted(0.75);
    let parts = (any_world(roles, dimensions), rules, placed, wanted, quorum);
    parts.prop_map(|(world, rules, placed, mut wanted, quorum)| {
        let hosts = world.names.len() as u32;
        let placed = placed.into_iter().filter(|(_, host)| *host < hosts);
        let placed: Vec<PlacedReplica> = placed.map(|(role, host)| PlacedReplica { role, host }).collect();
        for (role, wanted) in wanted.iter_mut().enumerate() {
            let stands = placed.iter().filter(|replica| replica.role == role).count() as u32;
            *wanted = (*wanted).max(stands);
        }
        Case {
            rules: rules.into_iter().map(|rule| fitting(rule, &world)).collect(),
            world,
            wanted,
            quorum,
            placed,
            further: Vec::new(),
        }
    })
}

/// With a strict rule in the first dimension, and eligible hosts in a single topmost domain.
pub fn any_strict_case() -> impl Strategy<Value = Case> {
    (any_case(1, 2, true), any_mode()).prop_map(|(mut case, mode)| {
        for (path, eligible) in case.world.paths[0].iter().zip(&mut case.world.eligible) {
            let is_inside = path.as_ref().is_some_and(|path| path.starts_with('0'));
            eligible.iter_mut().for_each(|eligible| *eligible &= is_inside);
        }
        case.rules.push(Rule::Spread(Spread {
            level: Level::Hard,
            mode,
            axes: vec![Axis::Domain(0)],
            strict: true,
        }));
        case
    })
}

/// Up to six replicas stand on hosts of their own.
pub fn any_crowd(roles: usize, dimensions: usize) -> impl Strategy<Value = Case> {
    let placed = vec((0..roles, 0..MAX_HOSTS as u32), 1..=MAX_REPLICAS as usize);
    (any_case(roles, dimensions, false), placed).prop_map(|(mut case, placed)| {
        case.placed.clear();
        for (role, host) in placed {
            let is_new = case.placed.iter().all(|other| other.host != host);
            if is_new && host < case.world.cluster.hosts {
                case.placed.push(PlacedReplica { role, host });
            }
        }
        case
    })
}

/// Some replicas stand on several hosts.
pub fn any_case_with_further_hosts(roles: usize, dimensions: usize) -> impl Strategy<Value = Case> {
    let further = vec((0..4_usize, 0..MAX_HOSTS as u32), 1..4);
    (any_case(roles, dimensions, true), further).prop_map(|(mut case, mut further)| {
        further.sort_unstable();
        further.dedup();
        for (replica, host) in further {
            let is_new = case.placed.get(replica).is_some_and(|first| first.host != host);
            if is_new && host < case.world.cluster.hosts {
                case.further.push(FurtherHost { replica, host });
            }
        }
        case
    })
}
