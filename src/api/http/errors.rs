//! The HTTP status and the error code of each error. No further place decides them.

use actix_web::http::StatusCode;

use crate::error::Error;

/// The code of an error without a code.
pub const UNDEFINED: &str = "placement.undefined_code";
const CLAIM_REFUSED: &str = "placet.claim_refused";
const CONSUMER_TAKEN: &str = "placet.consumer_taken";
const LEASE_HELD: &str = "placet.lease_held";
const OLD_REPORT: &str = "placet.old_report";
const REPORT_REFUSED: &str = "placet.report_refused";
const NO_CAPACITY: &str = "placet.no_capacity";
const NO_PLACE: &str = "placet.no_place";
const CONCURRENT_UPDATE: &str = "placement.concurrent_update";
const DOMAIN_IN_USE: &str = "placet.domain_in_use";
const WORKLOAD_IN_USE: &str = "placet.workload_in_use";
const DUPLICATE_NAME: &str = "placement.duplicate_name";
const ID_REUSED: &str = "placet.id_reused";
const INVENTORY_IN_USE: &str = "placement.inventory.inuse";
const INVALID_EXPRESSION: &str = "placet.invalid_expression";
const PROVIDER_NOT_FOUND: &str = "placement.resource_provider.not_found";
const PROVIDER_IN_USE: &str = "placement.resource_provider.inuse";
const PROVIDER_HAS_CHILDREN: &str = "placement.resource_provider.cannot_delete_parent";
const QUERY_BAD_VALUE: &str = "placement.query.bad_value";
const QUERY_DUPLICATE_KEY: &str = "placement.query.duplicate_key";
const QUERY_MISSING_VALUE: &str = "placement.query.missing_value";

/// Whether the answer to an error has `Vary` with the version header. As in OpenStack Placement, `Vary` is missing if
/// the caller is not authorized, or if the URL has an unknown provider or class.
pub fn varies(error: &Error) -> bool {
    !matches!(
        error,
        Error::Forbidden { .. } | Error::ProviderNotFound { .. } | Error::ClassNotFound { .. }
    )
}

/// The status and the error code of an error.
pub fn status_and_code(error: &Error) -> (StatusCode, &'static str) {
    use Error as E;
    match error {
        E::InMember { error, .. } => status_and_code(error),
        E::BadQueryValue { .. } => (StatusCode::BAD_REQUEST, QUERY_BAD_VALUE),
        E::DuplicateQueryKey { .. } => (StatusCode::BAD_REQUEST, QUERY_DUPLICATE_KEY),
        E::MissingQueryValue { .. } => (StatusCode::BAD_REQUEST, QUERY_MISSING_VALUE),
        E::InvalidExpression { .. } => (StatusCode::BAD_REQUEST, INVALID_EXPRESSION),
        E::ProviderNotFoundForReshape { .. } => (StatusCode::BAD_REQUEST, PROVIDER_NOT_FOUND),
        E::MalformedJson(_)
        | E::InvalidBody(_)
        | E::InvalidQuery(_)
        | E::BadRequest { .. }
        | E::CannotCreateProvider { .. }
        | E::CannotSaveProvider { .. }
        | E::InventoryNotFoundForUpdate { .. }
        | E::InvalidInventory { .. }
        | E::UnknownClassInInventory { .. }
        | E::CannotUpdateStandardClass { .. }
        | E::CannotDeleteStandardClass { .. }
        | E::UnknownTraits { .. }
        | E::CannotDeleteStandardTrait { .. }
        | E::ClaimProviderNotFound { .. }
        | E::ClaimClassNotFound { .. }
        | E::ReshapeClassNotFound { .. }
        | E::UnknownClassInQuery { .. }
        | E::UnknownTraitsInQuery { .. }
        | E::UnknownTraitsInCandidates { .. } => (StatusCode::BAD_REQUEST, UNDEFINED),

        E::Forbidden { .. } | E::NotOwner { .. } => (StatusCode::FORBIDDEN, UNDEFINED),

        E::ProviderNotFound { .. }
        | E::ProviderNotFoundForInventories { .. }
        | E::ProviderNotFoundForTraits { .. }
        | E::ProviderNotFoundForUsages { .. }
        | E::ProviderNotFoundForAllocations { .. }
        | E::ProviderNotFoundForDelete { .. }
        | E::InventoryNotFound { .. }
        | E::InventoryNotFoundForDelete { .. }
        | E::InventoryClassNotFoundForDelete { .. }
        | E::ClassNotFound { .. }
        | E::TraitNotFound { .. }
        | E::NotFound { .. }
        | E::NoAllocations { .. } => (StatusCode::NOT_FOUND, UNDEFINED),

        E::StaleInventoryGeneration
        | E::StaleDescriptions { .. }
        | E::StaleProviderGeneration
        | E::StaleReshapeGeneration { .. }
        | E::StaleConsumerGeneration { .. }
        | E::StaleGeneration { .. }
        | E::InventoryExists { .. }
        | E::InventoryInUse { .. } => (StatusCode::CONFLICT, CONCURRENT_UPDATE),
        E::ClaimRefused(refusal) if refusal.is_stale() => (StatusCode::CONFLICT, CONCURRENT_UPDATE),
        E::ClaimRefused(_) => (StatusCode::CONFLICT, CLAIM_REFUSED),
        E::DomainInUse { .. } => (StatusCode::CONFLICT, DOMAIN_IN_USE),
        E::WorkloadInUse { .. } => (StatusCode::CONFLICT, WORKLOAD_IN_USE),
        E::IdReused { .. } => (StatusCode::CONFLICT, ID_REUSED),
        E::LeaseHeld { .. } => (StatusCode::CONFLICT, LEASE_HELD),
        E::ReportRefused { .. } => (StatusCode::CONFLICT, REPORT_REFUSED),
        E::OldReport { .. } => (StatusCode::CONFLICT, OLD_REPORT),
        E::NoPlace { .. } => (StatusCode::CONFLICT, NO_PLACE),
        E::NoCapacity { .. } => (StatusCode::CONFLICT, NO_CAPACITY),
        E::ConsumerTaken { .. } => (StatusCode::CONFLICT, CONSUMER_TAKEN),
        E::DuplicateProvider { .. } | E::DuplicateWorkload { .. } => (StatusCode::CONFLICT, DUPLICATE_NAME),
        E::ProviderInUse { .. } => (StatusCode::CONFLICT, PROVIDER_IN_USE),
        E::ProviderHasChildren { .. } => (StatusCode::CONFLICT, PROVIDER_HAS_CHILDREN),
        E::InventoriesInUse { .. } | E::AllInventoriesInUse { .. } => (StatusCode::CONFLICT, INVENTORY_IN_USE),
        E::ClassExists { .. }
        | E::ClassExistsForRename { .. }
        | E::ClassInUse { .. }
        | E::TraitInUse { .. }
        | E::ProviderGenerationLimit { .. }
        | E::ConsumerGenerationLimit { .. }
        | E::ClaimWithoutInventory { .. }
        | E::CapacityExceeded { .. }
        | E::ConstraintsViolated { .. } => (StatusCode::CONFLICT, UNDEFINED),

        // `Busy` and `Unavailable` changed nothing. After `UnknownOutcome` a client may repeat its request too: if the
        // first request was committed, its generation keeps the second from being applied.
        E::Busy { .. } | E::Unavailable { .. } | E::UnknownOutcome { .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, UNDEFINED)
        }
        E::Internal { .. } => (StatusCode::INTERNAL_SERVER_ERROR, UNDEFINED),
    }
}
