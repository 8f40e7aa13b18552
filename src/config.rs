//! The configuration: `placement.conf` by oslo.config's rules, environment variables over it, read into one struct.
//!
//! [`load`] has three steps. It finds and parses the sources ([`sources`], [`ini`]), keeps each value with its origin
//! ([`raw`], [`interpolation`]), and reads the values into types ([`options`], [`value`]). There are no globals: [`Options`]
//! is passed down.
//!
//! Every option is declared once, in [`options`]; [`spec`] is the table of them all.

mod error;
mod ini;
mod interpolation;
mod keystone;
mod mask;
mod options;
mod raw;
mod reader;
mod reference;
mod show;
mod sources;
mod spec;
#[cfg(test)]
mod tests;
mod value;

use std::fmt;

pub use error::{ConfigError, Result};
pub use keystone::{KeystoneCredentials, KeystoneDomain, KeystoneScope, KeystoneUser};
pub use mask::url as masked_url;
pub use options::{
    AuthStrategy, Cors, DefaultRank, DefaultSection, GenerationStrategy, KeystoneAuthtoken, Options, OsloPolicy,
    Placement, TlsPaths,
};
use raw::{Origin, RawConfig};
pub use reference::{conf as sample, markdown as reference, sections};
pub use sources::ConfigSources;
pub use value::Secret;

/// The configuration, and where each value came from.
#[derive(Clone)]
pub struct Configuration {
    pub options: Options,
    raw: RawConfig,
}

/// Finds and reads the configuration.
///
/// Without a file and without a variable of an option, the defaults serve a first try: `noauth2`, and an embedded
/// database in the working directory. It is created and upgraded at start.
///
/// # Errors
/// A source that cannot be read or a value that does not fit, as a sentence that names the place.
pub fn load(sources: &ConfigSources) -> Result<Configuration> {
    let raw = sources.read()?;
    refuse_unknown(&raw)?;
    let options = Options::read(&raw)?;
    Ok(Configuration { options, raw })
}

/// Refuses an unknown option in `[placet]`, which is likely a typing mistake. In other sections unknown options are
/// ignored, as oslo.config does.
fn refuse_unknown(raw: &RawConfig) -> Result<()> {
    let check = |name: &str, origin: Origin| match spec::find("placet", name) {
        Some(_) => Ok(()),
        None => Err(ConfigError::UnknownOption {
            name: name.to_owned(),
            nearest: spec::nearest(name),
            origin,
        }),
    };
    for (path, entries) in &raw.files {
        for entry in entries.iter().filter(|entry| entry.section == "placet") {
            check(
                &entry.key,
                Origin::File {
                    path: path.clone(),
                    line: entry.line,
                },
            )?;
        }
    }
    for variable in raw.environment.keys() {
        if let Some(name) = variable.strip_prefix("OS_PLACET__") {
            check(&name.to_lowercase(), Origin::Environment(variable.clone()))?;
        }
    }
    Ok(())
}

impl fmt::Debug for Configuration {
    /// Without the raw values, which hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Configuration")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Configuration {
    /// The effective configuration as INI, secrets masked. Comments say where each value came from.
    ///
    /// # Errors
    /// A `$name` that names no option.
    pub fn ini(&self) -> Result<String> {
        show::ini(&self.raw)
    }

    /// One sentence for each option that is set but not used, and for each that is set by an older name.
    pub fn warnings(&self) -> Vec<String> {
        show::warnings(&self.raw)
    }
}

impl Options {
    /// Checks that a service may start with these options. Returns warnings, as sentences.
    ///
    /// # Errors
    /// Keystone without what it takes to ask it; no authentication on an address that other machines can reach; no database, no
    /// replica for `slave_routes`, or a certificate without its key.
    pub fn check_serving(&self) -> Result<Vec<String>> {
        let mut warnings = Vec::new();
        if self.api.auth_strategy == AuthStrategy::Keystone {
            self.keystone_authtoken.login()?;
            warnings.extend(self.keystone_authtoken.warnings());
        }
        self.placement_database.required()?;
        self.placet.tls()?;
        match (
            &self.placement_database.slave_connection,
            self.placet.slave_routes.as_slice(),
        ) {
            (None, [_, ..]) => return Err(ConfigError::NoReplica),
            (Some(_), []) => warnings.push(
                "[placement_database] slave_connection is not used, because [placet] slave_routes names no routes; name the \
                 routes that may read from it"
                    .to_owned(),
            ),
            _ => {}
        }
        let bind = self.placet.bind;
        if !bind.ip().is_loopback() && self.api.auth_strategy == AuthStrategy::Noauth2 {
            if !self.placet.allow_noauth2_anywhere {
                return Err(ConfigError::Noauth2Anywhere { bind });
            }
            warnings.push(format!(
                "auth_strategy = noauth2 on {bind}: every client that reaches this address may do anything; bind to \
                 127.0.0.1 unless this is intended"
            ));
        }
        Ok(warnings)
    }
}

impl Default for Options {
    /// The options if nothing is configured.
    fn default() -> Self {
        // The defaults are part of this crate, and tests read them: this cannot fail at run time.
        load(&ConfigSources::default())
            .map(|configuration| configuration.options)
            .expect("the declared defaults fit their types and ranges")
    }
}
