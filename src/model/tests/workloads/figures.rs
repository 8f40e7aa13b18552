//! The tables of Service Fabric's documentation, over the real model: valid sets of hosts, modes, placed replicas and
//! refusals. The sets are counted by adopting consumers on the hosts.

mod configurations;
mod rows;

use super::*;
use crate::placing::Mode::{Adaptive, MaxDifference, OneEach, QuorumSafe};

const BOTH: [&str; 2] = ["fault", "upgrade"];

/// A cluster in which consumer 100 + n stands on host n.
async fn occupied(at: &[(&str, &str)]) -> Fixture {
    let f = cluster(at).await;
    for host in 1..=at.len() as u32 {
        let claim = super::super::claim(100 + host, host, "VCPU", 1, Expected::New);
        f.model.submit(claim).await.unwrap();
    }
    f
}

fn rule(mode: Mode, dimensions: &[&str]) -> Option<Vec<SpecRule>> {
    Some(vec![spread(mode, dimensions)])
}

/// The answer if these hosts had the replicas.
async fn adopted(f: &Fixture, hosts: &[u32], wanted: u32, rules: &Option<Vec<SpecRule>>) -> Result<Report> {
    let mut dry = put(WORKLOAD, None, spec(wanted, rules.clone()));
    dry.is_dry_run = true;
    dry.adopted = hosts
        .iter()
        .map(|host| Adopted {
            consumer: uuid(100 + host),
            id: None,
            role: None,
        })
        .collect();
    place(&f.model, dry).await
}

/// All sets of `n` of the hosts without a broken rule.
async fn sets(f: &Fixture, hosts: u32, n: usize, rules: Option<Vec<SpecRule>>) -> Vec<Vec<u32>> {
    let mut valid = Vec::new();
    for mask in 0_u32..1 << hosts {
        if mask.count_ones() as usize == n {
            let set: Vec<u32> = (1..=hosts).filter(|host| mask >> (host - 1) & 1 == 1).collect();
            if adopted(f, &set, n as u32, &rules).await.unwrap().violations.is_empty() {
                valid.push(set);
            }
        }
    }
    valid
}

/// Places `n` replicas, which must stand on a valid set, and removes the replicas again.
async fn placed(f: &Fixture, n: u32, rules: Option<Vec<SpecRule>>) -> (Vec<u32>, Report) {
    let report = place(&f.model, put(WORKLOAD, None, spec(n, rules))).await.unwrap();
    delete(&f.model, &uuid(WORKLOAD), None, Delete::default(), &caller())
        .await
        .unwrap();
    (hosts(&report).into_iter().collect(), report)
}

fn counts(report: &Report, dimension: &str) -> Vec<u32> {
    let spread = report.spread.iter().find(|it| it.dimension == dimension).unwrap();
    spread.counts.values().copied().collect()
}

fn modes(report: &Report) -> Vec<Mode> {
    report.spread.iter().map(|it| it.mode).collect()
}

#[actix_web::test]
async fn e1_e11_e13_nine_hosts() {
    let f = occupied(&NINE).await;
    for (n, number) in [(3, 6), (6, 6), (9, 1)] {
        let valid = sets(&f, 9, n, None).await;
        assert_eq!(valid.len(), number, "E1 n={n}");
        let (set, report) = placed(&f, n as u32, None).await;
        assert!(valid.contains(&set), "E1 n={n}");
        assert_eq!(modes(&report), [QuorumSafe, QuorumSafe], "E1 n={n}");
    }
    let valid = sets(&f, 9, 4, None).await;
    assert_eq!(valid.len(), 45, "E1 n=4");
    let (set, report) = placed(&f, 4, None).await;
    assert!(valid.contains(&set), "E1 n=4");
    for dimension in BOTH {
        let mut counts = counts(&report, dimension);
        counts.sort_unstable();
        assert_eq!(counts, [1, 1, 2], "E1 n=4");
    }
    assert_eq!(sets(&f, 9, 4, rule(QuorumSafe, &BOTH)).await.len(), 90, "E11");
    let (_, report) = placed(&f, 4, rule(QuorumSafe, &BOTH)).await;
    assert_eq!(
        (report.spread[0].limit, report.safety.is_safe),
        (Some(2), Some(false)),
        "E11"
    );
    assert_eq!(sets(&f, 9, 3, rule(OneEach, &BOTH)).await.len(), 6, "E13");
    let refusal = no_place(place(&f.model, put(WORKLOAD, None, spec(4, rule(OneEach, &BOTH)))).await);
    assert_eq!(figures_of(&refusal, ReasonCode::Spread), Some((4, 3)), "E13");
}

#[actix_web::test]
async fn e2_racks_differ_by_themselves() {
    let racks: Vec<(String, String)> = (0..9)
        .map(|n| {
            (
                format!("fd:/DC0{}/Rack0{}", n / 3 + 1, n % 3 + 1),
                format!("UpgradeDomain{}", n % 3 + 1),
            )
        })
        .collect();
    let racks: Vec<(&str, &str)> = racks
        .iter()
        .map(|(fault, upgrade)| (fault.as_str(), upgrade.as_str()))
        .collect();
    let f = occupied(&racks).await;
    assert_eq!(sets(&f, 9, 3, None).await.len(), 6);
    let (_, report) = placed(&f, 3, None).await;
    assert_eq!(
        (modes(&report), report.safety.is_safe),
        (vec![QuorumSafe, QuorumSafe], Some(true))
    );
    assert_eq!(report.spread[0].limit, Some(1));
}

#[actix_web::test]
async fn e3_virtual_machines_on_shared_hosts() {
    let paths: Vec<String> = (0..10).map(|n| format!("fd:/host{}/vm{}", n / 2, n % 2)).collect();
    let at: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "-")).collect();
    let f = occupied(&at).await;
    for (n, number) in [(5, 32), (6, 80)] {
        let rules = || rule(Adaptive, &["fault"]);
        let valid = sets(&f, 10, n, rules()).await;
        assert_eq!(valid.len(), number, "n={n}");
        assert!(valid.contains(&placed(&f, n as u32, rules()).await.0));
        assert_eq!(
            placed(&f, n as u32, None).await.1.spread.len(),
            1,
            "upgrade does not exist"
        );
    }
}

#[actix_web::test]
async fn e9_siblings_differ_by_one() {
    let at = [
        ("fd:/dc1/r0", "-"),
        ("fd:/dc1/r0", "-"),
        ("fd:/dc1/r0", "-"),
        ("fd:/dc2/r0", "-"),
        ("fd:/dc2/r1", "-"),
        ("fd:/dc2/r2", "-"),
    ];
    let f = occupied(&at).await;
    for (n, number) in [(2, 9), (3, 18), (4, 9), (5, 6), (6, 1)] {
        let valid = sets(&f, 6, n, rule(MaxDifference, &["fault"])).await;
        assert_eq!(valid.len(), number, "n={n}");
        assert!(valid.contains(&placed(&f, n as u32, rule(MaxDifference, &["fault"])).await.0));
    }
}

#[actix_web::test]
async fn e10_two_sites_are_not_safe() {
    let at = [
        ("fd:/a", "-"),
        ("fd:/a", "-"),
        ("fd:/a", "-"),
        ("fd:/b", "-"),
        ("fd:/b", "-"),
        ("fd:/b", "-"),
    ];
    let f = occupied(&at).await;
    assert_eq!(sets(&f, 6, 3, rule(QuorumSafe, &["fault"])).await.len(), 18);
    let (_, report) = placed(&f, 3, rule(QuorumSafe, &["fault"])).await;
    assert_eq!((report.spread[0].limit, report.safety.is_safe), (Some(2), Some(false)));
    let strict = SpecRule::Spread(SpreadRule {
        level: Level::Hard,
        mode: QuorumSafe,
        dimensions: vec!["fault".to_owned()],
        strict: true,
    });
    let refusal = no_place(place(&f.model, put(WORKLOAD, None, spec(3, Some(vec![strict])))).await);
    assert!(refusal.reasons.has(ReasonCode::Spread));
}

#[actix_web::test]
async fn e14_what_is_eligible_decides_the_mode() {
    let f = occupied(&NINE).await;
    for (most, mode, number) in [(8, QuorumSafe, 4), (6, MaxDifference, 6)] {
        let asked = || Spec {
            roles: vec![Role {
                query: query(1, &format!("Number <= {most}")),
                ..role("replica", 3, 1)
            }],
            ..spec(0, None)
        };
        let report = place(&f.model, put(WORKLOAD, None, asked())).await.unwrap();
        assert_eq!(modes(&report), [mode, mode], "vm1..{most}");
        delete(&f.model, &uuid(WORKLOAD), None, Delete::default(), &caller())
            .await
            .unwrap();
        let mut valid = 0;
        for mask in (0_u32..512).filter(|mask| mask.count_ones() == 3) {
            let mut dry = put(WORKLOAD, None, asked());
            dry.is_dry_run = true;
            let set = (1..=9).filter(|host| mask >> (host - 1) & 1 == 1);
            dry.adopted = set
                .map(|host| Adopted {
                    consumer: uuid(100 + host),
                    id: None,
                    role: None,
                })
                .collect();
            valid += usize::from(place(&f.model, dry).await.unwrap().violations.is_empty());
        }
        assert_eq!(valid, number, "vm1..{most}");
    }
}

#[actix_web::test]
async fn e21_a_replica_that_no_longer_matches_stays_and_is_a_violation() {
    let f = cluster(&NINE).await;
    let before = place(&f.model, put(WORKLOAD, None, spec(3, None))).await.unwrap();
    let first = *hosts(&before).first().unwrap();
    let changed = Spec {
        roles: vec![Role {
            query: query(1, &format!("Number != {first}")),
            ..role("replica", 3, 1)
        }],
        ..spec(0, Some(Vec::new()))
    };
    let after = place(&f.model, put(WORKLOAD, Some(1), changed)).await.unwrap();
    assert_eq!(after.row.generation, 2);
    assert_eq!(places(&before), places(&after));
    assert_eq!(after.violations.len(), 1);
    let violation = &after.violations[0];
    assert_eq!(
        (violation.level, violation.reason.code),
        (Level::Hard, ReasonCode::Condition)
    );
}

/// Places A13: without a quorum two sites are as good as three, and `strict` refuses nothing.
#[actix_web::test]
async fn found_p17_a13_a_workload_without_a_quorum_is_spread_alike_and_not_judged() {
    let f = cluster(&NINE).await;
    let of_mode = |mode, strict| {
        Some(vec![SpecRule::Spread(SpreadRule {
            level: Level::Hard,
            mode,
            dimensions: vec!["fault".to_owned()],
            strict,
        })])
    };
    let stateless = |n, rules| Spec {
        quorum: false,
        ..spec(n, rules)
    };
    for n in [1, 3, 4, 6] {
        let with = placed(&f, n, None).await.1;
        let without = place(&f.model, put(WORKLOAD, None, stateless(n, None))).await.unwrap();
        assert_eq!(
            (modes(&with), hosts(&with)),
            (modes(&without), hosts(&without)),
            "n = {n}"
        );
        assert_eq!((without.safety.is_safe, without.violations.len()), (None, 0), "n = {n}");
        delete(&f.model, &uuid(WORKLOAD), None, Delete::default(), &caller())
            .await
            .unwrap();
    }
    let f = cluster(&NINE[..6]).await;
    for mode in [Adaptive, QuorumSafe, MaxDifference] {
        no_place(place(&f.model, put(WORKLOAD, None, spec(3, of_mode(mode, true)))).await);
        for strict in [false, true] {
            let granted = place(&f.model, put(WORKLOAD, None, stateless(3, of_mode(mode, strict)))).await;
            assert_eq!(granted.unwrap().safety.is_safe, None, "{mode:?}, strict: {strict}");
            delete(&f.model, &uuid(WORKLOAD), None, Delete::default(), &caller())
                .await
                .unwrap();
        }
    }
}
