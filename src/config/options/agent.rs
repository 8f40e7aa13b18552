//! `[agent]`: the options of `placet agent`.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::error::{ConfigError, Result};

/// An agent reports at least this many times in the term of a lease.
const REPORTS_IN_A_TERM: u64 = 3;
/// The beginnings of URLs that do not leave the machine.
const LOOPBACK: [&str; 3] = ["http://127.", "http://localhost", "http://[::1]"];

options! {
    /// `[agent]`: the options of `placet agent`, which reports for a host. The service does not use these options.
    Agent in "agent" {
        /// The URLs of placet, such as `https://placement.example.org:8778`. If a process does not answer, the agent
        /// asks the next process.
        urls: Vec<String> = "http://127.0.0.1:8778";
        /// The uuid or the name of the host's provider. The default is the name of the machine.
        host: Option<String>;
        /// The file with the report, as JSON: the body of `PUT /v1/hosts/{uuid}/report` without `holder`, `boot`,
        /// `number` and `lease`. The file is read again after a change.
        report_file: PathBuf = "/etc/placet/agent.json";
        /// The file with the token of the agent, as `placet token create` prints the token. The file is read for each
        /// report. Without a file the agent gets a token from Keystone, with the login in `[keystone_authtoken]`.
        token_file: Option<PathBuf>;
        /// How long the host counts as alive after a report.
        lease: u64 = 60, 5..=86_400 seconds;
        /// The time between two reports, at most a third of `lease`. 0 means a third of `lease`.
        interval: u64 = 0, 0..=28_800 seconds;
        /// The authorities for placet's certificate, as a PEM file, instead of the system's.
        cafile: Option<PathBuf>;
        /// A client certificate for placet, as a PEM file, with or without its key.
        certfile: Option<PathBuf>;
        /// The key of the client certificate, as a PEM file.
        keyfile: Option<PathBuf>;
    }
}

impl Agent {
    /// The time between two reports.
    ///
    /// # Errors
    /// The interval is too long for the lease.
    pub fn pause(&self) -> Result<Duration> {
        let Agent { interval, lease, .. } = self;
        if interval * REPORTS_IN_A_TERM > *lease {
            return Err(ConfigError::Agent {
                reason: format!(
                    "interval = {interval} must be at most a third of lease = {lease}: a host counts as silent when less \
                     than half of its lease is left"
                ),
            });
        }
        Ok(match interval {
            0 => Duration::from_secs(*lease) / 3,
            interval => Duration::from_secs(*interval),
        })
    }

    /// A warning if tokens leave the machine without TLS.
    pub fn clear_text_warning(&self) -> Option<String> {
        let is_local = |url: &str| LOOPBACK.iter().any(|local| url.starts_with(local));
        let url = self
            .urls
            .iter()
            .find(|url| url.starts_with("http://") && !is_local(url))?;
        Some(format!(
            "[agent] urls: the token is sent in clear text to {url}, and every machine between the agent and placet can \
             read and use the token; use https"
        ))
    }

    /// The URLs without a slash at the end.
    ///
    /// # Errors
    /// There is no URL, or a text that is no URL.
    pub fn urls(&self) -> Result<Vec<String>> {
        let wrong = self
            .urls
            .iter()
            .find(|url| !url.starts_with("http://") && !url.starts_with("https://"));
        match wrong {
            Some(url) => Err(ConfigError::Agent {
                reason: format!("urls: {url} must begin with http:// or https://"),
            }),
            None if self.urls.is_empty() => Err(ConfigError::Agent {
                reason: "urls is empty: give the URL of placet".to_owned(),
            }),
            None => Ok(self
                .urls
                .iter()
                .map(|url| url.trim_end_matches('/').to_owned())
                .collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::options;
    use super::*;

    #[test]
    fn the_interval_is_a_third_of_the_lease_and_may_be_shorter() {
        let pause = |text: &str| options(&format!("[agent]\n{text}")).agent.pause();
        assert_eq!(pause("").unwrap(), Duration::from_secs(20));
        assert_eq!(pause("lease = 5").unwrap(), Duration::from_secs(5) / 3);
        assert_eq!(pause("lease = 30\ninterval = 10").unwrap(), Duration::from_secs(10));
        let refused = pause("lease = 30\ninterval = 11").unwrap_err().to_string();
        assert!(
            refused.contains("[agent] interval = 11 must be at most a third of lease = 30"),
            "{refused}"
        );
    }

    #[test]
    fn a_token_in_clear_text_to_a_different_machine_is_warned_of() {
        let warned = |urls: &str| options(&format!("[agent]\nurls = {urls}")).agent.clear_text_warning();
        assert_eq!(warned("http://127.0.0.1:8778, https://placement.example.org"), None);
        let warning = warned("https://a, http://placement.example.org:8778").unwrap_or_default();
        assert!(
            warning.contains("clear text to http://placement.example.org:8778"),
            "{warning}"
        );
    }

    #[test]
    fn a_url_names_its_scheme_and_ends_without_a_slash() {
        let urls = |text: &str| options(&format!("[agent]\nurls = {text}")).agent.urls();
        assert_eq!(urls("http://a:1/, https://b/p").unwrap(), ["http://a:1", "https://b/p"]);
        for (text, reason) in [("a:8778", "a:8778 must begin with http"), (",", "urls is empty")] {
            let refused = urls(text).unwrap_err().to_string();
            assert!(refused.contains(reason), "{text}: {refused}");
        }
    }
}
