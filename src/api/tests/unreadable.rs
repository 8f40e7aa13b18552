//! Tests of requests that cannot be parsed as HTTP, and of handlers with a panic.

use std::net::Ipv4Addr;
use std::sync::Arc;

use actix_web::http::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use crate::api::http::connections::Connections;
use crate::api::http::dispatch::catch_panic;
use crate::api::http::reply::Reply;
use crate::api::http::stream::Stream;

/// The answer to the client when the server writes `response` to `request`.
async fn exchange(request: &str, response: &str) -> String {
    let (mut client, server) = duplex(1 << 17);
    let mut stream = Stream::new(
        server,
        Connections::new(10, Arc::default()).open(Ipv4Addr::LOCALHOST.into()),
    );
    client.write_all(request.as_bytes()).await.expect("space in the buffer");
    let mut read = vec![0; request.len()];
    stream.read_exact(&mut read).await.expect("the request");
    stream
        .write_all(response.as_bytes())
        .await
        .expect("space in the buffer");
    drop(stream);
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.expect("a text");
    answer
}

const BARE: &str = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\ndate: now\r\n\r\n";

#[actix_web::test]
async fn a_refusal_of_unparsable_http_gets_a_body() {
    let answer = exchange("POST / HTTP/1.1\r\nContent-Length: hi mom\r\n\r\n", BARE).await;
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 400 Bad Request\r\n") && head.contains("\r\nx-openstack-request-id: req-"));
    assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", body.len())));
    let error = &serde_json::from_str::<serde_json::Value>(body).expect("JSON")["errors"][0];
    assert_eq!(error["status"], 400);
    assert!(
        error["detail"]
            .as_str()
            .expect("a text")
            .contains("content-length header must be an integer")
    );

    let answer = exchange("NONSENSE\r\n\r\n", BARE).await;
    assert!(answer.contains("The request could not be read as HTTP."));
    let answer = exchange("GET / HT", &BARE.replace("400 Bad Request", "408 Request Timeout")).await;
    assert!(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n") && answer.contains("did not arrive in time"));
}

#[actix_web::test]
async fn other_answers_are_not_changed() {
    let fine = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-openstack-request-id: req-1\r\n\r\n{}";
    assert_eq!(exchange("GET / HTTP/1.1\r\n\r\n", fine).await, fine);
    let refused = "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\nx-openstack-request-id: req-1\r\n\r\n";
    assert_eq!(exchange("HEAD / HTTP/1.1\r\n\r\n", refused).await, refused);
    let both = exchange("GET / HTTP/1.1\r\n\r\nNONSENSE\r\n\r\n", &format!("{fine}{BARE}")).await;
    assert!(both.starts_with(fine) && both.ends_with('}') && both.contains("could not be read as HTTP"));
}

#[actix_web::test]
async fn a_panic_fails_only_its_request() {
    let refusal = catch_panic(async { panic!("an internal detail") })
        .await
        .map(|_: Reply| ())
        .expect_err("a refusal");
    assert_eq!(refusal.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert!(!refusal.detail().contains("an internal detail"));
}

#[actix_web::test]
async fn too_long_a_target_is_distinguished_from_a_malformed_header() {
    let target = |length: usize, rest: &str| format!("GET /{} HTTP/1.1\r\n{rest}\r\n\r\n", "a".repeat(length - 1));
    let malformed = exchange(&target(65_534, "no colon"), BARE).await;
    assert!(malformed.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{malformed}");
    let refused = exchange(&target(65_535, "Host: x"), BARE).await;
    assert!(refused.starts_with("HTTP/1.1 414 URI Too Long\r\n"), "{refused}");
    assert!(refused.contains("at most 65534 bytes"), "{refused}");
}
