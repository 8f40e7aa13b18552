//! `placet agent`: reports for a host, and so renews the host's lease.
//!
//! The agent keeps nothing but the operator's file in memory. After a restart of the agent, the number of the next
//! report is greater, and after a restart of placet, the next report is as good as the last. The agent logs what a
//! report has met when that changes, and says the same to systemd.

mod client;
mod numbering;
mod report_file;
mod verdict;

use std::io;
use std::time::{Duration, Instant};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use serde_json::Value;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{sleep, timeout};

pub use client::{AgentCredentials, PlacetClient};
pub use numbering::Numbering;
use report_file::LeaseMembers;
pub use report_file::ReportFile;
use verdict::{Next, ReportVerdict, Subject};

use crate::backoff::Backoff;
use crate::systemd;
use crate::wire::uuid::canonical;

/// How often the agent looks for a change of the file.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// After the first failure. Each further failure doubles the pause, up to the interval.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const NOT_FOUND: u16 = 404;

/// What the agent reports for, and how often.
pub struct AgentSettings {
    /// The uuid or the name of the provider.
    pub host: String,
    pub holder: String,
    /// In seconds.
    pub lease: u64,
    pub interval: Duration,
}

/// The agent of a host.
pub struct Agent {
    settings: AgentSettings,
    file: ReportFile,
    client: PlacetClient,
    numbering: Numbering,
    /// The uuid of the host, when it is known.
    uuid: Option<String>,
    backoff: Backoff,
    /// The last line of the log about a report.
    logged: String,
}

impl Agent {
    pub fn new(settings: AgentSettings, file: ReportFile, client: PlacetClient, numbering: Numbering) -> Agent {
        Agent {
            uuid: canonical(&settings.host),
            backoff: Backoff::new(FIRST_PAUSE, settings.interval),
            logged: String::new(),
            settings,
            file,
            client,
            numbering,
        }
    }

    /// The body of the next report.
    pub fn body(&mut self) -> Value {
        let number = self.numbering.next_number();
        self.file.body(&LeaseMembers {
            holder: &self.settings.holder,
            boot: &self.numbering.boot,
            number,
            lease: self.settings.lease,
        })
    }

    /// Reports until a signal to stop. `on_hangup` is called after SIGHUP.
    ///
    /// # Errors
    /// The process gets no event loop or no signals.
    pub fn run(mut self, on_hangup: impl Fn()) -> io::Result<()> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let ended = runtime.block_on(async {
            let mut hangup = signal(SignalKind::hangup())?;
            let mut terminate = signal(SignalKind::terminate())?;
            let mut interrupt = signal(SignalKind::interrupt())?;
            let mut quit = signal(SignalKind::quit())?;
            if let Some(pause) = systemd::watchdog_pause() {
                tokio::spawn(notify_watchdog(pause));
            }
            systemd::ready("the first report is sent");
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                _ = quit.recv() => {}
                () = self.report_forever(&mut hangup, on_hangup) => {}
            }
            systemd::stopping("stopped by a signal");
            log::info!(
                "stopped; the lease of host {} goes on until its end",
                self.settings.host
            );
            Ok(())
        });
        // A look-up of a name that hangs does not delay the stop.
        runtime.shutdown_background();
        ended
    }

    /// Sends one report. Returns whether placet has stored the whole report.
    ///
    /// # Errors
    /// The process gets no event loop.
    pub fn run_once(mut self) -> io::Result<bool> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let verdict = runtime.block_on(self.report());
        self.log(&verdict);
        Ok(verdict.is_stored)
    }

    async fn report_forever(&mut self, hangup: &mut Signal, on_hangup: impl Fn()) {
        loop {
            let verdict = self.report().await;
            self.log(&verdict);
            let pause = match verdict.next {
                Next::Interval => {
                    self.backoff = Backoff::new(FIRST_PAUSE, self.settings.interval);
                    self.settings.interval
                }
                Next::Backoff => self.backoff.next_pause(),
            };
            self.wait(pause, hangup, &on_hangup).await;
        }
    }

    /// Sends one report.
    async fn report(&mut self) -> ReportVerdict {
        let uuid = match self.host_uuid().await {
            Ok(uuid) => uuid,
            Err(verdict) => return verdict,
        };
        let body = self.body();
        let path = format!("/v1/hosts/{uuid}/report");
        let answer = match self.client.send(&Method::PUT, &path, Some(&body)).await {
            Ok(answer) => answer,
            Err(reason) => return ReportVerdict::unanswered(&reason),
        };
        if answer.status == NOT_FOUND {
            // A host that was deleted comes back with a new uuid for its old name.
            self.uuid = canonical(&self.settings.host);
        }
        ReportVerdict::of_report(self.subject(), &answer)
    }

    fn subject(&self) -> Subject<'_> {
        Subject {
            host: &self.settings.host,
            file: self.file.name(),
        }
    }

    /// The uuid of the host, from placet if the settings have a name.
    async fn host_uuid(&mut self) -> Result<String, ReportVerdict> {
        if let Some(uuid) = &self.uuid {
            return Ok(uuid.clone());
        }
        let name = utf8_percent_encode(&self.settings.host, NON_ALPHANUMERIC);
        let path = format!("/resource_providers?name={name}");
        let asked = self.client.send(&Method::GET, &path, None).await;
        let answer = asked.map_err(|reason| ReportVerdict::unanswered(&reason))?;
        let uuid = answer.body["resource_providers"][0]["uuid"].as_str();
        self.uuid = uuid.map(str::to_owned);
        self.uuid
            .clone()
            .ok_or_else(|| ReportVerdict::of_name(self.subject(), &answer))
    }

    /// Waits for the next report: for the pause, for a change of the file, or for SIGHUP.
    async fn wait(&mut self, pause: Duration, hangup: &mut Signal, on_hangup: &impl Fn()) {
        let end = Instant::now() + pause;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.file.refresh() {
                return;
            }
            if timeout(left.min(LOOK_INTERVAL), hangup.recv()).await.is_ok() {
                on_hangup();
                self.client.reload();
                self.file.reload();
                return;
            }
        }
    }

    /// Logs what a report has met, unless the last report has met the same.
    fn log(&mut self, verdict: &ReportVerdict) {
        if self.logged != verdict.line {
            log::log!(verdict.level, "{}", verdict.line);
            systemd::status(&verdict.line);
            self.logged.clone_from(&verdict.line);
        }
    }
}

/// Notifies the watchdog while the event loop runs. An absent placet is no reason for a restart of the agent.
async fn notify_watchdog(pause: Duration) {
    loop {
        systemd::alive();
        sleep(pause).await;
    }
}
