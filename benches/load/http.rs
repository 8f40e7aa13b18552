//! Many clients, each with a connection of its own, for some seconds; all of them on this one thread.

use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use tokio::task::LocalSet;

use crate::clients::Clients;
use crate::cloud::{Cloud, Dice};
use crate::tally::Tally;
use crate::wire::Connection;
use crate::{claim, report, scheduler};

#[derive(Args)]
pub struct Arguments {
    /// Where services listen on loopback; clients take turns among several
    #[arg(long, value_delimiter = ',')]
    port: Vec<u16>,
    #[arg(long)]
    scenario: Scenario,
    /// What is asked for; {host} is a random host
    #[arg(long, default_value = "/")]
    path: String,
    #[command(flatten)]
    all: Clients,
}

#[derive(Clone, Copy, ValueEnum)]
enum Scenario {
    Get,
    Claims,
    ClaimsOnePool,
    Scheduler,
    Report,
}

pub fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let cloud = Rc::new(Cloud::read(&arguments.all.cloud)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let start = Instant::now();
    let tally = LocalSet::new().block_on(&runtime, async {
        let clients: Vec<_> = (0..arguments.all.clients)
            .map(|number| {
                let client = Client::new(arguments, number, cloud.clone());
                let until = start + Duration::from_secs_f64(arguments.all.seconds);
                tokio::task::spawn_local(client.run(until))
            })
            .collect();
        let mut all = Tally::default();
        for client in clients {
            all.add(client.await?);
        }
        Ok::<Tally, tokio::task::JoinError>(all)
    })?;
    tally.print(start.elapsed());
    Ok(())
}

struct Client {
    wire: Connection,
    dice: Dice,
    cloud: Rc<Cloud>,
    scenario: Scenario,
    path: String,
    /// Its place among all: no two report for the same host.
    number: usize,
    of: usize,
}

impl Client {
    fn new(arguments: &Arguments, number: usize, cloud: Rc<Cloud>) -> Self {
        Client {
            wire: Connection::new(arguments.port[number % arguments.port.len()]),
            dice: Dice::new(number),
            cloud,
            scenario: arguments.scenario,
            path: arguments.path.clone(),
            number,
            of: arguments.all.clients,
        }
    }

    async fn run(mut self, until: Instant) -> Tally {
        let mut tally = Tally::default();
        while Instant::now() < until {
            if let Err(error) = self.once(&mut tally).await {
                tally.note(&format!("broken: {error}"));
                // A server that is gone is not asked a million times.
                self.wire = Connection::new(self.wire.port());
                tokio::task::yield_now().await;
            }
        }
        tally.connects = self.wire.connects;
        tally
    }

    async fn once(&mut self, tally: &mut Tally) -> std::io::Result<()> {
        let (wire, dice, cloud) = (&mut self.wire, &mut self.dice, &*self.cloud);
        match self.scenario {
            Scenario::Get => {
                let path = self.path.replace("{host}", &dice.pick(&cloud.hosts).root.uuid);
                let since = Instant::now();
                let answer = wire.get(&path, false).await?;
                tally.answer(&answer);
                if answer.is_good() {
                    tally.done(since);
                }
                Ok(())
            }
            Scenario::Claims => claim::claim(wire, cloud, dice, false, tally).await,
            Scenario::ClaimsOnePool => claim::claim(wire, cloud, dice, true, tally).await,
            Scenario::Scheduler => scheduler::schedule(wire, &self.path, dice, tally).await,
            Scenario::Report => {
                let host = cloud.host_of(dice, self.number, self.of);
                report::report(wire, &host.root.uuid, &host.compute[0].uuid, tally).await
            }
        }
    }
}
