//! Tests of streaming bodies: long answers are sent in chunks, and a disconnected client ends the search.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use actix_web::body::MessageBody;
use actix_web::web::Bytes;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::candidates::{uuid, write};
use super::{TestServer, admin};
use crate::api::http::chunks::{CHUNK_BYTES, ChunkSource, FirstChunks, InlineResult, PartialAnswer};
use crate::api::http::disconnect::DisconnectWatch;
use crate::api::http::streaming::{BrokenAnswerContext, ChunkThreads, StreamingBody};
use crate::caller::CallerKey;
use crate::error::{Error, Result};
use crate::interrupt::{Interrupt, InterruptOnDrop};
use crate::pools::Pools;

/// The next chunk. The test fails if no chunk comes within ten minutes.
async fn next(body: &mut StreamingBody) -> Option<Result<Bytes>> {
    let polled = std::future::poll_fn(|task| Pin::new(&mut *body).poll_next(task));
    timeout(Duration::from_secs(600), polled)
        .await
        .expect("a chunk, or the end")
}

fn log_context() -> BrokenAnswerContext {
    BrokenAnswerContext {
        what: "a".into(),
        advice: "",
    }
}

fn threads() -> ChunkThreads {
    ChunkThreads {
        pools: Pools::start(10).expect("runtimes").into(),
        caller: CallerKey::of_address(None),
    }
}

/// A source whose chunks come from a function.
struct FunctionSource<F> {
    write: F,
    found: bool,
}

impl<F: FnMut(&mut Vec<u8>, usize) -> Result<bool> + Send> ChunkSource for FunctionSource<F> {
    fn write(&mut self, out: &mut Vec<u8>, length: usize) -> Result<bool> {
        (self.write)(out, length)
    }

    fn is_search_done(&self) -> bool {
        self.found
    }

    fn remaining_bytes(&self) -> Option<usize> {
        None
    }
}

fn first_chunks(rest: impl ChunkSource + 'static) -> FirstChunks {
    FirstChunks {
        chunks: [b"0".to_vec()].into(),
        rest: Some(Box::new(rest)),
        length: None,
    }
}

/// A body with a first chunk and a source. The source counts its calls, and returns `last` at call number `after`.
fn counting(last: Result<bool>, after: usize, found: bool) -> (StreamingBody, Arc<AtomicUsize>, Interrupt) {
    let (calls, interrupt) = (Arc::new(AtomicUsize::new(0)), Interrupt::default());
    let counter = Arc::clone(&calls);
    let write = move |out: &mut Vec<u8>, length| {
        assert_eq!(length, CHUNK_BYTES);
        let number = counter.fetch_add(1, Ordering::SeqCst) + 1;
        out.extend_from_slice(number.to_string().as_bytes());
        if number < after { Ok(true) } else { last.clone() }
    };
    let waiting = InterruptOnDrop(interrupt.clone());
    let chunks = first_chunks(FunctionSource { write, found });
    (
        StreamingBody::new(log_context(), None, threads(), waiting, chunks),
        calls,
        interrupt,
    )
}

#[actix_web::test]
async fn a_chunked_answer_equals_the_whole_answer() {
    let server = TestServer::new();
    write(
        &server,
        "POST",
        "/resource_providers",
        json!({"name": "host", "uuid": uuid(0)}),
    )
    .await;
    for child in 1..=16 {
        let body = json!({"name": format!("child {child}"), "uuid": uuid(child), "parent_provider_uuid": uuid(0)});
        write(&server, "POST", "/resource_providers", body).await;
        let inventories = json!({"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 1}}});
        write(
            &server,
            "PUT",
            &format!("/resource_providers/{}/inventories", uuid(child)),
            inventories,
        )
        .await;
    }
    for version in ["1.29", "1.39"] {
        let path = "/allocation_candidates?resources1=VCPU:1&resources2=VCPU:1&resources3=VCPU:1&group_policy=isolate";
        let long = server.send(admin("GET", path, version)).await;
        let whole = server
            .send(admin("GET", &format!("{path}&limit=100000"), version))
            .await;
        assert_eq!(
            long.json()["allocation_requests"].as_array().map(Vec::len),
            Some(16 * 15 * 14)
        );
        assert_eq!(sorted_requests(&long.json()), sorted_requests(&whole.json()));
        assert_eq!(long.json()["provider_summaries"], whole.json()["provider_summaries"]);
        assert!(
            long.body.len() == whole.body.len() && long.body.len() > 3 * CHUNK_BYTES,
            "{}",
            long.body.len()
        );
        assert_eq!((long.length, whole.length), (None, Some(whole.body.len() as u64)));
        // An answer of a single chunk has a length, with or without a limit.
        let short = server
            .send(admin("GET", "/allocation_candidates?resources=VCPU:1", version))
            .await;
        assert_eq!(short.length, Some(short.body.len() as u64));
    }
}

/// The candidates of an answer, sorted: the order of an answer with a limit is random.
fn sorted_requests(answer: &serde_json::Value) -> Vec<String> {
    let requests = answer["allocation_requests"].as_array().expect("a list");
    let mut texts: Vec<String> = requests.iter().map(ToString::to_string).collect();
    texts.sort_unstable();
    texts
}

/// The items of the list are compared with lists of a single provider each.
#[actix_web::test]
async fn a_chunked_list_of_providers_has_the_items_of_short_lists() {
    let server = TestServer::new();
    let path = "/resource_providers";
    let (mut items, mut newest) = (Vec::new(), None);
    for number in 0..120 {
        let body = json!({"name": format!("host {number}"), "uuid": uuid(number)});
        write(&server, "POST", path, body).await;
        let one = server
            .send(admin("GET", &format!("{path}?uuid={}", uuid(number)), "1.39"))
            .await;
        assert_eq!(one.length, Some(one.body.len() as u64), "a short answer has a length");
        let inside = one.text().strip_prefix(r#"{"resource_providers":["#);
        items.push(
            inside
                .and_then(|text| text.strip_suffix("]}"))
                .expect("a list")
                .to_owned(),
        );
        newest = one.header("last-modified").map(str::to_owned);
    }
    let long = server.send(admin("GET", path, "1.39")).await;
    assert!(long.body.len() > CHUNK_BYTES, "{}", long.body.len());
    assert_eq!(long.length, None);
    assert_eq!(
        long.text(),
        format!(r#"{{"resource_providers":[{}]}}"#, items.join(","))
    );
    assert_eq!(long.header("last-modified"), newest.as_deref());
}

/// Waits until this many chunks were made, and checks that no further chunk is made soon after.
async fn assert_made(calls: &AtomicUsize, chunks: usize) {
    let made = async {
        while calls.load(Ordering::SeqCst) < chunks {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(600), made).await.expect("a chunk");
    sleep(Duration::from_millis(50)).await;
    assert_eq!(calls.load(Ordering::SeqCst), chunks);
}

#[actix_web::test]
async fn one_chunk_is_made_ahead() {
    let (mut body, calls, _) = counting(Ok(false), 3, false);
    assert_made(&calls, 0).await;
    for (chunk, made) in [("0", 1), ("1", 2), ("2", 3), ("3", 3)] {
        assert_eq!(next(&mut body).await, Some(Ok(Bytes::from(chunk))));
        assert_made(&calls, made).await;
    }
    assert_eq!(next(&mut body).await, None);
}

/// No chunk is made ahead and no thread is woken. Each chunk is ready when polled, in the memory of the chunk before.
#[actix_web::test]
async fn after_the_search_each_chunk_is_written_when_it_is_polled() {
    let (mut body, calls, _) = counting(Ok(false), 3, true);
    let mut task = std::task::Context::from_waker(std::task::Waker::noop());
    let mut addresses = Vec::new();
    for chunk in 0..4 {
        let Poll::Ready(Some(Ok(bytes))) = Pin::new(&mut body).poll_next(&mut task) else {
            panic!("a chunk is ready");
        };
        assert_eq!(bytes, chunk.to_string());
        assert_eq!(calls.load(Ordering::SeqCst), chunk);
        addresses.push(bytes.as_ptr());
    }
    assert_eq!(addresses[2], addresses[3]);
    assert!(matches!(Pin::new(&mut body).poll_next(&mut task), Poll::Ready(None)));
}

#[actix_web::test]
async fn an_error_after_the_first_chunk_breaks_the_answer_off() {
    let error = Error::BadRequest { detail: "no".into() };
    let (mut body, ..) = counting(Err(error.clone()), 2, false);
    assert_eq!(next(&mut body).await, Some(Ok(Bytes::from("0"))));
    assert_eq!(next(&mut body).await, Some(Ok(Bytes::from("1"))));
    assert_eq!(next(&mut body).await, Some(Err(error)));
}

#[actix_web::test]
async fn dropping_the_body_interrupts_the_search() {
    let (mut body, calls, interrupt) = counting(Ok(false), 1000, false);
    assert_eq!(next(&mut body).await, Some(Ok(Bytes::from("0"))));
    assert!(!interrupt.is_set());
    drop(body);
    assert!(interrupt.is_set());
    sleep(Duration::from_millis(100)).await;
    assert!(calls.load(Ordering::SeqCst) <= 1);
}

/// A client with a closed side still gets chunks that are ready within the grace period.
#[actix_web::test]
async fn a_slow_chunk_is_given_up_if_the_client_closed_its_side() {
    let (side, interrupt) = (watch::channel(false).0, Interrupt::default());
    let seen = interrupt.clone();
    let write = move |out: &mut Vec<u8>, _| {
        out.push(b'1');
        while out.len() > 1 || !seen.is_set() {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(true)
    };
    let waiting = InterruptOnDrop(interrupt.clone());
    let chunks = first_chunks(FunctionSource { write, found: false });
    let mut body = StreamingBody::new(
        log_context(),
        Some(DisconnectWatch(side.subscribe())),
        threads(),
        waiting,
        chunks,
    );
    side.send_replace(true);
    assert_eq!(next(&mut body).await, Some(Ok(Bytes::from("0"))));
    assert!(matches!(next(&mut body).await, Some(Err(Error::BadRequest { .. }))));
    drop(body);
    assert!(interrupt.is_set());
}

/// Begins an answer of this many `bytes` on the worker.
fn begun(bytes: Result<usize>) -> Result<InlineResult> {
    let mut remaining = bytes;
    let write = move |out: &mut Vec<u8>, length: usize| {
        let remaining = remaining.as_mut().map_err(|error| error.clone())?;
        let more = (*remaining).min(length - out.len());
        out.resize(out.len() + more, b'1');
        *remaining -= more;
        Ok(*remaining > 0)
    };
    PartialAnswer::new(Box::new(FunctionSource { write, found: false })).begin(None)
}

#[test]
fn an_answer_that_is_not_short_goes_on_at_the_same_position() {
    let Ok(InlineResult::SearchDone(short)) = begun(Ok(10)) else {
        panic!("it is short");
    };
    let Ok(InlineResult::Unfinished(partial)) = begun(Ok(100_000)) else {
        panic!("it is not short");
    };
    let long = partial.finish(Some(200_000)).expect("it has no error");
    for (all, length) in [(short, 10), (long, 100_000)] {
        assert_eq!(all.length, Some(length));
        assert_eq!(all.chunks.iter().map(Vec::len).sum::<usize>(), length);
    }
    let refusal = Error::BadRequest { detail: "ended".into() };
    assert_eq!(begun(Err(refusal.clone())).err(), Some(refusal));
}
