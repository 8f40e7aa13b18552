//! Long answers are sent in chunks, and whoever does not wait for one stops the search.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use actix_web::body::MessageBody;
use actix_web::web::Bytes;
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::candidates::{uuid, write};
use super::{Edge, admin};
use crate::api::http::disconnect::DisconnectSignal;
use crate::api::http::streaming::{
    CHUNK_BYTES, ChunkSource, FirstChunks, InlineResult, InterruptOnDrop, LogContext, StreamingBody, try_inline,
};
use crate::error::{Error, Result};
use crate::search::Interrupt;

/// The next piece; what never comes fails the test.
async fn next(body: &mut StreamingBody) -> Option<Result<Bytes>> {
    let polled = std::future::poll_fn(|task| Pin::new(&mut *body).poll_next(task));
    timeout(Duration::from_secs(10), polled)
        .await
        .expect("a piece, or the end")
}

fn about() -> LogContext {
    LogContext {
        what: "a".into(),
        advice: "",
    }
}

/// Writes what a function gives it to write.
struct From<F> {
    write: F,
    found: bool,
}

impl<F: FnMut(&mut Vec<u8>, usize) -> Result<bool> + Send> ChunkSource for From<F> {
    fn write(&mut self, out: &mut Vec<u8>, length: usize) -> Result<bool> {
        (self.write)(out, length)
    }

    fn is_found(&self) -> bool {
        self.found
    }

    fn remaining_bytes(&self) -> Option<usize> {
        None
    }
}

fn beginning(rest: impl ChunkSource + 'static) -> FirstChunks {
    FirstChunks {
        chunks: [b"0".to_vec()].into(),
        rest: Some(Box::new(rest)),
        length: None,
    }
}

/// A body with a first piece, of a source that counts how often it is asked and ends with `last`.
fn counting(last: Result<bool>, after: usize, found: bool) -> (StreamingBody, Arc<AtomicUsize>, Interrupt) {
    let (asked, interrupt) = (Arc::new(AtomicUsize::new(0)), Interrupt::default());
    let counter = Arc::clone(&asked);
    let write = move |out: &mut Vec<u8>, length| {
        assert_eq!(length, CHUNK_BYTES);
        let number = counter.fetch_add(1, Ordering::SeqCst) + 1;
        out.extend_from_slice(number.to_string().as_bytes());
        if number < after { Ok(true) } else { last.clone() }
    };
    let waiting = InterruptOnDrop(interrupt.clone());
    let beginning = beginning(From { write, found });
    (StreamingBody::new(about(), None, waiting, beginning), asked, interrupt)
}

#[actix_web::test]
async fn a_long_answer_is_the_same_as_in_one_piece() {
    let edge = Edge::new();
    write(
        &edge,
        "POST",
        "/resource_providers",
        json!({"name": "host", "uuid": uuid(0)}),
    )
    .await;
    for child in 1..=16 {
        let body = json!({"name": format!("child {child}"), "uuid": uuid(child), "parent_provider_uuid": uuid(0)});
        write(&edge, "POST", "/resource_providers", body).await;
        let room = json!({"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 1}}});
        write(
            &edge,
            "PUT",
            &format!("/resource_providers/{}/inventories", uuid(child)),
            room,
        )
        .await;
    }
    for version in ["1.29", "1.39"] {
        let path = "/allocation_candidates?resources1=VCPU:1&resources2=VCPU:1&resources3=VCPU:1&group_policy=isolate";
        let long = edge.send(admin("GET", path, version)).await;
        let whole = edge.send(admin("GET", &format!("{path}&limit=100000"), version)).await;
        assert_eq!(
            long.json()["allocation_requests"].as_array().map(Vec::len),
            Some(16 * 15 * 14)
        );
        assert!(
            long.body == whole.body && long.body.len() > 3 * CHUNK_BYTES,
            "{}",
            long.body.len()
        );
        assert_eq!((long.length, whole.length), (None, Some(whole.body.len() as u64)));
        // What fits has a length, limit or not.
        let short = edge
            .send(admin("GET", "/allocation_candidates?resources=VCPU:1", version))
            .await;
        assert_eq!(short.length, Some(short.body.len() as u64));
    }
}

/// The list of providers has its chunks from the same numbers and texts that each provider alone has, in their order.
#[actix_web::test]
async fn a_long_list_of_providers_is_the_same_as_in_one_piece() {
    let edge = Edge::new();
    let path = "/resource_providers";
    let (mut items, mut newest) = (Vec::new(), None);
    for number in 0..120 {
        let body = json!({"name": format!("host {number}"), "uuid": uuid(number)});
        write(&edge, "POST", path, body).await;
        let one = edge
            .send(admin("GET", &format!("{path}?uuid={}", uuid(number)), "1.39"))
            .await;
        assert_eq!(one.length, Some(one.body.len() as u64), "what fits has a length");
        let inside = one.text().strip_prefix(r#"{"resource_providers":["#);
        items.push(
            inside
                .and_then(|text| text.strip_suffix("]}"))
                .expect("a list")
                .to_owned(),
        );
        newest = one.header("last-modified").map(str::to_owned);
    }
    let long = edge.send(admin("GET", path, "1.39")).await;
    assert!(long.body.len() > CHUNK_BYTES, "{}", long.body.len());
    assert_eq!(long.length, None);
    assert_eq!(
        long.text(),
        format!(r#"{{"resource_providers":[{}]}}"#, items.join(","))
    );
    assert_eq!(long.header("last-modified"), newest.as_deref());
}

#[actix_web::test]
async fn one_piece_is_made_ahead_and_no_more() {
    let (mut body, asked, _) = counting(Ok(false), 3, false);
    sleep(Duration::from_millis(50)).await;
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    for piece in ["0", "1", "2", "3"] {
        assert_eq!(next(&mut body).await, Some(Ok(Bytes::from(piece))));
        sleep(Duration::from_millis(50)).await;
        assert_eq!(
            asked.load(Ordering::SeqCst),
            (piece.parse::<usize>().unwrap() + 1).min(3)
        );
    }
    assert_eq!(next(&mut body).await, None);
}

/// Nothing of it is made ahead, and no thread is woken: each piece is there when it is asked for, in the memory of the one
/// before.
#[actix_web::test]
async fn what_was_found_is_written_when_it_is_asked_for() {
    let (mut body, asked, _) = counting(Ok(false), 3, true);
    let mut task = std::task::Context::from_waker(std::task::Waker::noop());
    let mut places = Vec::new();
    for piece in 0..4 {
        let Poll::Ready(Some(Ok(bytes))) = Pin::new(&mut body).poll_next(&mut task) else {
            panic!("a piece is ready");
        };
        assert_eq!(bytes, piece.to_string());
        assert_eq!(asked.load(Ordering::SeqCst), piece);
        places.push(bytes.as_ptr());
    }
    assert_eq!(places[2], places[3]);
    assert!(matches!(Pin::new(&mut body).poll_next(&mut task), Poll::Ready(None)));
}

#[actix_web::test]
async fn an_error_breaks_the_answer_off() {
    let error = Error::BadRequest { detail: "no".into() };
    let (mut body, ..) = counting(Err(error.clone()), 2, false);
    assert_eq!(next(&mut body).await, Some(Ok(Bytes::from("0"))));
    assert_eq!(next(&mut body).await, Some(Ok(Bytes::from("1"))));
    assert_eq!(next(&mut body).await, Some(Err(error)));
}

#[actix_web::test]
async fn a_body_that_is_dropped_stops_the_search() {
    let (mut body, asked, interrupt) = counting(Ok(false), 1000, false);
    assert_eq!(next(&mut body).await, Some(Ok(Bytes::from("0"))));
    assert!(!interrupt.is_set());
    drop(body);
    assert!(interrupt.is_set());
    sleep(Duration::from_millis(100)).await;
    assert!(asked.load(Ordering::SeqCst) <= 1);
}

/// What a client that ended its side waits for is sent if it comes soon, and given up if not.
#[actix_web::test]
async fn a_piece_that_takes_long_is_given_up_when_the_client_ended_its_side() {
    let (side, interrupt) = (DisconnectSignal::open(), Interrupt::default());
    let seen = interrupt.clone();
    let write = move |out: &mut Vec<u8>, _| {
        out.push(b'1');
        while out.len() > 1 || !seen.is_set() {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(true)
    };
    let waiting = InterruptOnDrop(interrupt.clone());
    let beginning = beginning(From { write, found: false });
    let mut body = StreamingBody::new(about(), Some(side.watch()), waiting, beginning);
    side.end();
    assert_eq!(next(&mut body).await, Some(Ok(Bytes::from("0"))));
    assert!(matches!(next(&mut body).await, Some(Err(Error::BadRequest { .. }))));
    drop(body);
    assert!(interrupt.is_set());
}

/// What comes of an answer of so many `bytes` that is begun with so many rounds, where its search goes round `times`.
fn brief(rounds: u64, times: usize, bytes: Result<usize>) -> Option<(Interrupt, Result<InlineResult>)> {
    let make = |interrupt: Interrupt| {
        for _ in 0..times {
            interrupt.is_set();
        }
        let mut left = bytes;
        let write = move |out: &mut Vec<u8>, length: usize| {
            let left = left.as_mut().map_err(|error| error.clone())?;
            let more = (*left).min(length - out.len());
            out.resize(out.len() + more, b'1');
            *left -= more;
            Ok(*left > 0)
        };
        let source: Box<dyn ChunkSource> = Box::new(From { write, found: false });
        Ok(source)
    };
    try_inline(make, rounds, None)
}

#[test]
fn a_search_that_goes_round_too_often_for_its_thread_is_begun_anew() {
    let refusal = Error::BadRequest { detail: "ended".into() };
    for bytes in [Ok(10), Ok(100_000), Err(refusal)] {
        assert!(brief(0, 0, bytes.clone()).is_none(), "it is not to be tried");
        assert!(
            brief(3, 3, bytes.clone()).is_none(),
            "what it says may be for want of rounds"
        );
        let (interrupt, brief) = brief(3, 2, bytes.clone()).expect("it had rounds left");
        (0..3).for_each(|_| assert!(!interrupt.is_set(), "the rest is not counted"));
        let (length, chunks) = match (brief, bytes) {
            (Ok(InlineResult::Found(all)), Ok(10)) => (all.length, all.chunks),
            // It went on elsewhere where it was.
            (Ok(InlineResult::Started(begun)), Ok(100_000)) => {
                let all = begun.finish(Some(200_000)).expect("it has no error");
                (all.length, all.chunks)
            }
            (Err(error), Err(expected)) => {
                assert_eq!(error, expected);
                continue;
            }
            _ => panic!("not as it was made"),
        };
        assert_eq!(length, Some(chunks.iter().map(Vec::len).sum()));
    }
}

#[test]
fn a_panic_of_a_short_search_is_an_answer_too() {
    let make = |_| -> Result<Box<dyn ChunkSource>> { panic!("a defect") };
    let (_, brief) = try_inline(make, 3, None).expect("it had rounds left");
    assert!(matches!(brief, Err(Error::Internal { .. })));
}
