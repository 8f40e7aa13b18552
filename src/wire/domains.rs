//! Parses the query of `GET /v1/domains`, serializes the answer, and describes the noun.

mod declared;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::declared::{DeclaredAnswer, DeleteDomainParameters, DomainBody, SetDomainParameters};
pub use self::declared::{read_delete, read_domain, read_patch, read_set, write_declared};
use super::native::{NoParameters, Noun, NounOperation, PageLimit, Patch, Text, read_query};
use super::native_keys::{WHERE, check_ampersands, condition};
use super::output::{Pairs, json};
use super::text_form::{check, check_condition};
use crate::error::Result;
use crate::model::domains::{Amounts, DomainReport, HostElsewhere, Page};
use crate::search::{Expression, HostConditions};

/// The description of the noun.
pub static NOUN: Noun = Noun {
    name: "domains",
    about: "What fails together, or is taken down together: the domains of a dimension with sums over their hosts.",
    fields: &[
        ("dimension", "The dimension, such as `fault`."),
        ("path", "The path of the domain, such as `az1/r0`. It may have slashes."),
    ],
    operations: &[
        NounOperation::new::<ListParameters>(
            "GET /v1/domains",
            "List the domains of a dimension",
            "By path, each after the one in which it lies, at most `limit` (1000 by default) after the path `after`; a \
            page ends earlier with the domain that brings it to 4 MiB. `next` is the `after` of the next page, or \
            null. A host is a root provider that shares nothing; it counts in its domain and in all domains in \
            which that lies. \
            `eligible_hosts` are up. `capacity` and `usage` are sums over all hosts with the providers below them, at \
            most 9223372036854775807: a great allocation ratio makes a class unbounded. `heavy`: more hosts than the \
            smallest sibling with an eligible host. `loss` says what remains without the domain. `share` is 100/k \
            percent for k siblings with an eligible host, `share_of_others` is 100/(k-1). `free_elsewhere` is what \
            eligible hosts outside of the domain have free, and `missing` what is used in the domain beyond that: \
            sums, so even without `missing` a single consumer may not fit. Sharing providers are no hosts. With `type` \
            or `where` only these hosts count, in each number. `aggregate` is the aggregate whose members are in the \
            domain. `counted_elsewhere` has at most 15 of the members that count in a domain outside: because their \
            description names a domain of the dimension, or because of a further aggregate.",
        )
        .answer::<DomainList>()
        .refusals(&["BadRequest", "DuplicateQueryKey", "InvalidExpression"]),
        NounOperation::new::<NoParameters>(
            "GET /v1/domains/{dimension}/{path}",
            "Show the aggregate of a domain",
            "A domain without an aggregate is 404, also if descriptions of hosts name the domain.",
        )
        .answer::<DeclaredAnswer>()
        .refusals(&["BadRequest", "DuplicateQueryKey", "NotFound"]),
        NounOperation::new::<SetDomainParameters>(
            "PUT /v1/domains/{dimension}/{path}",
            "Make the members of an aggregate a domain",
            "A provider in the aggregate is in the domain, with the providers below, unless its description or that of \
            a provider above names a domain of the dimension. If several aggregates of a host are domains of the \
            dimension, a domain inside another counts, and of the rest the first path by its text. The members change \
            with `PUT /resource_providers/{uuid}/aggregates`. Replicas that then break a rule of their workload are \
            listed by `GET /v1/violations`. `generation` is the one that was read, and null for a domain without an \
            aggregate. With `dry_run=true` nothing is written.",
        )
        .body::<DomainBody>()
        .answer::<DeclaredAnswer>()
        .refusals(&["BadRequest", "DuplicateQueryKey", "StaleGeneration"]),
        NounOperation::new::<SetDomainParameters>(
            "PATCH /v1/domains/{dimension}/{path}",
            "Change the aggregate of a domain",
            "A JSON merge patch (RFC 7396) of the answer to `GET`. The result is read as the body of `PUT`: checks, \
            `dry_run` and answer are the same. `generation` is required as in `PUT`. The body is `application/json` or \
            `application/merge-patch+json`.",
        )
        .body::<Patch<DomainBody>>()
        .answer::<DeclaredAnswer>()
        .refusals(&["BadRequest", "DuplicateQueryKey", "NotFound", "StaleGeneration"]),
        NounOperation::new::<DeleteDomainParameters>(
            "DELETE /v1/domains/{dimension}/{path}",
            "Take the aggregate from a domain",
            "The members of the aggregate leave the domain. With `generation` only that generation is deleted. With \
            `dry_run=true` nothing is written.",
        )
        .refusals(&["BadRequest", "DuplicateQueryKey", "NotFound", "StaleGeneration"]),
    ],
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    /// The dimension, such as `fault`.
    dimension: Text<1, 255>,
    /// Only hosts of this type count.
    #[serde(rename = "type")]
    kind: Option<Text<1, 255>>,
    /// Only hosts with these properties count: `HasSSD == true && SomeProperty >= 4`.
    #[serde(rename = "where", default)]
    condition: String,
    /// The most domains of the page.
    #[serde(default)]
    limit: PageLimit,
    /// The path of the domain after which the page begins.
    after: Option<Text<1, 1_024>>,
}

#[derive(Serialize, JsonSchema)]
struct DomainList<'a> {
    /// The dimension of the request.
    dimension: &'a str,
    /// The domains, each after the domain around.
    domains: Vec<DomainAnswer<'a>>,
    /// The `after` of the next page; `null` on the last page.
    next: Option<&'a str>,
}

/// A domain of the answer.
#[derive(Serialize, JsonSchema)]
struct DomainAnswer<'a> {
    /// The path of the domain.
    path: &'a str,
    /// The path of the domain in which this domain lies; `null` at the top.
    parent: Option<&'a str>,
    /// The uuid of the aggregate whose members are in the domain; `null` without an aggregate.
    aggregate: Option<&'a str>,
    /// At most 15 members of the aggregate in a domain outside of this domain.
    counted_elsewhere: Vec<HostElsewhereAnswer<'a>>,
    /// The hosts in the domain.
    hosts: usize,
    /// The hosts in the domain with the state `up`.
    eligible_hosts: usize,
    /// The capacity of all hosts in the domain, by resource class.
    capacity: Pairs<&'a str, i64>,
    /// The amounts in use on all hosts in the domain, by resource class.
    usage: Pairs<&'a str, i64>,
    /// Whether the domain has more hosts than the smallest sibling with an eligible host.
    heavy: bool,
    /// The effect of losing the domain.
    loss: LossAnswer<'a>,
}

/// A member of the aggregate of a domain.
#[derive(Serialize, JsonSchema)]
struct HostElsewhereAnswer<'a> {
    /// The uuid of the host.
    resource_provider: &'a str,
    /// The path of the domain in which the host counts.
    path: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct LossAnswer<'a> {
    /// The part of each sibling with an eligible host, in percent; `null` without such siblings.
    share: Option<f64>,
    /// The part of each remaining sibling in percent, once this domain is gone; `null` without siblings.
    share_of_others: Option<f64>,
    /// The free amounts of eligible hosts outside of the domain, by resource class.
    free_elsewhere: Pairs<&'a str, i64>,
    /// The amounts in use in the domain beyond the free amounts elsewhere, by resource class.
    missing: Pairs<&'a str, i64>,
}

/// Reads the query string of `GET /v1/domains`.
///
/// # Errors
/// The first wrong parameter, or the missing dimension.
pub fn read_list(query: &str) -> Result<Page> {
    check_ampersands(query)?;
    let parameters: ListParameters = read_query(query)?;
    check("dimension", &parameters.dimension.0)?;
    check_condition(WHERE, &parameters.condition)?;
    let mut condition = Arc::unwrap_or_clone(condition(WHERE, &parameters.condition)?);
    if let Some(Text(kind)) = parameters.kind {
        check("type", &kind)?;
        condition = condition.and(Expression::is_text("ProviderType", &kind));
    }
    Ok(Page {
        dimension: parameters.dimension.0,
        of_hosts: HostConditions {
            condition: Arc::new(condition),
            ..HostConditions::default()
        },
        limit: parameters.limit.get(),
        after: parameters.after.map(|path| path.0),
    })
}

/// A sum beyond 64 bits is written as the nearest number of 64 bits.
fn object(amounts: &Amounts) -> Pairs<&str, i64> {
    let written = |amount: i128| amount.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    amounts
        .iter()
        .map(|(class, amount)| (&**class, written(*amount)))
        .collect()
}

/// 100 percent in equal parts, rounded to hundredths; `None` without parts.
fn share(parts: usize) -> Option<f64> {
    (parts > 0).then(|| (10_000.0 / parts as f64).round() / 100.0)
}

fn elsewhere(host: &HostElsewhere) -> HostElsewhereAnswer<'_> {
    HostElsewhereAnswer {
        resource_provider: &host.host,
        path: &host.path,
    }
}

fn answer(domain: &DomainReport) -> DomainAnswer<'_> {
    DomainAnswer {
        path: &domain.path,
        parent: domain.parent.as_deref(),
        aggregate: domain.aggregate.as_deref(),
        counted_elsewhere: domain.counted_elsewhere.iter().map(elsewhere).collect(),
        hosts: domain.hosts,
        eligible_hosts: domain.eligible_hosts,
        capacity: object(&domain.capacity),
        usage: object(&domain.usage),
        heavy: domain.is_heavy,
        loss: LossAnswer {
            share: share(domain.loss.siblings),
            share_of_others: share(domain.loss.siblings.saturating_sub(1)),
            free_elsewhere: object(&domain.loss.free_elsewhere),
            missing: object(&domain.loss.missing),
        },
    }
}

/// Writes a page of the domains of a dimension, and the path after which the next page begins.
pub fn write_list(dimension: &str, domains: &[DomainReport], next: Option<&str>) -> Vec<u8> {
    json(&DomainList {
        dimension,
        domains: domains.iter().map(answer).collect(),
        next,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_equal_domains() {
        let both = |parts: usize| (share(parts), share(parts - 1));
        assert_eq!(both(5), (Some(20.0), Some(25.0)));
        assert_eq!(both(10), (Some(10.0), Some(11.11)));
        assert_eq!(both(3), (Some(33.33), Some(50.0)));
        assert_eq!(both(1), (Some(100.0), None));
    }

    /// Places A7: a domain of k carries 100/k percent, and 100/(k-1) while another is down.
    #[test]
    fn found_p20_a7_the_shares_of_5_10_and_20_domains() {
        let both = |parts: usize| (share(parts), share(parts - 1));
        assert_eq!(both(5), (Some(20.0), Some(25.0)));
        assert_eq!(both(10), (Some(10.0), Some(11.11)));
        assert_eq!(both(20), (Some(5.0), Some(5.26)));
    }

    #[test]
    fn a_sum_beyond_64_bits_is_the_greatest_number_that_they_hold() {
        let amounts = Amounts::from([("VCPU".into(), 3 << 62), ("DISK_GB".into(), 7)]);
        let written = serde_json::to_string(&object(&amounts)).unwrap();
        assert_eq!(written, r#"{"DISK_GB":7,"VCPU":9223372036854775807}"#);
    }

    #[test]
    fn a_type_and_a_condition_are_one_condition_on_hosts() {
        for (query, condition) in [
            ("", ""),
            ("&type=a%20b", "ProviderType == \"a b\""),
            ("&where=HasSSD==true", "HasSSD == true"),
            ("&where=a==1||b==2&type=t", "(a == 1 || b == 2) && ProviderType == t"),
        ] {
            let page = read_list(&format!("dimension=fault{query}")).unwrap();
            let expected: Expression = condition.parse().unwrap();
            assert_eq!(*page.of_hosts.condition, expected, "{query}");
        }
        for query in [
            "type=%20a",
            "type=",
            "where=a==%22%20a%22",
            "where=a==",
            "where=a==1&&b==2",
        ] {
            assert!(read_list(&format!("dimension=fault&{query}")).is_err(), "{query}");
        }
    }

    #[test]
    fn a_page_has_from_1_to_1000_domains() {
        for (limit, is_read) in [("1000", true), ("1001", false), ("0", false)] {
            assert_eq!(read_list(&format!("dimension=fault&limit={limit}")).is_ok(), is_read);
        }
    }
}
