//! The route table: every URL of placet, with the versions and the policy rule of the URL.

use actix_web::http::Method;

use super::handlers::{
    aggregates, allocation_candidates, allocations, candidates, capacity, claims, consumers, domains, explain, hosts,
    inventories, limits, providers, refusals, reshaper, resource_classes, resource_providers, root, traits, types,
    usages, v1, violations, workloads,
};
use super::http::health;
use super::http::reply::Reply;
use super::http::request_context::RequestContext;
use super::route::{Handler, Route};
use super::{docs, metrics, openapi};
use crate::error::Result;
use crate::policy::rules;
use crate::version as v;

/// Turns an async function into a handler for the table.
macro_rules! handler {
    ($handler:path) => {
        (|context| Box::pin($handler(context))) as Handler
    };
}

const PROVIDERS: &str = "/resource_providers";
const PROVIDER: &str = "/resource_providers/{uuid}";
const INVENTORIES: &str = "/resource_providers/{uuid}/inventories";
const INVENTORY: &str = "/resource_providers/{uuid}/inventories/{resource_class}";
const AGGREGATES: &str = "/resource_providers/{uuid}/aggregates";
const PROVIDER_USAGES: &str = "/resource_providers/{uuid}/usages";
const PROVIDER_ALLOCATIONS: &str = "/resource_providers/{uuid}/allocations";
const PROVIDER_TRAITS: &str = "/resource_providers/{uuid}/traits";
const CLASSES: &str = "/resource_classes";
const CLASS: &str = "/resource_classes/{name}";
const TRAITS: &str = "/traits";
const TRAIT: &str = "/traits/{name}";
const ALLOCATIONS: &str = "/allocations";
const CONSUMER: &str = "/allocations/{consumer_uuid}";
const CANDIDATES: &str = "/allocation_candidates";
const RESHAPER: &str = "/reshaper";
const USAGES: &str = "/usages";
const NATIVE: &str = "/v1/";
const NATIVE_CANDIDATES: &str = "/v1/candidates";
const DOMAINS: &str = "/v1/domains";
const DOMAIN: &str = "/v1/domains/{dimension}/{path}";
const EXPLAIN: &str = "/v1/explain";
const DESCRIPTIONS: &str = "/v1/providers";
const DESCRIPTION: &str = "/v1/providers/{uuid}";
const CAPACITY: &str = "/v1/capacity";
const CLAIMS: &str = "/v1/claims";
const CONSUMERS: &str = "/v1/consumers";
const HOSTS: &str = "/v1/hosts";
const HOST: &str = "/v1/hosts/{uuid}";
const REPORT: &str = "/v1/hosts/{uuid}/report";
const LIMITS: &str = "/v1/limits";
const LIMIT: &str = "/v1/limits/{class}";
const REFUSALS: &str = "/v1/refusals";
const TYPES: &str = "/v1/types";
const TYPE: &str = "/v1/types/{name}";
const NATIVE_USAGES: &str = "/v1/usages";
const VIOLATIONS: &str = "/v1/violations";
const WORKLOADS: &str = "/v1/workloads";
const WORKLOAD: &str = "/v1/workloads/{workload_uuid}";

/// Every route. The methods of a path are in the order of `Allow`.
pub static ROUTES: &[Route] = &[
    Route::public("/", handler!(root::show)),
    Route::public("", handler!(root::show)),
    Route::public(openapi::URL, handler!(describe_api)),
    //
    Route::get(CLASSES, &rules::CLASSES_LIST, handler!(resource_classes::list)).since(v::RESOURCE_CLASSES),
    Route::post(CLASSES, &rules::CLASSES_CREATE, handler!(resource_classes::create)).since(v::RESOURCE_CLASSES),
    Route::get(CLASS, &rules::CLASSES_SHOW, handler!(resource_classes::show)).since(v::RESOURCE_CLASSES),
    Route::put(CLASS, &rules::CLASSES_UPDATE, handler!(resource_classes::rename))
        .since(v::RESOURCE_CLASSES)
        .before(v::ENSURE_RESOURCE_CLASS),
    Route::put(CLASS, &rules::CLASSES_UPDATE, handler!(resource_classes::ensure))
        .since(v::ENSURE_RESOURCE_CLASS)
        .without_media_check(),
    Route::delete(CLASS, &rules::CLASSES_DELETE, handler!(resource_classes::delete)).since(v::RESOURCE_CLASSES),
    //
    Route::get(PROVIDERS, &rules::PROVIDERS_LIST, handler!(resource_providers::list)),
    Route::post(
        PROVIDERS,
        &rules::PROVIDERS_CREATE,
        handler!(resource_providers::create_without_body),
    )
    .before(v::POST_PROVIDER_BODY),
    Route::post(
        PROVIDERS,
        &rules::PROVIDERS_CREATE,
        handler!(resource_providers::create),
    )
    .since(v::POST_PROVIDER_BODY),
    Route::get(PROVIDER, &rules::PROVIDERS_SHOW, handler!(resource_providers::show)),
    Route::delete(PROVIDER, &rules::PROVIDERS_DELETE, handler!(resource_providers::delete)),
    Route::put(PROVIDER, &rules::PROVIDERS_UPDATE, handler!(resource_providers::update)),
    //
    Route::get(INVENTORIES, &rules::INVENTORIES_LIST, handler!(inventories::list)),
    Route::post(INVENTORIES, &rules::INVENTORIES_CREATE, handler!(inventories::add)),
    Route::put(INVENTORIES, &rules::INVENTORIES_UPDATE, handler!(inventories::replace)).with_list(),
    Route::delete(INVENTORIES, &rules::INVENTORIES_DELETE, handler!(inventories::clear))
        .since(v::DELETE_INVENTORIES)
        .or_method_not_allowed(),
    Route::get(INVENTORY, &rules::INVENTORIES_SHOW, handler!(inventories::show)),
    Route::put(INVENTORY, &rules::INVENTORIES_UPDATE, handler!(inventories::update)),
    Route::delete(INVENTORY, &rules::INVENTORIES_DELETE, handler!(inventories::remove)),
    //
    Route::get(PROVIDER_USAGES, &rules::PROVIDER_USAGES, handler!(usages::of_provider)),
    Route::get(AGGREGATES, &rules::AGGREGATES_LIST, handler!(aggregates::list))
        .since(v::AGGREGATES)
        .media_first(),
    Route::put(AGGREGATES, &rules::AGGREGATES_UPDATE, handler!(aggregates::replace))
        .with_list()
        .since(v::AGGREGATES)
        .media_first(),
    Route::get(
        PROVIDER_ALLOCATIONS,
        &rules::PROVIDER_ALLOCATIONS_LIST,
        handler!(allocations::list_of_provider),
    ),
    //
    Route::post(
        ALLOCATIONS,
        &rules::ALLOCATIONS_MANAGE,
        handler!(allocations::replace_many),
    )
    .with_long_body()
    .since(v::POST_ALLOCATIONS),
    Route::get(CONSUMER, &rules::ALLOCATIONS_LIST, handler!(allocations::show)),
    Route::put(CONSUMER, &rules::ALLOCATIONS_UPDATE, handler!(allocations::replace)).with_long_body(),
    Route::delete(CONSUMER, &rules::ALLOCATIONS_DELETE, handler!(allocations::release)),
    Route::get(
        CANDIDATES,
        &rules::CANDIDATES_LIST,
        handler!(allocation_candidates::list),
    )
    .since(v::ALLOCATION_CANDIDATES),
    //
    Route::get(TRAITS, &rules::TRAITS_LIST, handler!(traits::list)).since(v::TRAITS),
    Route::get(TRAIT, &rules::TRAITS_SHOW, handler!(traits::show))
        .since(v::TRAITS)
        .without_media_check(),
    Route::put(TRAIT, &rules::TRAITS_UPDATE, handler!(traits::ensure))
        .since(v::TRAITS)
        .without_media_check(),
    Route::delete(TRAIT, &rules::TRAITS_DELETE, handler!(traits::delete)).since(v::TRAITS),
    Route::get(
        PROVIDER_TRAITS,
        &rules::PROVIDER_TRAITS_LIST,
        handler!(traits::list_of_provider),
    )
    .since(v::TRAITS),
    Route::put(
        PROVIDER_TRAITS,
        &rules::PROVIDER_TRAITS_UPDATE,
        handler!(traits::replace_of_provider),
    )
    .with_list()
    .since(v::TRAITS),
    Route::delete(
        PROVIDER_TRAITS,
        &rules::PROVIDER_TRAITS_DELETE,
        handler!(traits::clear_of_provider),
    )
    .since(v::TRAITS),
    //
    Route::post(RESHAPER, &rules::RESHAPE, handler!(reshaper::reshape))
        .with_long_body()
        .since(v::RESHAPER),
    Route::get(USAGES, &rules::TOTAL_USAGES, handler!(usages::total))
        .of_project()
        .since(v::TOTAL_USAGES),
    //
    Route::get(NATIVE, &rules::NATIVE_SHOW, handler!(list_operations)).native(),
    Route::get(
        NATIVE_CANDIDATES,
        &rules::NATIVE_CANDIDATES_LIST,
        handler!(candidates::list),
    )
    .native(),
    Route::get(CAPACITY, &rules::CAPACITY_SHOW, handler!(capacity::show)).native(),
    Route::post(CLAIMS, &rules::CLAIMS_CREATE, handler!(claims::create))
        .with_rule_for_others(&rules::CLAIMS_CREATE_FOR_OTHERS)
        .with_long_body()
        .native(),
    Route::get(CONSUMERS, &rules::CONSUMERS_LIST, handler!(consumers::list))
        .with_pages()
        .native(),
    Route::get(DOMAINS, &rules::DOMAINS_LIST, handler!(domains::list)).native(),
    Route::get(DOMAIN, &rules::DOMAINS_SHOW, handler!(domains::show))
        .with_rest()
        .native(),
    Route::put(DOMAIN, &rules::DOMAINS_UPDATE, handler!(domains::set))
        .with_rest()
        .native(),
    Route::patch(DOMAIN, &rules::DOMAINS_UPDATE, handler!(domains::patch))
        .with_rest()
        .native(),
    Route::delete(DOMAIN, &rules::DOMAINS_DELETE, handler!(domains::delete))
        .with_rest()
        .native(),
    Route::get(EXPLAIN, &rules::EXPLAIN_SHOW, handler!(explain::show)).native(),
    Route::get(DESCRIPTIONS, &rules::DESCRIPTIONS_LIST, handler!(providers::list))
        .with_pages()
        .native(),
    Route::put(
        DESCRIPTIONS,
        &rules::DESCRIPTIONS_UPDATE,
        handler!(providers::describe_all),
    )
    .with_long_body()
    .native(),
    Route::patch(
        DESCRIPTIONS,
        &rules::DESCRIPTIONS_UPDATE,
        handler!(providers::set_states),
    )
    .native(),
    Route::get(DESCRIPTION, &rules::DESCRIPTIONS_SHOW, handler!(providers::show)).native(),
    Route::put(DESCRIPTION, &rules::DESCRIPTIONS_UPDATE, handler!(providers::describe)).native(),
    Route::patch(DESCRIPTION, &rules::DESCRIPTIONS_UPDATE, handler!(providers::patch)).native(),
    Route::get(HOSTS, &rules::HOSTS_LIST, handler!(hosts::list)).native(),
    Route::get(HOST, &rules::HOSTS_SHOW, handler!(hosts::show)).native(),
    Route::put(REPORT, &rules::HOSTS_REPORT, handler!(hosts::report))
        .native()
        .with_rule_for_others(&rules::HOSTS_REPORT_FOR_OTHERS),
    Route::get(LIMITS, &rules::LIMITS_LIST, handler!(limits::list)).native(),
    Route::get(LIMIT, &rules::LIMITS_SHOW, handler!(limits::show)).native(),
    Route::put(LIMIT, &rules::LIMITS_UPDATE, handler!(limits::set)).native(),
    Route::patch(LIMIT, &rules::LIMITS_UPDATE, handler!(limits::patch)).native(),
    Route::get(REFUSALS, &rules::REFUSALS_LIST, handler!(refusals::list)).native(),
    Route::get(TYPES, &rules::TYPES_LIST, handler!(types::list)).native(),
    Route::get(TYPE, &rules::TYPES_SHOW, handler!(types::show))
        .with_rest()
        .native(),
    Route::put(TYPE, &rules::TYPES_UPDATE, handler!(types::set))
        .with_rest()
        .native(),
    Route::patch(TYPE, &rules::TYPES_UPDATE, handler!(types::patch))
        .with_rest()
        .native(),
    Route::delete(TYPE, &rules::TYPES_DELETE, handler!(types::delete))
        .with_rest()
        .native(),
    Route::get(NATIVE_USAGES, &rules::USAGES_LIST, handler!(usages::list))
        .with_pages()
        .native(),
    Route::get(VIOLATIONS, &rules::VIOLATIONS_LIST, handler!(violations::list)).native(),
    Route::get(WORKLOADS, &rules::WORKLOADS_LIST, handler!(workloads::list)).native(),
    Route::get(WORKLOAD, &rules::WORKLOADS_SHOW, handler!(workloads::show)).native(),
    Route::put(WORKLOAD, &rules::WORKLOADS_UPDATE, handler!(workloads::update))
        .with_rule_for_others(&rules::WORKLOADS_UPDATE_FOR_OTHERS)
        .with_long_body()
        .native(),
    Route::patch(WORKLOAD, &rules::WORKLOADS_UPDATE, handler!(workloads::patch))
        .with_rule_for_others(&rules::WORKLOADS_UPDATE_FOR_OTHERS)
        .with_long_body()
        .native(),
    Route::delete(WORKLOAD, &rules::WORKLOADS_DELETE, handler!(workloads::delete))
        .with_rule_for_others(&rules::WORKLOADS_UPDATE_FOR_OTHERS)
        .native(),
];

/// `GET /openapi.json` describes the table.
async fn describe_api(context: RequestContext) -> Result<Reply> {
    openapi::show(context, ROUTES).await
}

/// `GET /v1/` lists the table.
async fn list_operations(context: RequestContext) -> Result<Reply> {
    v1::show(context, ROUTES).await
}

/// The description of the API as a text: see [`openapi::text`].
pub fn description(only: Option<&str>) -> Option<String> {
    openapi::text(ROUTES, only)
}

/// The paths by which requests are counted: of the routes, of health, of the metrics and of the page.
pub fn statistics_paths() -> impl Iterator<Item = &'static str> {
    let beside = [health::LIVE, health::READY, metrics::PATH, docs::PATH];
    ROUTES.iter().map(|route| route.path).chain(beside)
}

/// The routes authorized by a rule, each once, in the form `GET /usages`.
pub fn authorized_by(rule: &str) -> Vec<String> {
    let mut routes = Vec::new();
    for route in ROUTES {
        let operation = format!("{} {}", route.method, route.path);
        let mut rules = (route.rule.into_iter())
            .chain(route.other_projects)
            .chain(route.family.rule());
        if rules.any(|its_rule| its_rule.name == rule) && !routes.contains(&operation) {
            routes.push(operation);
        }
    }
    routes
}

/// GET routes that read no replica of the database: the answers come from memory, or say whether a lease holds, which
/// a replica that lags behind does not know.
const NEVER_FROM_A_REPLICA: [&str; 11] = [
    PROVIDERS,
    CANDIDATES,
    NATIVE,
    NATIVE_CANDIDATES,
    CAPACITY,
    EXPLAIN,
    DOMAINS,
    NATIVE_USAGES,
    REFUSALS,
    HOSTS,
    HOST,
];

/// The paths of the routes in `names`, which may read from a lagging replica. A name has the form `GET /usages`.
///
/// # Errors
/// The first unknown name: known are the GET routes that a replica can serve. The message lists the known names.
pub fn slave_routes(names: &[String]) -> std::result::Result<Vec<&'static str>, String> {
    let mut known: Vec<&'static str> = Vec::new();
    for route in ROUTES {
        let may_lag =
            route.method == Method::GET && route.rule.is_some() && !NEVER_FROM_A_REPLICA.contains(&route.path);
        if may_lag && !known.contains(&route.path) {
            known.push(route.path);
        }
    }
    let find = |name: &String| -> std::result::Result<&'static str, String> {
        let words: Vec<&str> = name.split_whitespace().collect();
        let path = known.iter().find(|path| words == ["GET", **path]);
        path.copied().ok_or_else(|| {
            let all: Vec<String> = known.iter().map(|path| format!("GET {path}")).collect();
            format!(
                "'{name}' cannot be answered by a replica; the routes that can are {}",
                all.join(", ")
            )
        })
    };
    names.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_authorizes_a_route_or_is_for_other_rules() {
        for rule in rules::ALL {
            // A rule for use in rules has no colon.
            let is_for_routes = rule.name.contains(':');
            assert_eq!(!authorized_by(rule.name).is_empty(), is_for_routes, "{}", rule.name);
        }
    }
}
