//! Tests of the choice of the connection to close if there are too many.

use std::net::Ipv4Addr;

use super::*;

const LIMIT: usize = 16;
const NONE: [usize; 0] = [];

fn open(all: &Rc<Connections>, host: u8) -> OpenConnection {
    all.open(Ipv4Addr::new(192, 0, 2, host).into())
}

fn of_hosts(all: &Rc<Connections>, hosts: impl IntoIterator<Item = u8>) -> Vec<OpenConnection> {
    hosts.into_iter().map(|host| open(all, host)).collect()
}

/// The positions of the chosen connections.
fn closing(connections: &[OpenConnection]) -> Vec<usize> {
    let chosen = |open: &OpenConnection| open.connection().is_closing();
    (0..connections.len()).filter(|at| chosen(&connections[*at])).collect()
}

#[test]
fn none_is_closed_until_there_are_too_many() {
    let all = Connections::new(LIMIT, Arc::default());
    let mut open_ones = of_hosts(&all, [1, 2].repeat(LIMIT / 2));
    assert_eq!(closing(&open_ones), NONE);
    drop(open_ones.pop());
    let newer = open(&all, 2);
    assert_eq!(closing(&open_ones), NONE);
    let newest = open(&all, 3);
    assert_eq!(closing(&open_ones), [0]);
    drop((newer, newest));
}

#[test]
fn the_one_without_progress_for_the_longest_is_closed_whatever_it_waits_for() {
    let all = Connections::new(4, Arc::default());
    let open_ones = of_hosts(&all, 1..5);
    let request = open_ones[0].connection().begin_request();
    open_ones[1].moved(PROGRESS_BYTES);
    // Too little.
    open_ones[2].moved(PROGRESS_BYTES - 1);
    open_ones.iter().for_each(|open| open.connection().has_token.set(true));
    let more = of_hosts(&all, 5..7);
    assert_eq!(closing(&open_ones), [2, 3]);
    drop((more, request));
}

#[test]
fn a_served_request_with_an_accepted_token_keeps_its_connection_if_the_client_reads() {
    let all = Connections::new(2, Arc::default());
    let open_ones = of_hosts(&all, 1..3);
    let served: Vec<_> = open_ones
        .iter()
        .map(|open| {
            open.connection().has_token.set(true);
            open.connection().serve_request()
        })
        .collect();
    let newer = open(&all, 3);
    assert_eq!(closing(&open_ones), NONE);
    // There are too many, so the first connection that may be closed is closed.
    open_ones[1].write_is_blocked(true);
    assert_eq!(closing(&open_ones), [1]);
    let newest = open(&all, 4);
    assert_eq!(closing(&[newer, newest]), [0]);
    drop(served);
    assert_eq!(closing(&open_ones), [1]);
}

#[test]
fn without_a_token_a_served_request_keeps_no_connection() {
    let all = Connections::new(2, Arc::default());
    let open_ones = of_hosts(&all, 1..3);
    let served = open_ones[0].connection().serve_request();
    let newer = open(&all, 3);
    assert_eq!(closing(&open_ones), [0]);
    drop((served, newer));
}

#[test]
fn an_address_with_more_than_its_share_closes_its_own_connections() {
    let all = Connections::new(LIMIT, Arc::default());
    // A share is two.
    let open_ones = of_hosts(&all, (1..11).chain([20; 6]));
    let more = of_hosts(&all, [11, 20, 12, 13]);
    assert_eq!(closing(&open_ones), [10, 11, 12, 13]);
    drop(more);
}

#[test]
fn connections_without_a_token_beyond_their_share_go_before_others() {
    let all = Connections::new(LIMIT, Arc::default());
    let open_ones = of_hosts(&all, 1..17);
    open_ones[..8]
        .iter()
        .for_each(|open| open.connection().has_token.set(true));
    let mut more = Vec::new();
    for host in 17..27 {
        more.push(open(&all, host));
        // The event loop drops the chosen connections.
        more.retain(|open| !open.connection().is_closing());
    }
    assert_eq!(closing(&open_ones[..8]), NONE);
    assert_eq!(more.len(), 8);
}

#[test]
fn the_address_with_the_most_connections_closes_its_own_although_it_has_few() {
    let all = Connections::new(64, Arc::default());
    // The address with the most is far below an eighth, and its connections are the newest.
    let open_ones = of_hosts(&all, (1..62).chain([80; 3]));
    open_ones.iter().for_each(|open| open.connection().has_token.set(true));
    let more = of_hosts(&all, [90, 91]);
    assert_eq!(closing(&open_ones), [61, 62]);
    drop(more);
}

/// With tokens one address held all connections, and a new client waited for 9 s.
#[test]
fn hostile_07_an_address_has_half_of_all_connections_and_its_own_idlest_goes_first() {
    let all = Connections::new(LIMIT, Arc::default());
    let other = open(&all, 2);
    let open_ones = of_hosts(&all, [1; LIMIT / 2]);
    open_ones.iter().for_each(|open| open.connection().has_token.set(true));
    let served = open_ones[0].connection().serve_request();
    assert_eq!(closing(&open_ones), NONE);
    let more = of_hosts(&all, [1, 1]);
    assert_eq!(closing(&open_ones), [1, 2]);
    assert!(!other.connection().is_closing() && closing(&more) == NONE);
    drop((served, more, open_ones));
    // The closed connections do not count any more.
    assert_eq!(closing(&of_hosts(&all, [1; LIMIT / 2])), NONE);
}

#[test]
fn hostile_07_a_connection_beyond_half_is_refused_if_all_others_of_its_address_are_served() {
    let all = Connections::new(LIMIT, Arc::default());
    let open_ones = of_hosts(&all, [1; LIMIT / 2]);
    let mut served: Vec<_> = open_ones
        .iter()
        .map(|open| {
            open.connection().has_token.set(true);
            open.connection().serve_request()
        })
        .collect();
    let (refused, other) = (open(&all, 1), open(&all, 2));
    assert!(refused.connection().is_refused() && !other.connection().is_closing());
    assert_eq!(closing(&open_ones), NONE);
    drop((refused, served.pop()));
    let newer = open(&all, 1);
    assert_eq!(closing(&open_ones), [LIMIT / 2 - 1]);
    assert!(!newer.connection().is_closing());
}

/// Each new connection sends a request at once, and is chosen for the next connection before the request is read.
#[actix_web::test]
async fn hostile_07_requests_at_the_last_moment_get_an_address_no_more_than_half() {
    let all = Connections::new(4, Arc::default());
    let open_ones = of_hosts(&all, [1; 3]);
    assert_eq!(closing(&open_ones), [0]);
    let served: Vec<_> = open_ones
        .iter()
        .map(|open| {
            open.connection().has_token.set(true);
            open.connection().serve_request()
        })
        .collect();
    let ends = open_ones.iter().map(|open| {
        let connection = Rc::clone(open.connection());
        actix_web::rt::spawn(async move { connection.closed().await })
    });
    let ends: Vec<_> = ends.collect();
    for _ in 0..4 * TURNS_OF_A_LOOK {
        yield_now().await;
    }
    let ended: Vec<bool> = ends.iter().map(|end| end.is_finished()).collect();
    assert_eq!(ended, [true, false, false], "all are served, and the first one longest");
    ends.iter().for_each(|end| end.abort());
    drop(served);
}

#[test]
fn a_new_client_is_spared_if_the_address_with_the_most_connections_has_served_requests() {
    let all = Connections::new(4, Arc::default());
    let open_ones = of_hosts(&all, [2, 3, 1, 1]);
    open_ones.iter().for_each(|open| open.connection().has_token.set(true));
    let mut served: Vec<_> = open_ones.iter().map(|open| open.connection().serve_request()).collect();
    let newer = open(&all, 4);
    assert_eq!(closing(&open_ones), NONE);
    // The third answer is sent, and its connection is idle now: for a shorter time than the new connection.
    drop(served.pop());
    assert_eq!(closing(&open_ones), [3]);
    assert!(!newer.connection().is_closing());
}

#[test]
fn several_are_closed_at_once_and_never_the_newer_half() {
    let all = Connections::new(640, Arc::default());
    let open_ones = of_hosts(&all, [1, 2].repeat(320));
    let newer = open(&all, 3);
    assert_eq!(closing(&open_ones), (0..10).collect::<Vec<_>>());
    open_ones[..636]
        .iter()
        .for_each(|open| open.connection().has_token.set(true));
    let served: Vec<_> = open_ones[..636]
        .iter()
        .map(|open| open.connection().serve_request())
        .collect();
    let more = of_hosts(&all, [3; 10]);
    // For the last connection, 14 are idle.
    assert_eq!(closing(&open_ones)[10..], [636, 637, 638, 639]);
    assert!(newer.connection().is_closing() && closing(&more) == [0, 1]);
    drop(served);
}

#[actix_web::test]
async fn closed_connections_are_counted_by_what_they_waited_for() {
    let statistics = Arc::<HttpStatistics>::default();
    let all = Connections::new(3, Arc::clone(&statistics));
    let open_ones = of_hosts(&all, 1..4);
    let request = open_ones[1].connection().begin_request();
    open_ones[2].write_is_blocked(true);
    let more = of_hosts(&all, 4..7);
    for open in &open_ones {
        open.connection().closed().await;
    }
    let counts = WaitCause::ALL.map(|(wait, _)| statistics.closed.count(wait));
    assert_eq!(counts, [1, 1, 1]);
    drop((request, more));
}

#[actix_web::test]
async fn a_connection_that_makes_progress_at_the_last_moment_is_spared_and_the_next_is_not() {
    let all = Connections::new(2, Arc::default());
    let open_ones = of_hosts(&all, 1..3);
    let newer = open(&all, 3);
    assert_eq!(closing(&open_ones), [0]);
    let first = Rc::clone(open_ones[0].connection());
    let ends = actix_web::rt::spawn(async move { first.closed().await });
    let request = open_ones[0].connection().begin_request();
    let second = Rc::clone(open_ones[1].connection());
    let progress = async {
        second.closed().await;
    };
    progress.await;
    assert!(!ends.is_finished() && closing(&open_ones) == [1]);
    ends.abort();
    drop((request, newer));
}

#[test]
fn no_request_is_admitted_behind_the_last_one() {
    let all = Connections::new(1, Arc::default());
    let open = open(&all, 1);
    let admitted = [false, true, false, true].map(|is_last| open.connection().admits(is_last));
    assert_eq!(admitted, [true, true, false, false]);
}
