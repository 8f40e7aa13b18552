//! `/`: which versions are spoken here.

use super::call::Call;
use super::reply::Reply;
use crate::error::Result;
use crate::wire::root as wire;

/// `GET /`. The link points to this same URL, wherever it is mounted.
pub async fn show(_: Call) -> Result<Reply> {
    Ok(Reply::json(wire::write()).modified(None))
}
