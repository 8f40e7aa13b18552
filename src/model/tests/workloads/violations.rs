//! `GET /v1/violations`: pages and filters, and the same judgement for a single workload and for all workloads.

use std::time::Duration;

use super::bodies::CHANGE;
use super::neighbours::apart_from;
use super::*;
use crate::db::boot_instant::BootInstant;
use crate::model::judging::{JudgedPage, Keep, judge_job, judge_page};
use crate::model::pages::PAGE_BYTES;
use crate::model::violations::{self, Filter, Page, Violated};
use crate::model::workloads::{self, StoredWorkload, ended_by};

pub async fn listed(model: &Model, page: Page) -> (Vec<Violated>, Option<String>) {
    let (reader, settings) = (model.reader(false), SearchSettings::uncut(7));
    let listed = violations::list(model, &reader, page, &settings, &caller())
        .await
        .unwrap();
    assert!(listed.providers.is_empty(), "{listed:?}");
    (listed.workloads, listed.next)
}

pub fn page(limit: usize) -> Page {
    Page {
        limit,
        time: Duration::from_secs(60),
        ..Page::default()
    }
}

/// All workloads.
fn all() -> JudgedPage {
    let Page { limit, time, .. } = page(1_000);
    JudgedPage {
        rows: workloads::Page {
            limit,
            ..workloads::Page::default()
        },
        named: None,
        time,
    }
}

/// The numbers of the workloads, with the codes of their violations.
fn codes(found: &[Violated]) -> Vec<(u32, Vec<ReasonCode>)> {
    let found = found.iter().map(|it| {
        let codes = it.violations.iter().map(|violation| violation.reason.code);
        (it.row.uuid[24..].parse().unwrap(), codes.collect())
    });
    found.collect()
}

pub async fn filtered(model: &Model, filter: Filter) -> Vec<(u32, Vec<ReasonCode>)> {
    let page = Page { filter, ..page(1_000) };
    codes(&listed(model, page).await.0)
}

/// Three workloads on two hosts a site: 901 is in order, 902 loses a host to a different site, and 903 to draining.
pub async fn broken() -> Fixture {
    let f = cluster(&SITES).await;
    for (n, body) in [
        (901, "1 free Number == 5"),
        (902, "3 one-each Number != 5"),
        (903, "2 free Number < 3"),
    ] {
        place(&f.model, stored(n, None, body)).await.unwrap();
    }
    let shown = report(&f.model, 902).await;
    let moved = hosts(&shown).into_iter().find(|host| *host > 2).unwrap();
    let mut away = description(moved, Some(1), ("fd:/a", "1"), ProviderState::Up);
    away.is_forced = true;
    f.model.submit(away).await.unwrap();
    describe(&f.model, 2, Some(1), SITES[1], ProviderState::Draining).await;
    f
}

pub async fn report(model: &Model, n: u32) -> Report {
    reported(neighbourhood(model, n).await, model).await
}

async fn reported(found: Neighbourhood, model: &Model) -> Report {
    let settings = SearchSettings::uncut(7);
    workloads::report(model, found, &settings, &caller()).await.unwrap()
}

#[actix_web::test]
async fn what_is_listed_is_what_each_workload_shows() {
    let f = broken().await;
    let (found, next) = listed(&f.model, page(1_000)).await;
    assert_eq!(next, None);
    assert!(codes(&found).iter().map(|(n, _)| *n).eq([902, 903]), "{found:?}");
    for violated in &found {
        let shown = report(&f.model, violated.row.uuid[24..].parse().unwrap()).await;
        assert_eq!(format!("{:?}", violated.violations), format!("{:?}", shown.violations));
    }
    assert!(report(&f.model, 901).await.violations.is_empty());
}

#[actix_web::test]
async fn pages_judge_as_many_workloads_as_were_asked_for_and_have_an_end() {
    let f = broken().await;
    let (mut all, mut after, mut pages) = (Vec::new(), None, 0);
    loop {
        let (found, next) = listed(&f.model, Page { after, ..page(1) }).await;
        all.extend(codes(&found));
        pages += 1;
        after = next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!((pages, all), (3, codes(&listed(&f.model, page(1_000)).await.0)));
}

#[actix_web::test]
async fn a_report_without_enough_steps_is_busy_and_never_half_of_one() {
    let f = broken().await;
    let (found, settings) = (neighbourhood(&f.model, 902).await, SearchSettings::uncut(7));
    let job = report_job(&f.model, found, &settings, &caller()).await.unwrap();
    let whole = job.run(&Interrupt::default()).unwrap();
    let mut ended = 0;
    for steps in 1..1_000 {
        match job.run(&Interrupt::after(steps)) {
            Err(Error::Busy { .. }) => ended = steps,
            Err(error) => panic!("{steps} steps: {error:?}"),
            Ok(report) => {
                assert_eq!(format!("{report:?}"), format!("{whole:?}"));
                break;
            }
        }
    }
    assert!((1..999).contains(&ended), "{ended} steps are not enough");
}

#[actix_web::test]
async fn a_page_ends_when_its_time_is_over_and_the_next_one_goes_on() {
    let f = broken().await;
    let (mut all, mut after, mut pages) = (Vec::new(), None, Vec::new());
    loop {
        let short = Page {
            time: Duration::ZERO,
            after,
            ..page(1_000)
        };
        let (found, next) = listed(&f.model, short).await;
        all.extend(codes(&found));
        pages.push(next.clone());
        after = next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(pages, [Some(uuid(901)), Some(uuid(902)), None], "one workload a page");
    assert_eq!(all, codes(&listed(&f.model, page(1_000)).await.0));
}

#[actix_web::test]
async fn a_page_that_takes_too_long_is_busy_and_its_search_ends() {
    let (kept, database) = TestDatabase::synced();
    let lock = database.lock_for_serving().unwrap();
    let short = WriterSettings {
        commit_timeout: Duration::from_secs(2),
        ..writer_settings()
    };
    let (model, _running) = Model::start((database, None), &short, rules(), lock, pools()).unwrap();
    place(&model, stored(901, None, "0 free")).await.unwrap();
    let (settings, caller, stop) = (SearchSettings::uncut(7), caller(), Interrupt::default());
    let reader = model.reader(false);
    let found = judge_page(&model, &reader, all(), Slow, (&settings, &caller, Some(&stop))).await;
    assert!(matches!(found, Err(Error::Busy { .. })), "{found:?}");
    // The command's time is over, so a job that begins now is busy, and judges nothing.
    let read = move |conn: &mut _| workloads::list_stored(conn, &all().rows);
    let stored = reader.read(read).await.unwrap();
    let now = BootInstant::now();
    let job = judge_job(&model, stored, Slow, (&settings, &caller), (now, 1))
        .await
        .unwrap();
    let ended = job.run(&ended_by([&stop], now));
    assert!(matches!(ended, Err(Error::Busy { .. })), "{ended:?}");
    assert!(job.run(&Interrupt::default()).is_ok());
    drop(kept);
}

/// Judges for longer than a command may take.
#[derive(Clone)]
struct Slow;

impl Keep for Slow {
    type Kept = ();

    fn keep(&self, _: &StoredWorkload, _: Result<Report>) -> Option<()> {
        std::thread::sleep(Duration::from_secs(3));
        None
    }

    fn bytes((): &()) -> usize {
        0
    }
}

#[actix_web::test]
async fn a_filter_leaves_what_it_names() {
    let f = broken().await;
    let spread = (902, vec![ReasonCode::Spread]);
    let of_902 = report(&f.model, 902).await;
    let drained = hosts(&of_902).contains(&2);
    let of_902 = if drained {
        (902, vec![ReasonCode::State, ReasonCode::Spread])
    } else {
        spread.clone()
    };
    let state = (903, vec![ReasonCode::State]);
    let filter = Filter::default;
    assert_eq!(filtered(&f.model, filter()).await, [of_902.clone(), state.clone()]);
    let code = |code| Filter {
        code: Some(code),
        ..filter()
    };
    assert_eq!(filtered(&f.model, code(ReasonCode::Spread)).await, [spread]);
    assert_eq!(filtered(&f.model, code(ReasonCode::Apart)).await, []);
    let workload = |n| Filter {
        workload: Some(uuid(n)),
        ..filter()
    };
    assert_eq!(filtered(&f.model, workload(902)).await, [of_902]);
    assert_eq!(filtered(&f.model, workload(901)).await, []);
    let level = |level| Filter {
        level: Some(level),
        ..filter()
    };
    assert_eq!(filtered(&f.model, level(Level::Soft)).await, []);
    assert_eq!(filtered(&f.model, level(Level::Hard)).await.len(), 2);
    let provider = |n| Filter {
        provider: Some(uuid(n)),
        ..filter()
    };
    assert!(filtered(&f.model, provider(2)).await.contains(&state));
    assert!(
        !filtered(&f.model, provider(1)).await.contains(&state),
        "the replica on host 1 breaks no rule"
    );
    assert_eq!(filtered(&f.model, provider(5)).await, []);
    assert_eq!(filtered(&f.model, provider(77)).await, []);
    let both = Filter {
        workload: Some(uuid(902)),
        ..provider(5)
    };
    assert_eq!(filtered(&f.model, both).await, []);
    let elsewhere = Page {
        project: Some("q".to_owned()),
        ..page(1_000)
    };
    assert!(listed(&f.model, elsewhere).await.0.is_empty());
}

#[actix_web::test]
async fn a_workload_on_a_host_is_found_in_pages_of_one() {
    let f = broken().await;
    let of_host = |after| Page {
        filter: Filter {
            provider: Some(uuid(2)),
            ..Filter::default()
        },
        after,
        ..page(1)
    };
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let (found, next) = listed(&f.model, of_host(after)).await;
        all.extend(codes(&found));
        after = next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(all.last(), Some(&(903, vec![ReasonCode::State])));
}

#[actix_web::test]
async fn a_workload_that_names_a_deleted_trait_is_shown_and_hides_no_other() {
    let mut f = broken().await;
    let named = "1 free+trait:CUSTOM_GONE Number == 5";
    f.execute(&format!(
        "UPDATE placet_workloads SET body = '{named}' WHERE uuid = '{}'",
        uuid(901)
    ));
    let found = codes(&listed(&f.model, page(1_000)).await.0);
    assert_eq!(found[0], (901, vec![ReasonCode::Traits]));
    assert_eq!(found.len(), 3);
    let shown = report(&f.model, 901).await;
    let details = shown.violations.iter().map(|it| &*it.reason.detail);
    let expected = "On a host without CUSTOM_GONE, which does not exist any more: 0.";
    assert_eq!(details.collect::<Vec<_>>(), [expected]);
}

/// Makes two workloads with one replica each exchange their hosts at the next read of a spec.
async fn exchange_hosts(f: &Fixture, workloads: [u32; 2]) {
    let mut places = Vec::new();
    for n in workloads {
        let replica = report(&f.model, n).await.replicas.remove(0);
        let host = replica.host().expect("a place").to_owned();
        places.push((replica.replica.row.consumer, host));
    }
    let [(one, on), (other, beside)] = &places[..] else {
        panic!("{places:?}");
    };
    let id = |host: &str| format!("(SELECT id FROM resource_providers WHERE uuid = '{host}')");
    let exchange = format!(
        "UPDATE allocations SET resource_provider_id = CASE consumer_id WHEN '{one}' THEN {} ELSE {} END \
         WHERE consumer_id IN ('{one}', '{other}')",
        id(beside),
        id(on)
    );
    let mut conn = f.database.connect().unwrap();
    CHANGE.set(Some(Box::new(move || {
        assert_eq!(diesel::sql_query(exchange).execute(&mut conn).unwrap(), 2);
    })));
}

/// 902 is apart from 901. Judged by the old place of 902 and the new place of 901, both would be on one host.
#[actix_web::test]
async fn a_workload_and_those_that_its_rules_name_are_read_in_one_moment() {
    let f = cluster(&SITES).await;
    place(&f.model, apart_from(&[], 901, None, 1)).await.unwrap();
    place(&f.model, apart_from(&[901], 902, None, 1)).await.unwrap();
    exchange_hosts(&f, [901, 902]).await;
    let found = neighbourhood(&f.model, 902).await;
    let shown = reported(found, &f.model).await;
    assert!(CHANGE.take().is_none(), "they have exchanged their hosts");
    assert!(shown.violations.is_empty(), "{:?}", shown.violations);
    exchange_hosts(&f, [901, 902]).await;
    let (found, _) = listed(&f.model, page(1_000)).await;
    assert!(CHANGE.take().is_none(), "they have exchanged their hosts");
    assert!(found.is_empty(), "{found:?}");
}

#[actix_web::test]
async fn a_violation_names_the_consumers_and_hosts_of_its_first_replicas() {
    let at: Vec<(&str, &str)> = (0..21).map(|n| if n < 20 { ("a", "-") } else { ("b", "-") }).collect();
    let f = cluster(&at).await;
    let mut many = spec(20, Some(Vec::new()));
    many.roles[0].query = query(1, "Number <= 20");
    place(&f.model, put(WORKLOAD, None, many)).await.unwrap();
    let spread = spec(20, Some(vec![spread(Mode::OneEach, &["fault"])]));
    let report = place(&f.model, put(WORKLOAD, Some(1), spread)).await.unwrap();
    let [violation] = &report.violations[..] else {
        panic!("{:?}", report.violations)
    };
    assert_eq!(violation.replicas.len(), 20);
    let first = || report.replicas.iter().take(15);
    assert!(
        violation
            .consumers
            .iter()
            .eq(first().map(|it| &it.replica.row.consumer))
    );
    assert!(violation.hosts.iter().eq(first().filter_map(|it| it.host())));
}

#[actix_web::test]
async fn hostile_09_a_page_ends_by_the_length_of_its_violations_and_the_next_one_goes_on() {
    let f = broken().await;
    let (reader, settings, caller) = (f.model.reader(false), SearchSettings::uncut(7), caller());
    let (mut found, mut after) = (Vec::new(), None);
    for _ in 0..2 {
        let mut page = all();
        page.rows.after = after;
        let judged = judge_page(&f.model, &reader, page, Long, (&settings, &caller, None));
        let (violated, next) = judged.await.unwrap();
        found.push(codes(&violated).into_iter().map(|(n, _)| n).collect::<Vec<_>>());
        after = next;
    }
    assert_eq!(found, [[902], [903]]);
}

/// Keeps violations, each of which fills a page.
#[derive(Clone)]
struct Long;

impl Keep for Long {
    type Kept = Violated;

    fn keep(&self, stored: &StoredWorkload, judged: Result<Report>) -> Option<Violated> {
        Filter::default().keep(stored, judged)
    }

    fn bytes(kept: &Violated) -> usize {
        Filter::bytes(kept).min(1) * PAGE_BYTES
    }
}
