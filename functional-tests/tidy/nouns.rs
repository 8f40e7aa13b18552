//! The rules of names: a noun of the API has one name in every layer.

/// The nouns of the route table: the last literal segment of each URL.
/// The last parts of URLs that are an operation on a noun, in the files of the noun.
const OPERATIONS: [&str; 1] = ["report"];

pub fn nouns(routes: &str) -> Vec<String> {
    let mut found: Vec<String> = routes
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(|text| text.len() > 1 && text.starts_with('/'))
        .filter_map(|url| {
            url.split('/')
                .rfind(|part| !part.is_empty() && !part.starts_with('{') && !OPERATIONS.contains(part))
        })
        .map(str::to_owned)
        .collect();
    found.sort();
    found.dedup();
    found
}

/// A noun has one plural name, and a file of that name in every layer that has one file per noun.
pub fn noun_files(nouns: &[String], exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut complaints = Vec::new();
    for noun in nouns {
        // Three nouns are not in the model: the search finds candidates and ranks them, and the route table is the
        // native API's root.
        let model = match noun.as_str() {
            "allocation_candidates" => "src/search/candidates.rs".to_owned(),
            "candidates" => "src/search/rank.rs".to_owned(),
            "v1" => "src/api/routes.rs".to_owned(),
            _ => format!("src/model/{noun}.rs"),
        };
        let wanted = [
            format!("src/api/handlers/{noun}.rs"),
            format!("src/wire/{noun}.rs"),
            model,
            format!("functional-tests/gabbi/{noun}.yaml"),
        ];
        for path in wanted.iter().filter(|path| !exists(path)) {
            complaints.push(format!(
                "{path} is missing: `{noun}` is a noun of the route table, and has this name in every layer"
            ));
        }
        for folder in [
            "api/handlers",
            "wire",
            "model",
            "model/batch/decide",
            "model/batch/save",
        ] {
            for other in misnomers(noun).into_iter().filter(|other| !nouns.contains(other)) {
                let path = format!("src/{folder}/{other}.rs");
                if exists(&path) {
                    complaints.push(format!("{path}: the noun is called `{noun}` in every layer"));
                }
            }
        }
    }
    complaints
}

/// Other names that a noun might be given: its singular, its last word.
fn misnomers(noun: &str) -> Vec<String> {
    let singular = match noun {
        _ if noun.ends_with("ies") => format!("{}y", &noun[..noun.len() - 3]),
        _ if noun.ends_with("sses") => noun[..noun.len() - 2].to_owned(),
        _ => noun.trim_end_matches('s').to_owned(),
    };
    let last = |text: &str| text.rsplit_once('_').map(|(_, last)| last.to_owned());
    [
        last(noun),
        last(&singular),
        (singular != noun).then(|| singular.clone()),
    ]
    .into_iter()
    .flatten()
    .collect()
}
