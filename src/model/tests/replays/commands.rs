//! Random commands about few providers, consumers and names, for many conflicts and many successes.

use std::collections::HashMap;

use diesel::prelude::*;

use super::super::{Inventory, Level, uuid};
use super::{descriptions, hosts, workloads};
use crate::db::schema::{
    consumers, placet_descriptions, placet_domains, placet_limits, placet_types, placet_workloads,
    resource_providers as provider_rows,
};
use crate::db::{DbConnection, DbResult};
use crate::model::allocations::{Claim, ConsumerClaim, Expected, Owner, Release, Takeover};
use crate::model::batch::command::{Command, Write};
use crate::model::claims::{Candidates, ClaimCandidate, ClaimFirst, ConsumerChoice, Limits};
use crate::model::providers::DISABLED_TRAIT;
use crate::model::reshaper::{Reshape, Reshaped};
use crate::model::resource_providers::NewParent;
use crate::model::{aggregates, inventories, resource_classes, resource_providers, traits};

const CLASSES: [&str; 5] = ["VCPU", "MEMORY_MB", "CUSTOM_A", "CUSTOM_B", "CUSTOM_C"];
/// Two standard traits, and three custom traits.
pub const TRAITS: [&str; 5] = ["HW_CPU_X86_AVX", DISABLED_TRAIT, "CUSTOM_T1", "CUSTOM_T2", "CUSTOM_T3"];
const AGGREGATES: [&str; 3] = ["a1", "a2", "a3"];

/// A random generator, which gives the same numbers for the same seed.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16) % n
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    pub fn some(&mut self, all: &[&str]) -> Vec<String> {
        all.iter()
            .filter(|_| self.chance(40))
            .map(|it| (*it).to_owned())
            .collect()
    }
}

/// The generations before the batch, as far as a client can know: by uuid, by class for limits, and
/// by name for types.
pub struct Known {
    pub providers: HashMap<String, i64>,
    pub consumers: HashMap<String, i64>,
    pub descriptions: HashMap<String, i64>,
    pub limits: HashMap<String, i64>,
    pub types: HashMap<String, i64>,
    /// Of declared domains of the dimension `fault`, by path.
    pub domains: HashMap<String, i64>,
    pub workloads: HashMap<String, i64>,
    /// How often workloads whose rules name a workload changed.
    pub named: HashMap<String, i64>,
}

impl Known {
    pub fn read(conn: &mut DbConnection) -> DbResult<Known> {
        let wide = |rows: Vec<(String, i32)>| rows.into_iter().map(|(uuid, it)| (uuid, it.into())).collect();
        let providers = provider_rows::table.select((provider_rows::uuid, provider_rows::generation.assume_not_null()));
        let consumers = consumers::table.select((consumers::uuid, consumers::generation));
        let described = placet_descriptions::table.select((placet_descriptions::uuid, placet_descriptions::generation));
        let limits = placet_limits::table.select((placet_limits::resource_class, placet_limits::generation));
        let types = placet_types::table.select((placet_types::name, placet_types::generation));
        let domains = placet_domains::table.select((placet_domains::path, placet_domains::generation));
        let workloads = placet_workloads::table.select((placet_workloads::uuid, placet_workloads::generation));
        let named = placet_workloads::table.select((placet_workloads::uuid, placet_workloads::named));
        Ok(Known {
            providers: wide(providers.load(conn)?),
            consumers: wide(consumers.load(conn)?),
            descriptions: wide(described.load(conn)?),
            limits: limits.load::<(String, i64)>(conn)?.into_iter().collect(),
            types: types.load::<(String, i64)>(conn)?.into_iter().collect(),
            domains: domains.load::<(String, i64)>(conn)?.into_iter().collect(),
            workloads: workloads.load::<(String, i64)>(conn)?.into_iter().collect(),
            named: named.load::<(String, i64)>(conn)?.into_iter().collect(),
        })
    }

    /// A provider's generation; in 15 % of the calls a wrong generation.
    fn generation(&self, rng: &mut Rng, provider: &str) -> i64 {
        self.providers.get(provider).unwrap_or(&0) + if rng.chance(15) { 1 } else { 0 }
    }
}

fn inventory(rng: &mut Rng) -> Inventory {
    Inventory {
        total: rng.of(&[1, 2, 5, 10, 20, 40]),
        reserved: rng.of(&[0, 1]),
        min_unit: 1,
        max_unit: if rng.chance(80) { i32::MAX } else { 3 },
        step_size: 1,
        allocation_ratio: if rng.chance(80) { 1.0 } else { 1.5 },
    }
}

pub fn inventories(rng: &mut Rng) -> Vec<(String, Inventory)> {
    rng.some(&CLASSES)
        .into_iter()
        .map(|class| (class, inventory(rng)))
        .collect()
}

pub fn provider(rng: &mut Rng) -> String {
    uuid(1 + rng.below(6) as u32)
}

fn consumer_claim(rng: &mut Rng, known: &Known, consumer: String) -> ConsumerClaim {
    let mut allocations: Vec<(String, Vec<(String, i64)>)> = Vec::new();
    for _ in 0..rng.of(&[0, 1, 1, 1, 2, 2]) {
        let provider = provider(rng);
        let classes = if rng.chance(50) {
            vec!["VCPU".to_owned()]
        } else {
            rng.some(&CLASSES[..4])
        };
        let amounts: Vec<_> = classes
            .into_iter()
            .map(|class| (class, 1 + rng.below(4) as i64))
            .collect();
        if !amounts.is_empty() && allocations.iter().all(|(other, _)| *other != provider) {
            allocations.push((provider, amounts));
        }
    }
    let newest = known.consumers.get(&consumer).copied();
    let generation = match (rng.below(10), newest) {
        (0, _) => Expected::New,
        (1, _) => Expected::Is(rng.below(3) as i64),
        (2 | 3, _) => Expected::Any,
        (_, Some(generation)) => Expected::Is(generation + if rng.chance(20) { 1 } else { 0 }),
        (_, None) => Expected::New,
    };
    let owner = Owner {
        project: rng.of(&["p1", "p2"]).into(),
        user: rng.of(&["u1", "u2"]).into(),
    };
    ConsumerClaim {
        consumer,
        allocations,
        owner: rng.chance(90).then_some(owner),
        generation,
        takeover: Takeover::AnyProject,
        consumer_type: rng.chance(50).then(|| rng.of(&["VM", "INSTANCE"]).into()),
    }
}

fn claim(rng: &mut Rng, known: &Known) -> Command {
    let first = 100 + rng.below(4) as u32;
    let both = rng.chance(25);
    let consumers = if both { vec![first, first + 1] } else { vec![first] };
    let consumers = consumers
        .into_iter()
        .map(|n| consumer_claim(rng, known, uuid(n)))
        .collect();
    Claim {
        consumers,
        names_consumer: !both,
    }
    .into_command()
}

/// A claim with up to three candidates for each of two consumers at most.
fn claim_first(rng: &mut Rng, known: &Known) -> Command {
    let first = 100 + rng.below(4) as u32;
    let both = rng.chance(40);
    let consumers = if both { vec![first, first + 1] } else { vec![first] };
    let consumers = consumers.into_iter().map(|n| choice(rng, known, uuid(n)));
    ClaimFirst::new(consumers.collect(), None).into_command()
}

pub fn choice(rng: &mut Rng, known: &Known, consumer: String) -> ConsumerChoice {
    let mut claim = consumer_claim(rng, known, consumer.clone());
    let candidates = (0..=rng.below(3)).filter_map(|_| {
        let allocations = consumer_claim(rng, known, consumer.clone()).allocations;
        (!allocations.is_empty()).then_some(ClaimCandidate {
            allocations,
            mappings: None,
        })
    });
    let mut list: Vec<ClaimCandidate> = candidates.collect();
    if list.is_empty() {
        list.push(ClaimCandidate {
            allocations: vec![(provider(rng), vec![("VCPU".to_owned(), 1)])],
            mappings: None,
        });
    }
    let first = rng.below(list.len() as u64) as usize;
    claim.allocations = Vec::new();
    ConsumerChoice {
        claim,
        candidates: Candidates {
            first,
            ..Candidates::all(list.into())
        },
        limits: rng.of(&[Limits::Normal, Limits::NormalFirst]),
        is_required: true,
    }
}

/// A random command of a level.
pub fn command(rng: &mut Rng, known: &Known, level: Level) -> Command {
    let kind = if level == Level::Claims {
        64 + rng.below(36)
    } else {
        rng.below(100)
    };
    match kind {
        0..18 => on_providers(rng),
        18..23 => descriptions::describe(rng, known),
        23 => descriptions::set_states(rng),
        24..26 => {
            let class = rng.of(&CLASSES);
            descriptions::set_limit(rng, known, class)
        }
        26..28 => descriptions::on_types(rng, known),
        28..30 => descriptions::on_domains(rng, known, &AGGREGATES),
        30..42 => on_inventories(rng, known),
        42..54 => on_traits_and_aggregates(rng, known),
        54..58 => on_classes(rng),
        58..60 => hosts::report(rng),
        60..64 => reshape(rng, known),
        64..84 => claim(rng, known),
        84..89 => claim_first(rng, known),
        89..93 => workloads::set(rng, known),
        _ => Release {
            consumer: uuid(100 + rng.below(5) as u32),
        }
        .into_command(),
    }
}

fn on_providers(rng: &mut Rng) -> Command {
    let uuid = provider(rng);
    let name = rng.of(&["n0", "n1", "n2", "n3", "n4", "n5"]).to_owned();
    let parent = rng.chance(50).then(|| provider(rng));
    match rng.below(22) {
        0..9 => resource_providers::Create { uuid, name, parent }.into_command(),
        9..17 => {
            let parent = if rng.chance(30) {
                NewParent::Keep
            } else {
                NewParent::Set(parent)
            };
            resource_providers::Update {
                uuid,
                name,
                parent,
                may_reparent: rng.chance(85),
            }
            .into_command()
        }
        _ => resource_providers::Delete { uuid }.into_command(),
    }
}

fn on_inventories(rng: &mut Rng, known: &Known) -> Command {
    let provider = provider(rng);
    let generation = known.generation(rng, &provider);
    let class = rng.of(&CLASSES).to_owned();
    let reserved_may_equal_total = true;
    match rng.below(20) {
        0..8 => {
            let inventories = inventories(rng);
            inventories::Replace {
                provider,
                generation,
                inventories,
                reserved_may_equal_total,
            }
            .into_command()
        }
        8..13 => {
            let inventory = inventory(rng);
            inventories::Add {
                provider,
                class,
                inventory,
                reserved_may_equal_total,
            }
            .into_command()
        }
        13..16 => {
            let inventory = inventory(rng);
            inventories::Update {
                provider,
                class,
                generation,
                inventory,
                reserved_may_equal_total,
            }
            .into_command()
        }
        16..19 => inventories::Remove { provider, class }.into_command(),
        _ => inventories::Clear { provider }.into_command(),
    }
}

fn on_traits_and_aggregates(rng: &mut Rng, known: &Known) -> Command {
    let provider = provider(rng);
    let generation = known.generation(rng, &provider);
    let name = rng.of(&TRAITS[2..]).to_owned();
    match rng.below(12) {
        0..4 => traits::Replace {
            provider,
            generation,
            traits: rng.some(&TRAITS),
        }
        .into_command(),
        4 => traits::Clear { provider }.into_command(),
        5..8 => traits::Ensure { name }.into_command(),
        8 => traits::Delete { name }.into_command(),
        _ => {
            let generation = rng.chance(60).then_some(generation);
            aggregates::Replace {
                provider,
                aggregates: rng.some(&AGGREGATES),
                generation,
            }
            .into_command()
        }
    }
}

fn on_classes(rng: &mut Rng) -> Command {
    let name = rng.of(&CLASSES[2..]).to_owned();
    match rng.below(6) {
        0 => resource_classes::Create { name }.into_command(),
        1 => resource_classes::Ensure { name }.into_command(),
        2 | 3 => resource_classes::Rename {
            from: name,
            to: rng.of(&CLASSES[2..]).to_owned(),
        }
        .into_command(),
        _ => resource_classes::Delete { name }.into_command(),
    }
}

fn reshape(rng: &mut Rng, known: &Known) -> Command {
    let mut providers: Vec<Reshaped> = Vec::new();
    for _ in 0..=rng.below(2) {
        let provider = provider(rng);
        if providers.iter().all(|other| other.provider != provider) {
            let generation = known.generation(rng, &provider);
            providers.push(Reshaped {
                provider,
                generation: generation.into(),
                inventories: inventories(rng),
            });
        }
    }
    let consumers = (0..rng.below(3))
        .map(|n| consumer_claim(rng, known, uuid(100 + n as u32)))
        .collect();
    Reshape { providers, consumers }.into_command()
}
