//! `load http`: many HTTP clients, each with a connection of its own, send requests for some seconds.
//!
//! All clients are tasks of this one thread.

mod claim;
mod connection;
mod one_call;
mod report;
mod scheduler;
mod workload;

use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use tokio::task::LocalSet;

use crate::client_options::ClientOptions;
use crate::cloud::Cloud;
use crate::random::Random;
use crate::statistics::Statistics;
use connection::Connection;
pub use connection::Response;

#[derive(Args)]
pub struct Arguments {
    /// Ports of the services on loopback; clients are distributed evenly over them
    #[arg(long, value_delimiter = ',')]
    port: Vec<u16>,
    #[arg(long)]
    scenario: Scenario,
    /// The path of a GET; {host} is replaced by the uuid of a random host
    #[arg(long, default_value = "/")]
    path: String,
    /// The share of `claims` that are for the cloud's full host, which refuses them: 0 to 1
    #[arg(long, default_value_t = 0.0)]
    refused: f64,
    #[command(flatten)]
    one_call: one_call::Options,
    #[command(flatten)]
    workload: workload::Options,
    #[command(flatten)]
    options: ClientOptions,
}

#[derive(Clone, Copy, ValueEnum)]
enum Scenario {
    Get,
    Claims,
    ClaimsOnePool,
    ClaimsTogether,
    OneCall,
    Scheduler,
    Report,
    Workloads,
}

pub fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let cloud = Rc::new(Cloud::read(&arguments.options.cloud)?);
    if arguments.refused > 0.0 {
        cloud.full_host()?; // otherwise each refused claim would fail
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let start = Instant::now();
    let statistics = LocalSet::new().block_on(&runtime, async {
        let clients: Vec<_> = (0..arguments.options.clients)
            .map(|number| {
                let client = Client::new(arguments, number, cloud.clone());
                let until = start + Duration::from_secs_f64(arguments.options.seconds);
                tokio::task::spawn_local(client.run(until))
            })
            .collect();
        let mut sum = Statistics::default();
        for client in clients {
            sum.merge(client.await?);
        }
        Ok::<Statistics, tokio::task::JoinError>(sum)
    })?;
    statistics.print_json(start.elapsed());
    Ok(())
}

struct Client {
    connection: Connection,
    random: Random,
    cloud: Rc<Cloud>,
    scenario: Scenario,
    path: String,
    refused: f64,
    one_call: one_call::Options,
    workload: workload::Options,
    /// Its number among `clients`. Two clients never report for the same host.
    number: usize,
    clients: usize,
}

impl Client {
    fn new(arguments: &Arguments, number: usize, cloud: Rc<Cloud>) -> Self {
        Client {
            connection: Connection::new(arguments.port[number % arguments.port.len()]),
            random: Random::new(number),
            cloud,
            scenario: arguments.scenario,
            path: arguments.path.clone(),
            refused: arguments.refused,
            one_call: arguments.one_call.clone(),
            workload: arguments.workload.clone(),
            number,
            clients: arguments.options.clients,
        }
    }

    async fn run(mut self, until: Instant) -> Statistics {
        let mut statistics = Statistics::default();
        while Instant::now() < until {
            if let Err(error) = self.run_once(&mut statistics).await {
                statistics.count_outcome(&format!("broken: {error}"));
                // Yields, so that a client of a dead server does not starve the others by retrying.
                self.connection = Connection::new(self.connection.port());
                tokio::task::yield_now().await;
            }
        }
        statistics.connects = self.connection.connects;
        statistics
    }

    async fn run_once(&mut self, statistics: &mut Statistics) -> std::io::Result<()> {
        let (connection, random, cloud) = (&mut self.connection, &mut self.random, &*self.cloud);
        match self.scenario {
            Scenario::Get => {
                let path = self.path.replace("{host}", &random.pick(&cloud.hosts).root.uuid);
                let start = Instant::now();
                let response = connection.get(&path, false).await?;
                statistics.record_response(&response);
                if response.is_success() {
                    statistics.record_completed(start);
                }
                Ok(())
            }
            Scenario::Claims if random.is_chosen(self.refused) => {
                let full = cloud.full_host()?;
                claim::claim(connection, (&full.compute[0], &full.disk), random, statistics).await
            }
            Scenario::Claims | Scenario::ClaimsOnePool => {
                let one_pool = matches!(self.scenario, Scenario::ClaimsOnePool);
                let target = cloud.claim_target(random, one_pool);
                claim::claim(connection, target, random, statistics).await
            }
            Scenario::ClaimsTogether => claim::claim_together(connection, cloud, random, statistics).await,
            Scenario::OneCall => one_call::place(connection, cloud, &self.one_call, random, statistics).await,
            Scenario::Scheduler => scheduler::schedule(connection, &self.path, random, statistics).await,
            Scenario::Workloads => workload::create(connection, &self.workload, random, statistics).await,
            Scenario::Report => {
                let host = cloud.host_of(random, self.number, self.clients);
                report::report(connection, &host.root.uuid, &host.compute[0].uuid, statistics).await
            }
        }
    }
}
