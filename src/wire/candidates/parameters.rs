//! The parameters of `GET /v1/candidates`. A query in a body has the same parameters without the parameters of the
//! answer.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::values::{Aggregates, ClassAmounts, Suffixes, TraitNames};
use crate::search::{GroupPolicy, Purpose, Rank};
use crate::wire::allocation_candidates::MAX_GROUPS;
use crate::wire::native::{AnyDomain, Name, Named, Repeatable, SpelledUuid, Whole};

/// The parameters of the answer: its candidates, and its parts.
#[derive(Deserialize, JsonSchema)]
pub struct AnswerParameters {
    /// Which candidates come first: `fullest`, `emptiest`, `tightest` or `random`.
    pub rank: Option<Name<Rank>>,
    /// What the claim is for: all but `normal`, the default, and `balance` may go over the normal limits of classes.
    #[serde(default)]
    pub purpose: Name<Purpose>,
    /// `false` leaves `provider_summaries` out. The default is `true`.
    #[serde(default = "yes")]
    pub summaries: bool,
    /// The maximum number of candidates.
    pub limit: Option<Whole<1, { i64::MAX }>>,
}

fn yes() -> bool {
    true
}

/// The parameters of the whole request.
#[derive(Deserialize, JsonSchema)]
pub struct QueryParameters {
    /// `none`: one provider may serve several groups with suffixes. `isolate`: each group has a provider of its own.
    /// Required with two groups or more.
    pub group_policy: Option<Name<GroupPolicy>>,
    /// The required traits of the root of the tree, separated by commas. `!TRAIT` forbids a trait.
    #[serde(default)]
    pub root_required: TraitNames<false>,
    /// Suffixes of groups, separated by commas. Of the providers of these groups, one must be the ancestor of the rest.
    /// May be repeated.
    #[serde(default)]
    pub same_subtree: Repeatable<Suffixes, MAX_GROUPS>,
    /// A condition on the properties of the host, or with a suffix on the provider of the group: `HasSSD ==
    /// true && SomeProperty >= 4`.
    #[serde(rename = "where", default)]
    pub condition: String,
    /// A domain of the host, as `dimension:path`. The host is in the domain or below. May be repeated; the domains
    /// of a dimension are alternatives.
    #[serde(default)]
    pub in_domain: Repeatable<AnyDomain>,
    /// A domain without the host, as `dimension:path`. May be repeated.
    #[serde(default)]
    pub not_in_domain: Repeatable<AnyDomain>,
}

/// The parameters of a group. `LEAST` is the least amount of a class.
#[derive(Deserialize, JsonSchema)]
pub struct GroupParameters<const LEAST: i64> {
    /// The requested amounts as `CLASS:amount`, separated by commas: `VCPU:2,MEMORY_MB:512`.
    #[serde(default)]
    pub resources: ClassAmounts<LEAST>,
    /// The required traits, separated by commas. `!TRAIT` forbids a trait. `in:TRAIT,TRAIT` requires any of several.
    /// May be repeated.
    #[serde(default)]
    pub required: Repeatable<TraitNames<true>>,
    /// The uuid of an aggregate, or `in:UUID,UUID` for any of several. A leading `!` excludes their providers. May be
    /// repeated.
    #[serde(default)]
    pub member_of: Repeatable<Aggregates>,
    /// The uuid of any provider of a tree. Only this tree is searched.
    #[schemars(extend("format" = "uuid"))]
    pub in_tree: Option<SpelledUuid>,
    /// A condition on the properties of the provider of the group.
    #[serde(rename = "where", default)]
    pub condition: String,
}

impl Named for GroupPolicy {
    const NAMES: &'static [(&'static str, GroupPolicy)] =
        &[("none", GroupPolicy::None), ("isolate", GroupPolicy::Isolate)];
}

/// All parameters of an operation, for the description: the parameters of the query, and the operation's own `A`.
pub struct BesideQuery<A>(PhantomData<A>);

impl<A: JsonSchema> JsonSchema for BesideQuery<A> {
    fn schema_name() -> Cow<'static, str> {
        A::schema_name()
    }

    /// A parameter of a group may have a suffix.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut parameters = members::<A>(generator);
        parameters.append(&mut members::<QueryParameters>(generator));
        let groups = members::<GroupParameters<1>>(generator).into_iter();
        let groups = groups.map(|(name, schema)| {
            let is_optional = if parameters.contains_key(&name) { "" } else { "?" };
            (format!("^{name}([a-zA-Z0-9_-]{{1,64}}){is_optional}$"), schema)
        });
        let groups: Map<String, Value> = groups.collect();
        json_schema!({
            "type": "object",
            "properties": parameters,
            "patternProperties": groups,
            "additionalProperties": false,
        })
    }
}

/// The schemas of a struct's members.
fn members<T: JsonSchema>(generator: &mut SchemaGenerator) -> Map<String, Value> {
    let mut schema = T::json_schema(generator);
    match schema.remove("properties") {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    }
}
