//! The answer to `GET /v1/explain`: conditions with the hosts left, the nearest hosts, and what would help.

use std::collections::BTreeMap;
use std::time::Duration;

use super::causes::{Cause, CauseFinder, is_disabled, unavailability};
use super::changes::QueryChange;
use super::words::{Words, unavailable};
use super::{ConditionCounts, cause_first, condition_counts, none_of};
use crate::caller::CallerKey;
use crate::error::{Error, Reason, Result};
use crate::interrupt::Interrupt;
use crate::model::Model;
use crate::model::domains::search_version;
use crate::model::reads::unknown_names::Names;
use crate::search::{
    self, ClassRoom, Condition, Edit, Enough, ExplainedRequest, Group, Inventory, Lack, ProviderState, Purpose,
    Request, RequestChange, SearchSettings, Slot, Snapshot,
};

/// The budget of the comparison of hosts, in steps of the search: some 80 ms. 10,000 nested hosts take 420,000.
const NEAREST_STEPS: u64 = 1_000_000;
/// The budget of the searches for changes: some 40 ms. 10,000 nested hosts take 22,000.
const CHANGES_STEPS: u64 = 40_000;

/// A query to be explained.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainQuestion {
    pub request: Request,
    /// As of the candidates. `None`: normal limits do not count.
    pub purpose: Option<Purpose>,
    /// The uuid or the name of a provider: the explanation is about the host of the provider alone.
    pub provider: Option<String>,
    /// The number of nearest hosts in the report.
    pub nearest: usize,
    /// Whether the caller may claim: a change of the purpose helps no further caller.
    pub may_claim: bool,
}

/// Why a query has no candidate, or which conditions leave out which hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplanationReport {
    /// The number of hosts: all, or the single host of the question.
    pub hosts: usize,
    /// The number of hosts with a candidate.
    pub left: usize,
    /// False if a search ended early: further hosts may be left, nearer, or reached by a change.
    pub is_exact: bool,
    /// One sentence or two, which begin with the cause.
    pub detail: String,
    pub conditions: Vec<ConditionReport>,
    pub classes: Vec<ClassReport>,
    pub nearest: Vec<NearHost>,
    pub changes: Vec<ChangeReport>,
}

/// A condition that leaves out hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionReport {
    pub reason: Reason,
    /// The suffixes of the groups with the condition. Empty for a condition on hosts.
    pub groups: Vec<String>,
    /// The number of hosts left out.
    pub left_out: usize,
    /// The number of hosts left after the condition.
    pub left: usize,
    /// The names of the first hosts left out.
    pub examples: Vec<String>,
}

/// A requested class on the hosts that meet all conditions but amounts; on all hosts if no host does.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassReport {
    pub class: String,
    /// The largest amount of one group.
    pub requested: i64,
    /// The largest amounts of one provider; `None` without an inventory.
    pub room: Option<ClassRoom>,
    /// The uuid and the name of the provider with the largest free amount.
    pub freest: Option<(String, String)>,
    /// Of the provider with the largest free amount.
    pub max_unit: Option<i64>,
    pub enough: Enough,
}

/// A host that lacks only amounts.
#[derive(Clone, Debug, PartialEq)]
pub struct NearHost {
    pub uuid: String,
    pub name: String,
    pub state: ProviderState,
    /// Whether the host has the trait of a disabled compute service.
    pub is_disabled: bool,
    /// The greatest share of a requested amount that is missing.
    pub share: f64,
    pub lacks: Vec<LackReport>,
}

/// An amount missing on a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct LackReport {
    pub uuid: String,
    pub name: String,
    pub class: String,
    pub requested: i64,
    pub free: i64,
    pub inventory: Inventory,
    pub used: i64,
    /// Whether `min_unit`, `max_unit` and `step_size` allow the amounts.
    pub is_allowed: bool,
}

/// A single change with which hosts have a candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeReport {
    pub change: QueryChange,
    /// The number of hosts with a candidate then.
    pub hosts: usize,
    /// The number of these hosts that are off, draining or disabled.
    pub unavailable: usize,
}

/// Explains a query.
///
/// # Errors
/// [`Error::NotFound`] for an unknown provider; [`Error::Busy`] if too many searches wait, or if the explanation takes
/// longer than a command may. Errors of the database.
pub async fn report(
    model: &Model,
    question: ExplainQuestion,
    settings: SearchSettings,
    caller: &CallerKey,
) -> Result<ExplanationReport> {
    let names = Names::of_candidates([&question.request]);
    let prepared = model.prepare_search(names, Duration::ZERO).await?;
    let explain = move |snapshot: &Snapshot, interrupt: &Interrupt| {
        report_on(snapshot, &question, &settings.interrupted_by(interrupt))
    };
    search_version(model, prepared.snapshot, caller, explain).await
}

/// As [`report`], on one version of the snapshot.
pub(super) fn report_on(
    snapshot: &Snapshot,
    question: &ExplainQuestion,
    settings: &SearchSettings,
) -> Result<ExplanationReport> {
    let has_normal = question.purpose.is_some_and(|purpose| !purpose.may_exceed_normal());
    if has_normal && snapshot.catalog().has_normal_limits() {
        return Reporter::new(&snapshot.at_normal_limits(), question, settings)?.report();
    }
    Reporter::new(snapshot, question, settings)?.report()
}

/// The parts of a report on one version of the snapshot.
struct Reporter<'a> {
    snapshot: &'a Snapshot,
    question: &'a ExplainQuestion,
    settings: &'a SearchSettings,
    explanation: ExplainedRequest<'a>,
}

impl<'a> Reporter<'a> {
    fn new(snapshot: &'a Snapshot, question: &'a ExplainQuestion, settings: &'a SearchSettings) -> Result<Self> {
        let only = question.provider.as_deref().map(|named| host(snapshot, named));
        let explanation = search::explain(snapshot, &question.request, only.transpose()?, settings)?;
        Ok(Reporter {
            snapshot,
            question,
            settings,
            explanation,
        })
    }

    fn report(&self) -> Result<ExplanationReport> {
        let left = self.explanation.with_candidate().len();
        let (conditions, has_all_trees) = match self.explanation.only {
            None => (self.conditions()?, true),
            Some(host) => self.failed_conditions(host)?,
        };
        let (nearest, has_all_hosts) = self.nearest()?;
        let (changes, has_all_changes) = if left == 0 { self.changes()? } else { (Vec::new(), true) };
        Ok(ExplanationReport {
            hosts: self.explanation.all().len(),
            left,
            is_exact: self.explanation.is_exact && has_all_trees && has_all_hosts && has_all_changes,
            detail: self.detail(left, &conditions),
            conditions,
            classes: self.classes()?,
            nearest,
            changes,
        })
    }

    fn words(&self) -> Words<'_> {
        Words {
            snapshot: self.snapshot,
            conditions: &self.explanation.conditions,
            named: self.explanation.only.map(|host| self.snapshot.name(host)),
            strict: self.settings.strict_step,
        }
    }

    fn conditions(&self) -> Result<Vec<ConditionReport>> {
        let counted = condition_counts(self.snapshot, &self.explanation, self.settings)?;
        let reports = counted.into_iter().flat_map(|ConditionCounts { thinning, causes }| {
            let groups = match thinning.conditions {
                1 => self.groups(thinning.condition),
                _ => Vec::new(),
            };
            let mut left = thinning.left + thinning.left_out;
            causes.into_iter().map(move |cause| {
                left -= cause.left_out;
                ConditionReport {
                    reason: cause.reason,
                    groups: groups.clone(),
                    left_out: cause.left_out,
                    left,
                    examples: cause.examples,
                }
            })
        });
        Ok(reports.collect())
    }

    /// All conditions failed by the single host.
    fn failed_conditions(&self, host: Slot) -> Result<(Vec<ConditionReport>, bool)> {
        let (failed, is_exact) = search::failed_conditions(self.snapshot, &self.question.request, host, self.settings)?;
        let words = self.words();
        let mut finder = CauseFinder::new(self.snapshot, &self.explanation, self.settings);
        let mut reports = Vec::new();
        for condition in failed {
            let causes = finder.causes(condition, vec![host])?.into_iter();
            reports.extend(causes.map(|found| ConditionReport {
                reason: words.reason(condition, &found),
                groups: self.groups(condition),
                left_out: 1,
                left: 0,
                examples: vec![self.snapshot.name(host).to_owned()],
            }));
            // As in the search for failed conditions.
            finder.removed.insert(condition);
        }
        Ok((reports, is_exact))
    }

    /// The suffixes of the groups with a condition. Empty for a condition on hosts.
    fn groups(&self, condition: Condition) -> Vec<String> {
        let conditions = &self.explanation.conditions;
        let groups = &conditions.request.groups;
        let suffixes = |is_one: &dyn Fn(&Group) -> bool| {
            let found = groups.iter().filter(|group| is_one(group));
            found.map(|group| group.suffix.clone()).collect()
        };
        match condition {
            Condition::Amount { class, .. } => {
                let name = conditions.classes[class];
                suffixes(&|group| group.resources.iter().any(|(class, _)| class == name))
            }
            Condition::Isolation => suffixes(&|group| !group.suffix.is_empty()),
            Condition::SameSubtree { index } => conditions.request.same_subtrees[index].clone(),
            _ => condition.group().map_or_else(Vec::new, |group| {
                conditions.alike(group).map(|at| groups[at].suffix.clone()).collect()
            }),
        }
    }

    fn detail(&self, left: usize, conditions: &[ConditionReport]) -> String {
        let hosts = self.explanation.all().len();
        let name = self.explanation.only.map(|host| self.snapshot.name(host));
        match (left, name) {
            (0, None) => {
                let counted = conditions.iter().map(|it| (it.reason.clone(), it.left_out));
                none_of(hosts, cause_first(counted).iter().map(|(reason, _)| &*reason.detail))
            }
            (0, Some(name)) => {
                let failed: Vec<&str> = conditions.iter().map(|it| &*it.reason.detail).collect();
                format!("{name} cannot serve the query. {}", failed.join(" "))
            }
            (_, None) => format!(
                "{left} of {hosts} hosts can serve the query.{}",
                self.unavailable_left()
            ),
            (_, Some(name)) => format!("{name} can serve the query.{}", self.unavailable_left()),
        }
    }

    /// A sentence for each cause that makes hosts with a candidate unavailable, each behind a space.
    fn unavailable_left(&self) -> String {
        let left = self.explanation.with_candidate();
        let mut counts: BTreeMap<Cause, usize> = BTreeMap::new();
        for cause in left.iter().filter_map(|host| unavailability(self.snapshot, host)) {
            *counts.entry(cause).or_default() += 1;
        }
        let name = self.explanation.only.map(|host| self.snapshot.name(host));
        let sentence = |(cause, count): (Cause, usize)| {
            let subject = name.map_or_else(|| format!("{count} of {}", left.len()), str::to_owned);
            let verb = if count == 1 { "is" } else { "are" };
            Some(format!(" {subject} {verb} {}.", unavailable(cause)?))
        };
        counts.into_iter().filter_map(sentence).collect()
    }

    fn classes(&self) -> Result<Vec<ClassReport>> {
        let classes = self.explanation.conditions.classes.iter().enumerate();
        let reports = classes.map(|(at, class)| {
            search::check_interrupt(&self.settings.interrupt)?;
            let groups = self.question.request.groups.iter();
            let amounts = groups
                .flat_map(|group| &group.resources)
                .filter(|(name, _)| name == class);
            let requested = amounts.map(|(_, amount)| *amount).max().unwrap_or_default();
            let hosts = self.explanation.suitable_hosts();
            let providers = self.explanation.providers(self.snapshot, at, &self.settings.interrupt);
            let room = providers.as_ref().and_then(|providers| providers.room(hosts));
            let freest = room.map(|room| room.free.provider);
            let of_freest = freest.and_then(|freest| providers.as_ref()?.room_of(freest));
            let strict = self.settings.strict_step;
            Ok(ClassReport {
                class: (*class).to_owned(),
                requested,
                freest: freest.map(|slot| (self.snapshot.uuid(slot).to_owned(), self.snapshot.name(slot).to_owned())),
                max_unit: of_freest.map(|room| room.max_unit.amount),
                room,
                enough: providers.map_or(Enough::Never, |providers| providers.enough(hosts, requested, strict)),
            })
        });
        reports.collect()
    }

    fn nearest(&self) -> Result<(Vec<NearHost>, bool)> {
        if self.question.nearest == 0 {
            return Ok((Vec::new(), true));
        }
        let budget = self.settings.interrupt.part(NEAREST_STEPS);
        let count = self.question.nearest;
        let (misses, is_exact) = search::nearest(self.snapshot, &self.explanation, count, self.settings, &budget)?;
        let hosts = misses.into_iter().map(|miss| NearHost {
            uuid: self.snapshot.uuid(miss.host).to_owned(),
            name: self.snapshot.name(miss.host).to_owned(),
            state: self.snapshot.state(miss.host),
            is_disabled: is_disabled(self.snapshot, miss.host),
            share: miss.share,
            lacks: miss.lacks.iter().filter_map(|lack| self.lack(lack)).collect(),
        });
        Ok((hosts.collect(), is_exact))
    }

    fn lack(&self, lack: &Lack) -> Option<LackReport> {
        let mut inventories = self.snapshot.inventories(lack.provider);
        let (_, inventory, used) = inventories.find(|(class, ..)| *class == lack.class)?;
        Some(LackReport {
            uuid: self.snapshot.uuid(lack.provider).to_owned(),
            name: self.snapshot.name(lack.provider).to_owned(),
            class: self.snapshot.catalog().class_name(lack.class)?.to_string(),
            requested: lack.requested,
            free: lack.free,
            inventory,
            used,
            is_allowed: lack.is_allowed,
        })
    }

    fn changes(&self) -> Result<(Vec<ChangeReport>, bool)> {
        let budget = self.settings.interrupt.part(CHANGES_STEPS);
        let (changes, is_exact) = search::single_changes(self.snapshot, &self.explanation, self.settings, &budget)?;
        let words = self.words();
        let may_use = |change: &RequestChange| change.edit != Edit::OverNormal || self.question.may_claim;
        let reports = changes
            .into_iter()
            .filter(may_use)
            .map(|RequestChange { edit, hosts }| {
                let unavailable = hosts.iter().filter_map(|host| unavailability(self.snapshot, host));
                ChangeReport {
                    change: words.change(edit),
                    unavailable: unavailable.count(),
                    hosts: hosts.len(),
                }
            });
        Ok((reports.collect(), is_exact))
    }
}

/// The host of the provider with this uuid or name.
fn host(snapshot: &Snapshot, named: &str) -> Result<Slot> {
    let found = snapshot.by_uuid(named).or_else(|| snapshot.by_name(named));
    let Some(host) = found.map(|slot| snapshot.cached_root(slot)) else {
        return Err(Error::NotFound {
            noun: format!("resource provider {named}"),
        });
    };
    if !snapshot.is_host(host) {
        return Err(Error::BadRequest {
            detail: format!("{named} belongs to a sharing provider, which is no host."),
        });
    }
    Ok(host)
}
