//! Policy files: YAML and JSON, precedence of files, and messages about mistakes.

use super::*;

fn reshapers(text: &str) -> String {
    allowed_roles(&policy(true, text))[1].clone()
}

#[test]
fn a_check_is_a_text_or_lists_of_lists() {
    for (check, roles) in [
        ("role:reader or role:admin", "admin reader"),
        ("'role:reader or role:admin'", "admin reader"),
        ("\"role:admin\" # why", "admin"),
        (">\n  role:reader\n  or role:admin\n", "admin reader"),
        ("!!str role:admin", "admin"),
        ("", "admin service reader"),
        ("~", "admin service reader"),
        ("[]", "admin service reader"),
        ("[[]]", ""),
        ("[[role:admin], [role:reader]]", "admin reader"),
        ("[role:admin, [role:reader, user_id:u]]", "admin reader"),
        ("[[role:reader, user_id:v]]", ""),
        ("[['role:reader or @']]", ""),
        ("[['@'], [], '!']", "admin service reader"),
    ] {
        assert_eq!(
            reshapers(&format!("\"placement:reshaper:reshape\": {check}")),
            roles,
            "{check}"
        );
    }
}

#[test]
fn json_is_read_too() {
    assert_eq!(
        reshapers("{\n  \"a\": [[\"role:admin\"]],\n\t\"placement:reshaper:reshape\": \"rule:a\"\n}\n"),
        "admin"
    );
}

#[test]
fn a_yaml_anchor_can_be_referred_to() {
    assert_eq!(
        reshapers("a: &x role:admin\n\"placement:reshaper:reshape\": *x"),
        "admin"
    );
}

#[test]
fn an_empty_file_leaves_the_defaults_in_force() {
    for text in ["", "# nothing\n", "---\n", "~", "{}", "\u{feff}# nothing"] {
        assert_eq!(
            allowed_roles(&policy(true, text)),
            allowed_roles(&policy(true, "")),
            "{text:?}"
        );
    }
}

#[test]
fn later_files_override_earlier_ones() {
    let files = ["role:admin", "role:reader"].map(|check| file("f", &format!("\"placement:usages\": {check}")));
    let loaded = load(&settings(true), &files).expect("a policy");
    assert_eq!(allowed_roles(&loaded.policy)[2], "reader");
}

#[test]
fn a_file_that_could_grant_access_by_mistake_is_refused() {
    for (text, message) in [
        ("a: [", "policy.yaml:2: not YAML"),
        (
            "a: @",
            "policy.yaml:1: not YAML: unexpected character: `@'; write each rule as \"name\": \"check\"",
        ),
        ("a: role:x\n- b\n", "policy.yaml:2: not YAML"),
        ("- a", "policy.yaml:1: this is not a mapping of names to checks"),
        ("a", "policy.yaml:1: this is not a mapping of names to checks"),
        (
            "a: b:c\n---\nd: e:f\n",
            "policy.yaml:3: this begins a second document; put all rules into one",
        ),
        (
            "a: !",
            "policy.yaml:1: the check of \"a\" is !, which YAML reads as a tag; put a check that begins with ! in quotes, as in \"!\"",
        ),
        (
            "a: !foo b",
            "policy.yaml:1: the check of \"a\" is !foo, which YAML reads as a tag",
        ),
        (
            "\n\na: false",
            "policy.yaml:3: the check of \"a\" is false, which is not a text",
        ),
        ("a: 5", "policy.yaml:1: the check of \"a\" is 5, which is not a text"),
        (
            "a: true",
            "policy.yaml:1: the check of \"a\" is true, which is not a text",
        ),
        (
            "a: {}",
            "policy.yaml:1: the check of \"a\" is a mapping; write one text, as in",
        ),
        ("a: {b: c}", "policy.yaml:1: the check of \"a\" is a mapping"),
        (
            "a: [[1]]",
            "policy.yaml:1: the check of \"a\" is neither a text nor lists of texts",
        ),
        (
            "a: [[[[[[x]]]]]]",
            "policy.yaml:1: this is nested deeper than lists of lists",
        ),
        (
            "a: role:x or http://auth.example.org/check",
            "policy.yaml:1: a: \"http://auth.example.org/check\" asks a policy server, which placet does not support",
        ),
        (
            "a: [['https://auth.example.org']]",
            "policy.yaml:1: a: \"https://auth.example.org\" asks a policy server",
        ),
    ] {
        let refused = loaded(text).err().unwrap_or_default();
        assert!(refused.starts_with(message), "{text:?}: {refused:?}");
    }
}

#[test]
fn a_warning_names_file_and_line() {
    for (text, warning) in [
        (
            "\"placement:usage\": \"@\"",
            "policy.yaml:1: \"placement:usage\" authorizes no route and no rule refers to it; the nearest is \"placement:usages\"",
        ),
        (
            "\n\"placement:usages\": rule:admin_apy",
            "policy.yaml:2: placement:usages: there is no rule \"admin_apy\", so rule:admin_apy never holds; the nearest is \"admin_api\"",
        ),
        (
            "\"placement:usages\": role",
            "policy.yaml:1: placement:usages: \"role\" has no colon and never holds; write it as kind:value",
        ),
        (
            "\"placement:usages\": role:a or",
            "policy.yaml:1: placement:usages: \"role:a or\" cannot be parsed and never holds; check its parentheses, and, or and not",
        ),
        (
            "\"placement:usages\": rule:placement:usages",
            "policy.yaml:1: placement:usages refers to itself, so requests to its routes get a 500; remove one of the references",
        ),
        (
            "admin_api: role:a\nadmin_api: role:b",
            "policy.yaml:2: admin_api occurs twice in this file; the last one is used",
        ),
        (
            "\"placement:usages\": a$b:x",
            "policy.yaml:1: placement:usages: \"a$b\" must be a name, a text in quotes, a whole number, True, False or None; until then requests to its routes get a 500",
        ),
        (
            "\"placement:usages\": rol:reader",
            "policy.yaml:1: placement:usages: \"rol:reader\" compares the credential rol, which no token has, and never holds; role:NAME compares roles, and rule:NAME refers to another rule",
        ),
        (
            "\"placement:usages\": role:100%",
            "policy.yaml:1: placement:usages: \"role:100%\" has a % that is not %(name)s or %%, so requests to its routes get a 500; write %% for a plain %",
        ),
    ] {
        assert_eq!(loaded(text).expect("a policy").warnings, [warning], "{text}");
    }
}

#[test]
fn a_file_without_mistakes_has_no_warnings() {
    let text = "helper: role:reader\n\"placement:usages\": rule:helper and rule:admin_api\ndefault: \"!\"";
    assert_eq!(loaded(text).expect("a policy").warnings, Vec::<String>::new());
}
