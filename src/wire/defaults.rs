//! Values for members missing in a request of the native API, and the caller's rights.

use super::bad_request;
use super::native::{ClassName, Text};
use crate::error::Result;
use crate::model::allocations::Owner;
use crate::search::Rank;

/// The defaults of a caller.
#[derive(Debug, Clone, Default)]
pub struct Defaults {
    /// Of the token.
    pub project: Option<String>,
    /// Of the token.
    pub user: Option<String>,
    pub rank: Option<Rank>,
    /// Whether the caller may change consumers and workloads of foreign projects, and see both in refusals.
    pub may_change_others: bool,
}

impl Defaults {
    /// The owner of a consumer or of a workload. `path` leads to the object of the request: empty, or with a full stop
    /// at the end.
    ///
    /// # Errors
    /// [`crate::error::Error::BadRequest`] if neither the request nor the token names the project and the user.
    pub fn owner(&self, path: &str, project: Option<OwnerId>, user: Option<OwnerId>) -> Result<Owner> {
        let of_token = |name: &str, given: Option<OwnerId>, default: &Option<String>| {
            let id = given.map(|id| id.0).or_else(|| default.clone());
            let missing = || bad_request(format!("{path}{name} is required, because the token has none."));
            id.map_or_else(missing, Ok)
        };
        Ok(Owner {
            project: of_token("project_id", project, &self.project)?,
            user: of_token("user_id", user, &self.user)?,
        })
    }
}

/// The type of a consumer.
pub fn consumer_type(given: Option<ClassName>) -> String {
    given.map_or_else(|| "INSTANCE".to_owned(), |name| name.0)
}

/// The id of a project or of a user.
pub type OwnerId = Text<1, 255>;
