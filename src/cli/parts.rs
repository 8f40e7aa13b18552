//! The parts of a service that need no server and no socket. Both a start and `placet config check` make the parts, so
//! the check finds every reason why a start is refused.

use std::sync::Arc;

use super::{CommandError, db, keystone, metrics, policy, tls_files};
use crate::api::{self, LiveTls, MetricsAccess};
use crate::config::Options;
use crate::db::{Database, ReadReplica};
use crate::policy::live::LivePolicy;

/// The parts of a service.
pub struct ServiceParts {
    pub policy: LivePolicy,
    pub tls: Option<Arc<LiveTls>>,
    pub metrics: MetricsAccess,
    pub slave_routes: Vec<&'static str>,
    pub database: Database,
    pub replica: Option<ReadReplica>,
}

/// Makes the parts. Connects to nothing, starts nothing, and changes no file.
///
/// # Errors
/// Every reason why a service cannot start with these options, besides the reasons of [`Options::serving_problems`].
pub fn make(options: &Options) -> Result<ServiceParts, Vec<CommandError>> {
    let mut errors = Vec::new();
    let policy = keep(&mut errors, policy::live(&options.oslo_policy));
    let tls = keep(
        &mut errors,
        options.placet.tls().map_err(Into::into).and_then(tls_files::live),
    );
    let auth = keep(&mut errors, keystone::check(options));
    let metrics = keep(&mut errors, metrics::access(options));
    let routes = api::slave_routes(&options.placet.slave_routes).map_err(CommandError::SlaveRoutes);
    let routes = keep(&mut errors, routes);
    let database = keep(&mut errors, db::open(options));
    let replica = keep(&mut errors, db::open_replica(options));
    let parts = || {
        auth?;
        Some(ServiceParts {
            policy: policy?,
            tls: tls?,
            metrics: metrics?,
            slave_routes: routes?,
            database: database?,
            replica: replica?,
        })
    };
    parts().ok_or(errors)
}

fn keep<T>(errors: &mut Vec<CommandError>, made: Result<T, CommandError>) -> Option<T> {
    made.map_err(|error| errors.push(error)).ok()
}
