//! The sentences of the description: one example of each error, whose fields contain their names in braces.

use std::sync::Arc;

use crate::error::{ClaimRefusal, Error, NoPlace, Reason, ReasonCode, RefusedConsumer, Room};

fn text(name: &str) -> String {
    format!("{{{name}}}")
}

/// The name of the error's variant.
pub fn name(error: &Error) -> String {
    let debug = format!("{error:?}");
    let end = debug.find(|c: char| !c.is_alphanumeric()).unwrap_or(debug.len());
    debug[..end].to_owned()
}

/// One example of each error.
pub fn all() -> Vec<Error> {
    use Error as E;
    vec![
        E::MalformedJson(text("problem")),
        E::InvalidBody(text("problem")),
        E::InvalidQuery(text("problem")),
        E::BadRequest { detail: text("detail") },
        E::InvalidExpression {
            context: text("context"),
            column: 1,
            detail: text("detail"),
        },
        E::BadQueryValue { detail: text("detail") },
        E::DuplicateQueryKey { detail: text("detail") },
        E::MissingQueryValue { detail: text("detail") },
        E::BadRequest { detail: text("detail") }.in_member(&text("path")),
        E::Forbidden { rule: text("rule") },
        E::ProviderNotFound { uuid: text("uuid") },
        E::ProviderNotFoundForInventories { uuid: text("uuid") },
        E::ProviderNotFoundForTraits { uuid: text("uuid") },
        E::ProviderNotFoundForUsages { uuid: text("uuid") },
        E::ProviderNotFoundForReshape { uuid: text("uuid") },
        E::ProviderNotFoundForAllocations { uuid: text("uuid") },
        E::ProviderNotFoundForDelete { uuid: text("uuid") },
        E::DuplicateProvider {
            duplicate: text("duplicate"),
        },
        E::CannotCreateProvider {
            name: text("name"),
            uuid: text("uuid"),
            reason: "{reason}",
        },
        E::CannotSaveProvider {
            uuid: text("uuid"),
            action: "{action}",
            reason: "{reason}",
        },
        E::ProviderInUse { uuid: text("uuid") },
        E::ProviderHasChildren { uuid: text("uuid") },
        E::StaleInventoryGeneration,
        E::StaleProviderGeneration,
        E::StaleReshapeGeneration {
            provider: text("provider"),
            actual: 1,
            given: "0".to_owned(),
        },
        E::StaleDescriptions { detail: text("detail") },
        E::DomainInUse {
            reasons: Arc::new(Reason::new(ReasonCode::DomainInUse, text("reasons")).into()),
        },
        E::StaleLimitGeneration {
            class: text("class"),
            actual: text("actual"),
            given: text("given"),
        },
        E::StaleConsumerGeneration {
            expected: text("expected"),
            got: text("got"),
        },
        E::ProviderGenerationLimit {
            provider: text("provider"),
        },
        E::ConsumerGenerationLimit {
            consumer: text("consumer"),
        },
        E::InventoryNotFound {
            class: text("class"),
            provider: text("provider"),
        },
        E::InventoryNotFoundForDelete { class: text("class") },
        E::InventoryClassNotFoundForDelete { class: text("class") },
        E::InventoryNotFoundForUpdate {
            class: text("class"),
            provider: text("provider"),
        },
        E::InventoryExists {
            class: text("class"),
            provider: text("provider"),
        },
        E::InvalidInventory {
            action: "{action}",
            provider: text("provider"),
            reason: text("reason"),
        },
        E::UnknownClassInInventory {
            class: text("class"),
            provider: text("provider"),
        },
        E::InventoriesInUse {
            classes: text("classes"),
            provider: text("provider"),
        },
        E::AllInventoriesInUse {
            classes: text("classes"),
            provider: text("provider"),
        },
        E::InventoryInUse {
            class: text("class"),
            provider: text("provider"),
        },
        E::ClassNotFound { name: text("name") },
        E::ClassExists { name: text("name") },
        E::ClassExistsForRename { name: text("name") },
        E::CannotUpdateStandardClass { name: text("name") },
        E::CannotDeleteStandardClass { name: text("name") },
        E::ClassInUse { name: text("name") },
        E::TraitNotFound { name: text("name") },
        E::UnknownTraits { names: text("names") },
        E::CannotDeleteStandardTrait { name: text("name") },
        E::TraitInUse { name: text("name") },
        E::ClaimProviderNotFound { uuid: text("uuid") },
        E::ClaimClassNotFound {
            context: text("context"),
            class: text("class"),
        },
        E::ClaimWithoutInventory {
            class: text("class"),
            provider: text("provider"),
        },
        E::CapacityExceeded {
            class: text("class"),
            provider: text("provider"),
            room: Room::default(),
        },
        E::ConstraintsViolated {
            class: text("class"),
            provider: text("provider"),
        },
        E::ReshapeClassNotFound { class: text("class") },
        E::NoAllocations {
            consumer: text("consumer"),
        },
        E::IdReused { id: text("id") },
        E::ClaimRefused(Arc::new(claim_refusal())),
        E::WorkloadNotFound { uuid: text("uuid") },
        E::StaleWorkload {
            uuid: text("uuid"),
            actual: text("actual"),
            given: text("given"),
        },
        E::DuplicateWorkload { name: text("name") },
        E::ConsumerTaken {
            consumer: text("consumer"),
            workload: text("workload"),
        },
        E::WorkloadInUse {
            uuid: text("uuid"),
            reasons: Arc::new(Reason::new(ReasonCode::WorkloadInUse, text("reasons")).into()),
        },
        E::NoPlace {
            refusal: Arc::new(NoPlace {
                missing: 1,
                reasons: Reason::new(ReasonCode::NoPlace, text("reasons")).into(),
                is_exact: true,
            }),
        },
        E::NoCapacity {
            class: text("class"),
            needed: 1,
            room: 0,
        },
        E::UnknownClassInQuery { name: text("name") },
        E::UnknownTraitsInQuery { names: text("names") },
        E::UnknownTraitsInCandidates { names: text("names") },
        E::Busy { detail: text("detail") },
        E::Unavailable {
            detail: text("detail").into(),
        },
        E::UnknownOutcome {
            detail: text("detail").into(),
        },
        E::Internal { detail: text("detail") },
    ]
}

fn claim_refusal() -> ClaimRefusal {
    let reason = Reason::new(ReasonCode::NoRoom, text("detail"));
    ClaimRefusal {
        consumers: vec![RefusedConsumer {
            consumer: text("uuid"),
            reasons: reason.into(),
        }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the enum's variants, read from the source: no other list has them.
    fn variants() -> Vec<&'static str> {
        let source = include_str!("../../error.rs");
        let lines = source.lines().skip_while(|line| !line.starts_with("pub enum Error"));
        let lines = lines.skip(1).take_while(|line| *line != "}");
        let names = lines.filter_map(|line| {
            line.strip_prefix("    ")
                .filter(|line| line.starts_with(char::is_uppercase))
        });
        names
            .map(|line| line.split(|c: char| !c.is_alphanumeric()).next().unwrap())
            .collect()
    }

    #[test]
    fn every_error_has_its_sentence() {
        let names: Vec<String> = all().iter().map(name).collect();
        assert_eq!(
            names,
            variants(),
            "src/error.rs (right) has different errors; mend sentences::all"
        );
    }
}
