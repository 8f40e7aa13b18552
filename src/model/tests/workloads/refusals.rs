//! Workloads that do not fit: refused as a whole or placed in part, with the reasons.

use super::*;

#[actix_web::test]
async fn what_does_not_fit_is_refused_as_a_whole_or_waits() {
    let mut f = cluster(&SITES[..2]).await;
    let refusal = no_place(place(&f.model, put(WORKLOAD, None, spec(3, Some(Vec::new())))).await);
    assert_eq!(refusal.missing, 3);
    assert_eq!(figures_of(&refusal, ReasonCode::NoPlace), Some((3, 2)));
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM allocations"), 0);
    let mut some = put(WORKLOAD, None, spec(3, Some(Vec::new())));
    some.is_atomic = false;
    let report = place(&f.model, some).await.unwrap();
    assert_eq!(places(&report).iter().filter(|(_, host)| host.is_none()).count(), 1);
    assert!(report.reasons.has(ReasonCode::NoPlace));
    // Room is added, and the next request finds the room.
    f.host(3, 10).await.unwrap();
    let report = place(&f.model, put(WORKLOAD, Some(1), spec(3, Some(Vec::new()))))
        .await
        .unwrap();
    assert_eq!(hosts(&report), [1, 2, 3].into());
    assert!(report.reasons.is_empty());
}

/// Checks the number of hosts removed by each condition. With the `left` hosts, the numbers add up to all hosts.
fn check_removed(refusal: &NoPlace, removed: &[(ReasonCode, usize)], left: usize) {
    let counts = refusal
        .reasons
        .counts()
        .filter(|(code, _)| *code != ReasonCode::NoPlace);
    assert_eq!(counts.collect::<Vec<_>>(), removed, "{:?}", refusal.reasons);
    let hosts = left + removed.iter().map(|(_, count)| count).sum::<usize>();
    let detail = &refusal.reasons.kept()[0].detail;
    assert!(
        detail.ends_with(&format!("Of {hosts} hosts, {left} may take one.")),
        "{detail}"
    );
}

#[actix_web::test]
async fn a_refusal_counts_the_hosts_that_each_condition_removed() {
    let mut f = cluster(&SITES).await;
    describe(&f.model, 1, Some(1), SITES[0], ProviderState::Draining).await;
    f.model
        .submit(super::super::claim(1, 2, "VCPU", 10, Expected::New))
        .await
        .unwrap();
    let mut asked = spec(5, Some(Vec::new()));
    asked.roles[0].query = query(1, "Number != 6");
    let refusal = no_place(place(&f.model, put(WORKLOAD, None, asked)).await);
    // Hosts 1 and 6 do not meet the conditions, host 2 is full; 3, 4, 5 are left. Each host is counted once.
    assert_eq!(figures_of(&refusal, ReasonCode::NoPlace), Some((5, 3)));
    check_removed(&refusal, &[(ReasonCode::NoRoom, 1), (ReasonCode::NoCandidate, 2)], 3);
    // A condition of the role is a reason, without a count.
    for code in [ReasonCode::State, ReasonCode::Condition] {
        assert!(refusal.reasons.has(code), "{code:?}");
    }
    f.check_snapshot().await;
}

/// The search for a role goes on although a host has room, and a host with children is a single host.
#[actix_web::test]
async fn what_a_role_lacks_is_counted_on_all_hosts() {
    let mut f = cluster(&SITES).await;
    for host in 101..=180 {
        f.host(host, 1).await.unwrap();
    }
    for child in 201..=203 {
        let parent = Some(uuid(101));
        let name = format!("child-{child}");
        let create = Create {
            uuid: uuid(child),
            name,
            parent,
        };
        f.model.submit(create).await.unwrap();
        f.model.submit(adding(child, "VCPU", 1)).await.unwrap();
    }
    for workload in WORKLOAD..WORKLOAD + 8 {
        let mut asked = spec(7, Some(Vec::new()));
        asked.roles[0].query = query(1, "Number < 7");
        let refusal = no_place(place(&f.model, put(workload, None, asked)).await);
        let details: Vec<&str> = refusal.reasons.kept().iter().map(|it| &*it.detail).collect();
        let expected = "Role replica: 80 hosts lack property Number of where.";
        assert!(details.contains(&expected), "{details:?}");
    }
}

#[actix_web::test]
async fn a_rule_about_a_dimension_that_no_host_has_is_refused_and_those_that_exist_are_named() {
    let f = cluster(&SITES).await;
    place(&f.model, put(WORKLOAD, None, spec(1, None))).await.unwrap();
    let affinity = AffinityRule {
        level: Level::Hard,
        kind: AffinityKind::AntiAffinity,
        workload: uuid(WORKLOAD),
        dimension: "falt".to_owned(),
    };
    for (rule, member) in [
        (spread(Mode::OneEach, &["fault", "falt"]), "dimensions"),
        (SpecRule::Affinity(affinity), "dimension"),
    ] {
        let rules = vec![spread(Mode::OneEach, &["host"]), rule];
        let refused = place(&f.model, put(WORKLOAD + 1, None, spec(2, Some(rules)))).await;
        let Err(Error::BadRequest { detail }) = refused else {
            panic!("{refused:?}");
        };
        let expected =
            format!("rules[1].{member}: no host has a domain in 'falt'. Dimensions are fault, upgrade, host.");
        assert_eq!(detail, expected);
    }
}

#[actix_web::test]
async fn each_host_is_counted_once_whatever_rules_are_short() {
    let f = cluster(&SITES).await;
    // Two roles, the first without a fitting host, and a rule for at most three replicas.
    let mut asked = spec(0, Some(vec![spread(Mode::OneEach, &["fault"])]));
    asked.roles = vec![role("large", 1, 11), role("small", 4, 1)];
    let mut partly = put(WORKLOAD, None, asked.clone());
    partly.is_atomic = false;
    place(&f.model, partly).await.unwrap();
    let refusal = no_place(place(&f.model, put(WORKLOAD, Some(1), asked)).await);
    check_removed(&refusal, &[(ReasonCode::Spread, 3), (ReasonCode::OneAHost, 3)], 0);
    assert!(
        refusal
            .reasons
            .kept()
            .iter()
            .any(|it| it.detail.starts_with("Role large: "))
    );
}

#[actix_web::test]
async fn a_refusal_names_hosts_with_their_room_and_the_dimension_of_a_rule() {
    let at: Vec<(&str, &str)> = (0..20).map(|n| if n < 10 { ("a", "1") } else { ("b", "2") }).collect();
    let f = cluster(&at).await;
    let mut asked = spec(3, Some(vec![spread(Mode::OneEach, &["fault", "upgrade"])]));
    asked.roles = vec![role("large", 3, 11), role("small", 2, 1)];
    asked.roles[1].query = query(1, "Number <= 2");
    let mut asked = put(WORKLOAD, None, asked);
    asked.is_atomic = false;
    let report = place(&f.model, asked).await.unwrap();
    let kept = |code| report.reasons.kept().iter().filter(move |it| it.code == code);
    // Of 15 reasons of a code the first two are the reasons of the condition and of the role.
    let hosts: Vec<_> = kept(ReasonCode::NoRoom)
        .filter_map(|it| it.resource_provider.clone())
        .collect();
    assert_eq!(hosts, (3..16).map(uuid).collect::<Vec<_>>());
    let figures = kept(ReasonCode::NoRoom).filter(|it| it.resource_provider.is_some());
    let figures = figures.map(|it| (it.resource_class.as_deref(), it.requested, it.free));
    assert!(figures.eq([(Some("VCPU"), Some(11), Some(10)); 13]));
    let short = kept(ReasonCode::Spread).filter(|it| it.detail.starts_with("The rule admits"));
    let dimensions: Vec<_> = short.filter_map(|it| it.domain.as_deref()).collect();
    assert_eq!(dimensions, ["fault", "upgrade"]);
}
