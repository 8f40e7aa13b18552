//! Reads requests for allocation candidates at several microversions.

use super::*;

const A: &str = "0123abcd-4567-89ab-cdef-0123456789ab";

fn read(minor: u16, query: &str) -> Result<Request> {
    read_list(Version::new(minor), query)
}

fn refusal(minor: u16, query: &str) -> Error {
    read(minor, query).unwrap_err()
}

#[test]
fn a_flat_request_is_read() {
    let query =
        format!("resources=VCPU:2,DISK_GB:5&limit=3&required=A,!B&member_of={A}&in_tree={A}&root_required=C,!D");
    let request = read(39, &query).unwrap();
    let [group] = request.groups.as_slice() else {
        panic!("{request:?}")
    };
    assert_eq!(group.resources, [("VCPU".to_owned(), 2), ("DISK_GB".to_owned(), 5)]);
    assert_eq!((group.suffix.as_str(), group.in_tree.as_deref()), ("", Some(A)));
    assert_eq!(
        (
            group.traits.required.len(),
            group.traits.forbidden.len(),
            group.member_of.any_of.len()
        ),
        (1, 1, 1)
    );
    assert_eq!(
        (request.limit, request.group_policy, request.nested),
        (Some(3), None, true)
    );
    assert_eq!(
        (
            request.root_required.required.len(),
            request.root_required.forbidden.len()
        ),
        (1, 1)
    );
    assert!(!read(28, "resources=VCPU:1").unwrap().nested);
}

#[test]
fn groups_are_in_the_order_of_their_first_occurrence() {
    let query = "resources_B=VCPU:1&required_A=T&resources=DISK_GB:1&group_policy=isolate&same_subtree=_A,_B";
    let request = read(36, query).unwrap();
    assert_eq!(
        request
            .groups
            .iter()
            .map(|group| group.suffix.as_str())
            .collect::<Vec<_>>(),
        ["_B", "_A", ""]
    );
    assert_eq!(request.group_policy, Some(GroupPolicy::Isolate));
    assert_eq!(request.same_subtrees, [["_A", "_B"]]);
}

#[test]
fn the_first_limit_and_the_last_resources_count() {
    let request = read(39, "resources=VCPU:1&limit=5&resources=VCPU:2&limit=7").unwrap();
    assert_eq!((request.limit, request.groups[0].resources[0].1), (Some(5), 2));
    assert!(matches!(
        refusal(39, "resources=VCPU:1&limit=x&limit=7"),
        Error::InvalidQuery(_)
    ));
    assert_eq!(
        read(39, &format!("resources=VCPU:1&limit={}", "9".repeat(30)))
            .unwrap()
            .limit,
        Some(i64::MAX as usize)
    );
}

/// All sentences were measured on OpenStack Placement.
#[test]
fn contradictory_groups_are_refused() {
    for (minor, query, detail) in [
        (
            25,
            "resources=VCPU:1&required1=A",
            "All traits parameters must be associated with resources.  Found the following orphaned traits keys: required1",
        ),
        (
            25,
            "resources=VCPU:1&required1=!A",
            "All request groups must specify resources.",
        ),
        (
            25,
            "group_policy=none",
            "At least one request group (`resources` or `resources{$S}`) is required.",
        ),
        (
            25,
            "resources1=VCPU:1&resources2=VCPU:1",
            "The \"group_policy\" parameter is required when specifying more than one \"resources{N}\" parameter.",
        ),
        (
            39,
            "resources=VCPU:1&required=in:A,B,A&required=!A,!B",
            "Conflicting required and forbidden traits found in the following traits keys: required: (A, B)",
        ),
    ] {
        assert_eq!(
            refusal(minor, query),
            Error::BadRequest {
                detail: detail.to_owned()
            },
            "{query}"
        );
    }
    let orphan = refusal(25, &format!("resources=VCPU:1&member_of2={A}"));
    let detail = "All member_of parameters must be associated with resources. Found the following orphaned member_of keys: \
                  member_of2";
    assert_eq!(
        orphan,
        Error::BadRequest {
            detail: detail.to_owned()
        }
    );
}

#[test]
fn bad_subtrees_and_root_traits_are_refused() {
    for (query, detail) in [
        (
            "resources=VCPU:1&required_A=T",
            "Resourceless suffixed group request should be specified in `same_subtree` query param: bad group(s) - ['_A'].",
        ),
        (
            "resources=VCPU:1&same_subtree=_A",
            "Real suffixes should be specified in `same_subtree`: ['_A'] not found in [''].",
        ),
        (
            "resources=VCPU:1&same_subtree=_A,",
            "Empty string (unsuffixed group) can not be specified in `same_subtree` ",
        ),
        (
            "resources=VCPU:1&root_required=A,!A",
            "Conflicting required and forbidden traits found in root_required: A",
        ),
    ] {
        assert_eq!(
            refusal(36, query),
            Error::BadQueryValue {
                detail: detail.to_owned()
            },
            "{query}"
        );
    }
    assert_eq!(
        refusal(36, "required=A"),
        Error::MissingQueryValue {
            detail: "There must be at least one resources or resources[$S] parameter.".to_owned()
        }
    );
    assert_eq!(
        refusal(36, "resources=VCPU:1&root_required=A&root_required=B"),
        Error::DuplicateQueryKey {
            detail: "Query parameter 'root_required' may be specified only once.".to_owned()
        }
    );
}

#[test]
fn parameters_depend_on_the_version() {
    for (minor, query) in [
        (15, "limit=1"),
        (16, "required=A"),
        (20, "member_of=x"),
        (24, "group_policy=none"),
        (24, "resources1=VCPU:1"),
        (30, "in_tree=x"),
        (32, "resources_A=VCPU:1"),
        (34, "root_required=A"),
        (35, "same_subtree=A"),
    ] {
        let refusal = refusal(minor, &format!("resources=VCPU:1&{query}")).to_string();
        let name = query.split('=').next().unwrap();
        assert!(
            refusal.starts_with("Invalid query string parameters: ") && refusal.contains(name),
            "{refusal}"
        );
        assert!(
            refusal.contains("unexpected)") || refusal.contains("any of the regexes"),
            "{refusal}"
        );
    }
}

/// Found by a reader: a query of 100,000 groups kept a worker busy for half a minute.
#[test]
fn a_query_has_at_most_a_thousand_groups() {
    let query = |groups: usize| {
        let groups = (0..groups).map(|n| format!("resources_{n}=VCPU:1&required_{n}=A&"));
        groups.collect::<String>() + "group_policy=none"
    };
    assert_eq!(read(39, &query(1_000)).unwrap().groups.len(), 1_000);
    let refused = refusal(39, &query(1_001));
    assert!(matches!(&refused, Error::BadRequest { detail } if detail.contains("at most 1000 groups")));
    let rules = |count| "resources_A=VCPU:1".to_owned() + &"&same_subtree=_A".repeat(count);
    assert!(read(39, &rules(1_000)).is_ok());
    assert!(matches!(refusal(39, &rules(1_001)), Error::BadRequest { .. }));
}
