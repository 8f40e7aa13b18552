//! Usages of the rows in `reads`.

use super::reads::{filled, names};
use crate::model::usages::{self, TotalQuery, TypeFilter, TypeUsages};

#[test]
fn usages_are_sums() {
    let (_directory, database) = filled();
    let host = database.read(|conn| usages::of_provider(conn, "host")).expect("usages");
    assert_eq!(
        (host.generation, names(&host.usages)),
        (7, vec![("VCPU", 4), ("CUSTOM_GOLD", 3)])
    );
    let child = database
        .read(|conn| usages::of_provider(conn, "child"))
        .expect("usages");
    assert!(child.usages.is_empty(), "only classes with an inventory are shown");

    let query = |project: &str, user: Option<&str>| TotalQuery {
        project: Some(project.to_string()),
        user: user.map(str::to_string),
    };
    let total = |project, user| {
        database
            .read(|conn| usages::total(conn, &query(project, user)))
            .expect("usages")
    };
    assert_eq!(
        names(&total("p", None)),
        [("VCPU", 3), ("MEMORY_MB", 64), ("CUSTOM_GOLD", 3)]
    );
    assert_eq!(names(&total("p", Some("v"))), [("VCPU", 1)]);
    assert!(total("q", None).is_empty() && total("p", Some("w")).is_empty() && total("x", None).is_empty());
}

#[test]
fn usages_are_grouped_by_consumer_type() {
    let (_directory, database) = filled();
    type Shown = (String, i64, Vec<(String, i64)>);
    let grouped = |user: Option<&str>, filter: TypeFilter| -> Vec<Shown> {
        let query = TotalQuery {
            project: Some("p".to_string()),
            user: user.map(str::to_string),
        };
        let group = |it: TypeUsages| {
            let usages = it
                .usages
                .iter()
                .map(|(class, used)| (class.to_string(), *used))
                .collect();
            (it.consumer_type.to_string(), it.consumer_count, usages)
        };
        database
            .read(|conn| usages::by_type(conn, &query, &filter))
            .expect("usages")
            .into_iter()
            .map(group)
            .collect()
    };
    let instance = || {
        let usages = [("VCPU", 2), ("MEMORY_MB", 64), ("CUSTOM_GOLD", 3)];
        (
            "INSTANCE".to_string(),
            1,
            usages.map(|(class, used)| (class.to_string(), used)).to_vec(),
        )
    };
    let unknown = || ("unknown".to_string(), 1, vec![("VCPU".to_string(), 1)]);
    assert_eq!(grouped(None, TypeFilter::Each), [instance(), unknown()]);
    assert_eq!(grouped(Some("v"), TypeFilter::Each), [unknown()]);
    assert_eq!(
        grouped(None, TypeFilter::AnyOf(["INSTANCE".to_owned()].into())),
        [instance()]
    );
    assert_eq!(
        grouped(None, TypeFilter::AnyOf(["unknown".to_owned()].into())),
        [unknown()]
    );
    assert_eq!(grouped(None, TypeFilter::AnyOf(["MIGRATION".to_owned()].into())), []);
    let all = grouped(None, TypeFilter::All);
    assert_eq!((all.len(), &all[0].0[..], all[0].1, all[0].2[0].1), (1, "all", 2, 3));
}
