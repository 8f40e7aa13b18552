//! `--scenario scheduler`: ask for candidates, choose one, claim it; where that is refused, the next one, as nova's does.

use std::io::Result;
use std::sync::LazyLock;
use std::time::Instant;

use regex::bytes::Regex;

use crate::cloud::Dice;
use crate::tally::Tally;
use crate::wire::Connection;

/// After so many refusals in a row the scheduler gives up: that is not counted as done.
const TRIES: usize = 10;
const REST: &[u8] =
    br#","project_id":"bench","user_id":"bench","consumer_generation":null,"consumer_type":"INSTANCE"}"#;

pub async fn schedule(wire: &mut Connection, path: &str, dice: &mut Dice, tally: &mut Tally) -> Result<()> {
    let since = Instant::now();
    let found = wire.get(path, true).await?;
    tally.answer(&found);
    for _ in 0..TRIES {
        let Some(request) = choose(&found.body, dice) else {
            tally.note("no candidate");
            return Ok(());
        };
        let mut body = request[..request.len() - 1].to_vec();
        body.extend_from_slice(REST);
        let answer = wire.put(&format!("/allocations/{}", dice.uuid()), &body).await?;
        tally.answer(&answer);
        if answer.is_good() {
            tally.done(since);
            return Ok(());
        }
        if answer.status != 409 {
            break;
        }
    }
    tally.note("gave up");
    Ok(())
}

/// The bytes of a random allocation request. They are found and not parsed: an answer has megabytes, and what a scheduler
/// does with the rest is its own affair.
fn choose<'a>(body: &'a [u8], dice: &mut Dice) -> Option<&'a [u8]> {
    static ALLOCATIONS: LazyLock<Regex> = LazyLock::new(|| plain("\"allocations\""));
    static SUMMARIES: LazyLock<Regex> = LazyLock::new(|| plain("\"provider_summaries\""));
    let end = find(body, &SUMMARIES)?;
    let requests = &body[..end];
    let from = (dice.roll() % end as u64) as usize;
    let at = find(&requests[from..], &ALLOCATIONS)
        .map(|at| at + from)
        .or_else(|| find(requests, &ALLOCATIONS))?;
    let begin = requests[..at].iter().rposition(|&it| it == b'{')?;
    let mut depth = 0;
    // No text in it has braces: uuids, classes and suffixes.
    let length = requests[begin..].iter().position(|it| {
        depth += i32::from(*it == b'{') - i32::from(*it == b'}');
        depth == 0
    })?;
    Some(&requests[begin..=begin + length])
}

/// The regular expressions' search for plain texts is the fastest that is at hand: bodies have megabytes.
fn find(text: &[u8], what: &Regex) -> Option<usize> {
    what.find(text).map(|found| found.start())
}

fn plain(text: &str) -> Regex {
    Regex::new(text).expect("a text without special characters is an expression")
}
