//! oslo.policy: the language of its checks, and the rules that guard placet by default. Pure.

pub mod check;
mod parse;
pub mod rules;

use std::collections::HashMap;

use check::Check;
use rules::Rule;

/// Who asks, as a check sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    pub user_id: Option<String>,
    pub project_id: Option<String>,
    pub domain_id: Option<String>,
    /// `all` for a token of the whole system.
    pub system_scope: Option<String>,
    pub roles: Vec<String>,
}

/// Whose thing is asked for: what `%(project_id)s` and `%(user_id)s` stand for in a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    pub project_id: Option<String>,
    pub user_id: Option<String>,
}

impl Target {
    /// The target where a request names none: the caller's own.
    pub fn of(caller: &Caller) -> Target {
        Target {
            project_id: caller.project_id.clone(),
            user_id: caller.user_id.clone(),
        }
    }
}

/// What the policy says to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    Denied,
    /// The token is one of the whole system or of a domain, and the rule asks for one of a project.
    WrongScope,
}

/// The checks in force, by the name of their rule.
#[derive(Debug, Clone)]
pub struct Policy {
    checks: HashMap<String, Check>,
}

impl Policy {
    /// The default rules. `enforce_new_defaults` is oslo.policy's option: without it, whoever the older defaults let
    /// in is let in too.
    pub fn defaults(enforce_new_defaults: bool) -> Policy {
        let mut checks = HashMap::new();
        for rule in rules::ALL {
            let mut check = Check::parse(rule.check);
            if let (false, Some(older)) = (enforce_new_defaults, rule.older_check) {
                check = Check::Any(vec![check, Check::parse(older)]);
            }
            checks.insert(rule.name.to_owned(), check);
        }
        Policy { checks }
    }

    /// Whether `caller` may do what `rule` guards to `target`.
    pub fn judge(&self, rule: &Rule, caller: &Caller, target: &Target) -> Verdict {
        let of_project = caller.system_scope.is_none() && caller.domain_id.is_none();
        if rule.project_scope_only && !of_project {
            return Verdict::WrongScope;
        }
        match self.checks.get(rule.name) {
            Some(check) if check.holds(caller, target, &self.checks) => Verdict::Allowed,
            _ => Verdict::Denied,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(project: &str, roles: &[&str]) -> Caller {
        Caller {
            user_id: Some("u".into()),
            project_id: Some(project.into()),
            roles: roles.iter().map(ToString::to_string).collect(),
            ..Caller::default()
        }
    }

    fn judge(new_defaults: bool, rule: &Rule, caller: &Caller, project: &str) -> Verdict {
        let target = Target {
            project_id: Some(project.into()),
            user_id: None,
        };
        Policy::defaults(new_defaults).judge(rule, caller, &target)
    }

    #[test]
    fn admin_and_service_may_do_most_things_and_nobody_else() {
        for (roles, verdict) in [
            (&["admin"][..], Verdict::Allowed),
            (&["SERVICE"], Verdict::Allowed),
            (&["member", "reader"], Verdict::Denied),
            (&[], Verdict::Denied),
        ] {
            assert_eq!(
                judge(true, &rules::PROVIDERS_LIST, &caller("p", roles), "p"),
                verdict,
                "{roles:?}"
            );
        }
    }

    #[test]
    fn a_reader_sees_the_usages_of_the_own_project_only() {
        let reader = caller("p", &["reader"]);
        assert_eq!(judge(true, &rules::TOTAL_USAGES, &reader, "p"), Verdict::Allowed);
        assert_eq!(judge(true, &rules::TOTAL_USAGES, &reader, "q"), Verdict::Denied);
        assert_eq!(
            Policy::defaults(true).judge(&rules::TOTAL_USAGES, &reader, &Target::default()),
            Verdict::Denied
        );
    }

    #[test]
    fn only_the_older_defaults_let_an_admin_reshape() {
        let admin = caller("p", &["admin"]);
        assert_eq!(judge(true, &rules::RESHAPE, &admin, "p"), Verdict::Denied);
        assert_eq!(judge(false, &rules::RESHAPE, &admin, "p"), Verdict::Allowed);
        assert_eq!(
            judge(true, &rules::RESHAPE, &caller("p", &["service"]), "p"),
            Verdict::Allowed
        );
    }

    #[test]
    fn a_token_of_the_system_or_a_domain_is_refused() {
        let mut system = caller("p", &["admin"]);
        system.system_scope = Some("all".into());
        assert_eq!(judge(true, &rules::PROVIDERS_LIST, &system, "p"), Verdict::WrongScope);
        let mut domain = caller("p", &["admin"]);
        domain.domain_id = Some("default".into());
        assert_eq!(judge(true, &rules::PROVIDERS_LIST, &domain, "p"), Verdict::WrongScope);
    }
}
