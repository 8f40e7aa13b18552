//! What the policy lets in, and what it says of files. Every expectation was measured on oslo.policy 6.0.

mod defaults;
mod files;
mod language;
mod list;
mod live;

use super::rules::{self, Rule};
use super::{Caller, Loaded, Policy, PolicyFile, Settings, Target, Verdict, load};

/// Somebody of a project, with these roles.
fn caller(project: &str, roles: &[&str]) -> Caller {
    Caller {
        user_id: Some("u".into()),
        project_id: Some(project.into()),
        roles: roles.iter().map(ToString::to_string).collect(),
        ..Caller::default()
    }
}

fn settings(enforce_new_defaults: bool) -> Settings {
    Settings {
        enforce_new_defaults,
        default_rule: "default".into(),
    }
}

fn file(name: &str, text: &str) -> PolicyFile {
    PolicyFile {
        name: name.into(),
        text: text.into(),
    }
}

/// What one policy file makes of the defaults.
fn loaded(text: &str) -> Result<Loaded, String> {
    load(&settings(true), &[file("policy.yaml", text)])
}

fn policy(enforce_new_defaults: bool, text: &str) -> Policy {
    let loaded = load(&settings(enforce_new_defaults), &[file("policy.yaml", text)]);
    loaded.expect("a policy that can be used").policy
}

fn judge(policy: &Policy, rule: &Rule, caller: &Caller) -> Verdict {
    policy.judge(rule, caller, &Target::Own(caller))
}

/// Which of admin, service and reader may list providers, reshape, and see the usages of their project.
fn who_may(policy: &Policy) -> [String; 3] {
    [&rules::PROVIDERS_LIST, &rules::RESHAPE, &rules::TOTAL_USAGES].map(|rule| {
        let may = |role: &&str| judge(policy, rule, &caller("p", &[role])) == Verdict::Allowed;
        let roles: Vec<&str> = ["admin", "service", "reader"].into_iter().filter(may).collect();
        roles.join(" ")
    })
}
