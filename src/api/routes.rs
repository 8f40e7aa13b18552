//! The route table: every URL that placet answers, since which version, and who may.

use actix_web::http::Method;

use super::route::{Guard, Handler, Route};
use super::{
    aggregates, allocation_candidates, allocations, inventories, openapi, reshaper, resource_classes,
    resource_providers, root, traits, usages,
};
use crate::policy::rules::{self, Rule};
use crate::version as v;

/// Makes of an async function a handler that the table can hold.
macro_rules! run {
    ($handler:path) => {
        (|call| Box::pin($handler(call))) as Handler
    };
}

const fn own(rule: &'static Rule) -> Guard {
    Guard::Own(rule)
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

/// Every route. Within one path, methods stand in the order in which `Allow` names them.
pub static ROUTES: &[Route] = &[
    Route::get("/", Guard::Open, run!(root::show)).bare(),
    Route::get("", Guard::Open, run!(root::show)).bare(),
    Route::get(openapi::URL, Guard::Open, run!(openapi::show)).bare(),
    //
    Route::get(CLASSES, own(&rules::CLASSES_LIST), run!(resource_classes::list)).since(v::RESOURCE_CLASSES),
    Route::post(CLASSES, own(&rules::CLASSES_CREATE), run!(resource_classes::create)).since(v::RESOURCE_CLASSES),
    Route::get(CLASS, own(&rules::CLASSES_SHOW), run!(resource_classes::show)).since(v::RESOURCE_CLASSES),
    Route::put(CLASS, own(&rules::CLASSES_UPDATE), run!(resource_classes::rename))
        .since(v::RESOURCE_CLASSES)
        .before(v::ENSURE_RESOURCE_CLASS),
    Route::put(CLASS, own(&rules::CLASSES_UPDATE), run!(resource_classes::ensure))
        .since(v::ENSURE_RESOURCE_CLASS)
        .bare(),
    Route::delete(CLASS, own(&rules::CLASSES_DELETE), run!(resource_classes::delete)).since(v::RESOURCE_CLASSES),
    //
    Route::get(PROVIDERS, own(&rules::PROVIDERS_LIST), run!(resource_providers::list)),
    Route::post(
        PROVIDERS,
        own(&rules::PROVIDERS_CREATE),
        run!(resource_providers::create_silently),
    )
    .before(v::POST_PROVIDER_BODY),
    Route::post(
        PROVIDERS,
        own(&rules::PROVIDERS_CREATE),
        run!(resource_providers::create),
    )
    .since(v::POST_PROVIDER_BODY),
    Route::get(PROVIDER, own(&rules::PROVIDERS_SHOW), run!(resource_providers::show)),
    Route::delete(
        PROVIDER,
        own(&rules::PROVIDERS_DELETE),
        run!(resource_providers::delete),
    ),
    Route::put(
        PROVIDER,
        own(&rules::PROVIDERS_UPDATE),
        run!(resource_providers::update),
    ),
    //
    Route::get(INVENTORIES, own(&rules::INVENTORIES_LIST), run!(inventories::list)),
    Route::post(INVENTORIES, own(&rules::INVENTORIES_CREATE), run!(inventories::add)),
    Route::put(INVENTORIES, own(&rules::INVENTORIES_UPDATE), run!(inventories::replace)),
    Route::delete(INVENTORIES, own(&rules::INVENTORIES_DELETE), run!(inventories::clear))
        .since(v::DELETE_INVENTORIES)
        .or_method_not_allowed(),
    Route::get(INVENTORY, own(&rules::INVENTORIES_SHOW), run!(inventories::show)),
    Route::put(INVENTORY, own(&rules::INVENTORIES_UPDATE), run!(inventories::update)),
    Route::delete(INVENTORY, own(&rules::INVENTORIES_DELETE), run!(inventories::remove)),
    //
    Route::get(PROVIDER_USAGES, own(&rules::PROVIDER_USAGES), run!(usages::of_provider)),
    Route::get(AGGREGATES, own(&rules::AGGREGATES_LIST), run!(aggregates::list))
        .since(v::AGGREGATES)
        .media_first(),
    Route::put(AGGREGATES, own(&rules::AGGREGATES_UPDATE), run!(aggregates::replace))
        .since(v::AGGREGATES)
        .media_first(),
    Route::get(
        PROVIDER_ALLOCATIONS,
        own(&rules::PROVIDER_ALLOCATIONS_LIST),
        run!(allocations::list_of_provider),
    ),
    //
    Route::post(
        ALLOCATIONS,
        own(&rules::ALLOCATIONS_MANAGE),
        run!(allocations::replace_many),
    )
    .since(v::POST_ALLOCATIONS),
    Route::get(CONSUMER, own(&rules::ALLOCATIONS_LIST), run!(allocations::show)),
    Route::put(CONSUMER, own(&rules::ALLOCATIONS_UPDATE), run!(allocations::replace)),
    Route::delete(CONSUMER, own(&rules::ALLOCATIONS_DELETE), run!(allocations::release)),
    Route::get(
        CANDIDATES,
        own(&rules::CANDIDATES_LIST),
        run!(allocation_candidates::list),
    )
    .since(v::ALLOCATION_CANDIDATES),
    //
    Route::get(TRAITS, own(&rules::TRAITS_LIST), run!(traits::list)).since(v::TRAITS),
    Route::get(TRAIT, own(&rules::TRAITS_SHOW), run!(traits::show))
        .since(v::TRAITS)
        .bare(),
    Route::put(TRAIT, own(&rules::TRAITS_UPDATE), run!(traits::ensure))
        .since(v::TRAITS)
        .bare(),
    Route::delete(TRAIT, own(&rules::TRAITS_DELETE), run!(traits::delete)).since(v::TRAITS),
    Route::get(
        PROVIDER_TRAITS,
        own(&rules::PROVIDER_TRAITS_LIST),
        run!(traits::list_of_provider),
    )
    .since(v::TRAITS),
    Route::put(
        PROVIDER_TRAITS,
        own(&rules::PROVIDER_TRAITS_UPDATE),
        run!(traits::replace_of_provider),
    )
    .since(v::TRAITS),
    Route::delete(
        PROVIDER_TRAITS,
        own(&rules::PROVIDER_TRAITS_DELETE),
        run!(traits::clear_of_provider),
    )
    .since(v::TRAITS),
    //
    Route::post(RESHAPER, own(&rules::RESHAPE), run!(reshaper::reshape)).since(v::RESHAPER),
    Route::get(USAGES, Guard::OfQuery(&rules::TOTAL_USAGES), run!(usages::total)).since(v::TOTAL_USAGES),
];

/// The routes that the rule of this name guards, each once: `GET /usages`.
pub fn guarded_by(rule: &str) -> Vec<String> {
    let mut routes = Vec::new();
    for route in ROUTES {
        let told = format!("{} {}", route.method, route.path);
        if route.rule().is_some_and(|own| own.name == rule) && !routes.contains(&told) {
            routes.push(told);
        }
    }
    routes
}

/// Answered from memory, so that a copy of the database has no part in it.
const FROM_MEMORY: [&str; 2] = [PROVIDERS, CANDIDATES];

/// The paths behind names such as `GET /usages`, of routes that may read a copy of the database that lags.
///
/// # Errors
/// The first that is no such route, as a sentence that names all which are.
pub fn slave_routes(names: &[String]) -> Result<Vec<&'static str>, String> {
    let mut known: Vec<&'static str> = Vec::new();
    for route in ROUTES {
        let reads = route.method == Method::GET && route.rule().is_some() && !FROM_MEMORY.contains(&route.path);
        if reads && !known.contains(&route.path) {
            known.push(route.path);
        }
    }
    let find = |name: &String| -> Result<&'static str, String> {
        let words: Vec<&str> = name.split_whitespace().collect();
        let path = known.iter().find(|path| words == ["GET", **path]);
        path.copied().ok_or_else(|| {
            let all: Vec<String> = known.iter().map(|path| format!("GET {path}")).collect();
            format!(
                "'{name}' is no route that reads the database for its answer alone; those are {}",
                all.join(", ")
            )
        })
    };
    names.iter().map(find).collect()
}
