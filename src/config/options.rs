//! The options: each option is declared once, with type, default, range, unit and help text, by the macro `options!`.
//!
//! A declaration becomes a field of the section's struct, which [`Options::read`] fills, and an `OptionSpec`. `placet
//! config show`, `placet config options` and the table in docs/configuration.md are made from the specs. After a change
//! run `contrib/config-docs.sh`, which writes the table and examples/placement.conf again.

/// Declares the options of one section of placement.conf.
///
/// ```text
/// options! {
///     /// A description of the section.
///     StructName in "section" {
///         /// The help text: one paragraph of Markdown.
///         name: Type = default, min..=max unit, formerly "older section" "older name";
///     }
///     with {
///         /// A field that is not an option.
///         name: Type = a_function_of_the_raw_configuration;
///     }
/// }
/// ```
///
/// Everything between the type and `;` may be left out. The type, an [`OptionValue`](super::value::OptionValue), parses
/// the text. An option without a default has an `Option` or a list as its type.
macro_rules! options {
    (
        $(#[doc = $about:literal])+
        $section:ident in $section_name:literal {
            $(
                $(#[doc = $help:literal])+
                $name:ident: $type:ty
                    $(= $default:literal)?
                    $(, $min:literal ..= $max:literal $($unit:ident)?)?
                    $(, formerly $older_section:literal $older_name:literal)*;
            )+
        }
        $(with {
            $( $(#[doc = $extra_about:literal])+ $extra:ident: $extra_type:ty = $read_extra:expr; )+
        })?
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone)]
        pub struct $section {
            $(
                $(#[doc = $help])+
                pub $name: $type,
            )+
            $($( $(#[doc = $extra_about])+ pub $extra: $extra_type, )+)?
        }

        impl $section {
            /// The options of this section, in the order in which they are shown.
            pub const SPECS: &[crate::config::option_spec::OptionSpec] = &[$(
                crate::config::option_spec::OptionSpec {
                    $(default: Some(concat!($default)),)?
                    repeatable: <$type as crate::config::value::OptionValue>::REPEATABLE,
                    secret: <$type as crate::config::value::OptionValue>::SECRET,
                    deprecated: &[$(($older_section, $older_name)),*],
                    kind: <$type as crate::config::value::OptionValue>::KIND,
                    $(range: Some(($min, $max)),)?
                    $($(unit: stringify!($unit),)?)?
                    ..crate::config::option_spec::OptionSpec::honoured($section_name, stringify!($name), concat!($($help),+))
                },
            )+];

            pub fn read(reader: &mut crate::config::reader::OptionReader) -> Self {
                Self {
                    $($name: reader.value($section_name, stringify!($name)),)+
                    $($($extra: ($read_extra)(reader.raw),)+)?
                }
            }
        }
    };
}

mod agent;
pub(super) mod default;
mod keystone;
mod oslo;
mod placement;
mod placet;
pub(super) mod unused;

pub use agent::Agent;
pub use default::DefaultSection;
pub use keystone::KeystoneAuthtoken;
pub use oslo::{Cors, OsloMiddleware, OsloPolicy};
pub use placement::{Api, AuthStrategy, GenerationStrategy, Placement, PlacementDatabase};
pub use placet::{DefaultRank, LogFormat, Placet, TlsPaths};

use super::error::ConfigError;
use super::raw::RawConfig;
use super::reader::OptionReader;

/// The configuration of one process: a field for each section.
#[derive(Debug, Clone)]
pub struct Options {
    pub default: DefaultSection,
    pub api: Api,
    pub placement: Placement,
    pub placement_database: PlacementDatabase,
    pub oslo_policy: OsloPolicy,
    pub oslo_middleware: OsloMiddleware,
    pub cors: Cors,
    pub keystone_authtoken: KeystoneAuthtoken,
    pub placet: Placet,
    pub agent: Agent,
}

impl Options {
    /// Reads every option and checks its range. An unfit value is an error, and its option has the default.
    pub(super) fn read(raw: &RawConfig) -> (Self, Vec<ConfigError>) {
        let mut reader = OptionReader::new(raw);
        let options = Self {
            default: DefaultSection::read(&mut reader),
            api: Api::read(&mut reader),
            placement: Placement::read(&mut reader),
            placement_database: PlacementDatabase::read(&mut reader),
            oslo_policy: OsloPolicy::read(&mut reader),
            oslo_middleware: OsloMiddleware::read(&mut reader),
            cors: Cors::read(&mut reader),
            keystone_authtoken: KeystoneAuthtoken::read(&mut reader),
            placet: Placet::read(&mut reader),
            agent: Agent::read(&mut reader),
        };
        (options, reader.errors)
    }
}
