//! Proves that each rule complains about what it forbids, and only about that. Here are the rules about code.

mod texts;

use super::source::{File, Source};
use super::tables::{Crate, Layers};
use super::{circles, layout, nouns, rules, sql, types};

fn table() -> Layers {
    Layers::of(
        "| layer | may use |\n|---|---|\n| `main.rs` | `cli` |\n| `api/` | `model`, `version.rs` |\n| `model/` | `db` |\n| every layer | `error.rs` |\n",
    )
}

fn file(path: &str, text: &str) -> File {
    File {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

/// The number of a rule's complaints about a file.
fn complaints(rule: impl Fn(&Source) -> Vec<String>, path: &str, text: &str) -> usize {
    rule(&Source::new(path, text)).len()
}

#[test]
fn imports_against_the_table_fail() {
    let count = |path, text| complaints(|source| rules::layers(&table(), source), path, text);
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
        count("src/model/batch/decide/a.rs", "use super::super::super::super::api;"),
        1,
        "by super"
    );
    assert_eq!(count("src/model/batch/decide/a.rs", "use super::super::state;"), 0);
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
fn new_circles_of_imports_fail() {
    let of = |known: &[(&str, usize)], files: &[(&str, &str)]| {
        let sources: Vec<Source> = files.iter().map(|(path, text)| Source::new(path, text)).collect();
        circles::complaints(known, &sources).len()
    };
    let ring = [
        ("src/model/a.rs", "use super::b::{self, B};"),
        ("src/model/b.rs", "use crate::model::{c::C, d};"),
        ("src/model/c.rs", "fn f() { super::a::g(); }"),
        ("src/model/d.rs", "// use super::b;"),
    ];
    assert_eq!(of(&[], &ring), 1);
    assert_eq!(of(&[("src/model/a.rs", 2)], &ring), 1, "the circle grew");
    assert_eq!(of(&[("src/model/b.rs", 3)], &ring), 0);
    assert_eq!(of(&[("src/model/b.rs", 4)], &ring), 1, "the row is too large");
    assert_eq!(of(&[("src/model/b.rs", 3)], &ring[1..]), 1, "the circle is open");
    let module = [
        ("src/model/a.rs", "mod b;\npub use b::B;\nfn f() { b::g(); }"),
        (
            "src/model/a/b.rs",
            "use super::A;\n#[cfg(test)]\nmod tests { use crate::model::c; }",
        ),
        ("src/model/c.rs", "use super::a::b;"),
    ];
    assert_eq!(of(&[], &module), 0, "a parent declares, exports and calls its child");
    let imports = [("src/model/a.rs", "use b::B;\nmod b;"), module[1]];
    assert_eq!(of(&[], &imports), 1, "a parent imports a name of its child");
}

#[test]
fn names_of_several_types_fail() {
    let of = |files: &[(&str, &str)]| {
        let nouns = ["traits", "limits"].map(str::to_owned);
        let sources: Vec<Source> = files.iter().map(|(path, text)| Source::new(path, text)).collect();
        types::complaints(&nouns, &sources).len()
    };
    let one = ("src/db/a.rs", "pub(in crate::db) struct Slot<T>(T);");
    let two = [one, ("src/auth/b.rs", "/// A slot.\n#[derive(Debug)]\nenum Slot {}")];
    assert_eq!(of(&two), 1);
    assert_eq!(of(&two[..1]), 0);
    let further = [
        (
            "src/db/b.rs",
            "impl A for B {\n    type Slot = u8;\n}\nstruct Slots;\n// struct Slot",
        ),
        ("src/db/c.rs", "#[cfg(test)]\nmod tests {\nstruct Slot;\n}"),
        ("src/db/d.rs", "pub type Result<T> = std::result::Result<T, E>;"),
        ("src/db/e.rs", "pub type Result<T> = std::result::Result<T, F>;"),
    ];
    assert_eq!(of(&[&[one][..], &further].concat()), 0);
    let verbs = [
        ("src/model/traits.rs", "pub struct Delete;"),
        ("src/model/limits/rows.rs", "pub struct Delete;"),
    ];
    assert_eq!(of(&verbs), 0);
    assert_eq!(
        of(&[verbs[0], ("src/model/batch/command.rs", verbs[0].1)]),
        1,
        "not a noun's file"
    );
    assert_eq!(
        of(&[verbs[0], ("src/wire/traits.rs", verbs[0].1)]),
        1,
        "the same noun in two layers"
    );
}

#[test]
fn crates_outside_of_their_layers_fail() {
    let table = [Crate {
        name: "actix-web".to_owned(),
        layers: vec!["api".to_owned()],
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
fn names_in_modules_that_must_not_use_them_fail() {
    let count = |path, text| complaints(rules::foreign, path, text);
    assert_eq!(count("src/search/a.rs", "let now = Instant::now();"), 1);
    assert_eq!(count("src/search/a.rs", "struct Instantly;"), 0);
    assert_eq!(count("src/db/a.rs", "let now = Instant::now(); sql_query(a);"), 0);
    assert_eq!(count("src/model/batch/decide/a.rs", "use diesel::prelude::*;"), 1);
    assert_eq!(count("src/model/batch/save/a.rs", "diesel::sql_query(a);"), 1);
    assert_eq!(count("src/api/a.rs", "std::env::var(\"A\")"), 2);
    assert_eq!(count("src/config/a.rs", "std::env::var(\"A\")"), 0);
    assert_eq!(
        count(
            "src/api/handlers/allocation_candidates.rs",
            "call.model().read(|conn| f(conn))"
        ),
        2
    );
    assert_eq!(
        count("src/api/handlers/a.rs", "let read = move |conn: &mut _| list(conn);"),
        1
    );
    assert_eq!(
        count(
            "src/api/handlers/a.rs",
            "request.conn_data(); connect(); list(context.reader());"
        ),
        0
    );
    assert_eq!(
        count(
            "src/api/handlers/allocation_candidates.rs",
            "call.model().snapshot(); wire::read_list()"
        ),
        0
    );
    assert_eq!(count("src/api/a.rs", "println!(\"a\")"), 1);
    assert_eq!(count("src/cli/a.rs", "println!(\"a\")"), 1);
    assert_eq!(count("src/cli/a.rs", "static mut A: u8 = 0; todo!()"), 2);
}

#[test]
fn panics_without_a_reason_fail() {
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
fn postponed_work_fails() {
    let count = |text: &str| complaints(rules::postponed, "src/api/a.rs", text);
    for word in ["TO DO", "FIX ME", "X XX", "HA CK"] {
        assert_eq!(count(&format!("// {}: later", word.replace(' ', ""))), 1, "{word}");
    }
    assert_eq!(count("#[allow(dead_code, reason = \"later\")]\nfn f() {}"), 1);
    assert_eq!(count("#[allow(clippy::x)]\nfn f() {}"), 1);
    assert_eq!(count("#[allow(clippy::x, reason = \"a long table\")]\nfn f() {}"), 0);
}

#[test]
fn files_of_more_than_500_lines_fail() {
    assert!(rules::length(&[], &file("a.rs", &"x\n".repeat(501))).is_some());
    assert!(rules::length(&[], &file("a.rs", &"x\n".repeat(500))).is_none());
    assert!(rules::length(&["a.rs"], &file("a.rs", &"x\n".repeat(501))).is_none());
}

#[test]
fn paths_of_one_machine_fail() {
    let path = format!("see /{}/me/placet", "home");
    assert!(rules::machine_paths(&file("a.md", &path)).is_some());
    assert!(rules::machine_paths(&file("a.md", "GET /resource_providers of ~/placet")).is_none());
}

#[test]
fn nouns_with_two_names_or_missing_files_fail() {
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
        nouns::noun_files(&nouns, |path| all(path) || path == "src/api/handlers/inventory.rs").len(),
        1
    );
    let classes = ["resource_classes".to_owned()];
    let also = |wrong: &'static str| move |path: &str| path.contains("/resource_classes.") || path == wrong;
    assert_eq!(
        nouns::noun_files(&classes, also("src/model/batch/decide/classes.rs")).len(),
        1
    );
    assert_eq!(nouns::noun_files(&classes, also("src/wire/resource_class.rs")).len(), 1);
}

#[test]
fn a_wildcard_in_the_match_of_errors_fails() {
    let count = |text| complaints(rules::exhaustive, "src/api/http/errors.rs", text);
    assert_eq!(count("match e { E::A => 1, _ => 2 }"), 1);
    assert_eq!(count("match e { E::A(_) => 1, E::B => 2 }"), 0);
}

#[test]
fn sql_outside_of_db_fails() {
    let count = |path: &str, text: &str| complaints(sql::text, path, text);
    for text in [
        "SELECT id FROM traits",
        "(SELECT COUNT(*) \\\n FROM a) c",
        "INSERT INTO a",
        "UPDATE a SET b = 1",
        "DELETE FROM a",
        "a.id = v.id AND a.b = v.b",
    ] {
        let code = format!("let a = format!(\"{text}\");");
        assert_eq!(count("src/model/a.rs", &code), 1, "{text}");
        assert_eq!(count("src/db/a.rs", &code), 0, "{text}");
        let test = format!("#[cfg(test)]\nmod tests {{ fn a() {{ f(\"{text}\") }} }}");
        assert_eq!(count("src/model/a.rs", &test), 0, "{text}");
    }
    assert_eq!(count("src/model/a.rs", "let a = r#\"SELECT \"id\" FROM a\"#;"), 1);
    for statement in [
        "const A: UpdateFromRows = UpdateFromRows { table: \"a\", set: \"b = v.b\" };",
        "let a = CountFrom(from);",
        "const A: DeleteRows = rows::DeleteRows { table: \"a\" };",
    ] {
        assert_eq!(count("src/model/a.rs", statement), 1, "{statement}");
    }
    assert_eq!(
        count(
            "src/model/a.rs",
            "// SELECT a FROM b\nfn a() -> UpdateFromRows { consumers::UPDATE } f(\"DELETE, UPDATE a route\", \"from AND to\");"
        ),
        0
    );
}

#[test]
fn engines_distinguished_outside_of_their_modules_fail() {
    let count = |path, text| complaints(sql::engines, path, text);
    let fork = "match conn {\n DbConnection::Sqlite(_) => 1,\n #[cfg(feature = \"mariadb\")]\n DbConnection::Mariadb(_) => 2 }";
    assert_eq!(count("src/db/schema/a.rs", fork), 3);
    assert_eq!(
        count("src/db/engines/rows/a.rs", fork) + count("src/db/connect/url.rs", fork),
        0
    );
    assert_eq!(count("src/cli/a.rs", "if let DbTarget::Sqlite(path) = target {}"), 1);
    assert_eq!(count("src/db/a.rs", "if cfg!(feature = \"postgresql-tls\") {}"), 1);
    assert_eq!(
        count(
            "src/db/a.rs",
            "#[cfg(feature = \"mutants\")] fn f(conn: &DbConnection) {} // DbConnection::Sqlite"
        ),
        0
    );
    assert_eq!(
        count("src/db/a.rs", &format!("#[cfg(test)]\nmod tests {{ {fork} }}")),
        0
    );
}

#[test]
fn files_that_do_not_begin_with_their_purpose_fail() {
    let head = |text: &str| layout::head(&file("src/a.rs", text)).is_some();
    assert!(head("use a;") && head("\n//! A.") && head("//!\n//! A.") && head("// A.") && !head("//! A.\nuse a;"));
}

#[test]
fn tests_outside_of_the_module_tests_fail() {
    let count = |path: &str, text: &str| layout::test_places(&file(path, text)).len();
    let test = "#[test]\nfn a() {}\n";
    let inline = format!("fn a() {{}}\n#[cfg(test)]\nmod tests {{\n{test}}}");
    assert_eq!(
        count("src/a.rs", &inline) + count("src/a.rs", "#[cfg(test)]\nmod tests;"),
        0
    );
    assert_eq!(count("src/a/tests.rs", test) + count("src/a/tests/b.rs", test), 0);
    assert_eq!(count("src/a.rs", test), 1);
    assert_eq!(count("src/a_tests.rs", test), 1);
    assert_eq!(count("src/a.rs", &format!("{test}{inline}")), 1);
    assert_eq!(count("src/a.rs", "#[cfg(test)]\nmod a_tests;"), 1);
    assert_eq!(count("src/a.rs", "#[cfg(test)]\nstruct Helper;"), 1);
    assert_eq!(count("src/a.rs", "#[cfg(all(test, unix))]\nmod helpers {}"), 1);
    assert_eq!(count("src/a/tests.rs", "#[cfg(test)]\nmod helpers;"), 1);
    let allowed = "#[cfg(test)]\npub(super) use a::b;\n#[cfg(test)]\npub fn steps() {}\n#[cfg(not(test))]\nstruct A;";
    assert_eq!(count("src/a.rs", allowed), 0);
}
