//! What the log is told.

use std::path::PathBuf;

use crate::config::error::Result;
use crate::config::reader::Reader;

/// `[DEFAULT]`
#[derive(Debug, Clone)]
pub struct DefaultSection {
    /// More log lines, unless the environment variable `RUST_LOG` says which.
    pub debug: bool,
    /// Whether a starting service logs its configuration (at debug level, secrets masked).
    pub log_options: bool,
    /// Where the log goes instead of stderr: `log_file` inside `log_dir`, or `placet.log` there.
    pub log_path: Option<PathBuf>,
}

impl DefaultSection {
    pub(super) fn read(reader: &Reader) -> Result<Self> {
        const SECTION: &str = "DEFAULT";
        let set = |name| -> Result<Option<PathBuf>> {
            Ok(reader
                .optional_text(SECTION, name)?
                .filter(|text| !text.is_empty())
                .map(PathBuf::from))
        };
        let log_path = match (set("log_dir")?, set("log_file")?) {
            (None, file) => file,
            (Some(dir), file) => Some(dir.join(file.unwrap_or_else(|| "placet.log".into()))),
        };
        Ok(Self {
            debug: reader.boolean(SECTION, "debug")?,
            log_options: reader.boolean(SECTION, "log_options")?,
            log_path,
        })
    }
}
