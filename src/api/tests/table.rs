//! Tests of every route of the table.

use std::collections::BTreeSet;

use actix_web::http::Method;

use super::super::route::{Family, Media, Outside, Route, is_native};
use super::super::routes::{ROUTES, slave_routes};
use super::{TestServer, admin, anonymous, with_token};
use crate::version::Version;

/// A URL of the route.
fn url(route: &Route) -> String {
    let mut url = route.path.to_owned();
    for place in ["{uuid}", "{name}", "{resource_class}", "{consumer_uuid}"] {
        url = url.replace(place, "x");
    }
    url
}

fn rows(path: &str) -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().filter(move |route| route.path == path)
}

/// The first and last version of a route of OpenStack's API, and the refusal outside of them.
fn placement(route: &Route) -> Option<(Version, Version, Outside)> {
    match route.family {
        Family::Placement { first, last, outside } => Some((first, last, outside)),
        Family::Native => None,
    }
}

#[test]
fn native_routes_are_those_below_v1() {
    for route in ROUTES {
        let native = route.family == Family::Native;
        assert_eq!(native, is_native(route.path), "{}", route.path);
        let rule = route.rule.map_or("", |rule| rule.name);
        assert_eq!(native, rule.starts_with("placet:"), "{} {rule}", route.path);
    }
    assert!(is_native("/v1") && is_native("/v1/x") && !is_native("/v10") && !is_native("/traits/v1"));
}

#[test]
fn at_most_one_row_serves_a_method_of_a_path_at_a_version() {
    for route in ROUTES {
        let same = |other: &&Route| other.method == route.method;
        for version in Version::all() {
            let serving = rows(route.path)
                .filter(same)
                .filter(|other| other.serves(Some(version)))
                .count();
            assert!(serving <= 1, "{} {} at {version}", route.method, route.path);
        }
        let refusals: BTreeSet<_> = rows(route.path)
            .filter(same)
            .filter_map(|other| Some((placement(other)?.2 as u8, other.media_first)))
            .collect();
        assert!(
            refusals.len() <= 1,
            "{} {} is refused with two statuses",
            route.method,
            route.path
        );
    }
}

#[test]
fn no_url_matches_two_paths() {
    for route in ROUTES {
        let matching: BTreeSet<&str> = ROUTES
            .iter()
            .filter(|other| other.matches(&url(route)))
            .map(|other| other.path)
            .collect();
        assert_eq!(matching, BTreeSet::from([route.path]));
    }
}

#[actix_web::test]
async fn every_route_with_a_rule_is_authorized_at_its_first_and_last_version() {
    let server = TestServer::new();
    for route in ROUTES.iter().filter(|route| !route.path.is_empty()) {
        let (method, url) = (route.method.as_str(), url(route));
        let Some(rule) = route.rule else {
            assert_eq!(server.send(anonymous(method, &url, "1.0")).await.status, 200);
            continue;
        };
        assert_eq!(
            server.send(anonymous(method, &url, "1.39")).await.status,
            401,
            "{method} {url}"
        );
        let (first, last, _) = placement(route).unwrap_or((Version::MIN, Version::MAX, Outside::NotFound));
        for version in [first, last].into_iter().filter(|_| rule.check != "@") {
            let request = with_token("demo", method, &url, &version.to_string());
            let answer = server
                .send(request.insert_header(("content-type", "application/json")))
                .await;
            assert_eq!(answer.status, 403, "{method} {url} at {version}");
            assert!(
                answer
                    .detail()
                    .contains(&format!("Policy does not allow {} to be performed.", rule.name))
            );
        }
    }
}

#[actix_web::test]
async fn a_version_that_no_row_serves_is_refused() {
    let server = TestServer::new();
    let mut refused = 0;
    for route in ROUTES {
        let Some((_, _, outside)) = placement(route) else {
            continue;
        };
        for version in Version::all() {
            if rows(route.path).any(|other| other.method == route.method && other.serves(Some(version))) {
                continue;
            }
            let request = admin(route.method.as_str(), &url(route), &version.to_string());
            let answer = server
                .send(request.insert_header(("content-type", "application/json")))
                .await;
            let status = if outside == Outside::NotFound { 404 } else { 405 };
            assert_eq!(
                answer.status.as_u16(),
                status,
                "{} {} at {version}",
                route.method,
                route.path
            );
            assert_eq!(
                answer.header("openstack-api-version"),
                Some(&*format!("placement {version}"))
            );
            assert_eq!(answer.header("allow"), None);
            refused += 1;
        }
    }
    assert!(refused > 80, "{refused}");
}

#[actix_web::test]
async fn a_refused_method_gets_the_allowed_methods() {
    let server = TestServer::new();
    for route in ROUTES.iter().filter(|route| !route.path.is_empty()) {
        let mut methods: Vec<&str> = rows(route.path).map(|other| other.method.as_str()).collect();
        methods.dedup();
        let refused = ["HEAD", "OPTIONS", "PATCH"].into_iter();
        for method in refused.filter(|method| !methods.contains(method)) {
            let answer = server.send(admin(method, &url(route), "1.0")).await;
            assert_eq!(answer.status, 405, "{method} {}", route.path);
            assert_eq!(answer.header("allow"), Some(&*methods.join(", ")));
            assert_eq!(answer.body.is_empty(), method == "HEAD");
        }
    }
}

#[test]
fn only_native_routes_have_the_method_patch() {
    let patches = ROUTES.iter().filter(|route| route.method == Method::PATCH);
    let families: Vec<Family> = patches.map(|route| route.family).collect();
    assert!(!families.is_empty() && families.iter().all(|family| *family == Family::Native));
}

#[actix_web::test]
async fn media_types_are_checked_before_the_policy_and_the_version_as_the_table_says() {
    let server = TestServer::new();
    for route in ROUTES.iter().filter(|route| route.media != Media::Unchecked) {
        let first = placement(route).map_or(Version::MIN, |(first, _, _)| first);
        let status = if route.media == Media::ConsumesJson { 415 } else { 406 };
        // Before the policy; before the version only if the table says so.
        let mut cases = vec![(first, status)];
        if first > Version::MIN
            && !rows(route.path).any(|other| other.method == route.method && other.serves(Some(Version::MIN)))
        {
            cases.push((Version::MIN, if route.media_first { status } else { 404 }));
        }
        for (version, status) in cases {
            let request = with_token("demo", route.method.as_str(), &url(route), &version.to_string());
            let answer = server.send(request.insert_header(("accept", "text/plain"))).await;
            assert_eq!(
                answer.status.as_u16(),
                status,
                "{} {} at {version}",
                route.method,
                route.path
            );
        }
    }
}

#[test]
fn slave_routes_may_be_only_gets_that_read_rows() {
    let named = |names: &[&str]| slave_routes(&names.iter().map(|name| name.to_string()).collect::<Vec<_>>());
    assert_eq!(
        named(&["GET /usages", "GET  /traits/{name}"]),
        Ok(vec!["/usages", "/traits/{name}"])
    );
    assert_eq!(named(&[]), Ok(Vec::new()));
    let wrong = [
        "",
        "/usages",
        "PUT /traits/{name}",
        "GET /",
        "GET /allocation_candidates",
        "GET /resource_providers",
        "GET /v1/capacity",
        "GET /v1/explain",
        "GET /v1/refusals",
    ];
    for name in wrong {
        let refused = named(&["GET /usages", name]).unwrap_err();
        assert!(
            refused.starts_with(&format!("'{name}' cannot be answered by a replica")),
            "{refused}"
        );
        assert!(refused.contains("GET /resource_providers/{uuid}/usages, "), "{refused}");
    }
}
