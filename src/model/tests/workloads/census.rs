//! The list of workloads, the census, and the log line of a write: each equals the reports of the workloads.

use std::collections::HashMap;

use super::interleaving::place_while;
use super::violations::{broken, listed, page, report};
use super::*;
use crate::model::census::{Census, Figures, figures};
use crate::model::workloads::{self, Listed, Page};
use crate::model::{granted, statistics};

pub async fn list(model: &Model, page: Page) -> (Vec<Listed>, Option<String>) {
    let (reader, settings) = (model.reader(false), SearchSettings::uncut(7));
    workloads::list(model, &reader, page, &settings, &caller())
        .await
        .unwrap()
}

fn all() -> Page {
    Page {
        limit: 1_000,
        ..Page::default()
    }
}

/// As [`broken`], and 904, of which replicas have no place.
async fn with_pending() -> Fixture {
    let f = broken().await;
    let partial = Put {
        is_atomic: false,
        ..stored(904, None, "9 one-each")
    };
    let report = place(&f.model, partial).await.unwrap();
    assert!(report.placed_and_pending().1 > 0, "{report:?}");
    f
}

#[actix_web::test]
async fn found_u7_the_list_has_the_figures_that_each_workload_shows() {
    let f = with_pending().await;
    let (found, next) = list(&f.model, all()).await;
    assert_eq!((found.len(), next), (4, None));
    for (n, listed) in (901..).zip(&found) {
        let shown = report(&f.model, n).await;
        let figures = (listed.placed, listed.pending);
        assert_eq!(
            (figures, listed.is_safe),
            (shown.placed_and_pending(), shown.safety.is_safe),
            "{n}"
        );
        assert_eq!(listed.is_quorum_lost, shown.safety.is_quorum_lost, "{n}");
        assert_eq!(listed.row, shown.row);
    }
    assert!(found.iter().any(|it| it.pending > 0) && found.iter().any(|it| it.is_safe.is_some()));
    let (first, next) = list(&f.model, Page { limit: 1, ..all() }).await;
    assert_eq!((first.len(), next), (1, Some(uuid(901))));
}

#[actix_web::test]
async fn found_u7_a_workload_that_cannot_be_read_is_listed_without_safe() {
    let mut f = with_pending().await;
    let (readable, _) = list(&f.model, all()).await;
    f.execute("UPDATE placet_workloads SET body = '[]'");
    let (found, _) = list(&f.model, all()).await;
    assert_eq!(found.len(), 4);
    for (before, listed) in readable.iter().zip(&found) {
        assert_eq!((listed.placed, listed.pending), (before.placed, before.pending));
        assert_eq!((listed.is_safe, listed.is_quorum_lost), (None, None));
    }
    let settings = SearchSettings::uncut(7);
    let figures = figures(&f.model, &settings, &Interrupt::default()).await.unwrap();
    assert_eq!((figures.workloads, figures.unreadable), (4, 4));
    assert!(figures.violations.is_empty());
}

#[actix_web::test]
async fn found_u7_the_census_counts_what_the_lists_have() {
    let f = with_pending().await;
    let settings = SearchSettings::uncut(7);
    let figures = figures(&f.model, &settings, &Interrupt::default()).await.unwrap();
    let (found, _) = list(&f.model, all()).await;
    let (violated, _) = listed(&f.model, page(1_000)).await;
    let mut violations = HashMap::new();
    for violation in violated.iter().flat_map(|it| &it.violations) {
        *violations.entry((violation.reason.code, violation.level)).or_default() += 1;
    }
    assert!(violations.len() > 1, "{violations:?}");
    let sum = |of: fn(&Listed) -> usize| found.iter().map(of).sum::<usize>() as u64;
    let expected = Figures {
        workloads: 4,
        not_safe: sum(|it| usize::from(it.is_safe == Some(false))),
        without_quorum: sum(|it| usize::from(it.is_quorum_lost == Some(true))),
        placed: sum(|it| it.placed),
        pending: sum(|it| it.pending),
        violations,
        leases_up: 0,
        leases_unknown: 0,
        unreadable: 0,
    };
    assert_eq!(figures, expected);
}

#[actix_web::test]
async fn found_u7_a_census_of_many_workloads_goes_on_after_each_page_and_ends_when_it_is_to_stop() {
    let f = cluster(&SITES).await;
    for n in 1_000..1_101 {
        place(&f.model, put(n, None, spec(0, None))).await.unwrap();
    }
    let model = f.model.clone();
    let work = move || {
        let census = Census::new(model.clone(), SearchSettings::uncut(7)).unwrap();
        assert!(statistics::read(&model).census.began.is_none());
        census.begin();
        assert!(
            statistics::read(&model).census.began.is_some(),
            "its age is known before the first count"
        );
        census.count().unwrap();
        let counted = statistics::read(&model).census.last.map(|last| last.figures.workloads);
        census.interrupt()();
        (counted, census.count())
    };
    // The thread has a runtime of its own.
    let (counted, stopped) = std::thread::spawn(work).join().unwrap();
    assert_eq!(counted, Some(101));
    assert!(matches!(stopped, Err(Error::Busy { .. })), "{stopped:?}");
}

#[actix_web::test]
async fn found_u6_the_log_says_which_replicas_got_what_where() {
    let f = cluster(&SITES).await;
    let placed = place(&f.model, put(WORKLOAD, None, spec(3, None))).await.unwrap();
    let text = granted::to_workload(&f.model, &placed).unwrap();
    let (first, host) = (&placed.change.placed[0], placed.replicas[0].host().unwrap());
    let name = &placed.replicas[0].hosts[0].name;
    assert_eq!(
        text,
        format!(
            "workload workload-900 ({}): 3 consumers, the first {first}: VCPU:1 on {name} ({host}); 1 attempt",
            uuid(WORKLOAD)
        )
    );
    let fewer = place(&f.model, put(WORKLOAD, Some(1), spec(1, None))).await.unwrap();
    let text = granted::to_workload(&f.model, &fewer).unwrap();
    let first = &fewer.change.released[0];
    assert!(
        text.ends_with(&format!("): 2 released, the first {first}; 1 attempt")),
        "{text}"
    );
    let same = place(&f.model, put(WORKLOAD, Some(2), spec(1, None))).await.unwrap();
    assert_eq!(granted::to_workload(&f.model, &same), None);
    let dry = Put {
        is_dry_run: true,
        ..put(WORKLOAD, Some(2), spec(2, None))
    };
    assert_eq!(
        granted::to_workload(&f.model, &place(&f.model, dry).await.unwrap()),
        None
    );
}

#[actix_web::test]
async fn found_u6_the_log_says_how_many_attempts_a_write_took() {
    let f = cluster(&SITES).await;
    place(&f.model, put(WORKLOAD, None, spec(1, None))).await.unwrap();
    let (report, _) = place_while(&f.model, put(WORKLOAD, Some(1), spec(3, None)), async |plan, _| {
        if plan == 1 {
            delete(&f.model, &uuid(WORKLOAD), Some(1), Delete::default(), &caller())
                .await
                .unwrap();
            place(&f.model, put(WORKLOAD, None, spec(1, None))).await.unwrap();
        }
    })
    .await;
    let text = granted::to_workload(&f.model, &report.unwrap()).unwrap();
    assert!(text.ends_with("; 2 attempts"), "{text}");
}

#[actix_web::test]
async fn found_u6_the_log_says_which_replicas_a_deletion_released() {
    let f = cluster(&SITES).await;
    let placed = place(&f.model, put(WORKLOAD, None, spec(2, None))).await.unwrap();
    let dry = Delete {
        is_dry_run: true,
        ..Delete::default()
    };
    let foreseen = delete(&f.model, &uuid(WORKLOAD), None, dry, &caller()).await.unwrap();
    assert_eq!(granted::by_deletion(&f.model, &foreseen), None);
    let deleted = delete(&f.model, &uuid(WORKLOAD), None, Delete::default(), &caller())
        .await
        .unwrap();
    let text = granted::to_workload(&f.model, &placed).unwrap();
    let released = granted::by_deletion(&f.model, &deleted).unwrap();
    assert_eq!(format!("{released}; 1 attempt"), text);
}

#[actix_web::test]
async fn found_u8_a_replica_and_a_violation_have_the_names_of_hosts() {
    let f = with_pending().await;
    let shown = report(&f.model, 902).await;
    let snapshot = f.model.snapshot().await.unwrap();
    let name = |host: &str| snapshot.name(snapshot.by_uuid(host).unwrap()).to_owned();
    for replica in &shown.replicas {
        for host in &replica.hosts {
            assert_eq!(name(&host.uuid), *host.name);
        }
        for share in &replica.replica.allocations {
            assert_eq!(share.name.as_deref(), Some(name(&share.provider).as_str()));
        }
    }
    assert!(!shown.violations.is_empty());
    for violation in &shown.violations {
        let names: Vec<String> = violation.hosts.iter().map(|host| name(host)).collect();
        assert!(names.iter().eq(violation.host_names.iter().map(|it| &**it)));
        let provider = violation.reason.resource_provider.as_deref();
        assert_eq!(provider.map(name).as_deref(), violation.reason.provider_name.as_deref());
    }
}
