//! Random changes of few workloads, each with consumers of its own.

use super::super::uuid;
use super::commands::{Known, Rng, choice, provider};
use super::descriptions::PATHS;
use crate::model::allocations::Expected;
use crate::model::batch::command::{Command, Write};
use crate::model::workloads::{Incarnation, LostHost, Neighbour, PlannedHost, ReplicaRow, Set, WorkloadRow};
use crate::search::ProviderState;

/// Creates, changes or deletes a workload. The workload's consumers are placed, released, or stay.
pub fn set(rng: &mut Rng, known: &Known) -> Command {
    let at = rng.below(3) as u32;
    let workload = uuid(900 + at);
    let generation = known.workloads.get(&workload).copied();
    let generation = if rng.chance(10) { Some(7) } else { generation };
    let (mut released, mut standing, mut placed, mut replicas) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for consumer in (0..3).map(|n| uuid(200 + 10 * at + n)) {
        let current = known.consumers.get(&consumer).copied();
        let wrong = i64::from(rng.chance(10));
        match (rng.below(3), current) {
            (0, Some(current)) => released.push((consumer.clone(), current + wrong)),
            (1, _) => {
                let mut choice = choice(rng, known, consumer.clone());
                choice.claim.generation = current.map_or(Expected::New, Expected::Is);
                placed.push(choice);
            }
            _ => standing.push((consumer.clone(), current.map(|it| it + wrong))),
        }
        replicas.push(ReplicaRow {
            id: consumer[34..].to_owned(),
            consumer,
            role: rng.of(&["a", "b"]).to_owned(),
            revision: 1,
            is_adopted: rng.chance(20),
        });
    }
    let others = (900..903)
        .map(uuid)
        .filter(|other| *other != workload && rng.chance(30));
    let others: Vec<String> = others.collect();
    let mut neighbours: Vec<Neighbour> = Vec::new();
    for other in others {
        let seen = known.workloads.get(&other).zip(known.named.get(&other));
        neighbours.push(match seen.filter(|_| !rng.chance(5)) {
            Some((generation, named)) => Neighbour {
                generation: Some(generation + i64::from(rng.chance(10))),
                incarnation: Incarnation::of(named + another(rng)),
                uuid: other,
            },
            None => Neighbour::missing(&other),
        });
    }
    let split = neighbours.len() * usize::from(generation.is_some() || rng.chance(50));
    let referrers = neighbours.split_off(split);
    let named = known.named.get(&workload).copied().unwrap_or_default();
    let named = named + i64::from(rng.chance(10)) + another(rng);
    let is_deleted = generation.is_some() && rng.chance(20);
    let row = WorkloadRow {
        uuid: workload.clone(),
        name: format!("w{}", rng.below(4)),
        project: rng.of(&["p1", "p1", "p2"]).to_owned(),
        user: "u1".to_owned(),
        generation: generation.map_or(1, |it| it + 1),
        revision: 1,
        body: rng.of(&["{}", "[]"]).into(),
        named: another(rng),
    };
    let adopted = replicas.iter().filter(|it| it.is_adopted);
    let adopted = adopted.map(|it| it.consumer.clone()).collect();
    Set {
        uuid: workload,
        known: generation,
        named,
        neighbours: if is_deleted { Vec::new() } else { neighbours },
        referrers,
        row: (!is_deleted).then(|| Box::new(row)),
        replicas: if is_deleted { Vec::new() } else { replicas },
        standing,
        released,
        placed,
        adopted,
        lost: lost(rng),
        hosts: hosts(rng),
    }
    .into_command()
}

/// The addition to the incarnation's number for a wrong incarnation: in 10 % of the calls.
fn another(rng: &mut Rng) -> i64 {
    i64::from(rng.chance(10)) << 20
}

/// At most one host, in a state of replicas that are placed again.
fn lost(rng: &mut Rng) -> Vec<LostHost> {
    if rng.chance(85) {
        return Vec::new();
    }
    vec![LostHost {
        host: provider(rng),
        state: rng.of(&[ProviderState::Lost, ProviderState::Unknown]),
    }]
}

/// At most one host, in a domain or without a domain.
fn hosts(rng: &mut Rng) -> Vec<PlannedHost> {
    if rng.chance(70) {
        return Vec::new();
    }
    let path = rng.chance(30).then(|| rng.of(&PATHS).into());
    vec![PlannedHost {
        host: provider(rng),
        domains: vec![("fault".into(), path)],
        is_unclaimed: rng.chance(30),
    }]
}
