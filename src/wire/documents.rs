//! The schemas and the documentation of the API as data. Each noun has a file `schemas/<noun>.json` with these parts:
//!
//! - `noun`: a paragraph of introduction;
//! - `operations`: the summary, schemas, answers and errors of each `METHOD path`, for the description of the API;
//! - `requests`: schemas of bodies and query strings, which validate requests (`schema.rs`);
//! - `code_checks`: what code checks after these schemas, as keywords for the description of the API;
//! - `answers`: schemas of answers, against which tests check real answers.
//!
//! A schema has a step for each microversion that changed it, or the step `v1` for the native API.

/// A noun and the text of its file.
pub type Document = (&'static str, &'static str);

macro_rules! documents {
    ($($noun:literal),* $(,)?) => {
        &[$(($noun, include_str!(concat!("schemas/", $noun, ".json")))),*]
    };
}

/// All nouns, in reading order for the API's description.
pub static DOCUMENTS: &[Document] = documents![
    "root",
    "resource_providers",
    "inventories",
    "aggregates",
    "traits",
    "resource_classes",
    "allocation_candidates",
    "allocations",
    "usages",
    "reshaper",
    "openapi",
    "v1",
    "candidates",
    "claims",
    "domains",
    "providers",
    "limits",
    "workloads",
    "violations",
    "errors",
];

/// The key of a schema's step in the native API, which has no microversions.
pub const NATIVE_STEP: &str = "v1";

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
        let listed: BTreeSet<String> = super::DOCUMENTS.iter().map(|(noun, _)| (*noun).to_owned()).collect();
        assert_eq!(listed, files);
    }
}
