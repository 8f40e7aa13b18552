//! The dimension `host`: each host is a domain of its own.

use super::*;

#[test]
fn each_host_is_a_domain_of_its_own() {
    let snapshot = described((1..4).map(host).collect(), [(1, in_domain("fault", "/a"))]);
    let hosts = |ids: &[i32]| -> Vec<Domain> {
        let domain = |id: &i32| Domain {
            dimension: HOST_DIMENSION.into(),
            path: super::super::uuid(*id).into(),
        };
        ids.iter().map(domain).collect()
    };
    let within = |ids: &[i32]| HostConditions {
        in_domains: hosts(ids),
        ..HostConditions::default()
    };
    let outside = |ids: &[i32]| HostConditions {
        not_in_domains: hosts(ids),
        ..HostConditions::default()
    };
    assert_eq!(found(&snapshot, within(&[2])), [2]);
    assert_eq!(found(&snapshot, within(&[1, 3, 9])), [1, 3]);
    assert!(found(&snapshot, within(&[9])).is_empty());
    assert_eq!(found(&snapshot, outside(&[2, 9])), [1, 3]);
}
