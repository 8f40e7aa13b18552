//! The leases of hosts that report: renewals, refusals, and the end.

use super::*;

#[actix_web::test]
async fn a_report_that_says_the_same_renews_the_lease_and_is_no_commit() {
    let mut f = cloud().await;
    send(&f, report(1, vec![disk(10)])).await.unwrap();
    let before = changes(&mut f);
    f.execute("UPDATE placet_leases SET held_until = '2001-01-01 00:00:00'");
    let until = send(&f, report(2, vec![disk(10)])).await.unwrap().until.unwrap();
    assert_eq!(until, shown(&f).await.until);
    assert!(!shown(&f).await.is_overdue);
    assert_eq!(changes(&mut f), before, "a renewal is no commit");
    send(&f, report(3, vec![disk(20)])).await.unwrap();
    assert_eq!(changes(&mut f), before + 1);
}

#[actix_web::test]
async fn many_renewals_share_statements() {
    let mut f = fixture();
    let count = 200;
    for number in 0..count {
        f.host(1000 + number, 1).await.unwrap();
    }
    let of = |number: u32, at: i64| {
        let host = 1000 + number;
        HostReport {
            host: uuid(host),
            description: describe(host, "rack"),
            ..report(at, Vec::new())
        }
    };
    for number in 0..count {
        send(&f, of(number, 1)).await.unwrap();
    }
    // A first renewal begins the pause in which further renewals gather.
    send(&f, of(0, 2)).await.unwrap();
    let before = f.model.statements();
    let sent = (0..count).map(|number| {
        let (model, report) = (f.model.clone(), of(number, 3));
        actix_web::rt::spawn(async move { hosts::report(&model, &caller(), report, false).await })
    });
    for sent in sent.collect::<Vec<_>>() {
        sent.await.unwrap().unwrap();
    }
    let statements = f.model.statements() - before;
    assert!(statements <= 20, "{statements} statements for {count} reports");
}

#[actix_web::test]
async fn an_older_report_and_a_second_agent_are_refused() {
    let mut f = cloud().await;
    send(&f, report(5, Vec::new())).await.unwrap();
    let is_old = |sent: Result<Reported>| matches!(sent, Err(Error::OldReport { number: 4, .. }));
    assert!(is_old(send(&f, report(4, Vec::new())).await));
    assert!(
        send(&f, report(5, Vec::new())).await.is_ok(),
        "the same report, sent again"
    );
    let mut second = report(6, Vec::new());
    second.lease.holder = "second".to_owned();
    let sent = send(&f, second.clone()).await;
    assert!(
        matches!(sent, Err(Error::LeaseHeld { ref holder, .. }) if holder == "agent"),
        "{sent:?}"
    );
    let mut rebooted = report(1, Vec::new());
    rebooted.lease.boot = "boot-2".to_owned();
    send(&f, rebooted).await.unwrap();
    let late = send(&f, report(7, Vec::new())).await;
    assert!(
        matches!(late, Err(Error::OldReport { .. })),
        "a report from before the boot: {late:?}"
    );
    let_lease_end(&mut f);
    second.lease.boot = "boot-3".to_owned();
    send(&f, second).await.unwrap();
    assert_eq!(shown(&f).await.holder, "second", "the lease of the first agent is over");
}

#[actix_web::test]
async fn the_first_report_binds_the_host_to_its_user() {
    let f = cloud().await;
    send(&f, report(1, Vec::new())).await.unwrap();
    let mut of_another = report(2, Vec::new());
    of_another.user = "another".to_owned();
    let sent = send(&f, of_another.clone()).await;
    assert!(matches!(sent, Err(Error::NotOwner { .. })), "{sent:?}");
    of_another.may_report_all = true;
    send(&f, of_another).await.unwrap();
    assert_eq!(shown(&f).await.user, "agent-user");
    send(&f, report(3, Vec::new())).await.unwrap();
}

#[actix_web::test]
async fn a_host_whose_lease_is_over_gets_nothing_new_until_it_reports() {
    let mut f = cloud().await;
    send(&f, report(1, Vec::new())).await.unwrap();
    claimed(
        f.model
            .submit(first_of(vec![choice(1, Expected::New, &[(HOST, "VCPU", 1)])]))
            .await,
    );
    assert_eq!(end_leases(&f).await, 0, "the lease holds");
    let_lease_end(&mut f);
    let generation = f.generation(HOST);
    assert_eq!(end_leases(&f).await, 1);
    assert_eq!(end_leases(&f).await, 0, "a second leader does no harm");
    assert_eq!(f.generation(HOST), generation, "no generation moves");
    assert_eq!(shown(&f).await.health, Health::Unknown);
    let refused = first_of(vec![choice(2, Expected::New, &[(HOST, "VCPU", 1)])]);
    assert!(f.model.submit(refused.clone()).await.is_err());
    let second = super::process::Process::start(&f.database, true);
    let slot = second.store.newest().by_uuid(&uuid(HOST)).unwrap();
    assert_eq!(
        second.store.newest().state(slot),
        ProviderState::Unknown,
        "a load of all tables shows it"
    );
    let kept = first_of(vec![choice(1, Expected::Is(1), &[(HOST, "VCPU", 1)])]);
    claimed(f.model.submit(kept).await);
    f.model
        .submit(claim(3, HOST, "VCPU", 1, Expected::New))
        .await
        .expect("OpenStack's routes know no health");
    send(&f, report(2, Vec::new())).await.unwrap();
    assert_eq!(shown(&f).await.health, Health::Up);
    claimed(f.model.submit(refused).await);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn the_lease_of_a_deleted_host_goes_whether_the_host_was_up_or_unknown() {
    for is_unknown in [false, true] {
        let mut f = cloud().await;
        send(&f, report(1, Vec::new())).await.unwrap();
        let_lease_end(&mut f);
        if is_unknown {
            assert_eq!(end_leases(&f).await, 1);
        }
        let delete = crate::model::resource_providers::Delete { uuid: uuid(HOST) };
        f.model.submit(delete).await.unwrap();
        if is_unknown {
            // The leader waits for the database on a thread of its own.
            let model = f.model.clone();
            let looked = std::thread::spawn(move || hosts::LeaseWatch::new(model).unwrap().check());
            looked.join().unwrap().unwrap();
        } else {
            assert_eq!(end_leases(&f).await, 0);
        }
        let rows = f.texts("SELECT host AS t FROM placet_leases UNION ALL SELECT host AS t FROM placet_hosts");
        assert!(rows.is_empty(), "{is_unknown}: {rows:?}");
    }
}
