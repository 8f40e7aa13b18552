//! T1 to T11 and E8: the base cluster of five hosts, and configurations 1 to 3, which add hosts in the same domains.

use super::*;

/// Hosts (fault, upgrade) of the base cluster and of configurations 1 to 3.
const CONFIGURATION: [(&str, &str); 10] = [
    ("fd:/0", "0"),
    ("fd:/1", "1"),
    ("fd:/2", "2"),
    ("fd:/3", "3"),
    ("fd:/4", "4"),
    ("fd:/0", "1"),
    ("fd:/1", "2"),
    ("fd:/2", "3"),
    ("fd:/3", "4"),
    ("fd:/4", "0"),
];
const BASE: [u32; 5] = [1, 2, 3, 4, 5];

#[actix_web::test]
async fn t1_to_t5_and_t11_configuration_1() {
    let f = occupied(&CONFIGURATION[..6]).await;
    assert_eq!(sets(&f, 6, 5, rule(MaxDifference, &BOTH)).await, [BASE.to_vec()], "T1");
    assert_eq!(placed(&f, 5, rule(MaxDifference, &BOTH)).await.0, BASE, "T1");
    for mode in [MaxDifference, QuorumSafe, Adaptive, OneEach] {
        let report = adopted(&f, &BASE, 5, &rule(mode, &BOTH)).await.unwrap();
        assert!(report.violations.is_empty(), "T2 {mode:?}");
        assert_eq!(counts(&report, "fault"), [1, 1, 1, 1, 1], "T2");
        assert_eq!(counts(&report, "upgrade"), [1, 1, 1, 1, 1], "T2");
    }
    let third = adopted(&f, &[1, 6, 3, 4, 5], 5, &rule(MaxDifference, &BOTH))
        .await
        .unwrap();
    assert_eq!(counts(&third, "fault"), [2, 0, 1, 1, 1], "T3");
    assert_eq!(counts(&third, "upgrade"), [1, 1, 1, 1, 1], "T3");
    assert_eq!(third.violations.len(), 1, "T3 {:?}", third.violations);
    assert_eq!(third.violations[0].reason.domain.as_deref(), Some("fault:fd:/0"));
    let fourth = adopted(&f, &[6, 2, 3, 4, 5], 5, &rule(MaxDifference, &BOTH))
        .await
        .unwrap();
    assert_eq!(counts(&fourth, "fault"), [1, 1, 1, 1, 1], "T4");
    assert_eq!(counts(&fourth, "upgrade"), [0, 2, 1, 1, 1], "T4");
    assert_eq!(fourth.violations.len(), 1, "T4");
    assert_eq!(sets(&f, 6, 5, rule(QuorumSafe, &BOTH)).await.len(), 6, "T5");
    let adaptive = placed(&f, 5, rule(Adaptive, &BOTH)).await.1;
    assert_eq!(modes(&adaptive), [QuorumSafe, QuorumSafe], "T11");
    assert_eq!(sets(&f, 6, 5, rule(Adaptive, &BOTH)).await.len(), 6, "T11");
}

#[actix_web::test]
async fn t6_and_t11_configuration_2() {
    let f = occupied(&CONFIGURATION).await;
    let both = [BASE.to_vec(), vec![6, 7, 8, 9, 10]];
    assert_eq!(sets(&f, 10, 5, rule(MaxDifference, &BOTH)).await, both, "T6");
    assert!(both.contains(&placed(&f, 5, rule(MaxDifference, &BOTH)).await.0), "T6");
    assert_eq!(sets(&f, 10, 5, rule(Adaptive, &BOTH)).await.len(), 252, "T11");
    assert_eq!(
        modes(&placed(&f, 5, rule(Adaptive, &BOTH)).await.1),
        [QuorumSafe, QuorumSafe],
        "T11"
    );
    let f = occupied(&CONFIGURATION[..9]).await;
    assert_eq!(
        placed(&f, 5, rule(MaxDifference, &BOTH)).await.0,
        BASE,
        "T6 without N10"
    );
}

#[actix_web::test]
async fn t7_t8_t9_configuration_3() {
    let f = occupied(&CONFIGURATION[..8]).await;
    assert_eq!(sets(&f, 8, 5, rule(Adaptive, &BOTH)).await.len(), 56, "T7");
    assert_eq!(
        modes(&placed(&f, 5, rule(Adaptive, &BOTH)).await.1),
        [QuorumSafe, QuorumSafe],
        "T7"
    );
    let layout = adopted(&f, &[1, 6, 7, 3, 5], 5, &rule(Adaptive, &BOTH)).await.unwrap();
    assert_eq!(counts(&layout, "fault"), [2, 1, 1, 0, 1], "T8");
    assert_eq!(counts(&layout, "upgrade"), [1, 1, 2, 0, 1], "T8");
    assert!(layout.violations.is_empty(), "T8");
    let valid = sets(&f, 8, 4, rule(Adaptive, &BOTH)).await;
    let without = valid.iter().filter(|set| set.iter().all(|host| *host <= 5)).count();
    assert_eq!((valid.len(), without), (11, 5), "T9");
    let (four, report) = placed(&f, 4, rule(Adaptive, &BOTH)).await;
    assert_eq!(modes(&report), [MaxDifference, MaxDifference], "T9");
    assert!(valid.contains(&four), "T9");
    assert!(
        !valid
            .iter()
            .any(|set| set.iter().all(|host| [1, 6, 7, 3, 5].contains(host))),
        "T9"
    );
}

#[actix_web::test]
async fn t10_the_missing_replica_has_one_place() {
    let f = occupied(&CONFIGURATION[..8]).await;
    describe(&f.model, 1, Some(1), CONFIGURATION[0], ProviderState::Off).await;
    let report = adopted(&f, &[6, 7, 3, 5], 5, &rule(Adaptive, &BOTH)).await.unwrap();
    assert_eq!(modes(&report), [MaxDifference, MaxDifference]);
    assert_eq!(hosts(&report), [3, 4, 5, 6, 7].into());
    assert_eq!(counts(&report, "fault"), [1, 1, 1, 1, 1]);
    assert_eq!(counts(&report, "upgrade"), [1, 2, 1, 1]);
}

#[actix_web::test]
async fn e8_a_placement_never_begins_what_it_cannot_end() {
    let f = occupied(&CONFIGURATION).await;
    // Valid so far, and without a fifth.
    let mut dry = put(WORKLOAD, None, spec(5, rule(MaxDifference, &BOTH)));
    dry.adopted = [1, 7, 8, 9]
        .map(|host| Adopted {
            consumer: uuid(100 + host),
            id: None,
            role: None,
        })
        .to_vec();
    no_place(place(&f.model, dry).await);
    for first in 1..=10 {
        let report = adopted(&f, &[first], 5, &rule(MaxDifference, &BOTH)).await.unwrap();
        let expected: BTreeSet<u32> = if first <= 5 { BASE.into() } else { (6..=10).collect() };
        assert_eq!(hosts(&report), expected, "beside host {first}");
    }
}
