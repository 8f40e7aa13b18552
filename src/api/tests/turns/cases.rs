//! The largest legal input of each route whose samples are not enough.

use serde_json::{Map, Value, json};

use actix_web::http::Method;

use super::super::super::route::Route;
use super::body_bytes;
use super::client::Request;
use super::cloud::{
    LISTED, MANY, PAGE, PROVIDERS, RARE, USED, class, consumer, deep_hosts, domains, provider, workload,
};

use crate::version::Version;

/// How many replicas a workload may have.
const REPLICAS: usize = 1_000;
/// Providers with larger numbers are changed by single cases.
const UNCHANGED: usize = 3_500;

/// A request to a route.
pub struct Case {
    pub url: String,
    pub body: Option<Value>,
    /// A shorter body is filled with blanks.
    pub length: usize,
    /// Of the answer.
    pub status: u16,
}

impl Case {
    fn new(status: u16, url: impl Into<String>, body: Value) -> Case {
        Case {
            url: url.into(),
            body: Some(body).filter(|body| !body.is_null()),
            length: 0,
            status,
        }
    }
}

/// Makes the cases. A request changes only new things, so no request depends on the requests before.
pub struct Cases {
    next: usize,
    next_page: usize,
}

impl Cases {
    pub fn new() -> Cases {
        Cases {
            next: UNCHANGED,
            next_page: 1,
        }
    }

    fn fresh(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    /// The number of the first provider of a page for a single case.
    fn fresh_page(&mut self) -> usize {
        self.next_page += PAGE;
        self.next_page
    }

    /// Requests to a row of the route table. A body is about as long as `bytes`. A route whose samples are sent has no
    /// request.
    pub fn of(&mut self, route: &Route, bytes: usize) -> Vec<Case> {
        match (route.method.as_str(), route.path) {
            ("GET", "/allocation_candidates" | "/v1/candidates") => searches(route),
            ("GET", "/v1/capacity") => capacities(),
            ("GET", "/v1/providers") => lists_of_providers(),
            ("POST", "/allocations") => {
                let known = Case::new(409, route.path, claims_of(consumer, bytes));
                self.one(route, bytes).into_iter().chain([known]).collect()
            }
            _ => self.one(route, bytes).into_iter().collect(),
        }
    }

    fn one(&mut self, route: &Route, bytes: usize) -> Option<Case> {
        let fresh = self.fresh();
        let place = |number: usize| format!("/resource_providers/{}", provider(number));
        let (first, own, nothing) = (place(1), place(fresh), Value::Null);
        let get = |url: String| Case::new(200, url, Value::Null);
        let is_newest = route.serves(Some(Version::MAX));
        let case = match (route.method.as_str(), route.path) {
            ("GET", "") => get("/".to_owned()),
            (
                "GET",
                "/"
                | "/openapi.json"
                | "/resource_classes"
                | "/traits"
                | "/resource_providers"
                | "/v1/"
                | "/v1/workloads"
                | "/v1/violations",
            ) => get(route.path.to_owned()),
            ("POST", "/resource_classes") => Case::new(201, route.path, json!({"name": format!("CUSTOM_NEW{fresh}")})),
            ("GET", "/resource_classes/{name}") => get(format!("/resource_classes/{}", class(1))),
            ("PUT", "/resource_classes/{name}") if is_newest => {
                Case::new(201, format!("/resource_classes/CUSTOM_NEW{fresh}"), nothing)
            }
            ("PUT", "/resource_classes/{name}") => {
                let name = json!({"name": format!("CUSTOM_NEW{fresh}")});
                Case::new(200, format!("/resource_classes/{}", class(LISTED + fresh)), name)
            }
            ("DELETE", "/resource_classes/{name}") => {
                Case::new(204, format!("/resource_classes/{}", class(LISTED + fresh)), nothing)
            }
            ("POST", "/resource_providers") => {
                let status = if is_newest { 200 } else { 201 };
                Case::new(status, route.path, json!({"name": format!("new{fresh}")}))
            }
            ("GET", "/resource_providers/{uuid}") => get(first),
            ("DELETE", "/resource_providers/{uuid}") => Case::new(204, own, nothing),
            ("PUT", "/resource_providers/{uuid}") => Case::new(200, own, json!({"name": format!("renamed{fresh}")})),
            ("GET", "/resource_providers/{uuid}/inventories") => get(format!("{first}/inventories")),
            ("POST", "/resource_providers/{uuid}/inventories") => {
                let added = json!({"resource_class": "DISK_GB", "total": 1});
                Case::new(201, format!("{own}/inventories"), added)
            }
            ("PUT", "/resource_providers/{uuid}/inventories") => {
                let all = json!({"resource_provider_generation": 1, "inventories": inventories(bytes)});
                Case::new(200, format!("{own}/inventories"), all)
            }
            ("DELETE", "/resource_providers/{uuid}/inventories") => {
                Case::new(204, format!("{own}/inventories"), nothing)
            }
            ("GET", "/resource_providers/{uuid}/inventories/{resource_class}") => {
                get(format!("{first}/inventories/{}", class(1)))
            }
            ("PUT", "/resource_providers/{uuid}/inventories/{resource_class}") => {
                let changed = json!({"resource_provider_generation": 1, "total": 7});
                Case::new(200, format!("{own}/inventories/VCPU"), changed)
            }
            ("DELETE", "/resource_providers/{uuid}/inventories/{resource_class}") => {
                Case::new(204, format!("{own}/inventories/VCPU"), nothing)
            }
            ("GET", "/resource_providers/{uuid}/usages") => get(format!("{first}/usages")),
            ("GET", "/resource_providers/{uuid}/aggregates") => get(format!("{first}/aggregates")),
            ("PUT", "/resource_providers/{uuid}/aggregates") => {
                let aggregates: Vec<String> = (0..bytes / 40).map(|at| consumer(bytes + at)).collect();
                let all = json!({"resource_provider_generation": 1, "aggregates": aggregates});
                Case::new(200, format!("{own}/aggregates"), all)
            }
            ("GET", "/resource_providers/{uuid}/allocations") => get(format!("{first}/allocations")),
            ("POST", "/allocations") => Case::new(204, route.path, claims(fresh, bytes)),
            ("GET", "/allocations/{consumer_uuid}") => get(format!("/allocations/{}", consumer(1))),
            ("PUT", "/allocations/{consumer_uuid}") => {
                let most = USED.min(bytes / 80);
                let shares: Map<String, Value> = (1..=most).map(|number| (provider(number), vcpu(1))).collect();
                Case::new(
                    204,
                    format!("/allocations/{}", new_consumer(fresh)),
                    claim(shares.into()),
                )
            }
            ("DELETE", "/allocations/{consumer_uuid}") => {
                Case::new(204, format!("/allocations/{}", consumer(1)), nothing)
            }
            ("GET", "/traits/{name}") => Case::new(204, format!("/traits/{}", class(1)), nothing),
            ("PUT", "/traits/{name}") => Case::new(201, format!("/traits/CUSTOM_NEW{fresh}"), nothing),
            ("DELETE", "/traits/{name}") => Case::new(204, format!("/traits/{}", class(LISTED + fresh)), nothing),
            ("GET", "/resource_providers/{uuid}/traits") => get(format!("{first}/traits")),
            ("PUT", "/resource_providers/{uuid}/traits") => {
                let traits: Vec<String> = (1..=LISTED.min(bytes / 16)).map(class).collect();
                let all = json!({"resource_provider_generation": 1, "traits": traits});
                Case::new(200, format!("{own}/traits"), all)
            }
            ("DELETE", "/resource_providers/{uuid}/traits") => Case::new(204, format!("{own}/traits"), nothing),
            ("POST", "/reshaper") => {
                let inventories =
                    json!({"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 9_000_000}}});
                let reshape =
                    json!({"inventories": {provider(fresh): inventories}, "allocations": claims(fresh, bytes)});
                Case::new(204, route.path, reshape)
            }
            ("GET", "/usages") => get(format!("{}?project_id=p", route.path)),
            ("POST", "/v1/claims") => Case::new(409, route.path, candidates(bytes)),
            ("GET", "/v1/domains") => get(format!("{}?dimension=fault&limit={}", route.path, domains())),
            ("PUT", "/v1/providers") => Case::new(200, route.path, descriptions(self.fresh_page(), PAGE, bytes)),
            ("GET", "/v1/hosts/{uuid}") => get(format!("/v1/hosts/{}", class(1))),
            ("PUT", "/v1/hosts/{uuid}/report") => {
                let url = format!("/v1/hosts/{}/report", provider(fresh));
                Case::new(200, url, report(fresh, bytes))
            }
            ("GET", "/v1/providers/{uuid}") => get(format!("/v1/providers/{}", provider(1))),
            ("PUT", "/v1/providers/{uuid}") => {
                let mut described = description(fresh);
                described.as_object_mut().map(|members| members.remove("uuid"));
                Case::new(200, format!("/v1/providers/{}", provider(fresh)), described)
            }
            ("PATCH", "/v1/providers") => {
                let states = json!({"state": "draining"});
                let url = format!("{}?in_domain=page:{}&dry_run=true", route.path, page(1));
                Case::new(200, url, states)
            }
            ("PATCH", "/v1/providers/{uuid}") => {
                Case::new(200, format!("/v1/providers/{}", provider(fresh)), description(fresh))
            }
            ("GET", "/v1/workloads/{workload_uuid}") => get(format!("/v1/workloads/{}", workload(MANY))),
            ("PUT", "/v1/workloads/{workload_uuid}") => {
                Case::new(200, format!("/v1/workloads/{}", workload(fresh)), replicas(bytes))
            }
            ("PATCH", "/v1/workloads/{workload_uuid}") => {
                let patch = json!({"generation": 1, "roles": replicas(bytes)["roles"]});
                Case::new(200, format!("/v1/workloads/{}?dry_run=true", workload(MANY)), patch)
            }
            ("DELETE", "/v1/workloads/{workload_uuid}") => {
                Case::new(204, format!("/v1/workloads/{}", workload(MANY)), nothing)
            }
            _ => return None,
        };
        Some(case)
    }
}

/// Requests for objects beyond rows: descriptions with deep domains, and a workload with its replicas.
pub fn preparation() -> [Request; 2] {
    let described = descriptions(1, deep_hosts(), body_bytes());
    let url = format!("/v1/workloads/{}", workload(MANY));
    let cases = [
        Case::new(200, "/v1/providers", described),
        Case::new(200, url, replicas(body_bytes())),
    ];
    cases.map(|case| Request::new(&Method::PUT, &case, Version::MAX))
}

/// The room of each host, and the loss of a page of hosts.
fn capacities() -> Vec<Case> {
    let queries = ["resources=VCPU:1&by=provider", "without=page:/p0"];
    let cases = queries.map(|query| Case::new(200, format!("/v1/capacity?{query}"), Value::Null));
    cases.into()
}

/// The plain list, all parts of a page, and the most domains.
fn lists_of_providers() -> Vec<Case> {
    let parts = "fields=inventories,usages,traits,aggregates,allocations,state";
    let domains: String = (0..100)
        .map(|number| format!("&in_domain=fault:/none{number}"))
        .collect();
    let queries = [String::new(), format!("?{parts}"), format!("?{parts}{domains}")];
    let cases = queries.map(|query| Case::new(200, format!("/v1/providers{query}"), Value::Null));
    cases.into()
}

/// All candidates, a page of candidates, and the candidates of a wide tree for several groups.
fn searches(route: &Route) -> Vec<Case> {
    let groups = format!(
        "resources1=VCPU:1&resources2=VCPU:1&group_policy=isolate&in_tree1={root}&in_tree2={root}&limit=1000",
        root = provider(PROVIDERS + 1)
    );
    let queries = ["resources=VCPU:1", "resources=VCPU:1&limit=1000", &groups];
    let case = |query| Case::new(200, format!("{}?{query}", route.path), Value::Null);
    queries.map(case).into()
}

fn vcpu(amount: u32) -> Value {
    json!({"resources": {"VCPU": amount}})
}

fn claim(allocations: Value) -> Value {
    json!({"allocations": allocations, "project_id": "p", "user_id": "u", "consumer_generation": null,
           "consumer_type": "INSTANCE"})
}

/// A consumer for a single case.
fn new_consumer(number: usize) -> String {
    format!("55555555-5555-4555-8555-{number:012}")
}

/// Claims for new consumers, on a provider outside of the first page of hosts. Each value of `fresh` has its own
/// consumers.
fn claims(fresh: usize, bytes: usize) -> Value {
    claims_of(|number| new_consumer(fresh * 1_000_000 + number), bytes)
}

/// Claims for new consumers with these uuids.
fn claims_of(consumer: impl Fn(usize) -> String, bytes: usize) -> Value {
    let claim_of = |number: usize| (consumer(number), claim(json!({provider(PAGE + 2): vcpu(1)})));
    let length = serde_json::to_vec(&claim_of(1)).expect("JSON").len();
    (0..bytes / length).map(claim_of).collect::<Map<String, Value>>().into()
}

/// Inventories of many classes.
fn inventories(bytes: usize) -> Value {
    let inventory = json!({"total": 100, "reserved": 1, "min_unit": 1, "max_unit": 100, "step_size": 1,
                           "allocation_ratio": 1.5});
    let most = LISTED.min(bytes / 130);
    let all = (1..=most).map(|number| (class(number), inventory.clone()));
    all.collect::<Map<String, Value>>().into()
}

/// The domain of the providers that are described with this provider.
fn page(number: usize) -> String {
    format!("/p{}", (number - 1) / PAGE)
}

/// A description with as much as it may have, and a domain of 500 levels.
fn description(number: usize) -> Value {
    let properties = (0..64).map(|at| (format!("P{at}"), json!("x".repeat(255))));
    let domain = format!("/{number:06}{}", "/d".repeat(500));
    json!({"uuid": provider(number), "generation": null, "type": "host",
           "properties": properties.collect::<Map<String, Value>>(),
           "domains": {"fault": domain, "page": page(number)}})
}

/// Descriptions of at most this many providers.
fn descriptions(first: usize, most: usize, bytes: usize) -> Value {
    let length = description(1).to_string().len();
    let all: Vec<Value> = (0..most.min(bytes / length))
        .map(|at| description(first + at))
        .collect();
    json!({"providers": all})
}

/// A workload with as many replicas as allowed, and the longest payload.
fn replicas(bytes: usize) -> Value {
    json!({"generation": null, "name": format!("large{bytes}"), "project_id": "p", "user_id": "u",
           "rules": [{"rule": "spread", "dimensions": ["host"], "mode": "max-difference", "level": "soft"}],
           "roles": [{"name": "member", "count": REPLICAS, "query": format!("resources={}:1", class(RARE)),
                      "payload": "x".repeat(bytes.min(1 << 20) - 2_000)}]})
}

/// Twenty consumers with candidates of eight providers each, none of which has room.
fn candidates(bytes: usize) -> Value {
    let candidate = |number: usize| {
        let shares = (1..=8).map(|at| (provider((number * 8 + at) % PROVIDERS + 1), vcpu(2_000_000)));
        json!({"allocations": shares.collect::<Map<String, Value>>()})
    };
    let most = PAGE.min(bytes / 20 / candidate(1).to_string().len());
    let consumers = (1..=20).map(|at| {
        let candidates: Vec<Value> = (0..most).map(|number| candidate(at * PAGE + number)).collect();
        json!({"uuid": new_consumer(at), "project_id": "p", "user_id": "u", "candidates": candidates})
    });
    json!({"consumers": consumers.collect::<Vec<_>>()})
}

/// A report with the most providers, each with inventories and traits.
fn report(host: usize, bytes: usize) -> Value {
    let own = |at: usize| {
        json!({
            "uuid": new_consumer(host * 10_000 + at),
            "name": format!("own-{host}-{at}"),
            "inventories": {"VCPU": {"total": 10}, "CUSTOM_1": {"total": 10}},
            "traits": ["CUSTOM_1"],
        })
    };
    let providers: Vec<Value> = (0..1_000.min(bytes / 160)).map(own).collect();
    json!({"holder": "agent", "boot": "boot", "number": 1, "providers": providers})
}
