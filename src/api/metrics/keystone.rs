//! Authentication by Keystone: requests to Keystone, and the cache of tokens.

use super::text::MetricsPage;
use crate::auth::keystone::{Call, CallOutcome, Eviction, Keystone, LookUp};

pub fn write(page: &mut MetricsPage, service: &Keystone) {
    let keystone = service.statistics();
    page.family("placet_keystone_requests_total");
    for (call, name) in Call::ALL {
        for (outcome, result) in CallOutcome::ALL {
            page.sample(&[("call", name), ("outcome", result)], keystone.calls(call, outcome));
        }
    }
    page.family("placet_keystone_request_duration_seconds");
    for (call, name) in Call::ALL {
        page.histogram(&[("call", name)], &keystone.call_times(call));
    }
    let look_ups = LookUp::ALL.map(|(look_up, name)| (name, keystone.look_ups(look_up)));
    page.by("result", "placet_keystone_look_ups_total", look_ups);
    page.one("placet_keystone_cached_tokens", keystone.cached_tokens());
    let evicted = Eviction::ALL.map(|(eviction, name)| (name, keystone.evicted(eviction)));
    page.by("reason", "placet_keystone_evicted_tokens_total", evicted);
    page.one("placet_keystone_failing", u8::from(service.is_failing()));
}
