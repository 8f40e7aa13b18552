//! Parses the requests to `/v1/workloads`, and describes the noun. Refuses contradictory members of a body.

mod answer;
mod body;
mod rules;
mod spec;
mod texts;

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Deserialize;

use self::answer::write_spec;
pub use self::answer::{ViolationAnswer, write_list, write_one};
use self::answer::{WorkloadAnswer, WorkloadList};
use self::body::{AdoptBody, Ids, PutBody, StoredSpec};
pub use self::spec::read_stored;
use self::texts::check_spec;
use super::bad_request;
use super::defaults::{Defaults, consumer_type};
use super::native::{
    Bounded, Name, Named, NoParameters, Noun, NounOperation, Null, PageLimit, Patch, Patched, ShownMember, Text, Uuid,
    read_body, read_merge_patch, read_query,
};
use super::text_form::check;
use super::uuid;
use crate::error::{Error, Result};
use crate::model::workloads::{Adopted, Delete, Level, Page, Put, Spec, SpecRule, WorkloadRow};

/// The most dimensions in the rules of a workload.
const MAX_DIMENSIONS: usize = 16;

/// The description of the noun.
pub static NOUN: Noun = Noun {
    name: "workloads",
    about: "A workload is a number of replicas with rules about where they stand to each other. Each replica is a \
        consumer with allocations, which OpenStack's routes show too.",
    fields: &[(
        "workload_uuid",
        "The workload's uuid. The caller of the first `PUT` chooses the uuid.",
    )],
    operations: &[
        NounOperation::new::<ListParameters>(
            "GET /v1/workloads",
            "List workloads",
            "What the workloads want, ordered by uuid, at most `limit` (1000 by default) after the uuid `after`; a \
                page ends earlier with the workload that brings it to 4 MiB, or after 2 seconds of judging whether \
                workloads are safe. `next` is the `after` of the next page, or null. Without `project_id`, callers \
                who may not see all projects see their own. `placed`, `pending`, `safe` and `quorum_lost` are those \
                of the answer about one workload, which alone has the replicas. The last two are also null if the \
                workload cannot be judged.",
        )
        .answer::<WorkloadList>()
        .refusals(&["BadRequest", "DuplicateQueryKey", "Forbidden", "Busy"]),
        NounOperation::new::<NoParameters>(
            "GET /v1/workloads/{workload_uuid}",
            "Show a workload",
            "Its replicas with their hosts and allocations, the modes that its rules have now, and what breaks them. \
                All of it is worked out from the tables when it is asked for.",
        )
        .answer::<WorkloadAnswer>()
        .refusals(&["BadRequest", "DuplicateQueryKey", "NotFound", "Forbidden"]),
        NounOperation::new::<WriteParameters>(
            "PUT /v1/workloads/{workload_uuid}",
            "Create or change a workload",
            "Replaces what the workload wants, and places its missing replicas so that its rules hold: exactly, in \
                one transaction. `generation` is the one that was read, and null for a new workload. Replicas that \
                stand are not moved: what breaks a rule then is a violation. With `replace=lost` replicas on lost \
                hosts give up their places and are placed again, in the same transaction: on hosts with the state \
                `lost`, and on hosts whose lease has been over for `lost_after` seconds. If a role wants fewer, replicas without \
                a place go first, then those on lost hosts, those that break a rule, those without which the rest is \
                spread best, and those with the highest ids. A workload has at most 1,000 replicas, 1,000 roles and \
                64 rules, which name at most 16 dimensions. `name`, `project_id`, ids, names of roles, and texts in \
                queries neither begin nor end with white space, have no control or invisible character, and are in \
                normalization form C of Unicode. `type` and `user_id` are those of replicas that get a place from then \
                on. If nothing changes the generation stays. A number of a `payload` that 64 bits cannot hold is \
                refused. `ids` names all replicas; without it they are numbered, and the lowest free numbers are \
                taken. `adopt` takes consumers in that have allocations; they keep them when they leave. Without an \
                `id` a consumer gets the id whose replica it would be, else the lowest free one. `swap` lets pairs of \
                replicas exchange their roles on their hosts. With `atomic` (the default) all missing replicas are \
                placed or nothing is changed; else those that fit are placed, and the others are pending until a \
                later request finds room. Replicas are placed within the normal limits of classes first, and beyond \
                them if need be; an atomic request is refused before, if the normal room of all hosts together is \
                short. With `dry_run=true` nothing is written. A refusal says how many hosts each condition removed; \
                `exact` false says that the search was given up, so that it is not proven.",
        )
        .body::<PutBody>()
        .answer::<WorkloadAnswer>()
        .refusals(PUT_REFUSALS),
        NounOperation::new::<WriteParameters>(
            "PATCH /v1/workloads/{workload_uuid}",
            "Change members of a workload",
            "A JSON merge patch (RFC 7396) of the answer to `GET`. The result is read as the body of `PUT`: checks, \
                placing, `dry_run` and answer are the same. `generation` is required as in `PUT`. A list such as \
                `roles` is replaced as a whole, and `rules` with `null` are the default rule. The body is \
                `application/json` or `application/merge-patch+json`.",
        )
        .body::<Patch<PutBody>>()
        .answer::<WorkloadAnswer>()
        .refusals(PUT_REFUSALS)
        .own_refusal("NotFound"),
        NounOperation::new::<DeleteParameters>(
            "DELETE /v1/workloads/{workload_uuid}",
            "Delete a workload",
            "Its replicas are released in the same transaction. Adopted consumers keep their allocations. With \
                `generation` it is deleted only if it has this one. A workload that rules of others name is refused, \
                and the reasons name them; `force=true` deletes it all the same, and then these rules are as if they \
                named an empty workload. With `dry_run=true` nothing is written.",
        )
        .refusals(&[
            "BadRequest",
            "DuplicateQueryKey",
            "NotFound",
            "Forbidden",
            "StaleGeneration",
            "WorkloadInUse",
            "Busy",
        ]),
    ],
};

const PUT_REFUSALS: &[&str] = &[
    "BadRequest",
    "InMember",
    "InvalidExpression",
    "BadQueryValue",
    "DuplicateQueryKey",
    "MissingQueryValue",
    "Forbidden",
    "StaleGeneration",
    "DuplicateWorkload",
    "ConsumerTaken",
    "ClaimRefused",
    "NoPlace",
    "NoCapacity",
    "Busy",
];

impl Patched for PutBody {
    const MERGED: &'static [ShownMember] = &[
        ("name", Null::Removes),
        ("project_id", Null::Removes),
        ("user_id", Null::Removes),
        ("type", Null::Removes),
        ("quorum", Null::Removes),
        ("min", Null::Removes),
        ("lost_after", Null::Removes),
        ("roles", Null::Removes),
        ("rules", Null::IsValue),
    ];
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    /// The whole name of a workload.
    name: Option<String>,
    /// Only workloads of this project.
    project_id: Option<String>,
    /// The most workloads of the page.
    #[serde(default)]
    limit: PageLimit,
    /// The uuid of the workload after which the page begins.
    after: Option<Uuid>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteParameters {
    /// `true`: nothing is written. The answer is the workload as foreseen.
    #[serde(default)]
    dry_run: bool,
    /// `lost`: replicas on lost hosts give up their places, and are placed again in the same transaction.
    replace: Option<Name<Replace>>,
}

/// Which replicas give up their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replace {
    Lost,
}

impl Named for Replace {
    const NAMES: &'static [(&'static str, Replace)] = &[("lost", Replace::Lost)];
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeleteParameters {
    /// The generation that the client has read. If the workload has a newer generation, the request is refused with
    /// 409.
    generation: Option<i64>,
    /// `true`: the workload is deleted although rules of other workloads name the workload.
    #[serde(default)]
    force: bool,
    /// `true`: nothing is written.
    #[serde(default)]
    dry_run: bool,
}

/// Reads a uuid of the path.
///
/// # Errors
/// [`Error::NotFound`] for any text but a uuid.
pub fn read_uuid(text: &str) -> Result<String> {
    uuid::canonical(text).ok_or_else(|| Error::NotFound {
        noun: format!("workload {text}"),
    })
}

/// Reads the query string of `GET /v1/workloads`.
///
/// # Errors
/// The first wrong parameter.
pub fn read_list(query: &str) -> Result<Page> {
    let parameters: ListParameters = read_query(query)?;
    check("name", parameters.name.as_deref().unwrap_or_default())?;
    Ok(Page {
        project: parameters.project_id,
        name: parameters.name,
        uuids: None,
        after: parameters.after.map(|uuid| uuid.0),
        limit: parameters.limit.get(),
    })
}

/// Reads the query string of `DELETE /v1/workloads/{uuid}`: the generation known to the caller, and how to delete.
///
/// # Errors
/// The first wrong parameter.
pub fn read_delete(query: &str) -> Result<(Option<i64>, Delete)> {
    let parameters: DeleteParameters = read_query(query)?;
    let how = Delete {
        is_forced: parameters.force,
        is_dry_run: parameters.dry_run,
    };
    Ok((parameters.generation, how))
}

/// Reads `PUT /v1/workloads/{uuid}`.
///
/// # Errors
/// The first wrong member, by path.
pub fn read_put(path: &str, query: &str, raw_body: &[u8], defaults: &Defaults) -> Result<Put> {
    let parameters: WriteParameters = read_query(query)?;
    let Some(uuid) = uuid::canonical(path) else {
        return bad_request(format!("'{path}' in the URL is no uuid."));
    };
    put(uuid, read_body(raw_body)?, &parameters, (None, defaults))
}

/// Reads `PATCH /v1/workloads/{uuid}` as the `PUT` that the patch of the shown workload stands for.
///
/// # Errors
/// As of [`read_put`].
pub fn read_patch(shown: &WorkloadRow, query: &str, patch: &[u8], defaults: &Defaults) -> Result<Put> {
    let parameters: WriteParameters = read_query(query)?;
    let Patch(body) = read_merge_patch(&write_spec(shown)?, patch)?;
    put(shown.uuid.clone(), body, &parameters, (Some(shown), defaults))
}

/// `before` is the workload that a patch changes. Texts that it has are not checked again.
fn put(
    uuid: String,
    body: PutBody,
    parameters: &WriteParameters,
    (before, defaults): (Option<&WorkloadRow>, &Defaults),
) -> Result<Put> {
    if let Some(Uuid(given)) = body.uuid.as_ref().filter(|given| given.0 != uuid) {
        return bad_request(format!("uuid: {given} differs from the uuid of the path."));
    }
    let owner = defaults.owner("", body.project_id, body.user_id)?;
    let name = body.name.0;
    if before.is_none_or(|before| before.name != name) {
        check("name", &name)?;
    }
    if before.is_none_or(|before| before.project != owner.project) {
        check("project_id", &owner.project)?;
    }
    let stored = StoredSpec {
        consumer_type: consumer_type(body.consumer_type),
        quorum: body.quorum,
        min: body.min,
        lost_after: body.lost_after,
        roles: body.roles.0,
        rules: body.rules.map(|rules| rules.0),
    };
    let stored = stored.with_rank(defaults.rank);
    let spec = spec::spec_of(&stored)?;
    check_rules(&uuid, &spec)?;
    let before = before.and_then(|before| read_stored(&before.body).ok());
    check_spec(&stored, &spec, before.as_ref())?;
    Ok(Put {
        name,
        owner,
        sees_others: defaults.may_change_others,
        generation: body.generation.0,
        body: stored.text(),
        ids: body.ids.map(|ids| read_ids(ids, spec.count())).transpose()?,
        adopted: adopted(body.adopt)?,
        swaps: swaps(body.swap)?,
        replaces_lost: parameters.replace.is_some(),
        is_atomic: body.atomic,
        is_retry: false,
        is_dry_run: parameters.dry_run,
        uuid,
        spec,
    })
}

/// Checks the rules of a workload together.
fn check_rules(uuid: &str, spec: &Spec) -> Result<()> {
    if spec.neighbours().iter().any(|neighbour| neighbour == uuid) {
        return bad_request("rules: a workload cannot be near to itself; that is what 'spread' is for.");
    }
    let is_contradiction = |rule: &SpecRule| match rule {
        SpecRule::Spread(spread) => spread.strict && spread.level != Level::Hard,
        SpecRule::Affinity(_) | SpecRule::Within(_) => false,
    };
    if let Some(at) = spec.rules.iter().flatten().position(is_contradiction) {
        return bad_request(format!(
            "rules[{at}].strict: only a rule of level 'hard' refuses what is not safe."
        ));
    }
    let within = |(_, rule): &(usize, &SpecRule)| matches!(rule, SpecRule::Within(_));
    if let Some((at, _)) = spec.rules.iter().flatten().enumerate().filter(within).nth(1) {
        return bad_request(format!(
            "rules[{at}].rule: a second rule 'within'. A workload has at most one; name the smallest domain."
        ));
    }
    let dimensions = spec.dimensions().len();
    if dimensions > MAX_DIMENSIONS {
        return bad_request(format!(
            "rules: they name {dimensions} dimensions; the rules of a workload name at most {MAX_DIMENSIONS}."
        ));
    }
    Ok(())
}

fn read_ids(given: Ids, count: u32) -> Result<Vec<String>> {
    let ids: Vec<String> = given.0.into_iter().map(|id| id.0).collect();
    if ids.len() != count as usize {
        return bad_request(format!(
            "ids: there are {}, but the roles have {count} replicas.",
            ids.len()
        ));
    }
    for (at, id) in ids.iter().enumerate() {
        check(&format!("ids[{at}]"), id)?;
    }
    let mut known = HashSet::new();
    match ids.iter().find(|id| !known.insert(id.as_str())) {
        Some(id) => bad_request(format!("ids: '{id}' occurs twice.")),
        None => Ok(ids),
    }
}

fn adopted(bodies: Vec<AdoptBody>) -> Result<Vec<Adopted>> {
    let mut known = HashSet::new();
    let adopted = bodies.into_iter().enumerate().map(|(at, body)| {
        let consumer = body.consumer.0;
        if !known.insert(consumer.clone()) {
            return bad_request(format!("adopt[{at}].consumer: {consumer} occurs twice."));
        }
        let id = body.id.map(|id| id.0);
        check(&format!("adopt[{at}].id"), id.as_deref().unwrap_or_default())?;
        Ok(Adopted {
            consumer,
            id,
            role: body.role.map(|role| role.0),
        })
    });
    adopted.collect()
}

fn swaps(pairs: Vec<Bounded<Text<1, 64>, 2, 2>>) -> Result<Vec<[String; 2]>> {
    let mut known = HashSet::new();
    let swaps = pairs.into_iter().enumerate().map(|(at, pair)| {
        let mut ids = pair.0.into_iter().map(|id| id.0);
        let pair: [String; 2] = std::array::from_fn(|_| ids.next().unwrap_or_default());
        if !pair.iter().all(|id| known.insert(id.clone())) {
            return bad_request(format!("swap[{at}]: a replica is exchanged once."));
        }
        Ok(pair)
    });
    swaps.collect()
}

#[cfg(test)]
mod tests;
