//! Tests of the API from the clients' side: requests to dispatch, over the real model and an SQLite file for each test.

mod base_urls;
mod bodies;
mod candidates;
mod cors;
mod deadlines;
mod heads;
mod host_tokens;
mod keystone;
mod native;
mod pages;
mod reads;
mod streaming;
mod table;
mod turns;
mod unreadable;

use std::time::Duration;

use actix_web::body::{BodySize, MessageBody};
use actix_web::dev::ServiceResponse;
use actix_web::http::StatusCode;
use actix_web::test::{TestRequest, call_service, init_service, read_body};
use actix_web::web::{Data, Payload, to};
use actix_web::{App, HttpRequest, HttpResponse, test};
use diesel::connection::SimpleConnection;
use serde_json::Value;
use tempfile::TempDir;

use super::http::body::BodyMemory;
use super::http::dispatch;
use super::routes::ROUTES;
use super::service::{HttpSettings, Service};
use crate::auth::Authenticator;
use crate::db::writer::{WalLimits, WriterSettings};
use crate::db::{self, Database};
use crate::live_value::Files;
use crate::model::allocations::Owner;
use crate::model::{Model, Rules, Running};
use crate::policy::live::LivePolicy;
use crate::policy::{self, PolicyFile};
use crate::pools::Pools;
use crate::search;
use crate::wire::claims::write_text;
use crate::wire::workloads::read_stored;

/// A service with a database of its own, without a network.
pub struct TestServer {
    service: Data<Service>,
    _running: Running,
    directory: TempDir,
}

/// No policy files: the default rules are in force.
struct NoFiles;

impl Files<Vec<PolicyFile>> for NoFiles {
    fn changed(&self) -> bool {
        false
    }

    fn read(&self) -> Result<Vec<PolicyFile>, String> {
        Ok(Vec::new())
    }
}

/// Answers a request by the route table.
async fn answer(request: HttpRequest, payload: Payload, service: Data<Service>) -> HttpResponse {
    dispatch::answer(request, payload, service, ROUTES).await
}

/// An answer with its whole body.
pub struct TestAnswer {
    pub status: StatusCode,
    pub headers: actix_web::http::header::HeaderMap,
    /// `Content-Length`; `None` if the answer has no length.
    pub length: Option<u64>,
    pub body: Vec<u8>,
}

impl TestServer {
    pub fn new() -> TestServer {
        TestServer::with(|_| ())
    }

    pub fn with(change: impl FnOnce(&mut HttpSettings)) -> TestServer {
        TestServer::with_rows(change, "")
    }

    /// A service on a database with the rows of this SQL.
    pub fn with_rows(change: impl FnOnce(&mut HttpSettings), sql: &str) -> TestServer {
        TestServer::start(change, false, Authenticator::NoAuth2, sql)
    }

    /// A service as one of several processes on a database.
    pub fn shared(change: impl FnOnce(&mut HttpSettings)) -> TestServer {
        TestServer::start(change, true, Authenticator::NoAuth2, "")
    }

    /// A service whose callers are authenticated in this way.
    pub fn authenticating(auth: Authenticator) -> TestServer {
        TestServer::start(|_| (), false, auth, "")
    }

    /// A service whose commands and searches have this time.
    pub fn with_timeout(commit_timeout: Duration) -> TestServer {
        TestServer::start_with_timeout(|_| (), false, Authenticator::NoAuth2, "", commit_timeout)
    }

    /// Renames the database file. Open connections go on using the file.
    pub fn rename_database_file(&self) {
        std::fs::rename(
            self.directory.path().join("placet.sqlite"),
            self.directory.path().join("lost"),
        )
        .expect("a file");
    }

    fn start(change: impl FnOnce(&mut HttpSettings), shared: bool, auth: Authenticator, sql: &str) -> TestServer {
        // For hangs: on a busy machine, a page of a large cloud takes minutes.
        TestServer::start_with_timeout(change, shared, auth, sql, Duration::from_secs(3600))
    }

    fn start_with_timeout(
        change: impl FnOnce(&mut HttpSettings),
        shared: bool,
        auth: Authenticator,
        sql: &str,
        commit_timeout: Duration,
    ) -> TestServer {
        let directory = tempfile::tempdir().expect("a directory");
        let url = format!("sqlite:///{}", directory.path().join("placet.sqlite").display());
        let database = Database::open(&db::DatabaseSettings::new(url)).expect("a database");
        database.sync().expect("a schema");
        let mut connection = database.connect().expect("a connection");
        connection.batch_execute(sql).expect("rows");
        drop(connection);
        let writer = WriterSettings {
            queue_size: 100,
            commit_timeout,
            wal: WalLimits::default(),
            claim_memory: Duration::from_secs(3600),
            election_interval: crate::db::ELECTION_INTERVAL,
        };
        let owner = Owner {
            project: "unowned".into(),
            user: "unowned".into(),
        };
        let rules = Rules {
            strict_step_size: false,
            incomplete_owner: owner,
            write_answer: write_text,
            read_spec: read_stored,
        };
        let lock = if shared {
            None
        } else {
            database.lock_for_serving().expect("a lock")
        };
        let pools = Pools::start(100).expect("runtimes").into();
        let (model, running) = Model::start((database, None), &writer, rules, lock, pools).expect("a model");
        let mut settings = HttpSettings {
            url_prefix: String::new(),
            scheme: "http",
            max_body_size: 1000,
            parse_proxy_headers: false,
            search: search::SearchSettings {
                seed: 1,
                order: None,
                max: None,
                ceiling: 100_000,
                tree_order: search::TreeOrder::default(),
                max_combinations: 100,
                strict_step: false,
                limits: search::SearchLimits::default(),
                interrupt: search::Interrupt::default(),
            },
            rank: None,
            stale_reads: Duration::ZERO,
            ready_timeout: Duration::from_secs(5),
            slow_request: Duration::ZERO,
            slave_routes: Vec::new(),
            randomize: false,
            cors: None,
        };
        change(&mut settings);
        let defaults = policy::PolicySettings {
            enforce_new_defaults: true,
            default_rule: "default".into(),
        };
        let policy = LivePolicy::start(defaults, Box::new(NoFiles)).expect("a policy");
        TestServer {
            service: Data::new(Service {
                model,
                policy,
                auth,
                bodies: BodyMemory::new(64 << 20).into(),
                settings,
                statistics: Default::default(),
                known_pages: Default::default(),
            }),
            _running: running,
            directory,
        }
    }

    pub async fn send(&self, request: TestRequest) -> TestAnswer {
        let app = App::new().app_data(self.service.clone()).default_service(to(answer));
        let response: ServiceResponse = call_service(&init_service(app).await, request.to_request()).await;
        let (status, headers) = (response.status(), response.headers().clone());
        let length = match response.response().body().size() {
            BodySize::Sized(length) => Some(length),
            _ => None,
        };
        TestAnswer {
            status,
            headers,
            length,
            body: read_body(response).await.to_vec(),
        }
    }
}

impl TestAnswer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("a text"))
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a text")
    }

    /// A field of the error.
    pub fn error(&self, field: &str) -> Value {
        self.json()["errors"][0][field].clone()
    }

    pub fn detail(&self) -> String {
        self.error("detail").as_str().expect("a detail").to_owned()
    }
}

/// A request with the administrator's token.
pub fn admin(method: &str, url: &str, version: &str) -> TestRequest {
    with_token("admin", method, url, version)
}

/// A request with this token.
pub fn with_token(token: &str, method: &str, url: &str, version: &str) -> TestRequest {
    anonymous(method, url, version).insert_header(("x-auth-token", token.to_owned()))
}

/// A request without a token.
pub fn anonymous(method: &str, url: &str, version: &str) -> TestRequest {
    let request = test::TestRequest::default()
        .method(method.parse().expect("a method"))
        .uri(url);
    request.insert_header(("openstack-api-version", format!("placement {version}")))
}
