//! Work in the pools ends early: a search at the deadline of a command, and a body when its client leaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use super::{TestServer, admin};
use crate::api::http::base_url::BaseUrl;
use crate::api::http::body::RequestBody;
use crate::api::http::disconnect::DisconnectWatch;
use crate::api::http::lists::ListRequest;
use crate::api::http::request_context::RequestContext;
use crate::caller::CallerKey;
use crate::policy::Caller;
use crate::pools::{Pool, PoolJob, SMALL_BODY_BYTES};
use crate::version::Version;

const UUID: &str = "11111111-1111-4111-8111-111111111111";
/// Longer than a test takes.
const HANG: Duration = Duration::from_secs(600);

/// Jobs that keep all threads of a caller in a pool, until they are dropped.
struct Occupied {
    _keep: Vec<Sender<()>>,
    jobs: Vec<PoolJob<()>>,
}

fn occupy(pool: &Pool, caller: &CallerKey) -> Occupied {
    let (mut keep, mut jobs) = (Vec::new(), Vec::new());
    while !pool.is_saturated_by(caller) {
        let (sender, ended) = channel();
        keep.push(sender);
        jobs.push(pool.start(caller, move || {
            let _ = ended.recv();
            Ok(())
        }));
    }
    Occupied { _keep: keep, jobs }
}

/// Searches of hosts and first bytes had no deadline.
#[actix_web::test]
async fn hostile_02_searches_that_get_no_processor_are_refused_at_the_deadline() {
    let server = TestServer::with_timeout(Duration::from_millis(500));
    let (pools, caller) = (server.service.model.pools(), CallerKey::of_user("admin", "admin"));
    let occupied = [&pools.searches, &pools.attempts, &pools.answers].map(|pool| occupy(pool, &caller));
    let state = json!({"state": "off"});
    let claim = json!({"consumers": [{"uuid": UUID, "query": "resources=VCPU:1"}]});
    for (method, url, body) in [
        ("GET", "/allocation_candidates?resources=VCPU:1", Value::Null),
        ("GET", "/allocation_candidates?resources=VCPU:1&limit=1", Value::Null),
        ("GET", "/resource_providers", Value::Null),
        ("GET", "/v1/candidates?resources=VCPU:1&rank=emptiest", Value::Null),
        ("GET", "/v1/domains?dimension=fault", Value::Null),
        ("GET", "/v1/violations", Value::Null),
        ("PATCH", "/v1/providers?in_domain=fault:a", state),
        ("POST", "/v1/claims", claim),
    ] {
        assert_is_late(&server, method, url, body).await;
    }
    let waiting = [&pools.searches, &pools.attempts, &pools.answers].map(Pool::waiting);
    assert_eq!(waiting, [0; 3]);
    drop(occupied);
}

/// Asserts the refusal of a request at the deadline.
async fn assert_is_late(server: &TestServer, method: &str, url: &str, body: Value) {
    let request = admin(method, url, "1.39")
        .insert_header(("content-type", "application/json"))
        .set_payload(body.to_string());
    let answer = timeout(HANG, server.send(request)).await.expect("an answer");
    assert_eq!(answer.status, 503, "{method} {url}: {}", answer.text());
    let detail = answer.text();
    assert!(detail.contains("[placet] commit_timeout"), "{url}: {detail}");
}

#[actix_web::test]
async fn hostile_02_pages_that_no_thread_writes_are_refused_at_the_deadline() {
    let server = TestServer::with_timeout(Duration::from_millis(500));
    let (pools, caller) = (server.service.model.pools(), CallerKey::of_user("admin", "admin"));
    let occupied = occupy(&pools.answers, &caller);
    for url in [
        "/v1/domains?dimension=fault",
        "/v1/violations",
        "/v1/workloads",
        "/v1/providers",
    ] {
        assert_is_late(&server, "GET", url, Value::Null).await;
    }
    assert_eq!(pools.answers.waiting(), 0);
    drop(occupied);
}

/// A request with this client, with an empty body.
fn context(server: &TestServer, client: watch::Receiver<bool>) -> RequestContext {
    RequestContext {
        version: Version::MAX,
        query: String::new(),
        caller: Arc::new(Caller::default()),
        body: RequestBody::default(),
        base_url: BaseUrl {
            origin: String::new(),
            prefix: String::new(),
        },
        client: Some(DisconnectWatch(client)),
        address: None,
        fields: Vec::new(),
        list: ListRequest::default(),
        may_lag: false,
        service: server.service.clone().into_inner(),
    }
}

/// The body of a client that had left was read all the same.
#[actix_web::test]
async fn hostile_11_a_body_whose_client_leaves_before_a_thread_is_free_is_not_read() {
    let server = TestServer::new();
    let (client, closed) = watch::channel(false);
    let mut context = context(&server, closed);
    let bodies = &server.service.model.pools().bodies;
    let occupied = occupy(bodies, &context.caller_key());
    let is_read = Arc::new(AtomicBool::new(false));
    let note = Arc::clone(&is_read);
    client.send_replace(true);
    let read = context.read_patch(SMALL_BODY_BYTES + 1, move |_| {
        note.store(true, Ordering::SeqCst);
        Ok(())
    });
    // A body of no bytes is short enough for the worker, unless it changes a large state.
    let read = timeout(HANG, read).await.expect("the request ends");
    assert!(read.is_err() && bodies.waiting() == 0, "{read:?}");
    let Occupied { _keep, jobs } = occupied;
    drop(_keep);
    for job in jobs {
        job.await.expect("no panic");
    }
    bodies.start(&context.caller_key(), || Ok(())).await.expect("no panic");
    assert!(!is_read.load(Ordering::SeqCst));
}
