//! No request occupies its HTTP worker: the processor time of each turn of the worker's loop is measured under every
//! route, with its largest legal input.
//!
//! The client is a thread with a connection of its own. The turns belong to the connection's task: the task reads the
//! request, runs the handler, writes the answer, and drops everything. The tests compile placet without optimisation,
//! so the bound holds in a package with a wide margin. Other processes do not make processor time longer.

mod cases;
mod client;
mod cloud;
mod samples;

use std::fmt::Debug;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use actix_http::{HttpService, Protocol};
use actix_service::{IntoServiceFactory, Service, ServiceFactory, ServiceFactoryExt, map_config};
use actix_web::App;
use actix_web::dev::AppConfig;
use actix_web::rt::net::{TcpListener, TcpStream};
use actix_web::web::to;

use super::super::route::{Family, Media, Route};
use super::super::routes::ROUTES;
use super::super::service::HttpSettings;
use super::{TestServer, answer};
use crate::pools::{SMALL_BODY_BYTES, processor_time};
use crate::tests::by_size;
use crate::version::Version;
use cases::Cases;
use client::Request;

/// The most processor time of one turn.
const MAX_TURN: Duration = Duration::from_millis(20);

/// How often the cases of a route are sent, at most. A turn is longer while other tests fill the processor's caches,
/// so a route fails only if each time has a long turn.
const TRIES: usize = 3;

/// The longest body. With the default of `max_body_size` the test takes a minute.
fn body_bytes() -> usize {
    by_size(8 << 20, 32 << 20)
}

fn largest_requests(settings: &mut HttpSettings) {
    settings.max_body_size = body_bytes();
    settings.search.max_combinations = 10_000;
}

/// Waits for the future, and returns the processor time of its longest turn too. The future is dropped in its last
/// turn.
async fn measured<T>(future: impl Future<Output = T>) -> (T, Duration) {
    let (mut future, mut longest) = (Some(Box::pin(future)), Duration::ZERO);
    let result = poll_fn(|task| {
        let before = processor_time();
        let poll = future
            .as_mut()
            .map_or(Poll::Pending, |future| future.as_mut().poll(task));
        if poll.is_ready() {
            future = None;
        }
        longest = longest.max(processor_time() - before);
        poll
    })
    .await;
    (result, longest)
}

/// Serves connections as a worker does.
async fn worker(
    server: &TestServer,
) -> impl Service<(TcpStream, Protocol, Option<SocketAddr>), Response = (), Error = impl Debug> {
    let app = App::new().app_data(server.service.clone()).default_service(to(answer));
    let app = app
        .into_factory()
        .map_err(|error: actix_web::Error| error.error_response());
    let connections = HttpService::build().finish(map_config(app, |()| AppConfig::default()));
    connections.new_service(()).await.expect("a worker")
}

/// Sends the request, checks the status, and returns the longest turn of the connection.
async fn send(
    worker: &impl Service<(TcpStream, Protocol, Option<SocketAddr>), Response = (), Error = impl Debug>,
    request: Request,
) -> Duration {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (name, status) = (request.name.clone(), request.status);
    let client = thread::spawn(move || request.send(address));
    let (connection, peer) = listener.accept().await.expect("a connection");
    let (served, longest) = measured(worker.call((connection, Protocol::Http1, Some(peer)))).await;
    served.expect("an answer");
    let answer = client.join().expect("an answer");
    println!("{name}: {longest:?}, {} bytes", answer.body.len());
    assert_eq!(answer.status, status, "{name}: {}", answer.refusal());
    longest
}

/// Sends the requests. Returns the names of those with a long turn, and the longest turn of each.
async fn long_turns(
    worker: &impl Service<(TcpStream, Protocol, Option<SocketAddr>), Response = (), Error = impl Debug>,
    requests: Vec<Request>,
) -> Vec<(String, Duration)> {
    let mut turns = Vec::new();
    for request in requests {
        turns.push((request.name.clone(), send(worker, request).await));
    }
    turns.retain(|(_, longest)| *longest > MAX_TURN);
    turns
}

/// A short body, which the worker reads itself, and the longest body. 0 for a route without a body.
fn body_lengths(route: &Route) -> Vec<usize> {
    match route.media {
        Media::ConsumesJson => vec![SMALL_BODY_BYTES, route.max_body_bytes.min(body_bytes())],
        Media::Unchecked | Media::ProducesJson | Media::ProducesList => vec![0],
    }
}

fn requests(route: &Route, cases: &mut Cases) -> Vec<Request> {
    let version = match route.family {
        Family::Placement { last, .. } => last,
        Family::Native => Version::MAX,
    };
    let lengths = body_lengths(route).into_iter();
    let cases = lengths.flat_map(|length| cases.of(route, length * 9 / 10));
    cases.map(|case| Request::new(&route.method, &case, version)).collect()
}

/// Makes requests on a thread of their own. Else the worker's allocator frees the memory of the bodies in a later turn.
fn made<T: Send + 'static>(make: impl FnOnce() -> T + Send + 'static) -> T {
    thread::spawn(make).join().expect("requests")
}

#[actix_web::test]
async fn hostile_8_no_route_occupies_its_worker_for_long() {
    let server = TestServer::with_rows(largest_requests, &cloud::rows());
    let worker = worker(&server).await;
    for request in made(cases::preparation) {
        send(&worker, request).await;
    }
    let (mut cases, mut turns, mut sampled) = (Cases::new(), Vec::new(), Vec::new());
    for route in ROUTES {
        let mut of_route = Vec::new();
        for _ in 0..TRIES {
            let made_of_route;
            (cases, made_of_route) = made(move || {
                let requests = requests(route, &mut cases);
                (cases, requests)
            });
            if made_of_route.is_empty() {
                sampled.push(route);
            }
            of_route = long_turns(&worker, made_of_route).await;
            if of_route.is_empty() {
                break;
            }
        }
        turns.extend(of_route);
    }
    turns.extend(long_turns(&worker, made(move || samples::requests(&sampled))).await);
    assert!(turns.is_empty(), "{turns:#?}");
}
