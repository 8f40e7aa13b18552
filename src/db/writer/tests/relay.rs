//! A relay between a writer and its server. The relay fails at a statement, or from a moment on, as the test says.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::MutexGuard;
use std::thread::spawn;

use super::*;
use crate::db::tests::support::TestDatabase;

/// The fate of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The statement reaches the server when the relay is released.
    Hold,
    /// The connection breaks before the server gets the statement.
    LoseStatement,
    /// The connection breaks after the server has executed the statement.
    LoseAnswer,
    /// The server executes the statement, and is silent from then on.
    Silence,
}

/// The state of the host for new connections.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Host {
    Answers,
    /// The host accepts connections, and says nothing.
    IsSilent,
    Refuses,
}

/// Connections are counted from 0, the writer's first connection.
struct State {
    host: Host,
    /// The connection of the failing statement, a part of the statement's text, and the fate of the statement.
    failing: Option<(usize, &'static str, Fault)>,
    was_reached: bool,
    was_released: bool,
    /// Connections whose answers are lost, and by which fault.
    unanswered: BTreeMap<usize, Fault>,
    accepted: usize,
    open: BTreeSet<usize>,
    /// Both ends of the connections, for breaking connections.
    streams: Vec<(usize, TcpStream)>,
}

/// Clones refer to the same relay.
#[derive(Clone)]
pub struct Relay {
    state: Arc<Mutex<State>>,
    server: String,
    is_mariadb: bool,
}

/// A part of the statement that inserts numbers.
pub const INSERT: &str = "INSERT INTO numbers";

const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// A writer with a relay before its server. `None` on SQLite.
pub fn relayed_writer(timeout: Duration) -> Option<(NumberWriter, Relay)> {
    let (test_database, _) = TestDatabase::synced();
    let url = test_database.url.clone();
    let (start, place) = url.rsplit_once('@')?;
    let (server, name) = place.split_once('/')?;
    let relay = Relay {
        state: Arc::new(Mutex::new(State {
            host: Host::Answers,
            failing: None,
            was_reached: false,
            was_released: false,
            unanswered: BTreeMap::new(),
            accepted: 0,
            open: BTreeSet::new(),
            streams: Vec::new(),
        })),
        server: server.to_owned(),
        is_mariadb: !url.starts_with("postgres"),
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("{start}@{}/{name}", listener.local_addr().unwrap());
    let accepting = relay.clone();
    spawn(move || {
        for client in listener.incoming() {
            accepting.accept(client.unwrap());
        }
    });
    Some((number_writer::writer_at(&url, test_database, 100, timeout), relay))
}

impl Relay {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Makes a statement of a connection fail, once.
    pub fn fail(&self, connection: usize, text: &'static str, fault: Fault) {
        self.state().failing = Some((connection, text, fault));
    }

    /// From now on new connections find the host like this.
    pub fn set_host(&self, host: Host) {
        self.state().host = host;
    }

    /// Loses all further answers to a connection.
    pub fn silence(&self, connection: usize) {
        self.state().unanswered.insert(connection, Fault::Silence);
    }

    /// Waits until the failing statement was sent.
    pub async fn reached(&self) {
        self.wait_until(|state| state.was_reached).await;
    }

    pub fn release(&self) {
        self.state().was_released = true;
    }

    /// Waits until only these connections are open.
    pub async fn has_open(&self, connections: &[usize]) {
        let expected = connections.iter().copied().collect();
        self.wait_until(|state| state.open == expected).await;
    }

    /// Waits until there were this many connections.
    pub async fn has_accepted(&self, count: usize) {
        self.wait_until(|state| state.accepted == count).await;
    }

    /// The number of connections so far.
    pub fn accepted(&self) -> usize {
        self.state().accepted
    }

    /// Breaks all connections.
    pub fn break_all(&self) {
        self.break_if(|_| true);
    }

    pub fn break_connection(&self, connection: usize) {
        self.break_if(|number| number == connection);
    }

    fn break_if(&self, is_meant: impl Fn(usize) -> bool) {
        for (_, stream) in self.state().streams.iter().filter(|(number, _)| is_meant(*number)) {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    async fn wait_until(&self, holds: impl Fn(&State) -> bool) {
        let began = Instant::now();
        while !holds(&self.state()) {
            assert!(began.elapsed() < LONG_TIMEOUT, "open: {:?}", self.state().open);
            actix_web::rt::time::sleep(POLL_INTERVAL).await;
        }
    }

    fn accept(&self, client: TcpStream) {
        let (number, host) = {
            let mut state = self.state();
            state.accepted += 1;
            (state.accepted - 1, state.host)
        };
        match host {
            Host::Refuses => drop(client),
            Host::IsSilent => self.state().streams.push((number, client)),
            Host::Answers => {
                let server = TcpStream::connect(&self.server).unwrap();
                let mut state = self.state();
                state.open.insert(number);
                for stream in [&client, &server] {
                    stream.set_nodelay(true).unwrap();
                    state.streams.push((number, stream.try_clone().unwrap()));
                }
                let ends = [&client, &server].map(|stream| stream.try_clone().unwrap());
                let (relay, [to_client, from_server]) = (self.clone(), ends);
                spawn(move || relay.relay_answers(number, from_server, to_client));
                let relay = self.clone();
                spawn(move || relay.relay_statements(number, client, server));
            }
        }
    }

    fn relay_statements(&self, number: usize, mut client: TcpStream, mut server: TcpStream) {
        let mut buffer = vec![0; 1 << 16];
        let mut is_prepared = false;
        while let Ok(length @ 1..) = client.read(&mut buffer) {
            let sent = &buffer[..length];
            let fault = self.fault_of(number, sent, &mut is_prepared);
            if fault == Some(Fault::LoseStatement) {
                break;
            }
            while fault == Some(Fault::Hold) && !self.state().was_released {
                std::thread::sleep(POLL_INTERVAL);
            }
            if server.write_all(sent).is_err() {
                break;
            }
        }
        self.close(number, &[client, server]);
    }

    /// The fate of bytes from a client. The text of a prepared statement is sent before the execution.
    fn fault_of(&self, number: usize, sent: &[u8], is_prepared: &mut bool) -> Option<Fault> {
        let mut state = self.state();
        let (_, text, fault) = state.failing.filter(|(connection, ..)| *connection == number)?;
        let has_text = || sent.windows(text.len()).any(|part| part == text.as_bytes());
        if !std::mem::take(is_prepared) {
            if !has_text() {
                return None;
            }
            let only_prepares = if self.is_mariadb {
                sent.get(4) == Some(&0x16)
            } else {
                sent[0] == b'P'
            };
            if only_prepares {
                *is_prepared = true;
                return None;
            }
        }
        state.failing = None;
        state.was_reached = true;
        if matches!(fault, Fault::LoseAnswer | Fault::Silence) {
            state.unanswered.insert(number, fault);
        }
        Some(fault)
    }

    fn relay_answers(&self, number: usize, mut server: TcpStream, mut client: TcpStream) {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = server.read(&mut buffer) {
            let fault = self.state().unanswered.get(&number).copied();
            if fault == Some(Fault::Silence) {
                continue;
            }
            if fault.is_some() || client.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        self.close(number, &[client, server]);
    }

    fn close(&self, number: usize, streams: &[TcpStream]) {
        for stream in streams {
            drop(stream.shutdown(Shutdown::Both));
        }
        self.state().open.remove(&number);
    }
}
