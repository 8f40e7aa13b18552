//! The configuration: `placement.conf` by oslo.config's rules, with environment variables over the file, in one struct.
//!
//! [`load`] has three steps. The sources are found and parsed ([`sources`], [`ini`]). Each value is kept with its
//! origin ([`raw`], [`interpolation`]). The values are read into types ([`options`], [`value`]). There are no globals:
//! [`Options`] is passed down.
//!
//! Every option is declared once, in [`options`]; [`spec`] is the table of all options.

mod error;
mod ini;
mod interpolation;
mod mask;
mod option_spec;
mod options;
mod raw;
mod reader;
mod reference;
mod show;
mod sources;
mod spec;
#[cfg(test)]
mod tests;
mod unknown;
mod value;

use std::fmt;

pub use error::{ConfigError, Result};
pub use mask::url as masked_url;
pub use options::{
    AuthStrategy, Cors, DefaultRank, DefaultSection, GenerationStrategy, KeystoneAuthtoken, LogFormat, Options,
    OsloPolicy, Placement, TlsPaths,
};
use raw::RawConfig;
use reader::OptionReader;
pub use reference::{conf as sample, markdown as reference, sections};
use show::Note;
pub use sources::{ConfigSources, visible_entries};
use unknown::Unknown;
pub use value::{DatabaseUrl, Password, seconds};

/// The configuration, and the origin of each value.
#[derive(Clone)]
pub struct Configuration {
    pub options: Options,
    raw: RawConfig,
}

/// Finds and reads the configuration.
///
/// Without a file and without a variable of an option, the defaults serve a first try: `noauth2`, and an embedded
/// database in the working directory. A start creates and upgrades this database.
///
/// # Errors
/// A source that cannot be read or a value that does not fit, as a sentence with the place.
pub fn load(sources: &ConfigSources) -> Result<Configuration> {
    let report = check(sources);
    match report.errors.into_iter().next() {
        Some(error) => Err(error),
        None => Ok(report.configuration.expect("an option that cannot be read is an error")),
    }
}

/// The options of the log, although further options may not fit; `None` if the log's options do not fit.
pub fn log_options(sources: &ConfigSources) -> Option<(DefaultSection, LogFormat)> {
    let (raw, _) = sources.read();
    let mut reader = OptionReader::new(&raw);
    let options = DefaultSection::read(&mut reader);
    let fits = reader.errors.is_empty();
    fits.then(|| (options, reader.value("placet", "log_format")))
}

/// The findings of [`check`].
pub struct CheckReport {
    /// Every reason why placet does not start, except for reasons in files and on servers.
    pub errors: Vec<ConfigError>,
    /// Unknown names, other than in `[placet]`.
    pub unknown: Vec<String>,
    /// Options that are accepted but not used, and options with an older name.
    pub notes: Vec<String>,
    /// `None` if the options cannot be read.
    pub configuration: Option<Configuration>,
}

/// The problems of a service with its options.
#[derive(Debug, Default)]
pub struct Problems {
    /// The errors that keep a service from a start.
    pub errors: Vec<ConfigError>,
    /// Sentences about settings that are probably not as intended.
    pub warnings: Vec<String>,
    /// Sentences about options of OpenStack Placement with no effect or less effect in placet.
    pub ineffective: Vec<String>,
}

impl Problems {
    /// All warnings, as sentences.
    ///
    /// # Errors
    /// The first error.
    pub fn into_warnings(self) -> Result<Vec<String>> {
        match self.errors.into_iter().next() {
            Some(error) => Err(error),
            None => Ok([self.warnings, self.ineffective].concat()),
        }
    }
}

/// Reads the configuration and finds all problems at once.
pub fn check(sources: &ConfigSources) -> CheckReport {
    let (raw, mut errors) = sources.read();
    let (options, unfit) = Options::read(&raw);
    let is_open = unfit.is_empty() && options.believes_every_token();
    let (mut unknown, mut notes) = (Vec::new(), Vec::new());
    for note in show::notes(&raw) {
        match &note {
            Note::Unknown(name) => match refusal(name, raw.unconfigured(), is_open) {
                Some(error) => errors.push(error),
                // OpenStack's name is no typing mistake.
                None if matches!(name, Unknown::Library { .. }) => notes.push(note.to_string()),
                None => unknown.push(note.to_string()),
            },
            Note::Older { .. } | Note::Unused(..) => notes.push(note.to_string()),
        }
    }
    let configuration = unfit.is_empty().then_some(Configuration { options, raw });
    errors.extend(unfit);
    CheckReport {
        errors,
        unknown,
        notes,
        configuration,
    }
}

/// The error if an unknown name keeps placet from a start. An unknown option of placet's own sections is a typing
/// mistake; in further sections an unknown option is ignored with a warning. A mistyped variable must not begin an
/// empty database (`unconfigured`), or leave a service without authentication (`is_open`).
fn refusal(name: &Unknown, unconfigured: bool, is_open: bool) -> Option<ConfigError> {
    match name {
        Unknown::Variable { .. } if unconfigured => Some(ConfigError::MistypedVariable(name.to_string())),
        Unknown::Variable { nearest: Some(_), .. } if is_open => Some(ConfigError::OpenByMistake(name.to_string())),
        Unknown::Option { section, .. } if spec::NATIVE_SECTIONS.contains(&section.as_str()) => {
            Some(ConfigError::UnknownOption(name.to_string()))
        }
        _ => None,
    }
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
    /// The effective configuration as INI, secrets masked. A comment names the origin of each value.
    ///
    /// # Errors
    /// A `$name` of an unknown option.
    pub fn ini(&self) -> Result<String> {
        show::ini(&self.raw)
    }

    /// A sentence for each unknown name, for each unused option, and for each option with an older name.
    pub fn warnings(&self) -> Vec<String> {
        show::notes(&self.raw).iter().map(ToString::to_string).collect()
    }

    /// The same for the log of a start, one line a section.
    pub fn warnings_by_section(&self) -> Vec<String> {
        show::summary(&self.raw)
    }
}

impl Options {
    /// Whether placet accepts unknown tokens: neither placet nor Keystone checks a token.
    pub fn believes_every_token(&self) -> bool {
        self.api.auth_strategy == AuthStrategy::Noauth2 && self.placet.token_file.is_none()
    }

    /// All errors that keep a service from a start, and warnings, but for the options of Keystone. The errors: no
    /// database, a certificate without its key, no replica for `slave_routes`, one port for API and metrics, and no
    /// authentication on an address that further machines can reach.
    pub fn serving_problems(&self) -> Problems {
        let mut found = Problems::default();
        found.errors.extend(self.placement_database.required().err());
        found.errors.extend(self.placet.tls().err());
        found.ineffective.extend(self.placement_database.limit_warning());
        match (
            &self.placement_database.slave_connection,
            self.placet.slave_routes.as_slice(),
        ) {
            (None, [_, ..]) => found.errors.push(ConfigError::NoReplica),
            (Some(_), []) => found.ineffective.push(
                "[placement_database] slave_connection is not used, because [placet] slave_routes names no routes; name the \
                 routes that may read from it"
                    .to_owned(),
            ),
            _ => {}
        }
        found.errors.extend(self.same_port());
        self.check_access(&mut found);
        found
    }

    /// The error if the metrics cannot listen, because the API has the port.
    fn same_port(&self) -> Option<ConfigError> {
        let (bind, metrics_bind) = (
            self.placet.bind,
            self.placet.metrics_bind.filter(|_| self.placet.metrics)?,
        );
        let (one, other) = (bind.ip(), metrics_bind.ip());
        let has_all = one.is_ipv4() == other.is_ipv4() && (one.is_unspecified() || other.is_unspecified());
        // Port 0 means any free port.
        let is_same = bind.port() == metrics_bind.port() && bind.port() != 0 && (one == other || has_all);
        is_same.then_some(ConfigError::SamePort { bind, metrics_bind })
    }

    /// Checks whether unauthenticated clients can reach the service.
    fn check_access(&self, found: &mut Problems) {
        let bind = self.placet.bind;
        if self.api.auth_strategy != AuthStrategy::Noauth2 || bind.ip().is_loopback() {
            return;
        }
        if self.placet.token_file.is_some() {
            if self.placet.tls_certificate.is_none() {
                found.warnings.push(format!(
                    "tokens are sent in clear text to {bind}: every machine between a client and placet can read and use \
                     them; set [placet] tls_certificate and tls_key, or bind to 127.0.0.1 behind a proxy that speaks TLS"
                ));
            }
        } else if self.placet.allow_noauth2_anywhere {
            found.warnings.push(format!(
                "auth_strategy = noauth2 on {bind}: every client that reaches this address may do anything; bind to \
                 127.0.0.1 unless this is intended"
            ));
        } else {
            found.errors.push(ConfigError::Noauth2Anywhere { bind });
        }
    }
}

impl Default for Options {
    /// The options of an empty configuration.
    fn default() -> Self {
        // The defaults are part of this crate, and tests read the defaults: reading cannot fail at run time.
        load(&ConfigSources::default())
            .map(|configuration| configuration.options)
            .expect("the declared defaults fit their types and ranges")
    }
}
