//! `GET /v1/violations`: pages and filters, and the same judgement for a single workload and for all workloads.

use std::cell::RefCell;
use std::time::Duration;

use super::interrupts::InterruptOnDrop;
use super::neighbours::{apart_from, read_apart};
use super::*;
use crate::model::violations::{Filter, JudgeJob, Page, Violated};
use crate::model::workloads::ReadSpec;

pub async fn listed(model: &Model, page: Page) -> (Vec<Violated>, Option<String>) {
    let search = async |job: JudgeJob| job.run(&Interrupt::default());
    let settings = SearchSettings::uncut(7);
    model
        .violations_with(|| model.reader(false), page, read, (&settings, &caller()), search)
        .await
        .unwrap()
}

pub fn page(limit: usize) -> Page {
    Page {
        limit,
        time: Duration::from_secs(60),
        ..Page::default()
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

async fn filtered(model: &Model, filter: Filter) -> Vec<(u32, Vec<ReasonCode>)> {
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
    reported(neighbourhood(model, n).await, model, read).await
}

pub async fn reported(found: Neighbourhood, model: &Model, read: ReadSpec) -> Report {
    let search = async |job: ReportJob| job.run(&Interrupt::default());
    let settings = SearchSettings::uncut(7);
    model
        .report_workload_with(found, read, (&settings, &caller()), search)
        .await
        .unwrap()
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
    let job = RefCell::new(None);
    let search = async |its_job: ReportJob| {
        *job.borrow_mut() = Some(its_job.clone());
        its_job.run(&Interrupt::default())
    };
    let (found, settings) = (neighbourhood(&f.model, 902).await, SearchSettings::uncut(7));
    let whole = f
        .model
        .report_workload_with(found, read, (&settings, &caller()), search)
        .await
        .unwrap();
    let job = job.take().expect("it was judged");
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
    let settings = SearchSettings::uncut(7);
    let judged = RefCell::new(None);
    let search = async |job: JudgeJob| {
        let (interrupt, its_job) = (InterruptOnDrop(Interrupt::default()), job.clone());
        *judged.borrow_mut() = Some((interrupt.0.clone(), its_job));
        std::future::pending::<()>().await;
        job.run(&interrupt.0)
    };
    let found = model
        .violations_with(
            || model.reader(false),
            page(1_000),
            read,
            (&settings, &caller()),
            search,
        )
        .await;
    assert!(matches!(found, Err(Error::Busy { .. })), "{found:?}");
    let (interrupt, job) = judged.take().expect("it was searched");
    let ended = job.run(&interrupt);
    assert!(matches!(ended, Err(Error::Busy { .. })), "{ended:?}");
    assert!(job.run(&Interrupt::default()).is_ok());
    drop(kept);
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
    let f = broken().await;
    let named = |body: &str| -> Result<Spec> {
        let mut spec = read(body)?;
        if body.starts_with("1 ") {
            spec.roles[0].query.request.groups[0].traits.required = vec![["CUSTOM_GONE".to_owned()].into()];
        }
        Ok(spec)
    };
    let search = async |job: JudgeJob| job.run(&Interrupt::default());
    let settings = SearchSettings::uncut(7);
    let found = f
        .model
        .violations_with(
            || f.model.reader(false),
            page(1_000),
            named,
            (&settings, &caller()),
            search,
        )
        .await;
    let found = codes(&found.unwrap().0);
    assert_eq!(found[0], (901, vec![ReasonCode::Traits]));
    assert_eq!(found.len(), 3);
    let shown = reported(neighbourhood(&f.model, 901).await, &f.model, named).await;
    assert_eq!(shown.violations.len(), 1);
}

thread_local! {
    /// The change to make at the next read of a workload's spec.
    static CHANGE: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// As [`read_apart`], after the change.
fn read_after_change(body: &str) -> Result<Spec> {
    if let Some(change) = CHANGE.take() {
        change();
    }
    read_apart(body)
}

/// Makes two workloads with one replica each exchange their hosts at the next read of a spec.
async fn exchange_hosts(f: &Fixture, workloads: [u32; 2]) {
    let mut places = Vec::new();
    for n in workloads {
        let replica = report(&f.model, n).await.replicas.remove(0);
        places.push((replica.replica.row.consumer, replica.host.unwrap()));
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
    let shown = reported(found, &f.model, read_after_change).await;
    assert!(CHANGE.take().is_none(), "they have exchanged their hosts");
    assert!(shown.violations.is_empty(), "{:?}", shown.violations);
    exchange_hosts(&f, [901, 902]).await;
    let search = async |job: JudgeJob| job.run(&Interrupt::default());
    let (model, settings, caller) = (&f.model, SearchSettings::uncut(7), caller());
    let found = model.violations_with(
        || model.reader(false),
        page(1_000),
        read_after_change,
        (&settings, &caller),
        search,
    );
    let (found, _) = found.await.unwrap();
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
    assert!(violation.hosts.iter().eq(first().filter_map(|it| it.host.as_ref())));
}

#[actix_web::test]
async fn hostile_09_a_page_ends_by_the_length_of_its_violations_and_the_next_one_goes_on() {
    let f = broken().await;
    let short = async |mut job: JudgeJob| {
        job.room = 1;
        job.run(&Interrupt::default())
    };
    let (settings, mut found, mut after) = (SearchSettings::uncut(7), Vec::new(), None);
    for _ in 0..2 {
        let page = Page { after, ..page(1_000) };
        let (violated, next) = (f.model)
            .violations_with(|| f.model.reader(false), page, read, (&settings, &caller()), short)
            .await
            .unwrap();
        found.push(codes(&violated).into_iter().map(|(n, _)| n).collect::<Vec<_>>());
        after = next;
    }
    assert_eq!(found, [[902], [903]]);
}
