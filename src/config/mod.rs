//! What placet is told: `placement.conf` with oslo.config's rules, environment variables over it, and one struct.
//!
//! [`load`] goes through three steps, each a file or two: *find* what there is ([`find`], [`ini`]), *look up* a value
//! through the layers ([`layers`], [`template`], [`known`]), *read* it into types ([`options`], [`bounds`]).
//! There are no globals: [`Options`] is handed down.

mod bounds;
mod error;
mod find;
mod ini;
mod known;
mod layers;
mod mask;
mod options;
mod reader;
mod show;
mod template;
#[cfg(test)]
mod tests;
mod value;

use std::fmt;
use std::path::PathBuf;

pub use error::{BadValue, ConfigError, Result};
pub use find::Search;
use layers::Layers;
pub use layers::Origin;
pub use mask::url as masked_url;
pub use options::{
    Api, AuthStrategy, Cors, DefaultSection, GenerationStrategy, Options, OsloMiddleware, OsloPolicy, Placement,
    PlacementDatabase, Placet, Secret,
};

/// The configuration and where it came from.
#[derive(Clone)]
pub struct Configuration {
    pub options: Options,
    layers: Layers,
}

/// Finds and reads the configuration.
///
/// Where there is none at all (no file, no variable of an option), placet serves itself: `noauth2`, and an embedded
/// database in the working directory that it makes and upgrades at start.
///
/// # Errors
/// Whatever cannot be read or does not fit, as a sentence that names the place.
pub fn load(search: &Search) -> Result<Configuration> {
    let layers = search.read()?;
    refuse_unknown(&layers)?;
    let options = Options::read(&layers)?;
    Ok(Configuration { options, layers })
}

/// A typing mistake in placet's own section is refused; oslo.config ignores unknown options, and so are all others.
fn refuse_unknown(layers: &Layers) -> Result<()> {
    let unknown = |name: &str, origin: Origin| match known::find("placet", name) {
        Some(_) => Ok(()),
        None => Err(ConfigError::UnknownOption {
            name: name.to_owned(),
            nearest: known::nearest(name),
            origin,
        }),
    };
    for (path, entries) in &layers.files {
        for entry in entries.iter().filter(|entry| entry.section == "placet") {
            unknown(
                &entry.key,
                Origin::File {
                    path: path.clone(),
                    line: entry.line,
                },
            )?;
        }
    }
    for variable in layers.environment.keys() {
        if let Some(name) = variable.strip_prefix("OS_PLACET__") {
            unknown(&name.to_lowercase(), Origin::Environment(variable.clone()))?;
        }
    }
    Ok(())
}

impl fmt::Debug for Configuration {
    /// Without the layers, which hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Configuration")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Configuration {
    /// The files that were read, in order.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.layers.files.iter().map(|(path, _)| path)
    }

    /// The effective configuration as INI with a remark where each value came from, secrets masked.
    ///
    /// # Errors
    /// A `$name` that names no option.
    pub fn ini(&self) -> Result<String> {
        show::ini(&self.layers)
    }

    /// One sentence for each option that is set but not used, or set by an older name.
    pub fn warnings(&self) -> Vec<String> {
        show::warnings(&self.layers)
    }
}

impl Options {
    /// Whether these options may be served; the answer is what to warn of.
    ///
    /// # Errors
    /// Keystone, which is not built yet; everybody let in from everywhere; no database named, or none for `slave_routes`.
    pub fn check_serving(&self) -> Result<Vec<String>> {
        if self.api.auth_strategy == AuthStrategy::Keystone {
            return Err(ConfigError::KeystoneNotBuilt);
        }
        self.placement_database.required()?;
        let mut warnings = Vec::new();
        match (&self.placement_database.slave_connection, self.placet.slave_routes.as_slice()) {
            (None, [_, ..]) => return Err(ConfigError::NoSlave),
            (Some(_), []) => warnings.push(
                "[placement_database] slave_connection: nothing is read there as long as [placet] slave_routes names no routes"
                    .to_owned(),
            ),
            _ => {}
        }
        let bind = self.placet.bind;
        if !bind.ip().is_loopback() {
            if !self.placet.allow_noauth2_anywhere {
                return Err(ConfigError::Noauth2Anywhere { bind });
            }
            warnings.push(format!(
                "auth_strategy = noauth2 on {bind}: whoever reaches this address may do anything"
            ));
        }
        Ok(warnings)
    }
}

impl Default for Options {
    /// What holds where nothing is configured.
    fn default() -> Self {
        // The defaults are a table in this crate: a test reads them, so this cannot fail at run time.
        load(&Search::default())
            .map(|configuration| configuration.options)
            .expect("the defaults of the table fit")
    }
}
