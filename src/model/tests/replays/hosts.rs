//! Random reports of hosts, which name providers of other programs, too.

use super::commands::{Rng, TRAITS, inventories, provider};
use super::descriptions::description;
use crate::model::batch::command::{Command, Write};
use crate::model::hosts::{HostReport, ReportedLease, ReportedProvider};
use crate::model::providers::Describe;
use crate::model::resource_providers::Create;
use crate::model::tests::uuid;

/// A report of a host, which may be missing, by either of two agents.
pub fn report(rng: &mut Rng) -> Command {
    let host = provider(rng);
    let mut providers: Vec<ReportedProvider> = Vec::new();
    for _ in 0..rng.below(4) {
        let own = own_provider(rng, &host);
        if providers.iter().all(|other| other.create.uuid != own.create.uuid) {
            providers.push(own);
        }
    }
    let number = rng.below(20) as i64;
    HostReport {
        user: rng.of(&["u1", "u1", "u1", "u2"]).into(),
        may_report_all: rng.chance(30),
        lease: ReportedLease {
            holder: rng.of(&["agent", "agent", "agent", "second"]).into(),
            boot: rng.of(&["b1", "b1", "b2"]).into(),
            number,
            term: 60,
        },
        digest: rng.of(&["d1", "d2"]).into(),
        description: describe(rng, &host),
        providers,
        host,
    }
    .into_command()
}

fn describe(rng: &mut Rng, provider: &str) -> Describe {
    Describe {
        provider: provider.to_owned(),
        name: None,
        generation: None,
        description: description(rng),
    }
}

fn own_provider(rng: &mut Rng, host: &str) -> ReportedProvider {
    let uuid = uuid(5 + rng.below(5) as u32);
    let parent = if rng.chance(70) { host.to_owned() } else { provider(rng) };
    ReportedProvider {
        description: describe(rng, &uuid),
        inventories: inventories(rng),
        traits: rng.some(&TRAITS),
        create: Create {
            name: format!("own-{}", rng.below(6)),
            parent: (uuid != *host).then_some(parent),
            uuid,
        },
    }
}
