//! Time of placing a workload under rules: `cargo bench --bench placing [ROUNDS]`.
//!
//! Clusters of 1,000, 10,000 and 100,000 hosts in three sites, with rows and racks of 40 hosts, and in 20 upgrade
//! domains. Placed are 5 replicas, adaptive over both dimensions, and 100 replicas evenly over all levels. Each is
//! placed with room on two hosts of three; with room on one of 100; and where a whole site has none, so that there is
//! no place. Then the replicas are judged, and half of them released. The bench prints medians and the slowest round.

use std::time::{Duration, Instant};

use placet::benchmarked::Interrupt;
use placet::benchmarked::placing::{
    Axis, Cluster, Dimension, DomainTree, Effort, Eligible, Hosts, Level, Mode, Offer, PlacedReplica, Releasable, Rule,
    Spread, Workload, judge, place, release,
};

const UPGRADE_DOMAINS: u32 = 20;
const HOSTS_A_RACK: u32 = 40;
const RACKS_A_ROW: u32 = 8;
const SITES: u32 = 3;

/// Hosts with room for one replica or none, and their scores.
struct Column(Vec<Option<i64>>);

impl Hosts for Column {
    fn offer(&self, host: u32, _role: usize, already: u32) -> Option<Offer> {
        let score = self.0[host as usize].filter(|_| already == 0)?;
        Some(Offer { over: 0, score })
    }

    fn fits(&self, _host: u32, _counts: &[u32]) -> bool {
        false
    }
}

fn main() {
    let rounds = std::env::args()
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(41);
    println!("| hosts | replicas | call | room | placed | median | slowest |");
    println!("|---|---|---|---|---|---|---|");
    for hosts in [1_000, 10_000, 100_000] {
        let cluster = cluster(hosts);
        for (n, mode) in [(5, Mode::Adaptive), (100, Mode::MaxDifference)] {
            measure(&cluster, n, mode, "on two of three", rounds, |_, hash| hash % 3 > 0);
            measure(&cluster, n, mode, "on one of 100", rounds, |_, hash| hash % 100 == 0);
            measure(&cluster, n, mode, "none in a site", rounds, |host, _| site(host) > 0);
        }
    }
}

fn measure(cluster: &Cluster, n: u32, mode: Mode, room: &str, rounds: u32, has_room: impl Fn(u32, u64) -> bool) {
    let score = |host: u32| {
        let hash = u64::from(host + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        has_room(host, hash).then_some((hash % 1000) as i64)
    };
    let hosts = Column((0..cluster.hosts).map(score).collect());
    let rules = [Rule::Spread(Spread {
        level: Level::Hard,
        mode,
        axes: vec![Axis::Domain(0), Axis::Domain(1)],
        strict: false,
    })];
    let workload = Workload {
        wanted: &[n],
        rules: &rules,
        quorum: true,
        placed: &[],
        further: &[],
    };
    let effort = Effort {
        atomic: true,
        seed: 7,
        budget: Effort::BUDGET,
        interrupt: Interrupt::default(),
    };
    let eligible = Eligible::of(
        cluster,
        vec![vec![true; cluster.hosts as usize].into()],
        Vec::new(),
        &Interrupt::default(),
    );
    let placed = place((cluster, &eligible), &hosts, &workload, &effort);
    assert!(placed.is_exact);
    let number = placed.replicas.len();
    let line = |what: &str| format!("| {} | {n} | {what} | {room} | {number} |", cluster.hosts);
    print(&line("place"), rounds, || {
        place((cluster, &eligible), &hosts, &workload, &effort).replicas.len()
    });
    if number == 0 {
        return;
    }
    let judged = Workload {
        placed: &placed.replicas,
        ..workload
    };
    let alive = vec![true; number];
    print(&line("judge"), rounds, || {
        judge((cluster, &eligible), &judged, &alive, &Interrupt::default())
            .violations
            .len()
    });
    let half = Workload {
        wanted: &[n / 2],
        ..workload
    };
    let replica = |placed: &PlacedReplica| Releasable {
        role: placed.role,
        hosts: vec![placed.host],
        lost: false,
    };
    let replicas: Vec<Releasable> = placed.replicas.iter().map(replica).collect();
    print(&line("release"), rounds, || {
        release(cluster, &eligible, &half, &replicas, &Interrupt::default())
            .gone
            .len()
    });
}

/// Prints a line with the times of a call.
fn print(line: &str, rounds: u32, mut measured: impl FnMut() -> usize) {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(measured());
            start.elapsed()
        })
        .collect();
    times.sort();
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{line} {:.3} ms | {:.3} ms |",
        millis(times[times.len() / 2]),
        millis(times[times.len() - 1])
    );
}

fn site(host: u32) -> u32 {
    host / HOSTS_A_RACK % SITES
}

fn cluster(hosts: u32) -> Cluster {
    let (mut fault, mut upgrade) = (DomainTree::default(), DomainTree::default());
    let racks = (0..hosts).map(|host| {
        let rack = host / HOSTS_A_RACK / SITES;
        let path = format!(
            "fd:/dc{}/row{}/rack{}",
            site(host),
            rack / RACKS_A_ROW,
            rack % RACKS_A_ROW
        );
        fault.intern(&path)
    });
    let racks = racks.collect();
    let tags = (0..hosts).map(|host| upgrade.intern(&format!("UD{}", host % UPGRADE_DOMAINS)));
    let tags = tags.collect();
    let fault = Dimension {
        tree: fault,
        leaves: racks,
    };
    let upgrade = Dimension {
        tree: upgrade,
        leaves: tags,
    };
    Cluster::new(hosts, vec![fault, upgrade])
}
