//! `/`: which versions are spoken here.

use super::call::Call;
use super::reply::Reply;
use crate::error::Result;
use crate::version::Version;

/// `GET /`. The link points to this same URL, wherever it is mounted.
pub async fn show(_: Call) -> Result<Reply> {
    let (min, max) = (Version::MIN, Version::MAX);
    let body = format!(
        "{{\"versions\": [{{\"id\": \"v{min}\", \"max_version\": \"{max}\", \"min_version\": \"{min}\", \
         \"status\": \"CURRENT\", \"links\": [{{\"rel\": \"self\", \"href\": \"\"}}]}}]}}"
    );
    Ok(Reply::json(body.into_bytes()).modified(None))
}
