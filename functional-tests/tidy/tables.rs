//! The tables that the rules read from the documents. So a document and the code cannot disagree.

use std::collections::BTreeMap;

fn cells(line: &str) -> Vec<String> {
    let inside = line.trim().trim_start_matches('|').trim_end_matches('|');
    inside.split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// The rows of the table whose first header cell is `header`, cell by cell.
pub fn table(document: &str, header: &str) -> Vec<Vec<String>> {
    let mut lines = document
        .lines()
        .skip_while(|line| !line.starts_with('|') || cells(line)[0] != header);
    lines.next();
    lines
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .map(cells)
        .collect()
}

/// The lines, from 0, of the tables whose first header cell is among `headers`.
pub fn places(document: &str, headers: &[&str]) -> Vec<usize> {
    let (mut found, mut inside, mut before) = (Vec::new(), false, false);
    for (number, line) in document.lines().enumerate() {
        let row = line.starts_with('|');
        if row && !before {
            inside = headers.contains(&cells(line)[0].as_str());
        }
        if row && inside {
            found.push(number);
        }
        before = row;
    }
    found
}

/// The words in backquotes of a cell, without a slash or `.rs` at their end.
pub fn names(cell: &str) -> Vec<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(|name| name.trim_end_matches('/').trim_end_matches(".rs").to_owned())
        .collect()
}

/// The layers of `src/` and their allowed dependencies: the table of ARCHITECTURE.md.
pub struct Layers {
    /// The layers from top to bottom.
    names: Vec<String>,
    dependencies: BTreeMap<String, Vec<String>>,
    /// The layers that every layer may use.
    shared: Vec<String>,
}

impl Layers {
    pub fn of(document: &str) -> Layers {
        let mut layers = Layers {
            names: Vec::new(),
            dependencies: BTreeMap::new(),
            shared: Vec::new(),
        };
        for row in table(document, "layer") {
            let dependencies = names(&row[1]);
            match names(&row[0]).pop() {
                Some(layer) => {
                    layers.names.push(layer.clone());
                    layers.dependencies.insert(layer, dependencies);
                }
                None => layers.shared = dependencies,
            }
        }
        layers
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub fn allow(&self, from: &str, to: &str) -> bool {
        let has = |names: &[String]| names.iter().any(|name| name == to);
        from == to || has(&self.shared) || self.dependencies.get(from).is_some_and(|names| has(names))
    }

    /// The dependencies of the table that do not lead down in it.
    pub fn upward(&self) -> Vec<String> {
        let level = |name: &String| self.names.iter().position(|layer| layer == name);
        let mut found = Vec::new();
        for (from, dependencies) in &self.dependencies {
            for to in dependencies.iter().filter(|to| level(to) <= level(from)) {
                found.push(format!("{from} -> {to}"));
            }
        }
        found
    }
}

/// A crate that placet uses, and the layers that may use it: the table of STYLE.md.
pub struct Crate {
    /// The name in Cargo.toml.
    pub name: String,
    pub layers: Vec<String>,
}

pub fn crates(document: &str) -> Vec<Crate> {
    let rows = table(document, "crate");
    rows.iter()
        .flat_map(|row| {
            let layers = names(&row[1]);
            names(&row[0]).into_iter().map(move |name| Crate {
                name,
                layers: layers.clone(),
            })
        })
        .collect()
}

/// The names under `[section]` of a Cargo.toml.
pub fn dependencies(manifest: &str, section: &str) -> Vec<String> {
    let head = format!("[{section}]");
    let lines = manifest.lines().skip_while(|line| line.trim() != head).skip(1);
    lines
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once('='))
        .filter(|(name, _)| !name.starts_with([' ', '#', ']']))
        .map(|(name, _)| name.trim().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYERS: &str = "text\n\n| layer | may use |\n|---|---|\n| `top/` | `bottom`, `middle` |\n| `middle` | |\n\
                          | `bottom` | `middle.rs` |\n| every layer | `error` |\n\nmore";

    #[test]
    fn layers_are_read_from_the_document() {
        let layers = Layers::of(LAYERS);
        assert_eq!(layers.names(), ["top", "middle", "bottom"]);
        assert!(layers.allow("top", "bottom") && layers.allow("middle", "error") && layers.allow("middle", "middle"));
        assert!(!layers.allow("middle", "top"));
        assert_eq!(layers.upward(), ["bottom -> middle"]);
    }

    #[test]
    fn places_of_tables_are_found() {
        let text = "| a | b |\n|---|---|\n| 1 | 2 |\n\n| c | d |\n|---|---|\n\n| a | b |";
        assert_eq!(places(text, &["a"]), [0, 1, 2, 7]);
        assert_eq!(places(text, &["c", "x"]), [4, 5]);
    }

    #[test]
    fn crates_and_dependencies_are_read() {
        let rows = crates("| crate | layers | why |\n|---|---|---|\n| `a-b`, `c` | `api` | x |\n");
        assert_eq!(
            (rows[1].name.as_str(), rows[1].layers.as_slice()),
            ("c", &["api".to_owned()][..])
        );
        let manifest = "[dependencies]\n# why\na-b = \"1\"\nc = { version = \"1\" }\n\n[dev-dependencies]\nd = \"1\"\n";
        assert_eq!(dependencies(manifest, "dependencies"), ["a-b", "c"]);
        assert_eq!(dependencies(manifest, "dev-dependencies"), ["d"]);
    }
}
