//! The error type of all layers.
//!
//! The type knows no HTTP. `api/http/errors.rs` has the only `match` from a variant to a status and an error code, so
//! situations with different codes are different variants. The `Display` of a variant is the `detail` for the client.
//! The short sentences are OpenStack Placement's, because clients match on these texts.

mod detail;
mod reason;
mod reason_code;

use std::borrow::Cow;
use std::sync::Arc;

use thiserror::Error;

pub use detail::Detail;
pub use reason::{ClaimRefusal, NoPlace, Reason, Reasons, RefusedConsumer, Room, named};
pub use reason_code::ReasonCode;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    // ---- reading a request ----
    #[error("Malformed JSON: {0}")]
    MalformedJson(String),
    #[error("JSON does not validate: {0}")]
    InvalidBody(String),
    #[error("Invalid query string parameters: {0}")]
    InvalidQuery(String),
    /// A value that a schema cannot check. `detail` is the whole sentence.
    #[error("{detail}")]
    BadRequest { detail: String },
    /// A condition that cannot be read. `context` is empty, or names the place of the condition and ends with `: `. The
    /// column counts characters from 1.
    #[error("{context}Invalid expression at column {column}: {detail}.")]
    InvalidExpression {
        context: String,
        column: usize,
        detail: String,
    },
    /// A query parameter's value is wrong (error code `placement.query.bad_value`).
    #[error("{detail}")]
    BadQueryValue { detail: String },
    /// A query parameter occurs twice, but may occur only once.
    #[error("{detail}")]
    DuplicateQueryKey { detail: String },
    /// A query parameter requires a second parameter, or a value.
    #[error("{detail}")]
    MissingQueryValue { detail: String },
    /// The error of a member of a body that is a query. Status and code are the status and code of `error`.
    #[error("{path}: {error}")]
    InMember { path: String, error: Box<Error> },

    // ---- authorization ----
    #[error("Policy does not allow {rule} to be performed.")]
    Forbidden { rule: String },

    // ---- providers ----
    #[error("No resource provider with uuid {uuid} found")]
    ProviderNotFound { uuid: String },
    #[error("No resource provider with uuid {uuid} found : No resource provider with uuid {uuid} found")]
    ProviderNotFoundForInventories { uuid: String },
    #[error("No resource provider with uuid {uuid} found: No resource provider with uuid {uuid} found")]
    ProviderNotFoundForTraits { uuid: String },
    #[error("No resource provider with uuid {uuid} found: No resource provider with uuid {uuid} found")]
    ProviderNotFoundForUsages { uuid: String },
    #[error("Resource provider {uuid} in inventories not found: No resource provider with uuid {uuid} found")]
    ProviderNotFoundForReshape { uuid: String },
    #[error("Resource provider '{uuid}' not found: No resource provider with uuid {uuid} found")]
    ProviderNotFoundForAllocations { uuid: String },
    #[error("No resource provider with uuid {uuid} found for delete")]
    ProviderNotFoundForDelete { uuid: String },
    /// `duplicate` is the column with its value; for a rename, only the name.
    #[error("Conflicting resource provider {duplicate} already exists.")]
    DuplicateProvider { duplicate: String },
    #[error("Unable to create resource provider \"{name}\", {uuid}: Object action create failed because: {reason}")]
    CannotCreateProvider {
        name: String,
        uuid: String,
        reason: &'static str,
    },
    #[error("Unable to save resource provider {uuid}: Object action {action} failed because: {reason}")]
    CannotSaveProvider {
        uuid: String,
        action: &'static str,
        reason: &'static str,
    },
    #[error("Unable to delete resource provider {uuid}: Resource provider has allocations.")]
    ProviderInUse { uuid: String },
    #[error("Unable to delete parent resource provider {uuid}: It has child resource providers.")]
    ProviderHasChildren { uuid: String },

    // ---- generations ----
    #[error("resource provider generation conflict")]
    StaleInventoryGeneration,
    #[error("Resource provider's generation already changed. Please update the generation and try again.")]
    StaleProviderGeneration,
    #[error("resource provider generation conflict for provider {provider}: actual: {actual}, given: {given}")]
    StaleReshapeGeneration {
        provider: String,
        actual: i64,
        given: String,
    },
    /// Descriptions have newer generations than the caller knows. `detail` names each description.
    #[error("Another client described a provider in between: {detail}. Read it again, then describe it.")]
    StaleDescriptions { detail: String },
    /// Replicas of workloads stand on hosts whose domains are to change, and rules of the workloads are about these
    /// domains.
    #[error(
        "The domains of hosts cannot change, because replicas stand there whose workloads are spread over them. Move the \
         replicas first, or repeat the request with force=true, and see GET /v1/violations."
    )]
    DomainInUse { reasons: Arc<Reasons> },
    /// A noun of the native API has a different generation than the caller knows. `noun` begins the sentence.
    #[error("{noun} has the generation {actual}, and not {given}. Read it again, then change it.")]
    StaleGeneration {
        noun: String,
        actual: String,
        given: String,
    },
    #[error("consumer generation conflict - expected {expected} but got {got}")]
    StaleConsumerGeneration { expected: String, got: String },
    #[error(
        "Resource provider {provider} cannot be changed: its generation cannot increase beyond 2147483647, the highest that the database stores. An operator must reset it."
    )]
    ProviderGenerationLimit { provider: String },
    #[error(
        "Consumer {consumer} cannot be changed: its generation cannot increase beyond 2147483647, the highest that the database stores. Delete its allocations, and claim them again."
    )]
    ConsumerGenerationLimit { consumer: String },

    // ---- inventories ----
    #[error("No inventory of class {class} for {provider}")]
    InventoryNotFound { class: String, provider: String },
    #[error("No inventory of class {class} found for delete: No inventory of class {class} found for delete")]
    InventoryNotFoundForDelete { class: String },
    #[error("No inventory of class {class} found for delete: No such resource class {class}.")]
    InventoryClassNotFoundForDelete { class: String },
    #[error(
        "No inventory record with resource class for resource provider {provider}: No inventory of class {class} found."
    )]
    InventoryNotFoundForUpdate { class: String, provider: String },
    #[error("Update conflict: inventory of class {class} exists on resource provider {provider}")]
    InventoryExists { class: String, provider: String },
    #[error("Unable to {action} inventory for resource provider {provider}: {reason}")]
    InvalidInventory {
        action: &'static str,
        provider: String,
        reason: String,
    },
    #[error("Unknown resource class in inventory for resource provider {provider}: No such resource class {class}.")]
    UnknownClassInInventory { class: String, provider: String },
    /// `classes` are separated by `, `.
    #[error("update conflict: Inventory for '{classes}' on resource provider '{provider}' in use.")]
    InventoriesInUse { classes: String, provider: String },
    #[error("Inventory for '{classes}' on resource provider '{provider}' in use.")]
    AllInventoriesInUse { classes: String, provider: String },
    #[error(
        "Unable to delete inventory of class {class}: Inventory for '{class}' on resource provider '{provider}' in use."
    )]
    InventoryInUse { class: String, provider: String },

    // ---- resource classes ----
    #[error("No such resource class {name}.")]
    ClassNotFound { name: String },
    #[error("Conflicting resource class already exists: {name}")]
    ClassExists { name: String },
    #[error("Resource class already exists: {name}")]
    ClassExistsForRename { name: String },
    #[error("Cannot update standard resource class {name}")]
    CannotUpdateStandardClass { name: String },
    #[error("Error in delete resource class: Cannot delete standard resource class {name}.")]
    CannotDeleteStandardClass { name: String },
    #[error("Error in delete resource class: Cannot delete resource class {name}. Class is in use in inventory.")]
    ClassInUse { name: String },

    // ---- traits ----
    #[error("No such trait(s): {name}.")]
    TraitNotFound { name: String },
    #[error("No such trait {names}")]
    UnknownTraits { names: String },
    #[error("Cannot delete standard trait {name}.")]
    CannotDeleteStandardTrait { name: String },
    #[error("The trait {name} is in use by a resource provider.")]
    TraitInUse { name: String },

    // ---- claims ----
    #[error("Allocation for resource provider '{uuid}' that does not exist.")]
    ClaimProviderNotFound { uuid: String },
    /// An unknown class in a claim. `context` is `for consumer …: ` if the request names one consumer, otherwise empty.
    #[error("Unable to allocate inventory {context}No such resource class {class}.")]
    ClaimClassNotFound { context: String, class: String },
    #[error("Unable to allocate inventory: Inventory for '{class}' on resource provider '{provider}' invalid.")]
    ClaimWithoutInventory { class: String, provider: String },
    #[error(
        "Unable to allocate inventory: Unable to create allocation for '{class}' on resource provider '{provider}'. The requested amount would exceed the capacity."
    )]
    CapacityExceeded {
        class: String,
        provider: String,
        room: Room,
    },
    #[error(
        "Unable to allocate inventory: Unable to create allocation for '{class}' on resource provider '{provider}'. The requested amount would violate inventory constraints."
    )]
    ConstraintsViolated { class: String, provider: String },
    #[error("malformed reshaper data: No such resource class {class}.")]
    ReshapeClassNotFound { class: String },
    #[error("No allocations for consumer '{consumer}'")]
    NoAllocations { consumer: String },
    /// A call with the id of a different call that was carried out.
    #[error(
        "The id {id} was used before, by another call. A call is repeated with the same body; another call needs another id."
    )]
    IdReused { id: String },
    /// A claim with a choice, without a place for at least one consumer.
    #[error("{0}")]
    ClaimRefused(Arc<ClaimRefusal>),

    // ---- nouns of the native API ----
    #[error("There is no {noun}.")]
    NotFound { noun: String },
    #[error("Another workload of this project has the name {name}. Give this one another name.")]
    DuplicateWorkload { name: String },
    #[error("Consumer {consumer} belongs to workload {workload}. A consumer is a replica of one workload at most.")]
    ConsumerTaken { consumer: String, workload: String },
    #[error(
        "Rules of other workloads name workload {uuid}. Change these rules first, or repeat the request with force=true, \
         and see GET /v1/violations."
    )]
    WorkloadInUse { uuid: String, reasons: Arc<Reasons> },
    #[error("{} replicas of the workload have no place. Nothing was changed.", refusal.missing)]
    NoPlace { refusal: Arc<NoPlace> },
    /// Hosts may lack room although the sum is enough.
    #[error(
        "The hosts that the workload may use have {room} of {class} free, all together and as far as a normal limit allows, \
         and the missing replicas need {needed}. Nothing was changed."
    )]
    NoCapacity { class: String, needed: i64, room: i64 },

    #[error(
        "The first report has bound host {host} to a different user. Report as that user, or as a user whom the policy \
         placet:hosts:report:other_users allows."
    )]
    NotOwner { host: String },
    #[error(
        "The lease of host {host} is held by {holder}. One agent reports for a host: stop one of them, or wait until the \
         lease is over."
    )]
    LeaseHeld { host: String, holder: String },
    /// Refused parts of a report. The remaining parts are stored.
    #[error("{sentences}. All other parts of the report are stored, and the lease holds.")]
    ReportRefused { sentences: String },
    #[error(
        "Report {number} of host {host} is older than the stored report {last}. Send a greater number, and after a boot of \
         the host a new boot."
    )]
    OldReport { host: String, number: i64, last: i64 },

    // ---- candidates and filters ----
    #[error("Invalid resource class in resources parameter: No such resource class {name}.")]
    UnknownClassInQuery { name: String },
    /// `names` are separated by `, `.
    #[error("Invalid trait(s) in \"required\" parameter: No such trait(s): {names}.")]
    UnknownTraitsInQuery { names: String },
    #[error("No such trait(s): {names}.")]
    UnknownTraitsInCandidates { names: String },

    // ---- the service itself ----
    /// The queue of the writer or of searches is full, or the request timed out in a queue. Nothing was changed.
    #[error("placet is busy: {detail} Nothing was changed; try again.")]
    Busy { detail: String },
    /// The database cannot be reached, or refused the request. Nothing was changed.
    #[error("The database is unavailable: {detail}. Nothing was changed; try again.")]
    Unavailable { detail: Detail },
    /// The outcome of an in-doubt commit could not be determined: the commit happened completely or not at all.
    #[error(
        "The outcome of this request is unknown: {detail}. All of it was done, or nothing; look before you try again."
    )]
    UnknownOutcome { detail: Detail },
    #[error("{detail}")]
    Internal { detail: String },
}

impl Error {
    /// Why a claim of OpenStack's API was refused. `None` for an error about something else than claims.
    pub fn claim_code(&self) -> Option<ReasonCode> {
        let code = match self {
            Error::CapacityExceeded { .. } => ReasonCode::NoRoom,
            Error::ConstraintsViolated { .. } => ReasonCode::Units,
            Error::ClaimWithoutInventory { .. } => ReasonCode::NoInventory,
            Error::ClaimProviderNotFound { .. } => ReasonCode::ProviderNotFound,
            Error::ClaimClassNotFound { .. } => ReasonCode::ClassNotFound,
            Error::StaleConsumerGeneration { .. } | Error::StaleProviderGeneration | Error::StaleGeneration { .. } => {
                ReasonCode::ConcurrentUpdate
            }
            Error::ProviderGenerationLimit { .. } => ReasonCode::ProviderGenerationLimit,
            Error::ConsumerGenerationLimit { .. } => ReasonCode::ConsumerGenerationLimit,
            _ => return None,
        };
        Some(code)
    }

    /// The error with the path of the concerned member, such as `consumers[0].query`.
    pub fn in_member(self, path: &str) -> Error {
        Error::InMember {
            path: path.to_owned(),
            error: Box::new(self),
        }
    }

    /// A noun of the native API has a different generation than the caller knows: `None` for a missing noun. `noun`
    /// begins the sentence.
    pub fn stale_generation(noun: String, actual: Option<i64>, given: Option<i64>) -> Error {
        let text = |generation: Option<i64>| generation.map_or_else(|| "null".to_owned(), |number| number.to_string());
        Error::StaleGeneration {
            noun,
            actual: text(actual),
            given: text(given),
        }
    }

    /// The sentence for the log, with the parts that clients must not read.
    pub fn for_log(&self) -> String {
        match self {
            Error::Unavailable { detail } | Error::UnknownOutcome { detail } => match detail.hidden() {
                Some(hidden) => format!("{self} ({hidden})"),
                None => self.to_string(),
            },
            _ => self.to_string(),
        }
    }

    /// The reasons that the native API adds to the sentence.
    pub fn reasons(&self) -> Option<Cow<'_, Reasons>> {
        match self {
            Error::NoPlace { refusal } => Some(Cow::Borrowed(&refusal.reasons)),
            Error::DomainInUse { reasons } | Error::WorkloadInUse { reasons, .. } => Some(Cow::Borrowed(reasons)),
            Error::NoCapacity { class, needed, room } => Some(Cow::Owned(Reasons::from(Reason {
                resource_class: Some(class.clone()),
                requested: Some(*needed),
                free: Some(*room),
                ..Reason::new(ReasonCode::NoCapacity, self.to_string())
            }))),
            _ => None,
        }
    }

    /// The text that the log adds to the client's sentence: the reason of a refused claim, with numbers; or the message
    /// of the database's driver.
    pub fn log_reason(&self) -> Option<String> {
        match self {
            Error::Unavailable { detail } | Error::UnknownOutcome { detail } => detail.hidden().map(str::to_owned),
            Error::InMember { error, .. } => error.log_reason(),
            Error::CapacityExceeded { class, provider, room } => Some(format!(
                "{class} on {}: {room}",
                named(room.provider_name.as_deref(), provider)
            )),
            Error::ClaimRefused(refusal) => Some(refusal.short()),
            Error::ClaimProviderNotFound { .. }
            | Error::ClaimClassNotFound { .. }
            | Error::ClaimWithoutInventory { .. }
            | Error::ConstraintsViolated { .. }
            | Error::StaleConsumerGeneration { .. }
            | Error::StaleGeneration { .. }
            | Error::ConsumerTaken { .. } => Some(self.to_string()),
            _ => self.reasons().map(|reasons| reasons.short()),
        }
    }
}
