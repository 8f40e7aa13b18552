//! The policy in force, which is loaded again after a change of its files. The caller provides access to the files.

use std::sync::Arc;

use arc_swap::Guard;

use super::load::{Loaded, PolicyFile, load};
use super::{Policy, PolicySettings};
use crate::live_value::{Files, LiveValue};

/// The policy in force.
pub struct LivePolicy {
    settings: PolicySettings,
    /// All existing files. A rule in a later file overrides the same rule in an earlier file.
    files: Box<dyn Files<Vec<PolicyFile>>>,
    current: LiveValue<Policy>,
}

impl LivePolicy {
    /// Reads the files for the first time.
    ///
    /// # Errors
    /// A file that cannot be used. placet refuses to start, because the rules in force would not be the intended rules.
    pub fn start(settings: PolicySettings, files: Box<dyn Files<Vec<PolicyFile>>>) -> Result<LivePolicy, String> {
        let current = LiveValue::new(read(&settings, files.as_ref())?);
        Ok(LivePolicy {
            settings,
            files,
            current,
        })
    }

    /// The policy for a request that arrives now.
    pub fn current(&self) -> Guard<Arc<Policy>> {
        let refreshed = self.current.refresh(|| self.files.changed(), || self.read());
        if refreshed != Ok(false) {
            log_outcome("the policy files changed and", refreshed.map(|_| ()));
        }
        self.current.load()
    }

    /// Loads the files again, whether they changed or not.
    pub fn reload(&self) {
        log_outcome("SIGHUP: the policy files", self.current.replace(|| self.read()));
    }

    fn read(&self) -> Result<Policy, String> {
        let policy = read(&self.settings, self.files.as_ref())?;
        let before = self.current.load();
        for gone in before.files.iter().filter(|file| !policy.files.contains(file)) {
            log::warn!("{gone}: there is no such file now, so its rules are no longer in force");
        }
        Ok(policy)
    }
}

fn log_outcome(subject: &str, replaced: Result<(), String>) {
    match replaced {
        Ok(()) => log::info!("{subject} were loaded again"),
        Err(reason) => log::error!(
            "{subject} cannot be used: {reason}. The previous rules stay in force. Correct the file; placet loads it again \
             then"
        ),
    }
}

fn read(settings: &PolicySettings, files: &dyn Files<Vec<PolicyFile>>) -> Result<Policy, String> {
    let Loaded { policy, warnings } = load(settings, &files.read()?)?;
    for warning in warnings {
        log::warn!("{warning}");
    }
    Ok(policy)
}
