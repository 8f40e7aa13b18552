//! `placet agent`: the agent of a host, from the configuration.

use std::fs;
use std::path::Path;
use std::time::Duration;

use clap::Args;

use super::file_watch::DiskFiles;
use super::{CommandError, keystone, logging, option_file, panics, reload, stdout};
use crate::agent::{Agent, AgentCredentials, AgentSettings, Numbering, PlacetClient, ReportFile};
use crate::auth::keystone::OwnLogin;
use crate::config::{self, ConfigError, ConfigSources, Options};
use crate::cut::cut;
use crate::http_client::ConnectionSettings;

/// How long placet may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);
const HOSTNAME: &str = "/proc/sys/kernel/hostname";
/// The longest name of an agent in a report.
const MAX_HOLDER_BYTES: usize = 255;

#[derive(Debug, Args)]
pub struct AgentCommand {
    /// Check the configuration and the file, and print the report. Nothing is sent.
    #[arg(long)]
    dry_run: bool,
    /// Send one report, and end. The exit code is 0 if placet has stored the whole report.
    #[arg(long, conflicts_with = "dry_run")]
    once: bool,
}

impl AgentCommand {
    /// # Errors
    /// Why the agent does not start, or ends.
    pub fn run(&self, sources: &ConfigSources) -> Result<u8, CommandError> {
        let configuration = config::load(sources)?;
        let options = &configuration.options;
        if self.dry_run {
            let report = agent(options)?.body();
            stdout::print(&format!("{report:#}\n"))?;
            return Ok(0);
        }
        if self.once {
            let _log = logging::start_to_stderr(options)?;
            let is_stored = agent(options)?
                .run_once()
                .map_err(|error| CommandError::Agent(error.to_string()))?;
            return Ok(u8::from(!is_stored));
        }
        let (log, _flush) = logging::start(&options.default, options.placet.log_format)?;
        panics::count_and_log();
        for warning in configuration.warnings_by_section().into_iter().chain(warnings(options)) {
            log::warn!("{warning}");
        }
        log::info!(
            "placet {}: the agent of host {}",
            env!("CARGO_PKG_VERSION"),
            host(options)?
        );
        let agent = agent(options).inspect_err(|failure| {
            // stderr has the line, too.
            if options.default.log_path().is_some() {
                log::error!("{failure}");
            }
        })?;
        agent
            .run(|| reload::run(sources, &log))
            .map_err(|error| CommandError::Agent(error.to_string()))?;
        Ok(0)
    }
}

/// The agent, which has sent nothing yet.
fn agent(options: &Options) -> Result<Agent, CommandError> {
    let own = &options.agent;
    let settings = AgentSettings {
        host: host(options)?,
        holder: holder(&hostname()?, &own.report_file),
        lease: own.lease,
        interval: own.pause()?,
    };
    let connection = ConnectionSettings {
        timeout: TIMEOUT,
        cafile: own.cafile.clone(),
        insecure: false,
        certfile: own.certfile.clone(),
        keyfile: own.keyfile.clone(),
    };
    let client = PlacetClient::new(own.urls()?, connection, credentials(options)?)
        .map_err(|error| CommandError::Agent(error.to_string()))?;
    let numbering = Numbering::start().map_err(CommandError::Agent)?;
    let file = report_file(&own.report_file).map_err(CommandError::Agent)?;
    Ok(Agent::new(settings, file, client, numbering))
}

/// Sentences about risky settings.
fn warnings(options: &Options) -> Vec<String> {
    let options = &options.agent;
    let token_file = options.token_file.as_deref();
    let public = token_file.and_then(|path| option_file::warning_if_public("agent", "token_file", path));
    public.into_iter().chain(options.clear_text_warning()).collect()
}

fn host(options: &Options) -> Result<String, CommandError> {
    match options.agent.host.clone() {
        Some(host) => Ok(host),
        None => hostname(),
    }
}

fn hostname() -> Result<String, CommandError> {
    let read = fs::read_to_string(HOSTNAME);
    let name =
        read.map_err(|error| CommandError::Agent(format!("cannot read the name of the machine {HOSTNAME}: {error}")))?;
    Ok(name.trim().to_owned())
}

/// The name of the agent, which is the same after a restart. Two agents of a host with different files would delete the
/// providers of each other, so the name has the path of the file: the lease keeps the second agent out.
fn holder(hostname: &str, file: &Path) -> String {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    cut(
        &format!("placet agent on {hostname} with {}", file.display()),
        MAX_HOLDER_BYTES,
    )
    .to_owned()
}

fn report_file(path: &Path) -> Result<ReportFile, String> {
    let (watched, path) = (path.to_owned(), path.to_owned());
    let name = path.display().to_string();
    let read = move || {
        let content = option_file::read("agent", "report_file", &path)?.1;
        String::from_utf8(content).map_err(|_| "the file is not UTF-8.".to_owned())
    };
    ReportFile::open(name, Box::new(DiskFiles::new(move || vec![watched.clone()], read)))
}

/// The token of the file, or else the login at Keystone.
fn credentials(options: &Options) -> Result<AgentCredentials, CommandError> {
    if let Some(path) = options.agent.token_file.clone() {
        let read =
            move || option_file::read_token("agent", "token_file", &path, "`placet token create` prints the token");
        read().map_err(CommandError::Agent)?;
        return Ok(AgentCredentials::File(Box::new(read)));
    }
    if options.keystone_authtoken.auth_url.is_none() {
        let reason = "token_file is not set: name a file with the token of the agent, or fill [keystone_authtoken]";
        let reason = reason.to_owned();
        return Err(ConfigError::Agent { reason }.into());
    }
    let settings = keystone::settings(options).map_err(|error| match error {
        // The advice of the error is for the service.
        CommandError::Config(ConfigError::Keystone { reason }) => {
            CommandError::Agent(format!("[keystone_authtoken] {reason}; or set [agent] token_file"))
        }
        error => error,
    })?;
    Ok(AgentCredentials::Keystone(Box::new(OwnLogin::new(&settings)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(agent: &str, keystone: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.conf");
        fs::write(&path, format!("[agent]\n{agent}\n[keystone_authtoken]\n{keystone}\n")).unwrap();
        let sources = ConfigSources {
            files: vec![path],
            ..ConfigSources::default()
        };
        let options = config::load(&sources).unwrap().options;
        agent_refusal(&options)
    }

    fn agent_refusal(options: &Options) -> String {
        super::agent(options)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn the_name_of_an_agent_stays_after_a_restart_and_has_the_file() {
        let name = |file: &str| holder("h1", Path::new(file));
        assert_eq!(
            name("/etc/placet/agent.json"),
            "placet agent on h1 with /etc/placet/agent.json"
        );
        assert_ne!(name("/etc/placet/agent.json"), name("/etc/placet/other.json"));
        assert_eq!(name(&format!("/{}", "x".repeat(300))).len(), MAX_HOLDER_BYTES);
    }

    #[test]
    fn an_agent_without_a_token_or_with_half_a_login_is_refused() {
        for (keystone, reason) in [
            ("", "[agent] token_file is not set"),
            ("auth_url = http://k:5000", "[keystone_authtoken] auth_type is not set"),
        ] {
            let refused = refusal("", keystone);
            assert!(refused.contains(reason), "{keystone}: {refused}");
        }
    }

    #[test]
    fn a_file_that_is_missing_or_wrong_is_named_with_the_member() {
        let folder = tempfile::tempdir().unwrap();
        let (token, report) = (folder.path().join("token"), folder.path().join("agent.json"));
        let options = format!("token_file = {}\nreport_file = {}", token.display(), report.display());
        assert!(refusal(&options, "").contains("[agent] token_file = "));
        fs::write(&token, "\n").unwrap();
        assert!(refusal(&options, "").contains("is empty"));
        fs::write(&token, "secret\n").unwrap();
        assert!(refusal(&options, "").contains("[agent] report_file = "));
        fs::write(&report, r#"{"providers": [{"uuid": "x"}]}"#).unwrap();
        let refused = refusal(&options, "");
        assert!(
            refused.contains("agent.json: ") && refused.contains("providers[0]"),
            "{refused}"
        );
        fs::write(&report, "{}").unwrap();
        assert_eq!(refusal(&options, ""), "");
    }
}
