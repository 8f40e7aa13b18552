//! An HTTP server that gives and validates tokens as Keystone does.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

pub const PASSWORD: &str = "right";

pub struct TestKeystone {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
pub struct State {
    /// The service's tokens.
    pub own_tokens: Vec<String>,
    pub own_lifetime: Duration,
    pub catalog: Value,
    /// How long a validation takes.
    pub delay: Duration,
    /// The status and the body of validations, if not the right ones.
    pub status: Option<u16>,
    /// The only token whose validations have this status.
    pub token_with_status: Option<String>,
    pub body: Option<String>,
    /// The number of requests without an answer.
    pub dropped_connections: usize,
    /// Requests are accepted, and not answered until this is false again.
    pub hangs: bool,
    /// The number of requests so far.
    pub requests: u32,
    tokens: HashMap<String, (Value, DateTime<Utc>)>,
    validations: u32,
    /// The tokens in the order in which they were validated.
    validated: Vec<String>,
    logins: u32,
    /// The password of the service is wrong.
    pub refuses_logins: bool,
    refused_logins: u32,
    shared: Option<Arc<Mutex<State>>>,
}

impl TestKeystone {
    pub fn start() -> TestKeystone {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let state = State {
            own_lifetime: Duration::from_secs(3600),
            catalog: json!([]),
            ..State::default()
        };
        let mut server = TestKeystone {
            address: listener.local_addr().expect("an address"),
            state: Arc::new(Mutex::new(state)),
            stop: Arc::default(),
            thread: None,
        };
        server.serve(listener);
        server
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn serve(&mut self, listener: TcpListener) {
        listener.set_nonblocking(true).expect("a socket");
        let (state, stop) = (Arc::clone(&self.state), Arc::clone(&self.stop));
        stop.store(false, Ordering::SeqCst);
        self.thread = Some(std::thread::spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                match listener.accept() {
                    Ok((connection, _)) => {
                        let state = Arc::clone(&state);
                        std::thread::spawn(move || answer(connection, &state));
                    }
                    Err(_) => std::thread::sleep(Duration::from_millis(2)),
                }
            }
        }));
    }

    /// Connections are refused from now on.
    pub fn stop(&mut self) {
        self.change(|state| state.hangs = false);
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server's thread");
        }
    }

    /// Serves again, at the same address.
    pub fn restart(&mut self) {
        let listener = TcpListener::bind(self.address).expect("the same port");
        self.serve(listener);
    }

    pub fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().expect("the state"));
    }

    /// Adds a token for an hour.
    pub fn add(&self, text: &str, token: Value) {
        self.add_for(text, token, Duration::from_secs(3600));
    }

    pub fn add_for(&self, text: &str, token: Value, lifetime: Duration) {
        self.change(|state| {
            state.tokens.insert(text.to_owned(), (token, Utc::now() + lifetime));
        });
    }

    pub fn add_expired(&self, text: &str, token: Value) {
        self.change(|state| {
            let past = Utc::now() - Duration::from_secs(60);
            state.tokens.insert(text.to_owned(), (token, past));
        });
    }

    pub fn revoke(&self, text: &str) {
        self.change(|state| {
            state.tokens.remove(text);
        });
    }

    /// Accepts the tokens that services got from `other`.
    pub fn share_tokens(&self, other: &TestKeystone) {
        self.change(|state| state.shared = Some(Arc::clone(&other.state)));
    }

    pub fn validations(&self) -> u32 {
        self.state.lock().expect("the state").validations
    }

    /// The number of requests so far, with and without an answer.
    pub fn requests(&self) -> u32 {
        self.state.lock().expect("the state").requests
    }

    /// How many tokens were validated before this token.
    pub fn place(&self, token: &str) -> Option<usize> {
        let state = self.state.lock().expect("the state");
        state.validated.iter().position(|validated| validated == token)
    }

    /// Whether a token of the service was validated.
    pub fn has_validated_own_token(&self) -> bool {
        let state = self.state.lock().expect("the state");
        state.own_tokens.iter().any(|own| state.validated.contains(own))
    }

    pub fn logins(&self) -> u32 {
        self.state.lock().expect("the state").logins
    }

    pub fn refused_logins(&self) -> u32 {
        self.state.lock().expect("the state").refused_logins
    }
}

impl Drop for TestKeystone {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Answer {
    status: u16,
    subject_token: Option<String>,
    body: String,
}

fn answer(mut connection: TcpStream, state: &Mutex<State>) {
    connection.set_nonblocking(false).expect("a socket");
    let mut reader = BufReader::new(connection.try_clone().expect("a socket"));
    let mut line = String::new();
    reader.read_line(&mut line).expect("a request line");
    let mut headers = HashMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).expect("a header");
        let Some((name, value)) = header.trim_end().split_once(": ") else {
            break;
        };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let length = headers
        .get("content-length")
        .map_or(0, |text| text.parse().expect("a length"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    state.lock().expect("the state").requests += 1;
    while state.lock().expect("the state").hangs {
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut state = state.lock().expect("the state");
    if state.dropped_connections > 0 {
        state.dropped_connections -= 1;
        return;
    }
    let answer = if line.starts_with("POST /v3/auth/tokens ") {
        log_in(&mut state, &body)
    } else {
        assert!(line.starts_with("GET /v3/auth/tokens?"), "{line}");
        let delay = state.delay;
        let answer = validate(&mut state, &line, &headers);
        drop(state);
        std::thread::sleep(delay);
        answer
    };
    let subject = answer
        .subject_token
        .map_or(String::new(), |token| format!("X-Subject-Token: {token}\r\n"));
    let text = format!(
        "HTTP/1.1 {} Status\r\n{subject}Connection: close\r\nContent-Length: {}\r\n\r\n{}",
        answer.status,
        answer.body.len(),
        answer.body
    );
    // The client may have given up.
    let _ = connection.write_all(text.as_bytes());
}

fn log_in(state: &mut State, body: &[u8]) -> Answer {
    let body: Value = serde_json::from_slice(body).expect("JSON");
    if state.refuses_logins || body["auth"]["identity"]["password"]["user"]["password"] != PASSWORD {
        state.refused_logins += 1;
        return refusal(401, "The request you have made requires authentication.");
    }
    state.logins += 1;
    let own = format!("own-{}", state.logins);
    state.own_tokens.push(own.clone());
    let mut token = json!({"user": {"id": "placement"}, "roles": [{"name": "service"}], "catalog": state.catalog});
    token["expires_at"] = spelled(Utc::now() + state.own_lifetime).into();
    Answer {
        status: 201,
        subject_token: Some(own),
        body: json!({"token": token}).to_string(),
    }
}

fn validate(state: &mut State, line: &str, headers: &HashMap<String, String>) -> Answer {
    let own = headers.get("x-auth-token").expect("the service's token");
    let shared = state
        .shared
        .as_ref()
        .is_some_and(|other| other.lock().expect("the state").own_tokens.contains(own));
    if !shared && !state.own_tokens.contains(own) {
        return refusal(401, "The request you have made requires authentication.");
    }
    state.validations += 1;
    state.validated.extend(headers.get("x-subject-token").cloned());
    let subject = headers.get("x-subject-token");
    if let Some(status) = state.status
        && state
            .token_with_status
            .as_ref()
            .is_none_or(|only| subject == Some(only))
    {
        return refusal(status, "not what it should be");
    }
    if let Some(body) = &state.body {
        return Answer {
            status: 200,
            subject_token: None,
            body: body.clone(),
        };
    }
    let subject = headers.get("x-subject-token").expect("a token to validate");
    let Some((token, expires)) = state.tokens.get(subject) else {
        return refusal(404, "Failed to validate token");
    };
    if *expires < Utc::now() && !line.contains("allow_expired=1") {
        return refusal(404, "Failed to validate token");
    }
    let mut token = token.clone();
    let restricted = token["application_credential"]["access_rules"].is_array();
    if restricted
        && headers
            .get("openstack-identity-access-rules")
            .is_none_or(|version| version != "1")
    {
        return refusal(404, "Failed to validate token");
    }
    if line.contains("nocatalog") {
        token.as_object_mut().expect("an object").remove("catalog");
    }
    token["expires_at"] = spelled(*expires).into();
    Answer {
        status: 200,
        subject_token: Some(subject.clone()),
        body: json!({"token": token}).to_string(),
    }
}

fn refusal(status: u16, message: &str) -> Answer {
    Answer {
        status,
        subject_token: None,
        body: json!({"error": {"code": status, "message": message, "title": "Refused"}}).to_string(),
    }
}

fn spelled(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}
