//! The tables that the rules take from the documents, so that a document and the code cannot say two things.

use std::collections::BTreeMap;

/// The rows of the table whose first header cell is `header`, cell by cell.
pub fn table(document: &str, header: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        let inside = line.trim().trim_start_matches('|').trim_end_matches('|');
        inside.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
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

/// The words of a cell that stand in backquotes, without a slash or `.rs` at their end.
pub fn names(cell: &str) -> Vec<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(|name| name.trim_end_matches('/').trim_end_matches(".rs").to_owned())
        .collect()
}

/// Who may import from whom: the table of ARCHITECTURE.md.
pub struct Arrows {
    /// From the top floor down.
    rooms: Vec<String>,
    targets: BTreeMap<String, Vec<String>>,
    /// What every room may use.
    everybody: Vec<String>,
}

impl Arrows {
    pub fn of(document: &str) -> Arrows {
        let mut arrows = Arrows {
            rooms: Vec::new(),
            targets: BTreeMap::new(),
            everybody: Vec::new(),
        };
        for row in table(document, "room") {
            let targets = names(&row[1]);
            match names(&row[0]).pop() {
                Some(room) => {
                    arrows.rooms.push(room.clone());
                    arrows.targets.insert(room, targets);
                }
                None => arrows.everybody = targets,
            }
        }
        arrows
    }

    pub fn rooms(&self) -> &[String] {
        &self.rooms
    }

    pub fn allow(&self, from: &str, to: &str) -> bool {
        let known = |names: &[String]| names.iter().any(|name| name == to);
        from == to || known(&self.everybody) || self.targets.get(from).is_some_and(|targets| known(targets))
    }

    /// The arrows of the table that do not lead down in it.
    pub fn upward(&self) -> Vec<String> {
        let floor = |name: &String| self.rooms.iter().position(|room| room == name);
        let mut found = Vec::new();
        for (from, targets) in &self.targets {
            for to in targets.iter().filter(|to| floor(to) <= floor(from)) {
                found.push(format!("{from} -> {to}"));
            }
        }
        found
    }
}

/// A crate that placet is built from, and the rooms that may know it: the table of STYLE.md.
pub struct Crate {
    /// As Cargo.toml spells it.
    pub name: String,
    pub rooms: Vec<String>,
}

pub fn crates(document: &str) -> Vec<Crate> {
    let rows = table(document, "crate");
    rows.iter()
        .flat_map(|row| {
            let rooms = names(&row[1]);
            names(&row[0]).into_iter().map(move |name| Crate {
                name,
                rooms: rooms.clone(),
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

    const HOUSE: &str = "text\n\n| room | may use |\n|---|---|\n| `attic/` | `cellar`, `hall` |\n| `hall` | |\n\
                         | `cellar` | `hall.rs` |\n| every room | `light` |\n\nmore";

    #[test]
    fn arrows_are_read_from_the_document() {
        let arrows = Arrows::of(HOUSE);
        assert_eq!(arrows.rooms(), ["attic", "hall", "cellar"]);
        assert!(arrows.allow("attic", "cellar") && arrows.allow("hall", "light") && arrows.allow("hall", "hall"));
        assert!(!arrows.allow("hall", "attic"));
        assert_eq!(arrows.upward(), ["cellar -> hall"]);
    }

    #[test]
    fn crates_and_dependencies_are_read() {
        let rows = crates("| crate | rooms | why |\n|---|---|---|\n| `a-b`, `c` | `api` | x |\n");
        assert_eq!(
            (rows[1].name.as_str(), rows[1].rooms.as_slice()),
            ("c", &["api".to_owned()][..])
        );
        let manifest = "[dependencies]\n# why\na-b = \"1\"\nc = { version = \"1\" }\n\n[dev-dependencies]\nd = \"1\"\n";
        assert_eq!(dependencies(manifest, "dependencies"), ["a-b", "c"]);
        assert_eq!(dependencies(manifest, "dev-dependencies"), ["d"]);
    }
}
