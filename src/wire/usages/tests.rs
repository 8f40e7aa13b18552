//! Reads and writes usages.

use super::*;

#[test]
fn usages_have_types_from_1_38() {
    let read = |minor, query| read_total(Version::new(minor), query);
    let (query, filter) = read(9, "project_id=p&user_id=u").unwrap();
    assert_eq!(
        (
            query.project.as_deref().unwrap_or_default(),
            query.user.as_deref(),
            filter
        ),
        ("p", Some("u"), None)
    );
    assert_eq!(read(38, "project_id=p").unwrap().1, Some(TypeFilter::Each));
    assert_eq!(
        read(38, "project_id=p&consumer_type=all").unwrap().1,
        Some(TypeFilter::All)
    );
    let only = TypeFilter::AnyOf(["unknown".to_owned()].into());
    assert_eq!(read(38, "project_id=p&consumer_type=unknown").unwrap().1, Some(only));
    assert!(read(37, "project_id=p&consumer_type=all").is_err());
    assert!(read(38, "project_id=p&consumer_type=lower").is_err());
    assert!(read(38, "user_id=u").is_err());
}

#[test]
fn the_project_is_read_before_the_query_is_validated() {
    assert_eq!(read_project("junk&project_id=p").unwrap().as_deref(), Some("p"));
    assert_eq!(read_project("").unwrap(), None);
}

#[test]
fn writes_usages() {
    let usages = vec![(Arc::from("VCPU"), 2), (Arc::from("DISK_GB"), 0)];
    let provider = ProviderUsages {
        generation: 0,
        usages: usages.clone(),
    };
    assert_eq!(
        String::from_utf8(write_provider(&provider)).unwrap(),
        r#"{"resource_provider_generation":0,"usages":{"VCPU":2,"DISK_GB":0}}"#
    );
    assert_eq!(
        String::from_utf8(write_total(&usages)).unwrap(),
        r#"{"usages":{"VCPU":2,"DISK_GB":0}}"#
    );
    let group = TypeUsages {
        consumer_type: Arc::from("INSTANCE"),
        consumer_count: 3,
        usages,
    };
    assert_eq!(
        String::from_utf8(write_by_type(&[group])).unwrap(),
        r#"{"usages":{"INSTANCE":{"DISK_GB":0,"VCPU":2,"consumer_count":3}}}"#
    );
}
