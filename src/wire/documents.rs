//! The schemas as they are written: those that judge requests, and those of answers, which judge nothing here but are
//! held against live answers by the tests. For whoever describes the API.

/// Documents of a folder, by noun.
macro_rules! documents {
    ($folder:literal: $($noun:literal),*) => {
        &[$(($noun, include_str!(concat!($folder, "/", $noun, ".json")))),*]
    };
}

/// A noun, and a JSON document with schemas by name and version.
pub type Document = (&'static str, &'static str);

/// Of bodies and query strings.
pub static REQUESTS: &[Document] = documents!("schemas":
    "aggregates", "allocation_candidates", "allocations", "inventories", "reshaper", "resource_classes",
    "resource_providers", "traits", "usages");

/// Of bodies that are answered.
pub static ANSWERS: &[Document] = documents!("answers":
    "aggregates", "allocation_candidates", "allocations", "errors", "inventories", "openapi", "resource_classes",
    "resource_providers", "root", "traits", "usages");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_file_is_listed() {
        for (folder, listed) in [("schemas", super::REQUESTS), ("answers", super::ANSWERS)] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/wire").join(folder);
            let there: BTreeSet<String> = std::fs::read_dir(path)
                .unwrap()
                .map(|entry| {
                    entry
                        .unwrap()
                        .path()
                        .file_stem()
                        .unwrap()
                        .to_string_lossy()
                        .into_owned()
                })
                .collect();
            let listed: BTreeSet<String> = listed.iter().map(|(noun, _)| (*noun).to_owned()).collect();
            assert_eq!(listed, there, "{folder}");
        }
    }
}
