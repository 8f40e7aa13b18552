//! The language of checks.

use super::*;

/// The verdict of a check on user `u` with the role reader in project `p`: `allowed`, `denied` or `undecided`.
fn verdict_of(check: &str) -> String {
    let text = format!(
        "\"placement:resource_providers:list\": '{}'\nr: role:reader\nc: rule:d\nd: rule:c",
        check.replace('\'', "''")
    );
    let verdict = authorize(
        &policy(true, &text),
        &rules::PROVIDERS_LIST,
        &caller("p", &["Reader", "a:b"]),
    );
    match verdict {
        PolicyDecision::Allowed => "allowed",
        PolicyDecision::Denied => "denied",
        PolicyDecision::WrongScope => "scope",
        PolicyDecision::Undecided(_) => "undecided",
    }
    .to_owned()
}

#[test]
fn checks_that_hold() {
    for check in [
        "",
        "@",
        "role:READER",
        "role:a:b",
        "rule:r",
        "not !",
        "not not @",
        "user_id:u",
        "user_id:%(user_id)s",
        "project_id:%(project_id)s",
        "role:reader and project_id:%(project_id)s",
        "! or @ and role:reader",
        "@ or @ and !",
        "(role:admin or role:reader) AND not user_id:%(project_id)s",
        "not (! or !) and @",
        "! and ! or @",
        "((rule:r))",
        "( @ )",
        "'p':%(project_id)s",
        "\"p\":%(project_id)s",
        "'':",
        "20:20",
        "'20':20",
        "-5:-5",
        "True:True",
        "None:None",
        "roles:Reader",
        "is_admin_project:True",
        "system_scope:None",
        "domain_id:None",
        "service_user_id:None",
        // A missing value equals nothing, so a `not` before it holds.
        "not rule:nope",
        "not foo",
        "foo or @",
        // The right side is not evaluated: the result is known.
        "@ or rule:c",
    ] {
        assert_eq!(verdict_of(check), "allowed", "{check}");
    }
}

#[test]
fn checks_that_do_not_hold() {
    for check in [
        "!",
        "not @",
        "role:admin",
        "rule:nope",
        "rule:",
        "foo",
        "user_id:%(project_id)s",
        "user_id:%%",
        "project_id:%(nothing)s",
        "project_id:%(nothing)s%",
        "role:%(project_id)s",
        "role:%%(nope)s",
        "'q':%(project_id)s",
        "(@ or @) and !",
        "! or @ and !",
        "roles:reader",
        "service_roles:x",
        "is_admin:True",
        "is_admin_project:False",
        "tenant:p",
        "user:u",
        "system:None",
        "user-id:x",
        "user_id:u:x",
        "! and class$:x",
        // None of these can be parsed.
        " ",
        "and",
        "not",
        "AND",
        "()",
        "(@",
        "@)",
        "@ @",
        "@ or",
        "@ or @ and",
        "role:reader and or role:reader",
        "rule:r rule:r",
        "'x':'x'",
        "('x':'x')",
        "'a' or @",
        "'",
    ] {
        assert_eq!(verdict_of(check), "denied", "{check}");
    }
}

#[test]
fn an_undecidable_check_denies_access() {
    for check in [
        "rule:c",
        "not rule:c",
        "user_id.x:y",
        "roles.x:y",
        "domain_id.x:None",
        "is_admin_project.x:y",
        ":x",
        "not :x",
        "123abc:x",
        "a..b:x",
        "a$b:x",
        "'a'b':x",
        "user_id:100%",
        "user_id:%(user_id)d",
        "role:%",
    ] {
        assert_eq!(verdict_of(check), "undecided", "{check}");
    }
}

#[test]
fn ascii_separators_are_blanks_as_in_python() {
    let text = "\"placement:resource_providers:list\": \"!\\x1for\\x1c@\"";
    let verdict = authorize(&policy(true, text), &rules::PROVIDERS_LIST, &caller("p", &[]));
    assert_eq!(verdict, PolicyDecision::Allowed);
}

#[test]
fn a_target_without_a_project_equals_none() {
    let policy = policy(true, "\"placement:usages\": project_id:%(project_id)s");
    let mut caller_without_project = caller("p", &[]);
    caller_without_project.project_id = None;
    let verdict = |project| policy.authorize(&rules::TOTAL_USAGES, &caller_without_project, &Target::Project(project));
    assert_eq!(verdict(None), PolicyDecision::Allowed);
    assert_eq!(verdict(Some("p")), PolicyDecision::Denied);
}
