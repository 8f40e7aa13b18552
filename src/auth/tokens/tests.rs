//! Tests of the token file's form, and of looking tokens up.

use super::*;

const HOST: &str = "77777777-0000-4000-8000-000000000001";

fn at(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).unwrap().with_timezone(&Utc)
}

fn entry(token: &str, id: &str, expires: Option<&str>) -> TokenEntry {
    TokenEntry {
        hash: hash(token),
        id: id.to_owned(),
        user: "alice".to_owned(),
        project: "lab".to_owned(),
        roles: vec!["admin".to_owned(), "reader".to_owned()],
        host: None,
        created: at("2026-01-01T00:00:00Z"),
        expires: expires.map(at),
    }
}

#[test]
fn the_hash_is_sha_256() {
    assert_eq!(
        hex(&hash("abc")),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}

#[test]
fn a_line_is_read_as_it_was_written() {
    let of_host = TokenEntry {
        roles: Vec::new(),
        host: Some(HOST.to_owned()),
        ..entry("c", "3", None)
    };
    let entries = [
        entry("a", "1", None),
        entry("b", "2", Some("2027-01-01T00:00:00Z")),
        of_host,
    ];
    let text: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
    assert_eq!(parse(&format!("# comment\n\n{text}")).unwrap(), entries);
}

#[test]
fn a_line_that_cannot_be_used_is_refused_with_its_number() {
    let good = entry("a", "1", None).to_string();
    for (line, reason) in [
        (good.replace("id=1 ", ""), "id= is missing"),
        (good.replace("roles=", "role="), "roles= is missing"),
        (format!("{good} ip=1"), "ip= means nothing here"),
        (format!("{good} id=2"), "id is given twice"),
        (good.replace("expires=never", "expires=soon"), "expires must be a time"),
        (good.replace("sha256=", "sha256=x"), "sha256 must be 64"),
        (good.replace("user=alice", "user="), "the user"),
        ("nonsense".to_owned(), "name=value"),
        (format!("{good} host={HOST}"), "has no roles"),
        (good.replace("roles=admin,reader", "roles= host=h1"), "must be a uuid"),
    ] {
        let error = parse(&format!("# x\n{line}")).unwrap_err();
        assert!(error.starts_with("2: ") && error.contains(reason), "{line}: {error}");
    }
    assert!(
        parse(&format!("{good}\n{good}"))
            .unwrap_err()
            .contains("two tokens have the id 1")
    );
}

#[test]
fn a_token_is_found_until_it_expires() {
    let table = TokenTable::new(&[entry("a", "1", None), entry("b", "2", Some("2027-01-01T00:00:00Z"))]);
    let caller = |token, now| table.caller(token, at(now));
    let found = caller("a", "2100-01-01T00:00:00Z").unwrap();
    assert_eq!(found.user_id.as_deref(), Some("alice"));
    assert_eq!(found.project_id.as_deref(), Some("lab"));
    assert_eq!(found.roles, ["admin", "reader"]);
    assert!(caller("b", "2026-12-31T23:59:59Z").is_some());
    assert!(caller("b", "2027-01-01T00:00:00Z").is_none());
    for unknown in ["", "admin", "c", &hex(&hash("a"))] {
        assert!(caller(unknown, "2026-02-01T00:00:00Z").is_none(), "{unknown}");
    }
    assert_eq!(table.count(), 2);
}

#[test]
fn the_caller_of_a_token_of_a_host_has_the_host_in_canonical_form() {
    let line = entry("a", "1", None).to_string();
    let line = line.replace(
        "roles=admin,reader",
        &format!("roles= host={}", HOST.replace('-', "").to_uppercase()),
    );
    let table = TokenTable::new(&parse(&line).unwrap());
    let found = table.caller("a", at("2026-02-01T00:00:00Z")).unwrap();
    assert_eq!((found.host.as_deref(), found.roles.len()), (Some(HOST), 0));
}

#[test]
fn the_second_half_of_the_hash_is_compared_too() {
    let mut other = entry("a", "1", None);
    other.hash[31] ^= 1;
    assert!(
        TokenTable::new(&[other])
            .caller("a", at("2026-02-01T00:00:00Z"))
            .is_none()
    );
}

#[test]
fn words_that_would_break_a_line_are_refused() {
    for word in ["", "a b", "a,b", "a=b", "a\nb"] {
        assert!(check_word("user", word).is_err(), "{word:?}");
    }
    assert!(check_word("user", "alice@example.org").is_ok());
}
