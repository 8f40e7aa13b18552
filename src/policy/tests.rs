//! Tests of policy decisions and of messages about policy files. All expectations were measured on oslo.policy 6.0.

mod defaults;
mod files;
mod inherited;
mod language;
mod list;
mod live;

use super::load::Loaded;
use super::rules::{self, PolicyRule};
use super::{Caller, Policy, PolicyDecision, PolicyFile, PolicySettings, Target, load};

/// A caller with these roles in a project.
fn caller(project: &str, roles: &[&str]) -> Caller {
    Caller {
        user_id: Some("u".into()),
        project_id: Some(project.into()),
        roles: roles.iter().map(ToString::to_string).collect(),
        ..Caller::default()
    }
}

fn settings(enforce_new_defaults: bool) -> PolicySettings {
    PolicySettings {
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

/// The defaults, overridden by one policy file.
fn loaded(text: &str) -> Result<Loaded, String> {
    load(&settings(true), &[file("policy.yaml", text)])
}

fn policy(enforce_new_defaults: bool, text: &str) -> Policy {
    let loaded = load(&settings(enforce_new_defaults), &[file("policy.yaml", text)]);
    loaded.expect("a policy that can be used").policy
}

fn authorize(policy: &Policy, rule: &PolicyRule, caller: &Caller) -> PolicyDecision {
    policy.authorize(rule, caller, &Target::Own(caller))
}

/// The roles, of admin, service and reader, that may list providers, reshape, and read usages of their own project.
fn allowed_roles(policy: &Policy) -> [String; 3] {
    [&rules::PROVIDERS_LIST, &rules::RESHAPE, &rules::TOTAL_USAGES].map(|rule| {
        let is_allowed = |role: &&str| authorize(policy, rule, &caller("p", &[role])) == PolicyDecision::Allowed;
        let roles: Vec<&str> = ["admin", "service", "reader"].into_iter().filter(is_allowed).collect();
        roles.join(" ")
    })
}
