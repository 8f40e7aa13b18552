//! The operator's file: the body of a report, without the members that the agent writes.

use serde_json::{Map, Value};

use crate::live_value::Files;
use crate::wire::hosts::check_report;

/// The members of a report that the agent writes.
#[derive(Debug)]
pub struct LeaseMembers<'a> {
    pub holder: &'a str,
    pub boot: &'a str,
    pub number: i64,
    /// In seconds.
    pub lease: u64,
}

const OF_THE_AGENT: [&str; 4] = ["holder", "boot", "number", "lease"];

/// The file, as it was when it could be used last.
pub struct ReportFile {
    /// For messages.
    name: String,
    file: Box<dyn Files<String>>,
    members: Map<String, Value>,
}

impl ReportFile {
    /// Reads the file for the first time.
    ///
    /// # Errors
    /// The file cannot be used, as a sentence with the path of the wrong member.
    pub fn open(name: String, file: Box<dyn Files<String>>) -> Result<ReportFile, String> {
        let members = parse(&file.read()?).map_err(|reason| format!("{name}: {reason}"))?;
        Ok(ReportFile { name, file, members })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the file again if the file has changed. Returns whether there is a new report. A file that cannot be used
    /// is logged, and the last report stays.
    pub fn refresh(&mut self) -> bool {
        self.file.changed() && self.reload()
    }

    /// Reads the file again.
    pub fn reload(&mut self) -> bool {
        let read = self.file.read().and_then(|text| parse(&text));
        match read {
            Ok(members) => {
                log::info!("{} was read again", self.name);
                self.members = members;
                true
            }
            Err(reason) => {
                log::error!(
                    "{}: {reason} The agent goes on with the report that was read before. Correct the file; the agent \
                     reads the file again then",
                    self.name
                );
                false
            }
        }
    }

    /// The body of a report.
    pub fn body(&self, lease: &LeaseMembers) -> Value {
        body(self.members.clone(), lease)
    }
}

fn body(members: Map<String, Value>, lease: &LeaseMembers) -> Value {
    let LeaseMembers {
        holder,
        boot,
        number,
        lease,
    } = lease;
    let own: [Value; 4] = [(*holder).into(), (*boot).into(), (*number).into(), (*lease).into()];
    let own = OF_THE_AGENT.iter().map(|name| (*name).to_owned()).zip(own);
    Value::Object(own.chain(members).collect())
}

/// Reads and checks the text of the file.
///
/// # Errors
/// A sentence with the place in the text, or with the path of the wrong member.
fn parse(text: &str) -> Result<Map<String, Value>, String> {
    let members: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| format!("it is no object of JSON: {error}."))?;
    if let Some(name) = OF_THE_AGENT.iter().find(|name| members.contains_key(**name)) {
        return Err(format!("{name}: the agent writes this member. Remove the member."));
    }
    let example = LeaseMembers {
        holder: "agent",
        boot: "boot",
        number: 0,
        lease: 60,
    };
    check_report(body(members.clone(), &example).to_string().as_bytes()).map_err(|error| error.to_string())?;
    Ok(members)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DISK: &str = "77777777-0000-4000-8000-00000000000d";

    fn refusal(members: Value) -> String {
        parse(&members.to_string()).unwrap_err()
    }

    #[test]
    fn a_body_has_the_members_of_the_agent_and_of_the_file() {
        let text = json!({"type": "compute", "providers": [{"uuid": DISK, "name": "disk"}]}).to_string();
        let lease = LeaseMembers {
            holder: "h",
            boot: "b",
            number: 7,
            lease: 60,
        };
        assert_eq!(
            body(parse(&text).unwrap(), &lease),
            json!({"holder": "h", "boot": "b", "number": 7, "lease": 60, "type": "compute",
                "providers": [{"uuid": DISK, "name": "disk"}]})
        );
    }

    #[test]
    fn an_empty_object_reports_that_the_host_lives() {
        assert!(parse("{}").unwrap().is_empty());
    }

    #[test]
    fn a_wrong_member_is_named_by_its_path() {
        let provider = |more: Value| {
            let mut provider = json!({"uuid": DISK, "name": "disk"});
            provider
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            json!({"providers": [provider]})
        };
        for (members, path) in [
            (json!({"number": 3}), "number: the agent writes"),
            (json!({"propertys": {}}), "propertys"),
            (json!({"domains": {"fault": 3}}), "domains.fault"),
            (json!({"providers": [{"name": "disk"}]}), "providers[0]"),
            (provider(json!({"uuid": "d"})), "providers[0].uuid"),
            (provider(json!({"traits": ["custom_x"]})), "providers[0].traits"),
            (
                provider(json!({"inventories": {"CUSTOM_GB": {"total": "x"}}})),
                "providers[0].inventories.CUSTOM_GB.total",
            ),
        ] {
            let refused = refusal(members);
            assert!(refused.contains(path), "{path}: {refused}");
        }
    }

    #[test]
    fn a_text_that_is_no_object_is_refused_with_its_place() {
        for text in ["", "[]", "{\"type\": }"] {
            let refused = parse(text).unwrap_err();
            assert!(refused.contains("line 1 column"), "{text}: {refused}");
        }
    }
}
