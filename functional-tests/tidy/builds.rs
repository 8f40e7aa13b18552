//! The rule of builds: one function of tox.sh compiles the binaries of all suites. A suite with its own build would
//! compile crates again, because cargo unifies the features of all targets of one build.

/// The functions of tox.sh that compile, and how many commands of each do. All but `build_once` belong to `long` and
/// `bench`.
const BUILDS: &[(&str, usize)] = &[
    ("build_once", 1),
    ("mutants_build", 1),
    ("features", 1),
    ("dist_build", 1),
    ("bench_build", 1),
];
const COMPILING: &[&str] = &["cargo build", "cargo test", "cargo run", "cargo rustc"];

/// Complaints about functions that compile more often than `BUILDS` says, or fewer times.
pub fn builds(tox: &str) -> Vec<String> {
    let (mut function, mut counts) = ("", Vec::<(&str, usize)>::new());
    for line in tox.lines().filter(|line| !line.trim_start().starts_with('#')) {
        if let Some((name, _)) = line.split_once("() {").filter(|(name, _)| !name.contains(' ')) {
            function = name;
        }
        let compiling: usize = COMPILING.iter().map(|command| line.matches(command).count()).sum();
        match counts.iter_mut().find(|(name, _)| *name == function) {
            Some((_, count)) => *count += compiling,
            None => counts.push((function, compiling)),
        }
    }
    let allowed = |name: &str| {
        BUILDS
            .iter()
            .find(|(known, _)| *known == name)
            .map_or(0, |(_, count)| *count)
    };
    let wrong = counts.iter().filter(|(name, count)| *count != allowed(name));
    let wrong = wrong.map(|(name, count)| {
        let expected = allowed(name);
        format!("tox.sh: {name} compiles {count} times, and functional-tests/tidy/builds.rs has {expected}")
    });
    let missing = BUILDS
        .iter()
        .filter(|(name, _)| counts.iter().all(|(found, _)| found != name));
    wrong
        .chain(missing.map(|(name, _)| format!("tox.sh has no function {name}, of which builds.rs speaks")))
        .collect()
}

/// Complaints about rows of functional-tests/lib/starts.txt whose step is not one of tox.sh.
pub fn starts(table: &str, tox: &str) -> Vec<String> {
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|row| {
        let name = row.split("  ").next().unwrap_or_default();
        // A step that runs on each engine has the engine's variable in its name.
        let names = ["postgresql", "mariadb"].map(|engine| name.replace(engine, "$engine"));
        let is_step = |name: &str| {
            ["step python ", "step cargo "]
                .iter()
                .any(|step| tox.contains(&format!("{step}{name} ")) || tox.contains(&format!("{step}\"{name}\" ")))
        };
        let known = is_step(name) || names.iter().any(|name| is_step(name));
        (!known).then(|| format!("functional-tests/lib/starts.txt: tox.sh has no step {name}"))
    })
    .collect()
}
