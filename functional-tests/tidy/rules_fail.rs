//! Each rule, shown to fail on what it forbids and to hold its tongue on what it allows.

use super::source::{File, Source};
use super::tables::{Arrows, Crate};
use super::{documents, nouns, rules};

fn house() -> Arrows {
    Arrows::of(
        "| room | may use |\n|---|---|\n| `main.rs` | `cli` |\n| `api/` | `model`, `version.rs` |\n| `model/` | `db` |\n| every room | `error.rs` |\n",
    )
}

fn file(path: &str, text: &str) -> File {
    File {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

/// How often a rule complains of a file.
fn complaints(rule: impl Fn(&Source) -> Vec<String>, path: &str, text: &str) -> usize {
    rule(&Source::new(path, text)).len()
}

#[test]
fn arrows() {
    let count = |path, text| complaints(|source| rules::arrows(&house(), source), path, text);
    assert_eq!(
        count(
            "src/api/a.rs",
            "use crate::model::M; use crate::error::E; crate::api::f();"
        ),
        0
    );
    assert_eq!(count("src/model/a.rs", "use crate::api::x;"), 1, "upward");
    assert_eq!(
        count("src/model/a.rs", "fn f() { crate::version::MAX; }"),
        1,
        "in the middle of code"
    );
    assert_eq!(
        count("src/model/a.rs", "use crate::{db::{a, b}, api, error::E};"),
        1,
        "in a group"
    );
    assert_eq!(
        count("src/model/decide/a.rs", "use super::super::super::api;"),
        1,
        "by super"
    );
    assert_eq!(count("src/model/decide/a.rs", "use super::super::state;"), 0);
    assert_eq!(count("src/main.rs", "use placet::cli; use placet::db;"), 1);
    assert_eq!(
        count(
            "src/model/a.rs",
            "// crate::api\n/// crate::api\nlet a = \"crate::api\";"
        ),
        0
    );
    assert_eq!(
        count("src/model/a.rs", "#[cfg(test)]\nmod tests { use crate::api; }"),
        0
    );
}

#[test]
fn crates() {
    let table = [Crate {
        name: "actix-web".to_owned(),
        rooms: vec!["api".to_owned()],
    }];
    let of = |path: &str, text: &str| {
        let (met, wrong) = rules::crates(&table, &Source::new(path, text));
        (met.len(), wrong.len())
    };
    assert_eq!(of("src/api/a.rs", "use actix_web::App;"), (1, 0));
    assert_eq!(of("src/cli/a.rs", "use actix_web::App;"), (1, 1));
    assert_eq!(of("src/cli/a.rs", "use actix_web as web;"), (1, 1));
    assert_eq!(of("src/cli/a.rs", "fn f() -> actix_web::Error {}"), (1, 1));
    assert_eq!(
        of(
            "src/cli/a.rs",
            "my_actix_web::f(); crate::actix_web::g(); let a = \"actix_web::\";"
        ),
        (0, 0)
    );
}

#[test]
fn foreign_names() {
    let count = |path, text| complaints(rules::foreign, path, text);
    assert_eq!(count("src/search/a.rs", "let now = Instant::now();"), 1);
    assert_eq!(count("src/search/a.rs", "struct Instantly;"), 0);
    assert_eq!(count("src/db/a.rs", "let now = Instant::now(); sql_query(a);"), 0);
    assert_eq!(count("src/model/decide/a.rs", "use diesel::prelude::*;"), 1);
    assert_eq!(count("src/model/save/a.rs", "diesel::sql_query(a);"), 1);
    assert_eq!(count("src/api/a.rs", "std::env::var(\"A\")"), 2);
    assert_eq!(count("src/config/a.rs", "std::env::var(\"A\")"), 0);
    assert_eq!(
        count("src/api/allocation_candidates.rs", "call.model().read(|conn| f(conn))"),
        1
    );
    assert_eq!(
        count(
            "src/api/allocation_candidates.rs",
            "call.model().snapshot(); wire::read_list()"
        ),
        0
    );
    assert_eq!(count("src/api/a.rs", "println!(\"a\")"), 1);
    assert_eq!(count("src/cli/a.rs", "println!(\"a\")"), 0);
    assert_eq!(count("src/cli/a.rs", "static mut A: u8 = 0; todo!()"), 2);
}

#[test]
fn panics() {
    let count = |text| complaints(rules::panics, "src/api/a.rs", text);
    assert_eq!(count("a.unwrap();"), 1);
    assert_eq!(count("a.unwrap(); // it was set above"), 0);
    assert_eq!(count("// It was set above.\na.unwrap();"), 0);
    assert_eq!(count("/// Not a remark.\nfn f() { a.unwrap() }"), 1);
    assert_eq!(count("let u = \"http:// b\"; a.unwrap();"), 1);
    assert_eq!(count("a.expect(\"a size\");"), 1);
    assert_eq!(count("a.expect(\"the list was never empty\");"), 0);
    assert_eq!(count("panic!(\"{a}\");"), 1);
    assert_eq!(count("resume_panic!(); a.unwrap_or(0); f.expect_more();"), 0);
    assert_eq!(count("#[cfg(test)]\nmod tests { fn f() { a.unwrap() } }"), 0);
}

#[test]
fn what_is_put_off() {
    let count = |text: &str| complaints(rules::postponed, "src/api/a.rs", text);
    for word in ["TO DO", "FIX ME", "X XX", "HA CK"] {
        assert_eq!(count(&format!("// {}: later", word.replace(' ', ""))), 1, "{word}");
    }
    assert_eq!(count("#[allow(dead_code, reason = \"later\")]\nfn f() {}"), 1);
    assert_eq!(count("#[allow(clippy::x)]\nfn f() {}"), 1);
    assert_eq!(count("#[allow(clippy::x, reason = \"a long table\")]\nfn f() {}"), 0);
}

#[test]
fn lengths() {
    assert!(rules::length(&[], &file("a.rs", &"x\n".repeat(501))).is_some());
    assert!(rules::length(&[], &file("a.rs", &"x\n".repeat(500))).is_none());
    assert!(rules::length(&["a.rs"], &file("a.rs", &"x\n".repeat(501))).is_none());
}

#[test]
fn machine_paths() {
    let path = format!("see /{}/me/placet", "home");
    assert!(rules::machine_paths(&file("a.md", &path)).is_some());
    assert!(rules::machine_paths(&file("a.md", "GET /resource_providers of ~/placet")).is_none());
}

#[test]
fn nouns() {
    let routes = "const A: &str = \"/traits\"; const B: &str = \"/providers/{uuid}/inventories/{class}\"; \"/\"";
    let nouns = nouns::nouns(routes);
    assert_eq!(nouns, ["inventories", "traits"]);
    let all = |path: &str| ["/traits.", "/inventories."].iter().any(|noun| path.contains(noun));
    assert_eq!(nouns::noun_files(&nouns, all).len(), 0);
    assert_eq!(
        nouns::noun_files(&nouns, |path| all(path) && path != "src/wire/traits.rs").len(),
        1
    );
    assert_eq!(
        nouns::noun_files(&nouns, |path| all(path) || path == "src/api/inventory.rs").len(),
        1
    );
    let classes = ["resource_classes".to_owned()];
    let also = |wrong: &'static str| move |path: &str| path.contains("/resource_classes.") || path == wrong;
    assert_eq!(
        nouns::noun_files(&classes, also("src/model/decide/classes.rs")).len(),
        1
    );
    assert_eq!(nouns::noun_files(&classes, also("src/wire/resource_class.rs")).len(), 1);
}

#[test]
fn exhaustive_errors() {
    let count = |text| complaints(rules::exhaustive, "src/api/errors.rs", text);
    assert_eq!(count("match e { E::A => 1, _ => 2 }"), 1);
    assert_eq!(count("match e { E::A(_) => 1, E::B => 2 }"), 0);
}

#[test]
fn references() {
    let count = |text: &str| documents::references(&file("docs/a.md", text), |path| path == "src/api").len();
    assert_eq!(
        count("`src/api/` and `src/api`, [api](../src/api), [web](https://example.org)"),
        0
    );
    assert_eq!(count("`src/gone.rs`"), 1);
    assert_eq!(count("[gone](gone.md#a)"), 1);
    assert_eq!(count("`src/{a,b}`, `src/<noun>.rs`"), 0);
}

#[test]
fn options_are_found() {
    let rows =
        "    Known::honoured(\"placet\", \"bind\", \"127.0.0.1:8778\"),\n    Known::honoured(\"placet\", \"x\", \"\"),";
    let found = documents::own_options(rows);
    assert_eq!(found[0], ("bind".to_owned(), "127.0.0.1:8778".to_owned()));
    assert_eq!(found[1], ("x".to_owned(), String::new()));
}

#[test]
fn steps_that_are_not_there() {
    let tox = "a\nservers() {\n    both \"on_engine x\"\n}\n\non_engine() {\n    step python \"race, $x\" y\n    \
               step python plans z\n}\nall() { servers; }\n";
    let count = |text: &str| documents::steps(&file("README.md", text), tox).len();
    assert_eq!(
        count("`./tox.sh servers` (race, plans), `./tox.sh all` (race, `src/a.rs`), `./tox.sh unit`"),
        0
    );
    assert_eq!(count("`./tox.sh servers` (race, chaos)"), 1);
    assert_eq!(count("`./tox.sh functional` (race)"), 1);
}
