//! The demands of all rules on the domains of each compared dimension, and on hosts, with the placed replicas.

pub mod even;
pub mod evenness;
pub mod occupied;

use std::sync::Arc;

use self::even::{Range, SiblingCounts};
use self::occupied::{occupied_tree, outer_domain};
use super::cluster::{Cluster, Standing};
use super::cost::Cost;
use super::eligible::Eligible;
use super::live_tree::LiveTree;
use super::rules::modes::AxisRule;
use super::rules::{Axis, Level, Mode};

/// The demands of all rules together on the domains of one dimension.
#[derive(Clone, Debug, Default)]
pub struct Demands {
    /// Whether siblings must differ by at most 1.
    pub is_even: bool,
    /// The cost of one replica outside of an even share, if the rule may be broken.
    pub even_cost: Option<Cost>,
    /// The most replicas in a domain of the first level with several domains.
    pub cap: Option<u32>,
    /// Caps of rules that may be broken, each with the cost of one replica above the cap.
    pub costly_caps: Vec<(u32, Cost)>,
}

impl Demands {
    /// The demands on one axis. `keeps_hard`: hard rules are bounds. Otherwise hard rules are the most expensive costs.
    fn of(rules: &[AxisRule], axis: Axis, keeps_hard: bool) -> Demands {
        let mut demands = Demands::default();
        for rule in rules.iter().filter(|rule| rule.axis == axis) {
            let is_hard = keeps_hard && rule.level == Level::Hard;
            let cost = Cost::of_level(rule.level);
            if rule.mode == Mode::MaxDifference {
                if is_hard {
                    demands.is_even = true;
                } else {
                    demands.even_cost = Some(demands.even_cost.unwrap_or_default() + cost);
                }
            }
            match rule.cap {
                Some(cap) if is_hard => demands.limit(cap),
                Some(cap) => demands.costly_caps.push((cap, cost)),
                None => {}
            }
        }
        demands
    }

    /// Admits no more than `cap`.
    fn limit(&mut self, cap: u32) {
        self.cap = Some(self.cap.map_or(cap, |other| other.min(cap)));
    }

    /// The cost of rules that may be broken, in a domain with `count` replicas.
    pub fn cost_at(&self, count: u32, even: Range, is_limited_level: bool) -> Cost {
        let mut cost = self.even_cost.map_or(Cost::ZERO, |one| one * even.distance(count));
        for &(cap, one) in self.costly_caps.iter().filter(|_| is_limited_level) {
            cost += one * count.saturating_sub(cap);
        }
        cost
    }
}

/// A dimension that rules name.
#[derive(Clone, Debug)]
pub struct ComparedDimension {
    /// Its index in [`Cluster::dimensions`].
    pub dimension: usize,
    pub tree: Arc<LiveTree>,
    pub demands: Demands,
    /// Placed replicas in each domain and below. The replicas of a dead domain count in the live domains above.
    pub placed: Vec<u32>,
    /// The sum of the placed replicas of each domain's live children. A replica in several children counts in each.
    pub below: Vec<u32>,
    /// The rule for new replicas holds: a domain that receives none may stand above its siblings. Otherwise all
    /// replicas of the children are compared, as a judgement compares the replicas.
    pub keeps_placed: bool,
    /// Whether the dimension is one of the two in the flow of a search.
    pub is_in_flow: bool,
    /// A domain beside other domains with replicas, and the most replicas that a strict rule admits there; see
    /// [`outer_domain`].
    pub outer: Option<(u32, u32)>,
}

impl ComparedDimension {
    /// The live children of a domain, which share new replicas.
    pub fn siblings(&self, domain: u32) -> SiblingCounts {
        let children = self.tree.children(domain);
        let placed = children.iter().map(|&child| self.placed[child as usize]);
        SiblingCounts::new(children.len() as u32, placed.collect())
    }

    /// Placed replicas in a domain, less the sum of its live children. Below zero if a replica is in several children.
    pub fn beside(&self, domain: u32) -> i64 {
        i64::from(self.placed[domain as usize]) - i64::from(self.below[domain as usize])
    }

    /// Placed replicas on hosts directly in a domain with children.
    pub fn directly(&self, domain: u32) -> u32 {
        self.beside(domain).max(0) as u32
    }

    /// The most replicas that hard rules admit in a domain. The cap ignores placed replicas.
    pub fn cap(&self, domain: u32, is_limited_level: bool) -> Option<u32> {
        let of_level = self.demands.cap.filter(|_| is_limited_level);
        let outer = self.outer.filter(|(outer, _)| *outer == domain).map(|(_, cap)| cap);
        of_level.into_iter().chain(outer).min()
    }

    /// The range of a child, given the even share of hard rules. Replicas above a bound stay, and the child gets no new
    /// replica.
    pub fn hard_range(&self, child: u32, share: Option<Range>, is_limited_level: bool) -> Range {
        let placed = self.placed[child as usize];
        let mut range = share.map_or(Range::of(0, u32::MAX), |share| share.beside(placed));
        if let Some(cap) = self.cap(child, is_limited_level) {
            range.most = range.most.min(cap.max(placed));
        }
        range
    }
}

/// The demands of the rules on hosts as domains of their own.
#[derive(Clone, Debug)]
pub struct HostDemands {
    pub demands: Demands,
    /// The number of eligible hosts.
    eligible: u32,
    /// The placed replicas of eligible hosts that have any.
    placed: Vec<u32>,
    /// Placed replicas on other hosts.
    elsewhere: u32,
    /// As [`ComparedDimension::keeps_placed`].
    keeps_placed: bool,
    /// The weight of the square of a host's count.
    weight: i128,
}

/// All compared dimensions, and the demands on hosts.
#[derive(Clone, Debug)]
pub struct Compared {
    pub dimensions: Vec<ComparedDimension>,
    pub hosts: HostDemands,
    /// The indices of the compared dimensions in the flow of a search: the dimensions with bounds first, then the
    /// greatest.
    pub flow: [Option<usize>; 2],
    /// The number of placed replicas, each on each of its hosts.
    pub placed: u32,
}

impl Compared {
    /// The indices of the compared dimensions in the cluster.
    pub fn indices(&self) -> impl Iterator<Item = usize> {
        self.dimensions.iter().map(|it| it.dimension)
    }

    /// `one_a_host`: no rule says how many replicas a host takes.
    pub fn new(
        cluster: &Cluster,
        eligible: &Eligible,
        rules: &[AxisRule],
        standing: Standing,
        (one_a_host, keeps_hard): (bool, bool),
    ) -> Compared {
        let mut demands_of_hosts = Demands::of(rules, Axis::Host, keeps_hard);
        // A rule that demands nothing of a single host counts, too: placements in several domains are compared.
        let weight = if rules.iter().any(|rule| rule.axis == Axis::Host) {
            evenness::OF_HOST
        } else {
            0
        };
        match (one_a_host, keeps_hard) {
            (true, true) => demands_of_hosts.limit(1),
            (true, false) => demands_of_hosts.costly_caps.push((1, Cost::of_level(Level::Hard))),
            (false, _) => {}
        }
        let all = eligible.trees.iter().enumerate().filter_map(|(dimension, tree)| {
            // A rule that demands nothing of n replicas may demand something of one more.
            if !rules.iter().any(|rule| rule.axis == Axis::Domain(dimension)) {
                return None;
            }
            let demands = Demands::of(rules, Axis::Domain(dimension), keeps_hard);
            let counts = tree.counts(&cluster.dimensions[dimension], standing, |_| true);
            let children = |domain| tree.children(domain).iter().map(|&child| counts[child as usize]);
            let below = (0..tree.len() as u32).map(|domain| children(domain).sum()).collect();
            let mut outer = None;
            if let Some(cap) = strict_cap(rules, dimension).filter(|_| keeps_hard) {
                let occupied = occupied_tree(cluster, &eligible.any, standing, dimension);
                let occupied = occupied.as_ref().unwrap_or(&**tree);
                outer = outer_domain(tree, occupied).map(|domain| (domain, cap));
                if occupied.has_hosts_beside() {
                    demands_of_hosts.limit(cap);
                }
            }
            Some(ComparedDimension {
                dimension,
                tree: Arc::clone(tree),
                demands,
                placed: counts,
                below,
                keeps_placed: keeps_hard,
                is_in_flow: false,
                outer,
            })
        });
        let mut dimensions: Vec<ComparedDimension> = all.collect();
        let flow = flow(&dimensions);
        flow.iter().flatten().for_each(|&at| dimensions[at].is_in_flow = true);
        let hosts = HostDemands::of(demands_of_hosts, eligible, standing);
        Compared {
            dimensions,
            flow,
            hosts: HostDemands {
                keeps_placed: keeps_hard,
                weight,
                ..hosts
            },
            placed: standing.count() as u32,
        }
    }
}

/// The dimensions in the flow of a search.
fn flow(dimensions: &[ComparedDimension]) -> [Option<usize>; 2] {
    let mut order: Vec<usize> = (0..dimensions.len()).collect();
    order.sort_by_key(|&at| {
        let ComparedDimension { demands, tree, .. } = &dimensions[at];
        std::cmp::Reverse((demands.is_even || demands.cap.is_some(), tree.len()))
    });
    [order.first().copied(), order.get(1).copied()]
}

/// The most replicas that hard strict rules admit in a domain that fails as a whole.
fn strict_cap(rules: &[AxisRule], dimension: usize) -> Option<u32> {
    let hard = rules
        .iter()
        .filter(|rule| rule.axis == Axis::Domain(dimension) && rule.level == Level::Hard);
    hard.filter_map(|rule| rule.strict).min()
}

impl HostDemands {
    fn of(demands: Demands, eligible: &Eligible, standing: Standing) -> HostDemands {
        let mut hosts: Vec<u32> = standing.hosts().map(|(_, host)| host).collect();
        hosts.sort_unstable();
        let (inside, outside): (Vec<&[u32]>, Vec<&[u32]>) = hosts
            .chunk_by(|one, other| one == other)
            .partition(|same| eligible.any[same[0] as usize]);
        HostDemands {
            demands,
            eligible: eligible.count,
            placed: inside.iter().map(|same| same.len() as u32).collect(),
            elsewhere: outside.iter().map(|same| same.len() as u32).sum(),
            keeps_placed: false,
            weight: 0,
        }
    }

    /// Whether a rule `spread` is about hosts.
    pub fn has_rule(&self) -> bool {
        self.weight > 0
    }

    /// Whether the demands on a host depend on the total number of placed replicas.
    pub fn depend_on_total(&self) -> bool {
        self.demands.is_even || self.demands.even_cost.is_some()
    }

    /// The bounds of each eligible host, if `total` replicas are placed in the cluster.
    pub fn bounds(&self, total: u32) -> CountBounds {
        let total = total - self.elsewhere;
        let cap = self.demands.cap.unwrap_or(u32::MAX);
        let placed = if self.keeps_placed {
            self.placed.clone()
        } else {
            Vec::new()
        };
        let even = SiblingCounts::new(self.eligible, placed).share(total);
        let hard = if self.demands.is_even {
            even
        } else {
            Range::of(0, u32::MAX)
        };
        CountBounds {
            hard: Range::of(hard.least, hard.most.min(cap)),
            even,
            is_limited_level: true,
            weight: self.weight,
        }
    }

    /// The cost of the hosts before a replica is placed.
    pub fn cost_before(&self, bounds: &CountBounds) -> Cost {
        let empty = self.eligible - self.placed.len() as u32;
        let cost_at = |count: u32| {
            // A host above the even share receives no replica, and breaks no rule about new replicas.
            let beside = bounds.even.beside(count);
            let even = if self.keeps_placed { beside } else { bounds.even };
            CountBounds { even, ..*bounds }.cost_at(count, &self.demands)
        };
        let occupied = self.placed.iter().map(|&count| cost_at(count));
        cost_at(0) * empty + occupied.fold(Cost::ZERO, |sum, cost| sum + cost)
    }
}

/// The bounds of the replicas in a domain or on a host.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountBounds {
    pub hard: Range,
    pub even: Range,
    pub is_limited_level: bool,
    /// The weight of the square of the count; see [`evenness`].
    pub weight: i128,
}

impl CountBounds {
    /// The number of further replicas beside `count` replicas.
    pub fn more(&self, count: u32) -> u32 {
        self.hard.most.saturating_sub(count)
    }

    /// The cost of a further replica beside `count` replicas, if there may be more.
    pub fn unit(&self, count: u32, demands: &Demands) -> Cost {
        self.cost_at(count + 1, demands) - self.cost_at(count, demands)
    }

    /// The cost of `count` replicas, new and placed.
    pub fn cost_at(&self, count: u32, demands: &Demands) -> Cost {
        Cost::HARD * self.hard.least.saturating_sub(count)
            + demands.cost_at(count, self.even, self.is_limited_level)
            + Cost::of_square(self.weight, count)
    }
}
