//! The policy in force, made anew when its files change. The files come in as an argument: see [`Files`].

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};

use super::load::{Loaded, PolicyFile, load};
use super::{Policy, Settings};

/// Where policy files are.
pub trait Files: Send + Sync {
    /// Whether they changed since they were last asked for this; it is asked at every request.
    fn changed(&self) -> bool;
    /// All of them that there are, in the order in which later ones lie over earlier ones.
    ///
    /// # Errors
    /// Why one cannot be read.
    fn read(&self) -> Result<Vec<PolicyFile>, String>;
}

/// The policy in force.
pub struct Live {
    settings: Settings,
    files: Box<dyn Files>,
    current: ArcSwap<Policy>,
}

impl Live {
    /// Reads the files for the first time.
    ///
    /// # Errors
    /// A file that cannot be used: nobody should serve with rules that somebody did not mean.
    pub fn start(settings: Settings, files: Box<dyn Files>) -> Result<Live, String> {
        let current = ArcSwap::from_pointee(read(&settings, files.as_ref())?);
        Ok(Live {
            settings,
            files,
            current,
        })
    }

    /// The policy for a request that came now.
    pub fn now(&self) -> Guard<Arc<Policy>> {
        if self.files.changed() {
            match read(&self.settings, self.files.as_ref()) {
                Ok(policy) => {
                    self.current.store(Arc::new(policy));
                    log::info!("the policy files changed and were read again");
                }
                Err(why) => log::error!(
                    "the policy files changed and cannot be used: {why}. The rules from before stay in force; mend the \
                     file, and it is read again"
                ),
            }
        }
        self.current.load()
    }
}

fn read(settings: &Settings, files: &dyn Files) -> Result<Policy, String> {
    let Loaded { policy, warnings } = load(settings, &files.read()?)?;
    for warning in warnings {
        log::warn!("{warning}");
    }
    Ok(policy)
}
