//! The meaning of an answer to a report: the line for the operator, and when the agent reports again.

use log::Level;

use super::client::{NoAnswer, PlacetAnswer};

/// The subjects of the lines.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The uuid or the name of the host.
    pub host: &'a str,
    /// The name of the report's file.
    pub file: &'a str,
}

/// When the agent reports again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// After the usual interval.
    Interval,
    /// After a pause that grows with each failure.
    Backoff,
}

#[derive(Debug, PartialEq, Eq)]
pub struct ReportVerdict {
    pub level: Level,
    pub line: String,
    pub next: Next,
    /// Whether placet has stored the whole report.
    pub is_stored: bool,
}

impl ReportVerdict {
    fn refused(line: String, next: Next) -> ReportVerdict {
        ReportVerdict {
            level: Level::Warn,
            line,
            next,
            is_stored: false,
        }
    }

    /// There is no provider of this uuid or name yet.
    pub fn no_host(subject: Subject) -> ReportVerdict {
        let Subject { host, file } = subject;
        ReportVerdict::refused(
            format!(
                "placet has no provider {host} yet. On a host of Nova, nova-compute makes the provider; the agent waits. \
                 With a different name of the provider, write its name or uuid into [agent] host. Without such a program, \
                 write the uuid into [agent] host, and the host among the providers of {file}"
            ),
            Next::Backoff,
        )
    }

    /// No process of placet has answered.
    pub fn unanswered(reason: &NoAnswer) -> ReportVerdict {
        let line = match reason {
            NoAnswer::Token(reason) => format!("The agent has no token: {reason}"),
            NoAnswer::Placet(reasons) => format!(
                "No placet answers: {reasons}. The agent goes on trying. If this stays, start placet, or correct [agent] \
                 urls and cafile"
            ),
        };
        ReportVerdict::refused(line, Next::Backoff)
    }

    /// The answer to a report.
    pub fn of_report(subject: Subject, answer: &PlacetAnswer) -> ReportVerdict {
        let Subject { host, file } = subject;
        let detail = answer.detail();
        let (line, next) = match (answer.status, answer.code()) {
            (200, _) => {
                return ReportVerdict {
                    level: Level::Info,
                    line: format!("placet has stored the report of host {host}"),
                    next: Next::Interval,
                    is_stored: true,
                };
            }
            (409, "placet.report_refused") => (
                format!("placet has refused parts of the report of host {host}: {detail} Correct {file}"),
                Next::Interval,
            ),
            (409, "placet.lease_held") => (
                format!("A second agent reports for host {host}. {detail} This agent goes on trying"),
                Next::Interval,
            ),
            (409, "placet.old_report") => (
                format!(
                    "{detail} If this stays, a second agent reports for host {host} from a copy of this machine: stop one \
                     of the agents"
                ),
                Next::Interval,
            ),
            (401, _) => (
                format!(
                    "placet does not accept the token of the agent. {detail} Write a valid token into [agent] token_file, \
                     or correct the credentials in [keystone_authtoken]"
                ),
                Next::Backoff,
            ),
            (403, _) => (
                format!(
                    "The token of the agent may not report for host {host}. {detail} Use a token of the user who reported \
                     first, made with `placet token create --host {host}`, or of a user with the role service"
                ),
                Next::Backoff,
            ),
            (404, _) => return ReportVerdict::no_host(subject),
            (status, _) => (
                format!("placet refuses the report of host {host} with {status}: {detail} Correct {file}"),
                Next::Backoff,
            ),
        };
        ReportVerdict::refused(line, next)
    }

    /// The answer to the question for the uuid of a name, unless there is a uuid.
    pub fn of_name(subject: Subject, answer: &PlacetAnswer) -> ReportVerdict {
        let Subject { host, .. } = subject;
        match answer.status {
            200 => ReportVerdict::no_host(subject),
            401 => ReportVerdict::of_report(subject, answer),
            403 => ReportVerdict::refused(
                format!(
                    "The token of the agent may not ask for the uuid of host {host}. {} Write the uuid into [agent] host; \
                     Nova has the uuid in /var/lib/nova/compute_id",
                    answer.detail()
                ),
                Next::Backoff,
            ),
            status => ReportVerdict::refused(
                format!(
                    "placet answers the question for the uuid of host {host} with {status}: {} Check [agent] urls",
                    answer.detail()
                ),
                Next::Backoff,
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SUBJECT: Subject = Subject {
        host: "h1",
        file: "agent.json",
    };

    fn answer(status: u16, code: &str) -> PlacetAnswer {
        PlacetAnswer {
            status,
            body: json!({"errors": [{"code": code, "detail": "The reason."}]}),
        }
    }

    #[test]
    fn a_stored_report_is_repeated_after_the_interval() {
        let body = json!({"lease_until": "2027-01-01T00:00:00Z", "due": {}});
        let verdict = ReportVerdict::of_report(SUBJECT, &PlacetAnswer { status: 200, body });
        assert!(verdict.is_stored);
        assert_eq!((verdict.level, verdict.next), (Level::Info, Next::Interval));
    }

    #[test]
    fn each_refusal_has_a_line_with_the_reason_and_an_advice() {
        for (status, code, advice, next) in [
            (400, "", "Correct agent.json", Next::Backoff),
            (401, "", "[agent] token_file", Next::Backoff),
            (403, "", "placet token create --host h1", Next::Backoff),
            (409, "placet.report_refused", "Correct agent.json", Next::Interval),
            (
                409,
                "placet.lease_held",
                "A second agent reports for host h1",
                Next::Interval,
            ),
            (409, "placet.old_report", "stop one of the agents", Next::Interval),
            (413, "", "413", Next::Backoff),
        ] {
            let verdict = ReportVerdict::of_report(SUBJECT, &answer(status, code));
            assert!(verdict.line.contains(advice), "{status} {code}: {}", verdict.line);
            assert!(
                verdict.line.contains("The reason."),
                "{status} {code}: {}",
                verdict.line
            );
            assert_eq!((verdict.next, verdict.level), (next, Level::Warn), "{status} {code}");
            assert!(!verdict.is_stored);
        }
    }

    #[test]
    fn a_host_that_no_program_has_made_is_waited_for() {
        let unknown = PlacetAnswer {
            status: 200,
            body: json!({"resource_providers": []}),
        };
        let expected = ReportVerdict::no_host(SUBJECT);
        assert!(expected.line.contains("nova-compute"));
        assert_eq!(expected.next, Next::Backoff);
        assert_eq!(ReportVerdict::of_report(SUBJECT, &answer(404, "")), expected);
        assert_eq!(ReportVerdict::of_name(SUBJECT, &unknown), expected);
    }

    #[test]
    fn a_token_that_may_not_ask_for_a_name_needs_the_uuid() {
        let verdict = ReportVerdict::of_name(SUBJECT, &answer(403, ""));
        assert!(
            verdict.line.contains("Write the uuid into [agent] host"),
            "{}",
            verdict.line
        );
    }
}
