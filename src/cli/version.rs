//! `placet --version`: what is built in.

use super::{CommandError, stdout};
use crate::db::engines::built_in;

/// Prints the version, and what was chosen when this binary was built.
///
/// The commit is that of the variable `PLACET_COMMIT` at build time, which `contrib/build-release.sh` sets. So a build
/// with the same variable is the same binary with or without a repository.
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

/// The commit that was built, if that is known.
pub fn commit() -> &'static str {
    option_env!("PLACET_COMMIT").unwrap_or("not recorded")
}
