//! Parses the rules in the body of a workload.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::model::workloads::{AffinityKind, AffinityRule, Level, Mode, SpecRule, SpreadRule, WithinRule};
use crate::wire::bad_request;
use crate::wire::native::{Bounded, Name, Named, Text, Uuid};

/// The host as a dimension.
const HOST: &str = "host";

/// A rule about the hosts of replicas.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleBody {
    /// `spread`: evenly over domains. `within`: all replicas in one domain. `together` and `apart`: near to another
    /// workload, or far from it.
    rule: Name<RuleKind>,
    /// `hard`: no new replica breaks the rule. `soft`: the rule is broken only if there is no place otherwise.
    /// `prefer`: the rule decides between equal places. The default is `hard`.
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<Name<Level>>,
    /// Of `spread`: the dimensions. In `host` each host is a domain of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<Bounded<Text<1, 255>, 1, 100>>,
    /// Of `spread`: how even the replicas are spread. The default is `adaptive`.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Name<Mode>>,
    /// Of `spread`: whether only safe placements are granted. Such a rule is hard. The default is `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
    /// Of `together` and `apart`: the uuid of the other workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    workload: Option<Uuid>,
    /// Of `within`, `together` and `apart`: the dimension of the domains. The default of `together` and `apart` is
    /// `host`.
    #[serde(skip_serializing_if = "Option::is_none")]
    dimension: Option<Text<1, 255>>,
}

/// The kind of a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RuleKind {
    Spread,
    Affinity(AffinityKind),
    Within,
}

impl Named for RuleKind {
    const NAMES: &'static [(&'static str, RuleKind)] = &[
        ("spread", RuleKind::Spread),
        ("within", RuleKind::Within),
        ("together", RuleKind::Affinity(AffinityKind::Affinity)),
        ("apart", RuleKind::Affinity(AffinityKind::AntiAffinity)),
    ];
}

impl Named for Level {
    const NAMES: &'static [(&'static str, Level)] =
        &[("hard", Level::Hard), ("soft", Level::Soft), ("prefer", Level::Prefer)];
}

impl Named for Mode {
    const NAMES: &'static [(&'static str, Mode)] = &[
        ("adaptive", Mode::Adaptive),
        ("max-difference", Mode::MaxDifference),
        ("quorum-safe", Mode::QuorumSafe),
        ("one-each", Mode::OneEach),
    ];
}

impl RuleBody {
    /// The rule of the model. `path` leads to the rule in the body.
    ///
    /// # Errors
    /// A member of a different kind of rule, or the missing member.
    pub fn rule(&self, path: &str) -> Result<SpecRule> {
        match self.rule.0 {
            RuleKind::Spread => self.spread(path).map(SpecRule::Spread),
            RuleKind::Affinity(kind) => self.affinity(path, kind).map(SpecRule::Affinity),
            RuleKind::Within => self.within(path).map(SpecRule::Within),
        }
    }

    fn level(&self) -> Level {
        self.level.map_or(Level::Hard, |level| level.0)
    }

    /// Refuses members of a different kind of rule.
    fn check_foreign(&self, path: &str, members: &[(&str, bool)]) -> Result<()> {
        match members.iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) => bad_request(format!(
                "{path}.{name} does not belong to a rule '{}'.",
                self.rule.name()
            )),
            None => Ok(()),
        }
    }

    fn spread(&self, path: &str) -> Result<SpreadRule> {
        let foreign = [
            ("workload", self.workload.is_some()),
            ("dimension", self.dimension.is_some()),
        ];
        self.check_foreign(path, &foreign)?;
        let names = self.dimensions.iter().flat_map(|dimensions| &dimensions.0);
        let dimensions: Vec<String> = names.map(|name| name.0.clone()).collect();
        if dimensions.is_empty() {
            return bad_request(format!(
                "{path}.dimensions is required: at least one, such as 'fault' or 'host'."
            ));
        }
        let mut known = HashSet::new();
        if let Some(name) = dimensions.iter().find(|name| !known.insert(name.as_str())) {
            return bad_request(format!("{path}.dimensions: '{name}' occurs twice."));
        }
        Ok(SpreadRule {
            level: self.level(),
            mode: self.mode.map_or(Mode::Adaptive, |mode| mode.0),
            dimensions,
            strict: self.strict == Some(true),
        })
    }

    fn affinity(&self, path: &str, kind: AffinityKind) -> Result<AffinityRule> {
        let foreign = [
            ("dimensions", self.dimensions.is_some()),
            ("mode", self.mode.is_some()),
            ("strict", self.strict.is_some()),
        ];
        self.check_foreign(path, &foreign)?;
        let Some(workload) = &self.workload else {
            return bad_request(format!("{path}.workload is required: the uuid of the other workload."));
        };
        let dimension = self.dimension.as_ref().map_or(HOST, |name| name.0.as_str());
        Ok(AffinityRule {
            level: self.level(),
            kind,
            workload: workload.0.clone(),
            dimension: dimension.to_owned(),
        })
    }

    fn within(&self, path: &str) -> Result<WithinRule> {
        let foreign = [
            ("dimensions", self.dimensions.is_some()),
            ("mode", self.mode.is_some()),
            ("strict", self.strict.is_some()),
            ("workload", self.workload.is_some()),
        ];
        self.check_foreign(path, &foreign)?;
        let Some(dimension) = &self.dimension else {
            return bad_request(format!("{path}.dimension is required, such as 'fault' or 'host'."));
        };
        Ok(WithinRule {
            level: self.level(),
            dimension: dimension.0.clone(),
        })
    }
}
