//! Pages of workloads end by bytes as well as by number.

use super::census::list;
use super::neighbours::apart_from;
use super::*;
use crate::model::pages::PAGE_BYTES;
use crate::model::workloads::{self, StoredPage};

const BODY_BYTES: usize = 1 << 20;

async fn with_long_bodies(numbers: impl Iterator<Item = u32>) -> Fixture {
    let f = cluster(&SITES).await;
    for n in numbers {
        let mut long = put(n, None, spec(0, None));
        long.body = format!("0{}", " ".repeat(BODY_BYTES - 1));
        place(&f.model, long).await.unwrap();
    }
    f
}

/// Found by a hostile reader: a page had up to 1,000 bodies of a megabyte. Later a page had 16 bodies, because the
/// first query of a page read 16.
#[actix_web::test]
async fn hostile_09_a_page_of_long_bodies_ends_early_and_the_next_one_goes_on() {
    let numbers = 901..911;
    let f = with_long_bodies(numbers.clone()).await;
    let (mut pages, mut found, mut after) = (0, Vec::new(), None);
    loop {
        let page = workloads::Page {
            after,
            limit: 1_000,
            ..workloads::Page::default()
        };
        let (listed, next) = list(&f.model, page).await;
        let bytes: usize = listed.iter().map(|it| it.row.body.len()).sum();
        assert!(bytes < PAGE_BYTES + BODY_BYTES, "{bytes} bytes");
        found.extend(listed.into_iter().map(|it| it.row.uuid));
        pages += 1;
        if next.is_none() {
            break;
        }
        after = next;
    }
    // A page ends by its time too. A slow machine may need more pages.
    assert!(pages >= 3, "{pages} pages");
    assert_eq!(found, numbers.map(uuid).collect::<Vec<_>>());
}

#[actix_web::test]
async fn hostile_09_the_bodies_of_neighbours_are_not_read() {
    let f = with_long_bodies(901..903).await;
    place(&f.model, apart_from(&[901, 902], 903, None, 1)).await.unwrap();
    let page = workloads::Page {
        uuids: Some(vec![uuid(903)]),
        limit: 1,
        ..workloads::Page::default()
    };
    let read = move |conn: &mut _| workloads::list_stored(conn, &page);
    let StoredPage { workloads, others, .. } = f.model.reader(false).read(read).await.unwrap();
    assert!(!workloads[0].row.body.is_empty());
    let mut others: Vec<_> = others
        .values()
        .map(|it| (&it.row.name[..], it.row.body.len()))
        .collect();
    others.sort_unstable();
    assert_eq!(others, [("workload-901", 0), ("workload-902", 0)]);
}

/// The rules of workload 901 name workload 902, and the rules of workload 903 name workload 901.
#[actix_web::test]
async fn hostile_09_a_plan_has_no_bodies_of_neighbours_and_the_rules_alone_of_those_that_name_it() {
    let f = with_long_bodies(901..904).await;
    place(&f.model, apart_from(&[901], 903, Some(1), 1)).await.unwrap();
    let planned = std::cell::Cell::new(false);
    let search = async |job: PlanJob| {
        let bodies: Vec<usize> = job.found.others.values().map(|it| it.row.body.len()).collect();
        assert_eq!(bodies, [0, 0]);
        let [(referrer, spec)] = job.found.referrers.as_slice() else {
            panic!("{:?}", job.found.referrers)
        };
        assert_eq!(
            (referrer, spec.roles.len(), spec.neighbours()),
            (&uuid(903), 0, vec![uuid(901)])
        );
        planned.set(true);
        job.run(&Interrupt::default())
    };
    let asked = apart_from(&[902], 901, Some(1), 1);
    let placed = put_with(&f.model, asked, (&SearchSettings::uncut(7), &caller()), search).await;
    assert!(planned.get() && placed.is_ok(), "{placed:?}");
}
