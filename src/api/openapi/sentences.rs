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

/// An error, each field of which is its own name in braces.
macro_rules! example {
    ($error:ident { $($field:ident),* }) => {
        Error::$error { $($field: concat!("{", stringify!($field), "}").into()),* }
    };
}

/// One example of each error.
pub fn all() -> Vec<Error> {
    use Error as E;
    vec![
        E::MalformedJson(text("problem")),
        E::InvalidBody(text("problem")),
        E::InvalidQuery(text("problem")),
        example!(BadRequest { detail }),
        E::InvalidExpression {
            context: text("context"),
            column: 1,
            detail: text("detail"),
        },
        example!(BadQueryValue { detail }),
        example!(DuplicateQueryKey { detail }),
        example!(MissingQueryValue { detail }),
        E::BadRequest { detail: text("detail") }.in_member(&text("path")),
        example!(Forbidden { rule }),
        example!(ProviderNotFound { uuid }),
        example!(ProviderNotFoundForInventories { uuid }),
        example!(ProviderNotFoundForTraits { uuid }),
        example!(ProviderNotFoundForUsages { uuid }),
        example!(ProviderNotFoundForReshape { uuid }),
        example!(ProviderNotFoundForAllocations { uuid }),
        example!(ProviderNotFoundForDelete { uuid }),
        example!(DuplicateProvider { duplicate }),
        example!(CannotCreateProvider { name, uuid, reason }),
        example!(CannotSaveProvider { uuid, action, reason }),
        example!(ProviderInUse { uuid }),
        example!(ProviderHasChildren { uuid }),
        E::StaleInventoryGeneration,
        E::StaleProviderGeneration,
        E::StaleReshapeGeneration {
            provider: text("provider"),
            actual: 1,
            given: "0".to_owned(),
        },
        example!(StaleDescriptions { detail }),
        E::DomainInUse {
            reasons: Arc::new(Reason::new(ReasonCode::DomainInUse, text("reasons")).into()),
        },
        example!(StaleGeneration { noun, actual, given }),
        example!(StaleConsumerGeneration { expected, got }),
        example!(ProviderGenerationLimit { provider }),
        example!(ConsumerGenerationLimit { consumer }),
        example!(InventoryNotFound { class, provider }),
        example!(InventoryNotFoundForDelete { class }),
        example!(InventoryClassNotFoundForDelete { class }),
        example!(InventoryNotFoundForUpdate { class, provider }),
        example!(InventoryExists { class, provider }),
        example!(InvalidInventory {
            action,
            provider,
            reason
        }),
        example!(UnknownClassInInventory { class, provider }),
        example!(InventoriesInUse { classes, provider }),
        example!(AllInventoriesInUse { classes, provider }),
        example!(InventoryInUse { class, provider }),
        example!(ClassNotFound { name }),
        example!(ClassExists { name }),
        example!(ClassExistsForRename { name }),
        example!(CannotUpdateStandardClass { name }),
        example!(CannotDeleteStandardClass { name }),
        example!(ClassInUse { name }),
        example!(TraitNotFound { name }),
        example!(UnknownTraits { names }),
        example!(CannotDeleteStandardTrait { name }),
        example!(TraitInUse { name }),
        example!(ClaimProviderNotFound { uuid }),
        example!(ClaimClassNotFound { context, class }),
        example!(ClaimWithoutInventory { class, provider }),
        E::CapacityExceeded {
            class: text("class"),
            provider: text("provider"),
            room: Room::default(),
        },
        example!(ConstraintsViolated { class, provider }),
        example!(ReshapeClassNotFound { class }),
        example!(NoAllocations { consumer }),
        example!(IdReused { id }),
        E::ClaimRefused(Arc::new(ClaimRefusal {
            consumers: vec![RefusedConsumer {
                consumer: text("uuid"),
                reasons: Reason::new(ReasonCode::NoRoom, text("detail")).into(),
            }],
        })),
        example!(NotFound { noun }),
        example!(DuplicateWorkload { name }),
        example!(ConsumerTaken { consumer, workload }),
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
        example!(NotOwner { host }),
        example!(LeaseHeld { host, holder }),
        example!(ReportRefused { sentences }),
        E::OldReport {
            host: text("host"),
            number: 1,
            last: 2,
        },
        example!(UnknownClassInQuery { name }),
        example!(UnknownTraitsInQuery { names }),
        example!(UnknownTraitsInCandidates { names }),
        example!(Busy { detail }),
        example!(Unavailable { detail }),
        example!(UnknownOutcome { detail }),
        example!(Internal { detail }),
    ]
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
