//! Parses the requests to `/resource_providers/{uuid}/aggregates`, and serializes the answers.

use std::sync::Arc;

use serde::Serialize;

use super::output::{json, since};
use super::steps::Steps;
use super::uuid;
use crate::error::Result;
use crate::model::aggregates::{ProviderAggregates, Replace};
use crate::version::{AGGREGATES_GENERATION, Version};

static PUT: Steps = Steps::of_body(include_str!("schemas/aggregates.json"), "put");

/// Reads `PUT …/aggregates`: a bare list before 1.19, then an object with the provider's generation.
pub fn read_replace(version: Version, provider: &str, body: &[u8]) -> Result<Replace> {
    let body = PUT.read(version, body)?;
    let has_generation = version >= AGGREGATES_GENERATION;
    let aggregates = if has_generation {
        body.field("aggregates")
    } else {
        &body
    };
    let aggregates = aggregates.items().iter().map(|aggregate| {
        // The schema also accepts longer spellings: in braces, as a URN, or with more dashes.
        uuid::check_length("an aggregate", aggregate.text())?;
        Ok(aggregate.text().to_owned())
    });
    Ok(Replace {
        provider: provider.to_owned(),
        aggregates: aggregates.collect::<Result<_>>()?,
        generation: has_generation.then(|| body.field("resource_provider_generation").integer()),
    })
}

#[derive(Serialize)]
struct AggregatesBody<'a> {
    aggregates: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_provider_generation: Option<i64>,
}

/// Writes the aggregates of a provider.
pub fn write(version: Version, view: &ProviderAggregates) -> Vec<u8> {
    json(&AggregatesBody {
        aggregates: view.aggregates.iter().map(Arc::as_ref).collect(),
        resource_provider_generation: since(version, AGGREGATES_GENERATION, view.generation),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    const UUID: &str = "0123ABCD-4567-89ab-cdef-0123456789ab";

    #[test]
    fn a_request_has_a_generation_from_1_19() {
        let old = read_replace(Version::new(18), "p", format!("[\"{UUID}\"]").as_bytes()).unwrap();
        assert_eq!((old.aggregates, old.generation), (vec![UUID.to_owned()], None));
        let body = format!("{{\"aggregates\": [\"{UUID}\"], \"resource_provider_generation\": 3.0}}");
        let new = read_replace(Version::new(19), "p", body.as_bytes()).unwrap();
        assert_eq!((new.aggregates, new.generation), (vec![UUID.to_owned()], Some(3)));
        assert!(read_replace(Version::new(18), "p", body.as_bytes()).is_err());
    }

    #[test]
    fn a_uuid_that_is_too_long_for_its_column_is_refused() {
        for long in [
            format!("urn:uuid:{UUID}"),
            format!("{{{UUID}}}"),
            UUID.replace("ab-", "ab--"),
            format!("{UUID}-"),
        ] {
            let body = format!("[\"{}\", \"{long}\"]", UUID.replace('0', "f"));
            let refusal = read_replace(Version::new(18), "p", body.as_bytes()).unwrap_err();
            let sentence = format!("The uuid of an aggregate has at most 36 characters. Got: '{long}'");
            assert_eq!(refusal, Error::BadRequest { detail: sentence });
        }
        let short = format!("[\"{{{}}}\"]", UUID.replace('-', ""));
        assert!(read_replace(Version::new(18), "p", short.as_bytes()).is_ok());
    }

    #[test]
    fn an_answer_has_a_generation_from_1_19() {
        let view = ProviderAggregates {
            generation: 0,
            aggregates: vec![Arc::from("a")],
        };
        let written = |minor| String::from_utf8(write(Version::new(minor), &view)).unwrap();
        assert_eq!(written(1), r#"{"aggregates":["a"]}"#);
        assert_eq!(written(19), r#"{"aggregates":["a"],"resource_provider_generation":0}"#);
    }
}
