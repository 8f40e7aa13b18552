//! `placet --version`: prints the version and the build's choices.

use super::{CommandError, stdout};
use crate::db::engines::built_in;

/// Prints the version, the engines that were built in, and the commit.
///
/// The commit is the value of the variable `PLACET_COMMIT` at build time, which `contrib/build-release.sh` sets. So the
/// same variable gives the same binary with or without a repository.
///
/// # Errors
/// [`CommandError::Stdout`].
pub fn print() -> Result<(), CommandError> {
    stdout::line(&format!(
        "placet {}\ndatabases: {}\ncommit: {}",
        env!("CARGO_PKG_VERSION"),
        built_in::engines(),
        commit(),
    ))
}

/// The commit that was built, if the build recorded the commit.
pub fn commit() -> &'static str {
    option_env!("PLACET_COMMIT").unwrap_or("not recorded")
}
