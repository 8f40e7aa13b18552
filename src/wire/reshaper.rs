//! `/reshaper`: inventories and allocations in a single body, each in the form of the noun's own route.

use super::steps::Steps;
use super::{allocations, inventories};
use crate::error::Result;
use crate::model::reshaper::{Reshape, Reshaped};
use crate::version::Version;

static POST: Steps = Steps::of_body(include_str!("schemas/reshaper.json"), "post");

/// Reads `POST /reshaper`. The spelling of providers and consumers is kept.
pub fn read_post(version: Version, body: &[u8]) -> Result<Reshape> {
    let body = POST.read(version, body)?;
    let providers = body.field("inventories").members().map(|(provider, value)| Reshaped {
        provider: provider.to_owned(),
        generation: allocations::given_generation(value.field("resource_provider_generation")),
        inventories: inventories::inventories_by_class(value),
    });
    Ok(Reshape {
        providers: providers.collect(),
        consumers: allocations::consumer_claims(version, body.into_field("allocations"))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::allocations::Expected;

    const P: &str = "0123abcd-4567-89ab-cdef-0123456789ab";
    const C: &str = "11111111-4567-89ab-cdef-0123456789ab";

    fn body(consumer_fields: &str) -> String {
        let consumer = format!(
            r#"{{"allocations": {{"{P}": {{"resources": {{"VCPU": 2}}}}}}, "project_id": "p", "user_id": "u",
                "consumer_generation": 3{consumer_fields}}}"#
        );
        format!(
            r#"{{"inventories": {{"{P}": {{"resource_provider_generation": 7, "inventories": {{"VCPU": {{"total": 4}}}}}}}},
                "allocations": {{"{C}": {consumer}}}}}"#
        )
    }

    fn read(minor: u16, body: &str) -> Result<Reshape> {
        read_post(Version::new(minor), body.as_bytes())
    }

    #[test]
    fn inventories_and_allocations_are_read() {
        let reshape = read(30, &body("")).unwrap();
        let (provider, consumer) = (&reshape.providers[0], &reshape.consumers[0]);
        assert_eq!((provider.provider.as_str(), &provider.generation), (P, &7.into()));
        assert_eq!(provider.inventories[0].1.total, 4);
        assert_eq!(
            (consumer.consumer.as_str(), &consumer.generation),
            (C, &Expected::Is(3))
        );
        assert_eq!(consumer.allocations, [(P.to_owned(), vec![("VCPU".to_owned(), 2)])]);
    }

    #[test]
    fn allocations_have_the_fields_of_the_version() {
        let mappings = format!(r#", "mappings": {{"": ["{P}"], "_A": ["{P}"]}}"#);
        assert!(read(33, &body(&mappings)).is_err());
        read(34, &body(&mappings)).unwrap();
        assert!(read(38, &body("")).is_err(), "from 1.38 on a consumer has a type");
        let typed = read(38, &body(r#", "consumer_type": "INSTANCE""#)).unwrap();
        assert_eq!(typed.consumers[0].consumer_type.as_deref(), Some("INSTANCE"));
    }

    #[test]
    fn the_spelling_of_a_generation_is_kept() {
        let whole = body("")
            .replace("\": 7,", "\": 7.0,")
            .replace("\": 3", "\": 99999999999999999999");
        let reshape = read(30, &whole).unwrap();
        assert_eq!(reshape.providers[0].generation.generation, 7);
        assert_eq!(reshape.providers[0].generation.literal, "7.0");
        let Expected::Raw(given) = &reshape.consumers[0].generation else {
            panic!("{:?}", reshape.consumers[0].generation)
        };
        assert_eq!(
            (given.generation, given.literal.as_str()),
            (i64::MAX, "99999999999999999999")
        );
    }

    #[test]
    fn allocations_may_be_empty_but_inventories_may_not() {
        let half = format!(r#"{{"{P}": {{"resource_provider_generation": 7, "inventories": {{}}}}}}"#);
        let reshape = read(30, &format!(r#"{{"inventories": {half}, "allocations": {{}}}}"#)).unwrap();
        assert!(reshape.consumers.is_empty() && reshape.providers[0].inventories.is_empty());
        let refusal = read(30, r#"{"inventories": {}, "allocations": {}}"#)
            .unwrap_err()
            .to_string();
        assert!(refusal.starts_with("JSON does not validate: {} "), "{refusal}");
    }
}
