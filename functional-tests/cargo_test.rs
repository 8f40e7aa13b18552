//! The last words of `cargo test`: what it did not run, and how to run all. It has no tests, so it needs no harness.

fn main() {
    println!(
        "\nThese were the unit tests on SQLite. Not run: the unit tests on servers, the suites of functional-tests/, clippy \
         and tidy. `./tox.sh quick` checks a change in minutes, and `./tox.sh` runs all.\n"
    );
}
