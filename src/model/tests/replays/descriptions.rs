//! Random descriptions of few providers with few words, and random normal limits, types and domains of aggregates.

use std::sync::Arc;

use super::commands::{Known, Rng, provider};
use crate::model::batch::command::{Command, Write};
use crate::model::providers::{Describe, DescribeAll, DomainState, HostOfDomain, SetStates};
use crate::model::{domains, limits, types};
use crate::search::{AggregateId, Description, Domain, NormalLimit, PropertyValue, ProviderState};

pub const PATHS: [&str; 5] = ["/d1", "/d1/r1", "/d1/r2", "/d10", "/d2/r1"];

/// The generation known to a client; in 15 % of the calls a wrong generation.
fn generation(rng: &mut Rng, known: Option<&i64>) -> Option<i64> {
    match (rng.chance(15), known) {
        (true, Some(known)) => rng.of(&[None, Some(known + 1)]),
        (true, None) => Some(1),
        (false, known) => known.copied(),
    }
}

/// Describes up to three different providers, at least one.
pub fn describe(rng: &mut Rng, known: &Known) -> Command {
    let mut providers: Vec<Describe> = Vec::new();
    for _ in 0..=rng.below(3) {
        let provider = provider(rng);
        if providers.iter().all(|other| other.provider != provider) {
            providers.push(Describe {
                generation: generation(rng, known.descriptions.get(&provider)),
                description: description(rng),
                name: None,
                provider,
            });
        }
    }
    let is_list = providers.len() > 1 || rng.chance(50);
    DescribeAll {
        providers,
        is_list,
        is_forced: rng.chance(50),
    }
    .into_command()
}

fn state(rng: &mut Rng) -> ProviderState {
    rng.of(&[
        ProviderState::Up,
        ProviderState::Up,
        ProviderState::Up,
        ProviderState::Draining,
        ProviderState::Off,
        ProviderState::Lost,
    ])
}

/// Sets the state of some providers, of which few are hosts in the domain.
pub fn set_states(rng: &mut Rng) -> Command {
    let aggregate = rng.chance(30).then_some(AggregateId(1));
    let host = |rng: &mut Rng| HostOfDomain {
        uuid: provider(rng),
        aggregate,
    };
    let mut hosts: Vec<HostOfDomain> = (0..=rng.below(4)).map(|_| host(rng)).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let domain = Domain {
        dimension: "fault".into(),
        path: rng.of(&["/d1", "/d1/r1", "/d2"]).into(),
    };
    let wanted = DomainState {
        domain,
        state: state(rng),
    };
    SetStates { hosts, wanted }.into_command()
}

/// Sets or deletes the properties of a type.
pub fn on_types(rng: &mut Rng, known: &Known) -> Command {
    let name = rng.of(&["big", "small"]).to_owned();
    let generation = generation(rng, known.types.get(&name));
    if rng.chance(25) {
        return types::Delete { name, generation }.into_command();
    }
    types::Set {
        name,
        generation,
        properties: description(rng).properties,
    }
    .into_command()
}

/// Declares a domain of `fault`, or takes the aggregate from the domain.
pub fn on_domains(rng: &mut Rng, known: &Known, aggregates: &[&str]) -> Command {
    let path = rng.of(&PATHS);
    let generation = generation(rng, known.domains.get(path));
    let key = domains::DeclaredKey::new(&Domain {
        dimension: "fault".into(),
        path: path.into(),
    });
    if rng.chance(25) {
        return domains::Delete { key, generation }.into_command();
    }
    domains::Set {
        key,
        generation,
        aggregate: rng.of(aggregates).to_owned(),
    }
    .into_command()
}

pub fn description(rng: &mut Rng) -> Description {
    let mut description = Description {
        kind: rng.chance(25).then(|| "big".into()),
        state: state(rng),
        ..Description::default()
    };
    for name in ["a", "b", "c"] {
        if rng.chance(50) {
            let value = match rng.below(7) {
                0 => None,
                1 => Some(PropertyValue::Boolean(rng.chance(50))),
                2 => Some(PropertyValue::Text("x".into())),
                _ => Some(PropertyValue::Integer(rng.below(3) as i64)),
            };
            description.properties.insert(name.into(), value);
        }
    }
    for dimension in ["fault", "upgrade"] {
        if rng.chance(50) {
            let path: Arc<str> = rng.of(&PATHS).into();
            description.domains.insert(dimension.into(), path);
        }
    }
    description
}

/// Sets or removes the normal limit of a class, which may not exist.
pub fn set_limit(rng: &mut Rng, known: &Known, class: &str) -> Command {
    let normal = rng.of(&[
        None,
        Some(NormalLimit::Physical),
        Some(NormalLimit::Buffer(200_000)),
        Some(NormalLimit::Buffer(500_000)),
    ]);
    limits::Set {
        class: class.to_owned(),
        generation: generation(rng, known.limits.get(class)),
        normal,
    }
    .into_command()
}
