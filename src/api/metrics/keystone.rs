//! Authentication by Keystone: requests to Keystone, and the cache of tokens.

use super::text::{Kind, Page};
use crate::auth::keystone::{Call, CallOutcome, Eviction, KeystoneStatistics, LookUp};

pub fn write(page: &mut Page, keystone: &KeystoneStatistics) {
    page.family(
        "placet_keystone_requests_total",
        Kind::Counter,
        "Requests to Keystone, repeated ones included, by call and outcome",
    );
    for (call, name) in Call::ALL {
        for (outcome, result) in CallOutcome::ALL {
            page.sample(&[("call", name), ("outcome", result)], keystone.calls(call, outcome));
        }
    }
    page.family(
        "placet_keystone_request_duration_seconds",
        Kind::Histogram,
        "Time until Keystone's answer or its absence in seconds, by call",
    );
    for (call, name) in Call::ALL {
        page.histogram(&[("call", name)], &keystone.call_times(call));
    }
    page.family(
        "placet_keystone_look_ups_total",
        Kind::Counter,
        "Look-ups of tokens by how they ended",
    );
    for (look_up, name) in LookUp::ALL {
        page.sample(&[("result", name)], keystone.look_ups(look_up));
    }
    let cached = "Tokens in the cache, with those that have expired and are not removed yet";
    page.one(
        "placet_keystone_cached_tokens",
        Kind::Gauge,
        cached,
        keystone.cached_tokens(),
    );
    page.family(
        "placet_keystone_evicted_tokens_total",
        Kind::Counter,
        "Tokens that left the cache, by reason",
    );
    for (eviction, name) in Eviction::ALL {
        page.sample(&[("reason", name)], keystone.evicted(eviction));
    }
    let failing = "1 if Keystone could not validate the last token";
    page.one(
        "placet_keystone_failing",
        Kind::Gauge,
        failing,
        u8::from(keystone.is_failing()),
    );
}
