//! Several processes on one database, at random and at once: whatever one of them acknowledged, every later answer of
//! any other shows, while writers die, changes are pruned, epochs change, others write, and the database goes back.
//!
//! Each thread has a host of its own, of which it knows what must be shown, and disturbs hosts that all share.
//! `PLACET_SEED` repeats a run, as far as threads can be repeated; `PLACET_STEPS` is how many steps there are (600; 3,000 in
//! the long run).

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::Duration;

use super::foreign::foreign_claim;
use super::replays::{Known, Rng, command};
use super::*;
use crate::db::Identity;
use crate::db::schema::{consumers, placet_writers};
use crate::error::Error;
use crate::model::allocations::Release;
use crate::model::inventories::Update;
use crate::search::ClassId;

const PROCESSES: usize = 3;
const THREADS: usize = 3;
const ROUNDS: usize = 4;
/// Hosts up to this one are everybody's.
const SHARED: u32 = 6;

/// The processes, of which one or another may be replaced at any time.
struct World {
    database: Database,
    processes: RwLock<Vec<Model>>,
    /// Steps that were taken.
    steps: AtomicUsize,
}

impl World {
    fn start(&self) -> Model {
        let settings = WriterSettings {
            queue_size: 1000,
            commit_timeout: Duration::from_secs(60),
            wal: crate::db::writer::WalLimits::default(),
        };
        Model::start(self.database.clone(), &settings, rules(), Serving::Shared)
            .unwrap()
            .0
    }

    fn any(&self, rng: &mut Rng) -> Model {
        let processes = self.processes.read().unwrap();
        processes[rng.below(processes.len() as u64) as usize].clone()
    }
}

/// A thread's own host, and what is to be shown of it.
struct Host {
    number: u32,
    used: BTreeMap<u32, i64>,
    total: i32,
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
            _ => self.disturb(&process, conn).await,
        }
        let other = world.any(&mut self.rng);
        self.check(&other).await;
    }

    /// Something on the hosts that all share; it may well be refused.
    async fn disturb(&mut self, process: &Model, conn: &mut DbConnection) {
        let snapshot = process.snapshot().await.unwrap();
        let hosts = snapshot
            .iter()
            .map(|slot| (snapshot.uuid(slot).to_string(), snapshot.generation(slot)));
        let found: Vec<(String, i32)> = consumers::table
            .select((consumers::uuid, consumers::generation))
            .load(conn)
            .unwrap();
        let known = Known {
            providers: hosts.collect::<HashMap<_, _>>(),
            consumers: found.into_iter().map(|(uuid, it)| (uuid, it.into())).collect(),
        };
        let answer = process.send(command(&mut self.rng, &known, Level::All)).await;
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
        assert_eq!(
            (shown, total),
            (self.used.values().sum(), self.total),
            "host {}",
            self.number
        );
    }

    /// What the tables hold, after they went back.
    fn look(&mut self, f: &mut Fixture) {
        self.total = f.number(&format!(
            "SELECT total AS n FROM inventories i JOIN resource_providers p ON p.id = i.resource_provider_id \
             WHERE p.uuid = '{}'",
            uuid(self.number)
        )) as i32;
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

/// What happens to all of them while they work.
fn happen(f: &mut Fixture, world: &World, rng: &mut Rng) {
    match rng.below(5) {
        0 => f.execute("DELETE FROM placet_changes"),
        1 => {
            // A writer that lives is taken for silent: it loses its identity, and the epoch changes.
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
                let guard = scopeguard(ended);
                run(async {
                    for _ in 0..steps {
                        host.step(world, &mut conn).await;
                        world.steps.fetch_add(1, Ordering::Relaxed);
                    }
                });
                drop(guard);
            });
        }
        // By steps, not by time, so that a slow machine is not disturbed more than a fast one.
        let mut next = 0;
        while *ended.lock().unwrap() < THREADS {
            let taken = world.steps.load(Ordering::Relaxed);
            if taken >= next {
                happen(f, world, rng);
                next = taken + 5 + rng.below(20) as usize;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    });
}

/// Counts a thread as ended, even one that failed.
fn scopeguard(ended: &Mutex<usize>) -> impl Drop + use<'_> {
    struct GuardOutcome<'a>(&'a Mutex<usize>);
    impl Drop for GuardOutcome<'_> {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    GuardOutcome(ended)
}

/// That every process shows what a cold load shows.
fn check_all(f: &mut Fixture, world: &World, compare: bool) {
    for process in world.processes.read().unwrap().iter() {
        if compare {
            process.compare(0, usize::MAX / 2).unwrap();
        }
        check_shown(&run(process.snapshot()).unwrap(), &mut f.conn);
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[test]
fn what_any_process_acknowledged_every_other_shows() {
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
            rng: Rng::new(seed + 1 + u64::from(n)),
        })
        .collect();
    for n in (1..=SHARED).chain(hosts.iter().map(|host| host.number)) {
        run(f.host(n, 1000)).unwrap();
    }
    for turn in 0..ROUNDS {
        let backup = f.backup_as(&format!("round_{turn}"));
        round(&mut f, &world, &mut hosts, steps, &mut rng);
        check_all(&mut f, &world, true);
        if turn % 2 == 0 {
            f.restore(&backup);
            check_all(&mut f, &world, false);
            hosts.iter_mut().for_each(|host| host.look(&mut f));
        }
    }
}
