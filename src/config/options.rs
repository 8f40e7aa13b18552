//! All that placet can be told, read once and handed down; there are no globals.
//!
//! The field names are the option names, the sub-structs the sections, in files named as those of the table of defaults
//! ([`super::known`]). Bounds are on the fields. What upstream's options mean is upstream's documentation; here is what
//! placet makes of them.

mod logging;
mod oslo;
mod placement;
mod placet;

use std::fmt;

use validator::Validate;

pub use logging::DefaultSection;
pub use oslo::{Cors, OsloMiddleware, OsloPolicy};
pub use placement::{Api, AuthStrategy, GenerationStrategy, Placement, PlacementDatabase};
pub use placet::Placet;

use super::error::Result;
use super::layers::Layers;
use super::reader::Reader;
use super::{bounds, mask};

/// The configuration of one process.
#[derive(Debug, Clone, Validate)]
pub struct Options {
    pub default: DefaultSection,
    pub api: Api,
    #[validate(nested)]
    pub placement: Placement,
    #[validate(nested)]
    pub placement_database: PlacementDatabase,
    pub oslo_policy: OsloPolicy,
    pub oslo_middleware: OsloMiddleware,
    pub cors: Cors,
    #[validate(nested)]
    pub placet: Placet,
}

/// Text that is not for logs: `Debug` shows a database URL without its password.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&mask::url(&self.0))
    }
}

impl Options {
    /// Reads every option, and checks bounds.
    ///
    /// # Errors
    /// The first value that does not fit.
    pub(super) fn read(layers: &Layers) -> Result<Self> {
        let reader = Reader::new(layers);
        let options = Self {
            default: DefaultSection::read(&reader)?,
            api: Api::read(&reader)?,
            placement: Placement::read(&reader)?,
            placement_database: PlacementDatabase::read(&reader)?,
            oslo_policy: OsloPolicy::read(&reader, layers.search_dirs.clone())?,
            oslo_middleware: OsloMiddleware::read(&reader)?,
            cors: Cors::read(&reader)?,
            placet: Placet::read(&reader)?,
        };
        match options.validate() {
            Ok(()) => Ok(options),
            Err(violations) => Err(bounds::first(&reader, &violations)),
        }
    }
}
