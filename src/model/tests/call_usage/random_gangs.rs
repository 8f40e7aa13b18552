//! Random calls in batches, on hosts used beyond their capacities. An oracle says which calls of required consumers
//! with a single candidate fit.

use super::super::replays::Rng;
use super::*;
use crate::model::snapshot::comparison;
use crate::tests::by_size;

/// The number of a host, and a class.
type Key = (u32, &'static str);
type Sums = BTreeMap<Key, i64>;

const CLASSES: [&str; 2] = ["VCPU", "MEMORY_MB"];
const HOSTS: u32 = 3;
/// Consumers from before the first call.
const FIRST_CONSUMERS: u32 = 8;
const CONSUMERS: u32 = 12;

/// The contents of the tables, as the answers say.
#[derive(Clone, Default)]
struct Known {
    capacities: Sums,
    /// By consumer the generation and the amounts.
    consumers: BTreeMap<u32, (i64, Sums)>,
}

/// A consumer of a random call.
#[derive(Debug)]
struct Member {
    consumer: u32,
    has_stale_generation: bool,
    is_required: bool,
    candidates: Vec<Sums>,
}

fn asks(amounts: &Sums) -> Vec<(u32, &'static str, i64)> {
    let amounts = amounts.iter();
    amounts
        .map(|((host, class), amount)| (*host, *class, *amount))
        .collect()
}

impl Known {
    fn used(&self) -> Sums {
        let mut used: Sums = self.capacities.keys().map(|key| (*key, 0)).collect();
        for (key, amount) in self.consumers.values().flat_map(|(_, amounts)| amounts) {
            *used.entry(*key).or_insert(0) += amount;
        }
        used
    }

    fn amounts(&self, consumer: u32) -> Sums {
        self.consumers
            .get(&consumer)
            .map_or_else(Sums::new, |(_, amounts)| amounts.clone())
    }

    fn set(&mut self, consumer: u32, amounts: &Sums) {
        let (generation, now) = self.consumers.entry(consumer).or_default();
        *generation += 1;
        now.clone_from(amounts);
    }

    /// The classes of hosts with more usage than the capacity and more than before.
    fn grown(&self, before: &Sums) -> Vec<Key> {
        let used = self.used().into_iter();
        let grown = used.filter(|(key, used)| *used > self.capacities[key].max(before[key]));
        grown.map(|(key, _)| key).collect()
    }

    /// Whether a call has a place, if all consumers are required and have a single candidate.
    fn has_room(&self, call: &[Member]) -> bool {
        let mut after = self.clone();
        call.iter().for_each(|it| after.set(it.consumer, &it.candidates[0]));
        let are_known = call.iter().all(|it| !it.has_stale_generation);
        are_known && after.grown(&self.used()).is_empty()
    }

    /// Notes the claims of a granted call.
    fn note(&mut self, call: &[Member], answer: &Answer) {
        let Some(ClaimAnswer::Claimed(outcomes)) = answer.get::<ClaimAnswer>() else {
            panic!("it is no claim: {call:?}");
        };
        for (member, outcome) in call.iter().zip(outcomes.iter()) {
            let Ok(claimed) = outcome else { continue };
            self.set(member.consumer, &member.candidates[claimed.candidate]);
            assert_eq!(claimed.generation, self.consumers[&member.consumer].0);
        }
    }

    fn choice(&self, member: &Member) -> ConsumerChoice {
        let known = self.consumers.get(&member.consumer);
        let generation = match known.map(|(generation, _)| *generation) {
            _ if member.has_stale_generation => Expected::Is(99),
            None => Expected::New,
            Some(generation) => Expected::Is(generation),
        };
        let candidates = member.candidates.iter().map(|amounts| candidate(&asks(amounts)));
        ConsumerChoice {
            candidates: Candidates::all(candidates.collect()),
            is_required: member.is_required,
            ..choice(member.consumer, generation, &[])
        }
    }
}

fn random_amounts(rng: &mut Rng) -> Sums {
    let count = 1 + rng.below(2);
    let amounts = (0..count).map(|_| {
        let key = (1 + rng.below(u64::from(HOSTS)) as u32, rng.of(&CLASSES));
        (key, 1 + rng.below(4) as i64)
    });
    amounts.collect()
}

/// Any amounts, or at most the present amounts of the consumer.
fn random_candidate(rng: &mut Rng, present: &Sums) -> Sums {
    if present.is_empty() || rng.chance(40) {
        return random_amounts(rng);
    }
    fewer(rng, present)
}

fn fewer(rng: &mut Rng, present: &Sums) -> Sums {
    let present = present.iter();
    present
        .map(|(key, amount)| (*key, 1 + rng.below(*amount as u64) as i64))
        .collect()
}

/// Changes a call: the first consumer takes the amounts released by the consumers of the call, and sometimes a unit
/// more.
fn exchange(rng: &mut Rng, known: &Known, call: &mut Vec<Member>) {
    let first = call.remove(0);
    call.retain(|it| !known.amounts(it.consumer).is_empty());
    let mut taken = known.amounts(first.consumer);
    for giver in call.iter_mut() {
        let present = known.amounts(giver.consumer);
        let kept = fewer(rng, &present);
        for (key, amount) in present {
            *taken.entry(key).or_insert(0) += amount - kept[&key];
        }
        giver.candidates = vec![kept];
    }
    taken.retain(|_, amount| *amount > 0);
    if let Some(amount) = taken.values_mut().next().filter(|_| rng.chance(30)) {
        *amount += 1;
    }
    let candidates = if taken.is_empty() {
        first.candidates
    } else {
        vec![taken]
    };
    let at = rng.below(call.len() as u64 + 1) as usize;
    call.insert(at, Member { candidates, ..first });
}

/// The calls of a batch, which name each consumer at most once.
fn random_calls(rng: &mut Rng, known: &Known) -> Vec<Vec<Member>> {
    let mut consumers: Vec<u32> = (1..=CONSUMERS).collect();
    let mut calls = Vec::new();
    while consumers.len() > 5 {
        let (are_required, have_one) = (rng.chance(75), rng.chance(75));
        let members = (0..2 + rng.below(3)).map(|_| {
            let at = rng.below(consumers.len() as u64) as usize;
            let consumer = consumers.swap_remove(at);
            let present = known.amounts(consumer);
            let count = if have_one { 1 } else { 1 + rng.below(3) };
            Member {
                consumer,
                has_stale_generation: rng.chance(3),
                is_required: are_required,
                candidates: (0..count).map(|_| random_candidate(rng, &present)).collect(),
            }
        });
        let mut call: Vec<Member> = members.collect();
        if rng.chance(50) {
            exchange(rng, known, &mut call);
        }
        calls.push(call);
    }
    calls
}

/// Hosts with the first consumers.
async fn occupied(rng: &mut Rng) -> (Fixture, Known) {
    let (mut f, mut known) = (fixture(), Known::default());
    for host in 1..=HOSTS {
        f.host(host, 100).await.unwrap();
        f.model.submit(adding(host, "MEMORY_MB", 100)).await.unwrap();
    }
    for consumer in 1..=FIRST_CONSUMERS {
        let amounts = random_amounts(rng);
        let claim = claim_of(vec![consumer_claim(consumer, asks(&amounts), Expected::New)]);
        f.model.submit(claim).await.unwrap();
        known.set(consumer, &amounts);
    }
    let keys = (1..=HOSTS).flat_map(|host| CLASSES.map(|class| (host, class)));
    known.capacities.extend(keys.map(|key| (key, 100)));
    (f, known)
}

/// Sets most capacities near the usage, and more capacities below than above the usage.
fn set_capacities(f: &mut Fixture, rng: &mut Rng, known: &mut Known, process: &mut Process) {
    for ((host, class), used) in known.used() {
        if rng.chance(60) {
            let total = (used + rng.below(5) as i64 - 3).max(1);
            set_total(f, host, class, total);
            known.capacities.insert((host, class), total);
        }
    }
    comparison::compare(&process.store, &mut process.conn, 0, 1000).unwrap();
}

/// Whether a usage is beyond the capacity after the call, and a consumer of the call took more of the class.
fn has_exchanged(before: &Known, after: &Known, call: &[Member]) -> bool {
    let used = after.used();
    let mut over = used.iter().filter(|(key, used)| **used > after.capacities[*key]);
    over.any(|(key, _)| {
        let amount = |known: &Known, consumer| known.amounts(consumer).get(key).copied().unwrap_or(0);
        call.iter()
            .any(|it| amount(after, it.consumer) > amount(before, it.consumer))
    })
}

fn shown(process: &Process, (host, class): Key) -> i64 {
    let newest = process.store.newest();
    let slot = newest.by_uuid(&uuid(host)).unwrap();
    newest.used(slot, newest.catalog().class_id(class).unwrap())
}

#[actix_web::test]
async fn found_p8_no_random_gang_raises_a_usage_beyond_the_capacity() {
    let (mut granted, mut refused, mut exchanged) = (0, 0, 0);
    for seed in 0..by_size(12, 80) {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let (mut f, mut known) = occupied(&mut rng).await;
        let mut process = Process::start(&f.database, true);
        for round in 0..12 {
            set_capacities(&mut f, &mut rng, &mut known, &mut process);
            let calls = random_calls(&mut rng, &known);
            let choices = |call: &Vec<Member>| call.iter().map(|member| known.choice(member)).collect();
            let commands = calls.iter().map(|call| first_of(choices(call)).into_command());
            let commands: Vec<Command> = commands.collect();
            let named: Vec<&Command> = commands.iter().collect();
            let (answers, pending) = process.commit(&named, rng.chance(50)).unwrap().unwrap();
            process.publish(pending);
            for (call, answer) in calls.iter().zip(&answers) {
                let before = known.clone();
                let is_certain = call.iter().all(|it| it.is_required && it.candidates.len() == 1);
                if is_certain {
                    let expected = known.has_room(call);
                    assert_eq!(answer.is_ok(), expected, "seed {seed}, round {round}: {call:?}");
                }
                match answer {
                    Ok(answer) => known.note(call, answer),
                    Err(Error::ClaimRefused(_)) => refused += 1,
                    Err(error) => panic!("{error:?}"),
                }
                granted += u32::from(answer.is_ok());
                exchanged += u32::from(answer.is_ok() && has_exchanged(&before, &known, call));
                assert_eq!(known.grown(&before.used()), [], "seed {seed}, round {round}: {call:?}");
            }
            for (key, used) in known.used() {
                assert_eq!(shown(&process, key), used, "seed {seed}, round {round}: {key:?}");
            }
            process.check();
        }
    }
    println!("{granted} granted, {refused} refused, {exchanged} exchanged");
    assert!(
        granted >= 50 && refused >= 50 && exchanged >= 15,
        "{granted} granted, {refused} refused, {exchanged} exchanged"
    );
}
