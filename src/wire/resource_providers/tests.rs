//! Tests of parsed bodies and queries, and of written answers, by microversion.

use std::sync::Arc;

use super::super::json;
use super::*;
use crate::model::Moment;
use crate::search::{Catalog, ProviderId, ProviderRow};

const UUID: &str = "0123abcd-4567-89ab-cdef-0123456789ab";

fn provider(parent: Option<&str>) -> Provider {
    Provider {
        uuid: Arc::from(UUID),
        name: Arc::from("náme"),
        generation: 3,
        parent: parent.map(Arc::from),
        root: Arc::from("root"),
        modified: Moment::UNIX_EPOCH,
    }
}

/// The snapshot's row for `provider(None)`, except the root, which is the provider itself.
fn row() -> ProviderRow {
    ProviderRow {
        generation: 3,
        ..ProviderRow::bare(ProviderId(1), UUID, "náme")
    }
}

#[test]
fn a_new_provider_gets_a_canonical_uuid_given_or_generated() {
    let body = format!(
        r#"{{"name": "a", "uuid": "{}", "parent_provider_uuid": "{UUID}"}}"#,
        UUID.replace('-', "")
    );
    let create = read_create(Version::new(14), body.as_bytes()).unwrap();
    assert_eq!(
        (create.uuid.as_str(), create.name.as_str(), create.parent.as_deref()),
        (UUID, "a", Some(UUID))
    );
    let create = read_create(Version::new(0), br#"{"name": "a"}"#).unwrap();
    assert_eq!(
        (uuid::canonical(&create.uuid), create.parent),
        (Some(create.uuid), None)
    );
}

#[test]
fn an_update_distinguishes_a_null_parent_from_a_missing_one() {
    let parent = |minor, body: &str| read_update(Version::new(minor), "u", body.as_bytes()).unwrap().parent;
    assert_eq!(parent(14, r#"{"name": "a"}"#), NewParent::Keep);
    assert_eq!(
        parent(14, r#"{"name": "a", "parent_provider_uuid": null}"#),
        NewParent::Set(None)
    );
    let body = format!(r#"{{"name": "a", "parent_provider_uuid": "{UUID}"}}"#);
    assert_eq!(parent(14, &body), NewParent::Set(Some(UUID.to_owned())));
    assert!(
        !read_update(Version::new(36), "u", body.as_bytes())
            .unwrap()
            .may_reparent
    );
    assert!(
        read_update(Version::new(37), "u", body.as_bytes())
            .unwrap()
            .may_reparent
    );
}

#[test]
fn an_empty_name_filters_nothing() {
    assert_eq!(read_list(Version::MAX, "name=").unwrap().name, None);
}

#[test]
fn reads_the_filters_of_a_list() {
    let query = format!("name=a%20b&uuid={UUID}&member_of=!{UUID}&resources=VCPU:2&in_tree={UUID}&required=A,!B");
    let list = read_list(Version::MAX, &query).unwrap();
    assert_eq!(list.name.as_deref(), Some("a b"));
    assert_eq!(
        (list.uuid.as_deref(), list.in_tree.as_deref()),
        (Some(UUID), Some(UUID))
    );
    assert_eq!(list.resources, [("VCPU".to_owned(), 2)]);
    assert_eq!((list.traits.required.len(), list.traits.forbidden.len()), (1, 1));
    assert_eq!((list.members.any_of.len(), list.members.forbidden.len()), (0, 1));
    assert_eq!(read_list(Version::new(0), "").unwrap(), ProviderQuery::default());
    assert!(read_list(Version::new(0), "resources=VCPU:2").is_err());
    assert!(read_list(Version::MAX, "resources=").is_err());
}

/// A proxy's prefix had the six characters that stood for the uuid.
#[test]
fn a_prefix_of_any_characters_is_written_as_it_is() {
    for prefix in ["/placement", r"/a\u0000b", r#"/"\"#, "/é\u{80}"] {
        let body = write_one(Version::MAX, prefix, &provider(None));
        let read = json::read(&body, |_| Ok(())).expect(prefix);
        let links = read.field("links").items();
        let href = |at: usize| links[at].field("href").text();
        assert_eq!(href(0), format!("{prefix}/resource_providers/{UUID}"));
        assert_eq!(href(1), format!("{prefix}/resource_providers/{UUID}/inventories"));
    }
}

#[test]
fn links_and_trees_depend_on_the_version() {
    let written = |minor, provider: &Provider| {
        let body = write_one(Version::new(minor), "/placement", provider);
        json::read(&body, |_| Ok(())).unwrap()
    };
    let rels = |minor| {
        let body = written(minor, &provider(None));
        body.field("links")
            .items()
            .iter()
            .map(|link| link.field("rel").text().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(rels(0), ["self", "inventories", "usages"]);
    assert_eq!(rels(1), ["self", "inventories", "usages", "aggregates"]);
    assert_eq!(rels(6), ["self", "inventories", "usages", "aggregates", "traits"]);
    assert_eq!(
        rels(11),
        ["self", "inventories", "usages", "aggregates", "traits", "allocations"]
    );
    let keys = |body: &Json| body.members().map(|(key, _)| key.to_owned()).collect::<Vec<_>>();
    assert_eq!(
        keys(&written(13, &provider(None))),
        ["uuid", "name", "generation", "links"]
    );
    let body = written(14, &provider(None));
    assert_eq!(body.get("parent_provider_uuid"), Some(&Json::Null));
    assert_eq!(body.field("root_provider_uuid").text(), "root");
    assert_eq!(
        written(14, &provider(Some("p"))).field("parent_provider_uuid").text(),
        "p"
    );
}

#[test]
fn a_list_is_the_same_in_pieces_of_any_length() {
    let url = format!("/placement/resource_providers/{UUID}");
    let links = format!(r#"[{{"rel":"self","href":"{url}"}},{{"rel":"inventories","href":"{url}/inventories"}},"#)
        + &format!(r#"{{"rel":"usages","href":"{url}/usages"}}]"#);
    let one = format!(r#"{{"uuid":"{UUID}","name":"náme","generation":3,"links":{links}}}"#);
    let snapshot = Arc::new(Snapshot::build(Catalog::default(), vec![row()]));
    let slot = snapshot.iter().next().unwrap();
    for (count, items) in [(0, String::new()), (1, one.clone()), (2, format!("{one},{one}"))] {
        let whole = format!(r#"{{"resource_providers":[{items}]}}"#);
        for length in [1, 400, 100_000] {
            let mut list = List::new(Version::MIN, "/placement", Arc::clone(&snapshot), vec![slot; count]);
            let mut written = Vec::new();
            loop {
                let mut piece = Vec::new();
                let more = list.write(&mut piece, length);
                // A piece ends after the item beyond `length`. The text around the items is shorter than 50.
                let bytes = piece.len();
                assert!(
                    bytes < length + one.len() + 50,
                    "a piece of {bytes} bytes, asked for {length}"
                );
                written.extend(piece);
                if !more {
                    break;
                }
            }
            assert_eq!(String::from_utf8(written).unwrap(), whole);
        }
    }
}

#[test]
fn special_characters_are_escaped_in_links_too() {
    let odd = Provider {
        uuid: Arc::from("a\"b"),
        name: Arc::from("x\\\n"),
        ..provider(Some("\""))
    };
    let body = write_one(Version::MAX, "/\"", &odd);
    let body = json::read(&body, |_| Ok(())).unwrap();
    let text = |field: &str| body.field(field).text().to_owned();
    assert_eq!(
        (text("uuid"), text("name")),
        (odd.uuid.to_string(), odd.name.to_string())
    );
    assert_eq!(text("parent_provider_uuid"), "\"");
    let links = body.field("links").items();
    let hrefs: Vec<&str> = links.iter().map(|link| link.field("href").text()).collect();
    assert_eq!(hrefs[0], "/\"/resource_providers/a\"b");
    assert_eq!(hrefs[5], "/\"/resource_providers/a\"b/allocations");
}

/// Versions differ in their members: parent and root come with 1.14, each link with the version of its resource.
#[test]
fn a_provider_is_written_the_same_in_a_list_and_alone_in_each_version() {
    // The links of a uuid with a length other than 36 are written differently.
    let child = ProviderRow {
        id: ProviderId(2),
        uuid: Arc::from("short"),
        parent: Some(ProviderId(1)),
        ..row()
    };
    let snapshot = Arc::new(Snapshot::build(Catalog::default(), vec![row(), child]));
    for version in Version::all() {
        let of_root = Provider {
            root: Arc::from(UUID),
            ..provider(None)
        };
        let of_child = Provider {
            uuid: Arc::from("short"),
            parent: Some(Arc::from(UUID)),
            ..of_root.clone()
        };
        let one = |provider| String::from_utf8(write_one(version, "/p", provider)).unwrap();
        let expected = format!(r#"{{"resource_providers":[{},{}]}}"#, one(&of_root), one(&of_child));
        let mut written = Vec::new();
        List::new(version, "/p", Arc::clone(&snapshot), snapshot.iter().collect()).write(&mut written, usize::MAX);
        assert_eq!(String::from_utf8(written).unwrap(), expected, "{version}");
    }
}
