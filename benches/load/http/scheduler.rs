//! `--scenario scheduler`: gets candidates, chooses one at random and claims it, as nova's scheduler does.
//!
//! If the claim is refused with 409, it chooses another candidate.

use std::io::Result;
use std::sync::LazyLock;
use std::time::Instant;

use regex::bytes::Regex;

use super::connection::Connection;
use crate::random::Random;
use crate::statistics::Statistics;

/// After this many refusals the scheduler gives up, and the loop does not count as completed.
const MAX_CLAIM_ATTEMPTS: usize = 10;
/// What follows the allocations in the body of a claim.
const BODY_END: &[u8] =
    br#","project_id":"bench","user_id":"bench","consumer_generation":null,"consumer_type":"INSTANCE"}"#;

pub async fn schedule(
    connection: &mut Connection,
    path: &str,
    random: &mut Random,
    statistics: &mut Statistics,
) -> Result<()> {
    let start = Instant::now();
    let candidates = connection.get(path, true).await?;
    statistics.record_response(&candidates);
    for _ in 0..MAX_CLAIM_ATTEMPTS {
        let Some(request) = choose(&candidates.body, random) else {
            statistics.count_outcome("no candidate");
            return Ok(());
        };
        let mut body = request[..request.len() - 1].to_vec();
        body.extend_from_slice(BODY_END);
        let path = format!("/allocations/{}", random.uuid());
        let response = connection.put(&path, &body).await?;
        statistics.record_response(&response);
        if response.is_success() {
            statistics.record_completed(start);
            return Ok(());
        }
        if response.status != 409 {
            break;
        }
    }
    statistics.count_outcome("gave up");
    Ok(())
}

/// The bytes of a random allocation request.
///
/// The body has megabytes and is searched, not parsed: the cost of a scheduler's parser is not placement's.
fn choose<'a>(body: &'a [u8], random: &mut Random) -> Option<&'a [u8]> {
    static ALLOCATIONS: LazyLock<Regex> = LazyLock::new(|| literal("\"allocations\""));
    static SUMMARIES: LazyLock<Regex> = LazyLock::new(|| literal("\"provider_summaries\""));
    let end = find(body, &SUMMARIES)?;
    let requests = &body[..end];
    let from = (random.next() % end as u64) as usize;
    let at = find(&requests[from..], &ALLOCATIONS)
        .map(|at| at + from)
        .or_else(|| find(requests, &ALLOCATIONS))?;
    let begin = requests[..at].iter().rposition(|&byte| byte == b'{')?;
    let mut depth = 0;
    // Its strings are uuids, resource classes and suffixes, which have no braces.
    let length = requests[begin..].iter().position(|&byte| {
        depth += i32::from(byte == b'{') - i32::from(byte == b'}');
        depth == 0
    })?;
    Some(&requests[begin..=begin + length])
}

/// Finds a literal with the regex engine, which searches large bodies faster than the standard library.
fn find(text: &[u8], literal: &Regex) -> Option<usize> {
    literal.find(text).map(|found| found.start())
}

fn literal(text: &str) -> Regex {
    Regex::new(text).expect("a text without special characters is a regular expression")
}
