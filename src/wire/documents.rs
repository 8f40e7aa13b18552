//! The schemas and the documentation of the API as data. A noun of the native API has both in structs
//! (`native/noun.rs`). A noun of OpenStack has a file `schemas/<noun>.json`. The parts of both:
//!
//! - `noun`: a paragraph of introduction;
//! - `operations`: the summary, schemas, answers and errors of each `METHOD path`, for the description of the API;
//! - `requests`: schemas of bodies and query strings, which validate requests (`schema.rs`);
//! - `code_checks`: what code checks after these schemas, as keywords for the description of the API;
//! - `answers`: schemas of answers, against which tests check real answers.
//!
//! A schema has a step for each microversion that changed it, or the step `v1` for the native API.

use serde_json::Value;

use super::NOUNS;
use super::native::Noun;

/// A noun's file, by the name of the noun.
macro_rules! file {
    ($noun:literal) => {{
        let document = serde_json::from_str(include_str!(concat!("schemas/", $noun, ".json")));
        ($noun, document.expect("the files are JSON, and a test reads each"))
    }};
}

fn native(noun: &Noun) -> (&'static str, Value) {
    (noun.name, noun.document())
}

/// The descriptions of all nouns, by name, in reading order for the API's description.
pub fn documents() -> Vec<(&'static str, Value)> {
    let [v1, nouns @ ..] = &NOUNS;
    let first = vec![
        file!("root"),
        file!("resource_providers"),
        file!("inventories"),
        file!("aggregates"),
        file!("traits"),
        file!("resource_classes"),
        file!("allocation_candidates"),
        file!("allocations"),
        file!("usages"),
        file!("reshaper"),
        file!("openapi"),
        native(v1),
    ];
    let nouns = nouns.iter().map(|noun| native(noun));
    first.into_iter().chain(nouns).chain([file!("errors")]).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_file_is_listed() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/wire/schemas");
        let stem = |path: std::path::PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
        let files: BTreeSet<String> = std::fs::read_dir(path)
            .unwrap()
            .map(|entry| stem(entry.unwrap().path()))
            .collect();
        let listed = super::documents().into_iter().map(|(noun, _)| noun.to_owned());
        let listed: BTreeSet<String> = listed.collect();
        assert!(files.is_subset(&listed), "{files:?} {listed:?}");
    }
}
