//! Several processes on one database at the same time, with random commands. A write that a process acknowledged is in
//! every later answer of every process. During the run, writers die, changes are pruned, epochs change, foreign writers
//! write, and the database is restored.
//!
//! Each thread has a host of its own, and knows the expected state of this host. Each thread also sends commands about
//! hosts of all threads. `PLACET_SEED` repeats a run, as far as threads can be repeated. `PLACET_STEPS` is the number
//! of steps (600; 3,000 in the long run).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::Duration;

use super::descriptions::one as described;
use super::foreign::foreign_claim;
use super::replays::{Known, Rng, command};
use super::*;
use crate::db::Identity;
use crate::db::schema::placet_writers;
use crate::error::Error;
use crate::model::allocations::Release;
use crate::model::inventories::Update;
use crate::search::{ClassId, PropertyValue, ProviderState};

const PROCESSES: usize = 3;
const THREADS: usize = 3;
const ROUNDS: usize = 4;
/// Hosts up to this number belong to all threads.
const SHARED: u32 = 6;

/// The processes, each of which may be replaced at any time.
struct World {
    database: Database,
    processes: RwLock<Vec<Model>>,
    /// The number of steps so far.
    steps: AtomicUsize,
}

impl World {
    fn start(&self) -> Model {
        let settings = WriterSettings {
            queue_size: 1000,
            commit_timeout: Duration::from_secs(60),
            wal: crate::db::writer::WalLimits::default(),
            claim_memory: Duration::from_secs(3600),
            election_interval: crate::db::ELECTION_INTERVAL,
        };
        Model::start((self.database.clone(), None), &settings, rules(), None, pools())
            .unwrap()
            .0
    }

    fn any(&self, rng: &mut Rng) -> Model {
        let processes = self.processes.read().unwrap();
        processes[rng.below(processes.len() as u64) as usize].clone()
    }
}

/// A thread's own host, and the expected state of the host.
struct Host {
    number: u32,
    used: BTreeMap<u32, i64>,
    total: i32,
    /// The generation of the host's description, and the value of the property `Value`. 0 before the first description.
    described: i64,
    rng: Rng,
}

impl Host {
    async fn step(&mut self, world: &World, conn: &mut DbConnection) {
        let process = world.any(&mut self.rng);
        match self.rng.below(10) {
            0..4 => {
                let consumer = self.number * 100 + self.rng.below(5) as u32;
                let amount = 1 + self.rng.below(9) as i64;
                let claim = claim(consumer, self.number, "VCPU", amount, Expected::Any);
                process.submit(claim).await.unwrap();
                self.used.insert(consumer, amount);
            }
            4 => {
                if let Some((consumer, _)) = self.used.pop_first() {
                    let consumer = uuid(consumer);
                    process.submit(Release { consumer }).await.unwrap();
                }
            }
            5 => {
                let snapshot = world.any(&mut self.rng).snapshot().await.unwrap();
                let slot = snapshot.by_uuid(&uuid(self.number)).unwrap();
                self.total += 1;
                let update = Update {
                    provider: uuid(self.number),
                    class: "VCPU".into(),
                    generation: snapshot.generation(slot),
                    inventory: inventory(self.total),
                    reserved_may_equal_total: true,
                };
                process.submit(update).await.unwrap();
            }
            6 => {
                let generation = (self.described > 0).then_some(self.described);
                self.described += 1;
                let state = self.rng.of(&[ProviderState::Up, ProviderState::Draining]);
                let describe = described(self.number, generation, self.described, state);
                process.submit(describe).await.unwrap();
            }
            _ => self.write_shared_hosts(&process, conn).await,
        }
        let other = world.any(&mut self.rng);
        self.check(&other).await;
    }

    /// Sends a random command about the shared hosts, which may be refused.
    async fn write_shared_hosts(&mut self, process: &Model, conn: &mut DbConnection) {
        let known = Known::read(conn).unwrap();
        let answer = process
            .send(
                &caller(),
                command(&mut self.rng, &known, Level::All),
                process.writer_deadline(),
            )
            .await;
        assert!(
            !matches!(answer, Err(Error::Internal { .. } | Error::UnknownOutcome { .. })),
            "{answer:?}"
        );
    }

    async fn check(&self, process: &Model) {
        let snapshot = process.snapshot().await.unwrap();
        let slot = snapshot.by_uuid(&uuid(self.number)).unwrap();
        let shown = snapshot.used(slot, ClassId(0));
        let total = snapshot.inventory(slot, ClassId(0)).unwrap().total;
        let value = snapshot.property(slot, "Value");
        let described = (self.described > 0).then_some(PropertyValue::Integer(self.described));
        assert_eq!(
            (shown, total, value),
            (self.used.values().sum(), self.total, described),
            "host {}",
            self.number
        );
    }

    /// Reads the expected state from the tables after a restore.
    fn read_expected(&mut self, f: &mut Fixture) {
        self.total = f.number(&format!(
            "SELECT total AS n FROM inventories i JOIN resource_providers p ON p.id = i.resource_provider_id \
             WHERE p.uuid = '{}'",
            uuid(self.number)
        )) as i32;
        self.described = f.number(&format!(
            "SELECT COALESCE(SUM(generation), 0) AS n FROM placet_descriptions WHERE uuid = '{}'",
            uuid(self.number)
        ));
        let held = f.texts(&format!(
            "SELECT a.consumer_id || ' ' || a.used AS t FROM allocations a JOIN resource_providers p ON \
             p.id = a.resource_provider_id WHERE p.uuid = '{}'",
            uuid(self.number)
        ));
        let pair = |text: &String| {
            let (consumer, used) = text.split_once(' ').unwrap();
            (consumer[24..].parse().unwrap(), used.parse().unwrap())
        };
        self.used = held.iter().map(pair).collect();
    }
}

/// A random event for all processes.
fn disturb(f: &mut Fixture, world: &World, rng: &mut Rng) {
    match rng.below(5) {
        0 => f.execute("DELETE FROM placet_changes"),
        1 => {
            // A live writer is pruned like a silent writer: the writer loses its identity, and the epoch changes.
            let writers: Vec<String> = placet_writers::table
                .select(placet_writers::id)
                .load(&mut f.conn)
                .unwrap();
            let one = &writers[rng.below(writers.len() as u64) as usize];
            f.execute(&format!(
                "UPDATE placet_writers SET seen_at = '2001-01-01 00:00:00' WHERE id = '{one}'"
            ));
            Identity::register(&mut f.conn).map(|_| 1).unwrap()
        }
        2 => {
            let (at, born) = (rng.below(PROCESSES as u64) as usize, world.start());
            world.processes.write().unwrap()[at] = born;
            1
        }
        _ => {
            let (consumer, provider) = (900 + rng.below(1_000_000) as u32, 1 + rng.below(SHARED.into()) as u32);
            dialect::begin_write(&mut f.conn).unwrap();
            foreign_claim(f, consumer, provider, 1);
            dialect::commit(&mut f.conn).unwrap();
            1
        }
    };
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.unwrap().block_on(future)
}

fn round(f: &mut Fixture, world: &World, hosts: &mut [Host], steps: usize, rng: &mut Rng) {
    let ended = Mutex::new(0);
    std::thread::scope(|scope| {
        for host in hosts.iter_mut() {
            let ended = &ended;
            scope.spawn(move || {
                let mut conn = world.database.connect().unwrap();
                let guard = count_when_dropped(ended);
                run(async {
                    for _ in 0..steps {
                        host.step(world, &mut conn).await;
                        world.steps.fetch_add(1, Ordering::Relaxed);
                    }
                });
                drop(guard);
            });
        }
        // By steps, not by time: a slow machine has no more events per step than a fast machine.
        let mut next = 0;
        while *ended.lock().unwrap() < THREADS {
            let taken = world.steps.load(Ordering::Relaxed);
            if taken >= next {
                disturb(f, world, rng);
                next = taken + 5 + rng.below(20) as usize;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    });
}

/// Counts a thread as ended when the returned guard is dropped, also by a panic.
fn count_when_dropped(ended: &Mutex<usize>) -> impl Drop + use<'_> {
    struct CountOnDrop<'a>(&'a Mutex<usize>);
    impl Drop for CountOnDrop<'_> {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    CountOnDrop(ended)
}

/// Asserts that every process shows the tables.
fn check_all(f: &mut Fixture, world: &World, compare: bool) {
    for process in world.processes.read().unwrap().iter() {
        if compare {
            comparisons::compare(process, 0, usize::MAX / 2).unwrap();
        }
        assert_shows_tables(&run(process.snapshot()).unwrap(), &mut f.conn);
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[test]
fn a_write_that_one_process_acknowledged_is_shown_by_every_other() {
    let seed = number("PLACET_SEED", u64::from(std::process::id()));
    let steps = number("PLACET_STEPS", 600) as usize / ROUNDS / THREADS;
    println!("PLACET_SEED={seed}");
    let mut rng = Rng::new(seed);
    let mut f = fixture();
    let world = World {
        database: f.kept.open(),
        processes: RwLock::default(),
        steps: AtomicUsize::new(0),
    };
    *world.processes.write().unwrap() = (0..PROCESSES).map(|_| world.start()).collect();
    let mut hosts: Vec<Host> = (0..THREADS as u32)
        .map(|n| Host {
            number: 1000 + n,
            used: BTreeMap::new(),
            total: 1000,
            described: 0,
            rng: Rng::new(seed + 1 + u64::from(n)),
        })
        .collect();
    for n in (1..=SHARED).chain(hosts.iter().map(|host| host.number)) {
        run(f.host(n, 1000)).unwrap();
    }
    for number in 0..ROUNDS {
        let backup = f.backup_as(&format!("round_{number}"));
        round(&mut f, &world, &mut hosts, steps, &mut rng);
        check_all(&mut f, &world, true);
        if number % 2 == 0 {
            f.restore(&backup);
            check_all(&mut f, &world, false);
            hosts.iter_mut().for_each(|host| host.read_expected(&mut f));
        }
    }
}
