//! Conditional requests for pages of lists: a page of the snapshot is not made again while the snapshot is the same.

use actix_web::http::header::IF_NONE_MATCH;
use serde_json::json;

use super::candidates::write;
use super::{TestServer, admin};
use crate::api::http::lists::{ListRequest, PageHead};

const HOST: &str = "11111111-1111-4111-8111-111111111111";

/// The tag of no page, known to the client: 304 is possible only if no page was made.
const KNOWN: &str = "\"known\"";

fn known() -> PageHead {
    PageHead {
        tag: KNOWN.to_owned(),
        next: Some("next".to_owned()),
    }
}

#[actix_web::test]
async fn a_page_of_the_same_snapshot_is_not_made_again() {
    let server = TestServer::new();
    write(
        &server,
        "POST",
        "/resource_providers",
        json!({"name": "host", "uuid": HOST}),
    )
    .await;
    for (path, query) in [("/v1/providers", "fields=state"), ("/v1/usages", "by=root")] {
        let request = || admin("GET", &format!("{path}?{query}"), "1.39").insert_header((IF_NONE_MATCH, KNOWN));
        assert_eq!(server.send(request()).await.status, 200);
        let question = ListRequest::at(path).question(query).unwrap();
        let snapshot = server.service.model.snapshot().await.unwrap();
        let pages = &server.service.known_pages;
        assert!(pages.get(&snapshot, &question).is_some(), "{path}");
        write(&server, "POST", "/resource_providers", json!({"name": path})).await;
        let snapshot = server.service.model.snapshot().await.unwrap();
        pages.add(&snapshot, question, known());
        let answer = server.send(request()).await;
        assert_eq!(
            (u16::from(answer.status), answer.header("etag")),
            (304, Some(KNOWN)),
            "{path}"
        );
        let link = format!("<{path}?{query}&after=next>; rel=\"next\"");
        assert_eq!(
            answer.header("link"),
            Some(&*link),
            "a client goes on with the next page"
        );
        write(
            &server,
            "POST",
            "/resource_providers",
            json!({"name": format!("{path}-2")}),
        )
        .await;
        assert_eq!(server.send(request()).await.status, 200, "{path}");
    }
}

#[actix_web::test]
async fn a_page_of_the_snapshot_takes_a_query_of_the_change_feed() {
    let server = TestServer::shared(|_| ());
    for path in ["/v1/providers?fields=state", "/v1/usages?by=root"] {
        for tag in [None, Some("\"of no page\"")] {
            let mut least = u64::MAX;
            // The writer of the process may send statements of its own at any time.
            for _ in 0..5 {
                let before = server.service.model.statements();
                let mut request = admin("GET", path, "1.39");
                if let Some(tag) = tag {
                    request = request.insert_header((IF_NONE_MATCH, tag));
                }
                assert_eq!(server.send(request).await.status, 200);
                least = least.min(server.service.model.statements() - before);
            }
            assert_eq!(least, 1, "{path} {tag:?}");
        }
    }
}

#[actix_web::test]
async fn a_page_of_the_tables_is_always_made() {
    let server = TestServer::new();
    let path = "/v1/providers?fields=allocations";
    assert_eq!(server.send(admin("GET", path, "1.39")).await.status, 200);
    let snapshot = server.service.model.snapshot().await.unwrap();
    let question = ListRequest::at("/v1/providers").question("fields=allocations").unwrap();
    assert_eq!(server.service.known_pages.get(&snapshot, &question), None);
}
