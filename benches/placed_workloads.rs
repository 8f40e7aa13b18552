//! Placed workloads, and the time of judging a page of the workloads, as `GET /v1/violations` does between its
//! reads and its answer.

use std::collections::HashMap;

use placet::benchmarked::workloads::{
    ProviderShare, Replica, ReplicaRow, Role, Spec, StoredWorkload, WorkloadRow, judge as judge_workload,
};
use placet::benchmarked::{SearchSettings, Snapshot};

/// A page.
const WORKLOADS: usize = 1_000;
pub const REPLICAS: u32 = 10;

/// A page of workloads by the default rule. Workload `n` has the role `roles[n % roles.len()]`, and its replicas are on
/// hosts all over the cloud; `provider` has the uuid of a host's provider.
pub fn page(hosts: i32, roles: &[Role], provider: impl Fn(i32) -> String) -> Vec<(StoredWorkload, Spec)> {
    let workloads = (0..WORKLOADS).map(|n| {
        let replicas = (0..REPLICAS).map(|at| {
            let hash = (n as u64 * u64::from(REPLICAS) + u64::from(at) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            replica(n, at, provider((hash % hosts as u64) as i32))
        });
        let stored = StoredWorkload {
            row: row(n),
            replicas: replicas.collect(),
        };
        let spec = Spec {
            roles: vec![roles[n % roles.len()].clone()],
            rules: None,
            quorum: true,
            lost_after: None,
            min: None,
            consumer_type: "INSTANCE".to_owned(),
        };
        (stored, spec)
    });
    workloads.collect()
}

/// Judges a page. Returns the number of violations.
pub fn judge(snapshot: &Snapshot, page: &[(StoredWorkload, Spec)], settings: &SearchSettings) -> usize {
    let others = HashMap::new();
    let violations = page.iter().map(|(stored, spec)| {
        let report = judge_workload(snapshot, (stored, spec), &others, settings);
        report.expect("a search that ends").violations.len()
    });
    violations.sum()
}

fn row(n: usize) -> WorkloadRow {
    WorkloadRow {
        uuid: format!("6f000000-0000-4000-8000-{n:012}"),
        name: format!("workload-{n}"),
        project: "project".to_owned(),
        user: "user".to_owned(),
        generation: 1,
        revision: 1,
        body: "".into(),
        named: 0,
    }
}

fn replica(n: usize, at: u32, provider: String) -> Replica {
    Replica {
        row: ReplicaRow {
            id: at.to_string(),
            consumer: format!("c0000000-0000-4000-8000-{:012}", n * REPLICAS as usize + at as usize),
            role: "member".to_owned(),
            revision: 1,
            is_adopted: false,
        },
        generation: Some(1),
        allocations: vec![ProviderShare {
            provider: provider.into(),
            name: None,
            generation: 1,
            resources: vec![("VCPU".into(), 4)],
        }],
    }
}
