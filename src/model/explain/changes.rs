//! The words of single changes of a query, after which hosts have a candidate.

use super::words::{Words, joined, same_dimension, set, short};
use crate::search::{Condition, Domain, Edit, Group, MemberOf, Traits};

/// A change of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryChange {
    /// The changed parameters of the query.
    pub parameters: Vec<String>,
    /// The class of the changed amount, and the new amount.
    pub amount: Option<(String, i64)>,
    /// A sentence.
    pub detail: String,
}

impl Words<'_> {
    /// The change of the query for an edit of the request.
    pub fn change(&self, edit: Edit) -> QueryChange {
        match edit {
            Edit::Without(condition) => self.without(condition),
            Edit::WithoutGroup { group } => self.without_group(group),
            Edit::OverNormal => QueryChange {
                parameters: vec!["purpose".to_owned()],
                amount: None,
                detail: "With a purpose that may exceed normal limits, such as purpose=place.".to_owned(),
            },
            Edit::Amount { group, index, amount } => {
                let (class, requested) = &self.group(group).resources[index];
                QueryChange {
                    parameters: self.parameters(group, "resources"),
                    amount: Some((class.clone(), amount)),
                    detail: format!(
                        "{class}:{amount} instead of {class}:{requested}{}.",
                        self.of_group(group)
                    ),
                }
            }
        }
    }

    fn without_group(&self, at: usize) -> QueryChange {
        let Group {
            suffix,
            resources,
            traits,
            member_of,
            in_tree,
            condition,
        } = self.group(at);
        let rules = &self.conditions.request.same_subtrees;
        let parameters = [
            ("resources", !resources.is_empty()),
            ("required", *traits != Traits::default()),
            ("member_of", *member_of != MemberOf::default()),
            ("in_tree", in_tree.is_some()),
            ("where", !condition.is_empty()),
        ];
        let parameters = parameters.into_iter().filter(|(_, is_there)| *is_there);
        let parameters = parameters.map(|(name, _)| format!("{name}{suffix}"));
        let of_rules = rules
            .iter()
            .any(|rule| rule.contains(suffix))
            .then(|| "same_subtree".to_owned());
        let amounts: Vec<String> = resources
            .iter()
            .map(|(class, amount)| format!("{class}:{amount}"))
            .collect();
        QueryChange {
            parameters: parameters.chain(of_rules).collect(),
            amount: None,
            detail: format!(
                "Without the group {suffix}, resources{suffix}={}.",
                joined(amounts.iter(), ",")
            ),
        }
    }

    fn without(&self, condition: Condition) -> QueryChange {
        let request = self.conditions.request;
        let of_group = |group: usize, name: &str, value: String| {
            let keys = self.keys(group, name);
            (self.parameters(group, name), format!("Without {keys}={value}."))
        };
        let of_request = |name: &str, value: String| (vec![name.to_owned()], format!("Without {name}={value}."));
        let forbidden_traits = |traits: &Traits| {
            let names: Vec<String> = traits.forbidden.iter().map(|name| format!("!{name}")).collect();
            joined(names.iter(), ",")
        };
        let (parameters, detail) = match condition {
            Condition::Inventory { group, index } => {
                let class = &self.group(group).resources[index].0;
                (
                    self.parameters(group, "resources"),
                    format!("Without {class}{}.", self.of_group(group)),
                )
            }
            Condition::InTree { group } => {
                let uuid = self.group(group).in_tree.clone().unwrap_or_default();
                of_group(group, "in_tree", uuid)
            }
            Condition::InDomain { first } => {
                let name = "in_domain";
                of_request(name, domains(name, &request.host.in_domains, first))
            }
            Condition::NotInDomain { first } => {
                let name = "not_in_domain";
                of_request(name, domains(name, &request.host.not_in_domains, first))
            }
            Condition::MemberOf { group, index } => {
                of_group(group, "member_of", set(&self.group(group).member_of.any_of[index]))
            }
            Condition::NotMemberOf { group } => {
                let names = joined(self.group(group).member_of.forbidden.iter(), ",");
                of_group(group, "member_of", format!("!in:{names}"))
            }
            Condition::RootTrait { index } => of_request("root_required", set(&request.root_required.required[index])),
            Condition::NoRootTrait => of_request("root_required", forbidden_traits(&request.root_required)),
            Condition::Trait { group, index } => {
                of_group(group, "required", set(&self.group(group).traits.required[index]))
            }
            Condition::NoTrait { group } => of_group(group, "required", forbidden_traits(&self.group(group).traits)),
            Condition::Where { group: None } => of_request("where", short(&request.host.condition)),
            Condition::Where { group: Some(group) } => of_group(group, "where", short(&self.group(group).condition)),
            Condition::Isolation => (
                vec!["group_policy".to_owned()],
                "With group_policy=none instead of isolate.".to_owned(),
            ),
            Condition::SameSubtree { index } => of_request("same_subtree", request.same_subtrees[index].join(",")),
            // No change of a query removes these conditions.
            Condition::Requirement { .. } | Condition::State | Condition::Amount { .. } => (Vec::new(), String::new()),
        };
        QueryChange {
            parameters,
            amount: None,
            detail,
        }
    }

    /// The parameters with this name, for all groups with the same request.
    fn parameters(&self, group: usize, name: &str) -> Vec<String> {
        self.suffixes(group).map(|suffix| format!("{name}{suffix}")).collect()
    }
}

/// The domains of the dimension of the first, in the spelling of the query, behind the parameter of this name.
fn domains(parameter: &str, domains: &[Domain], first: usize) -> String {
    let domains = same_dimension(domains, first).into_iter();
    let names: Vec<String> = domains
        .map(|domain| format!("{}:{}", domain.dimension, domain.path))
        .collect();
    joined(names.iter(), &format!("&{parameter}="))
}
