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

use super::native::Noun;
use super::{claims, domains, limits, providers, v1, violations, workloads};

/// The description of a noun, from a file or from structs.
enum Document {
    File(&'static str, &'static str),
    Native(&'static Noun),
}

macro_rules! file {
    ($noun:literal) => {
        Document::File($noun, include_str!(concat!("schemas/", $noun, ".json")))
    };
}

/// All nouns, in reading order for the API's description.
static DOCUMENTS: &[Document] = &[
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
    Document::Native(&v1::NOUN),
    file!("candidates"),
    Document::Native(&claims::NOUN),
    Document::Native(&domains::NOUN),
    Document::Native(&providers::NOUN),
    Document::Native(&limits::NOUN),
    Document::Native(&workloads::NOUN),
    Document::Native(&violations::NOUN),
    file!("errors"),
];

/// The descriptions of all nouns, by name, in reading order.
pub fn documents() -> Vec<(&'static str, Value)> {
    let documents = DOCUMENTS.iter().map(|document| match document {
        Document::File(noun, text) => {
            let read = serde_json::from_str(text);
            (*noun, read.expect("the files are JSON, and a test reads each"))
        }
        Document::Native(noun) => (noun.name, noun.document()),
    });
    documents.collect()
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
        let listed = super::DOCUMENTS.iter().filter_map(|document| match document {
            super::Document::File(noun, _) => Some((*noun).to_owned()),
            super::Document::Native(_) => None,
        });
        assert_eq!(listed.collect::<BTreeSet<_>>(), files);
    }
}
