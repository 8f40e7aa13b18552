//! Parses the query of `GET /v1/domains`, serializes the answer, and describes the noun.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::native::{Noun, NounOperation, PageLimit, Text, read_query};
use super::output::{Pairs, json};
use super::text_form::check;
use crate::error::Result;
use crate::model::domains::{Amounts, DomainReport, Page};

/// The description of the noun.
pub static NOUN: Noun = Noun {
    name: "domains",
    about: "What fails together, or is taken down together: the domains of a dimension with sums over their hosts.",
    fields: &[],
    operations: &[NounOperation::new::<ListParameters>(
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
            sums, so even without `missing` a single consumer may not fit. Sharing providers count as hosts, if they \
            are described.",
    )
    .answer::<DomainList>()],
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    /// The dimension, such as `fault`.
    dimension: Text<1, 255>,
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
    let parameters: ListParameters = read_query(query)?;
    check("dimension", &parameters.dimension.0)?;
    Ok(Page {
        dimension: parameters.dimension.0,
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

fn answer(domain: &DomainReport) -> DomainAnswer<'_> {
    DomainAnswer {
        path: &domain.path,
        parent: domain.parent.as_deref(),
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
    fn a_page_has_from_1_to_1000_domains() {
        for (limit, is_read) in [("1000", true), ("1001", false), ("0", false)] {
            assert_eq!(read_list(&format!("dimension=fault&limit={limit}")).is_ok(), is_read);
        }
    }
}
