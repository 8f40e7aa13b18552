//! The last words of `cargo test`: which tests did not run, and how to run all. The file has no tests, so it needs no
//! harness.

fn main() {
    // A runner such as nextest asks for the names of the tests.
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    println!(
        "\nThese were the unit tests on SQLite. The unit tests on servers, the suites of functional-tests/, clippy and tidy \
         did not run. `./tox.sh quick` checks a change in minutes, and `./tox.sh` runs all.\n"
    );
}
