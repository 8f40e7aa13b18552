//! The last count of workloads, their replicas, and their broken rules.

use super::text::MetricsPage;
use crate::error::ReasonCode;
use crate::model::census::{Censuses, Figures, LastCensus};
use crate::model::workloads::Level;
use crate::wire::violations::rules;

const LEVELS: [(&str, Level); 3] = [("hard", Level::Hard), ("soft", Level::Soft), ("prefer", Level::Prefer)];

pub fn write(page: &mut MetricsPage, counts: &Censuses) {
    let since = counts.last.as_ref().map(|last| last.ended).or(counts.began);
    if let Some(since) = since {
        page.one("placet_census_age_seconds", since.elapsed().as_secs_f64());
    }
    if let Some(last) = &counts.last {
        write_last(page, last);
    }
}

fn write_last(page: &mut MetricsPage, last: &LastCensus) {
    let LastCensus { figures, took, .. } = last;
    page.one("placet_census_duration_seconds", took.as_secs_f64());
    page.one("placet_workloads", figures.workloads);
    page.one("placet_workloads_unsafe", figures.not_safe);
    page.one("placet_workloads_without_quorum", figures.without_quorum);
    page.one("placet_workloads_unreadable", figures.unreadable);
    let replicas = [("placed", figures.placed), ("pending", figures.pending)];
    page.by("state", "placet_replicas", replicas);
    let leases = [("up", figures.leases_up), ("unknown", figures.leases_unknown)];
    page.by("health", "placet_leases", leases);
    write_violations(page, figures);
}

fn write_violations(page: &mut MetricsPage, figures: &Figures) {
    page.family("placet_violations");
    for (rule, code) in rules() {
        for (name, level) in LEVELS {
            let count = figures.violations.get(&(code, level)).copied().unwrap_or_default();
            if count > 0 || may_be_broken(code, level) {
                page.sample(&[("rule", rule), ("level", name)], count);
            }
        }
    }
}

/// Whether a rule of this level exists: only rules in workloads and normal limits have levels below `hard`.
fn may_be_broken(code: ReasonCode, level: Level) -> bool {
    use ReasonCode::{Apart, NoRoom, Spread, Together, Within};
    let is_of_rule = matches!(code, Spread | Together | Apart | Within);
    level == Level::Hard || is_of_rule || code == NoRoom && level == Level::Soft
}
