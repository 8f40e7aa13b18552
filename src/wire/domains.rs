//! `/v1/domains`.

use serde::Serialize;

use super::output::{append, append_page};
use super::query::Query;
use super::schema::NativeSchema;
use crate::error::Result;
use crate::model::domains::{Amounts, DomainReport, Page};

static LIST: NativeSchema = NativeSchema::of_query(include_str!("schemas/domains.json"), "list");

/// The most domains of a page.
const MAX_DOMAINS: usize = 1_000;

/// Reads the query string of `GET /v1/domains`.
///
/// # Errors
/// `InvalidQuery` for other parameters, and without a dimension.
pub fn read_list(query: &str) -> Result<Page> {
    let query = Query::read_native(&LIST, query)?;
    Ok(Page {
        dimension: query.last("dimension").unwrap_or_default().to_owned(),
        limit: query.page_limit(MAX_DOMAINS, "domains")?,
        after: query.last("after").map(str::to_owned),
    })
}

#[derive(Serialize)]
struct One<'a> {
    path: &'a str,
    parent: Option<&'a str>,
    hosts: usize,
    eligible_hosts: usize,
    capacity: Object<'a>,
    usage: Object<'a>,
    heavy: bool,
    loss: Loss<'a>,
}

#[derive(Serialize)]
struct Loss<'a> {
    share: Option<f64>,
    share_of_others: Option<f64>,
    free_elsewhere: Object<'a>,
    missing: Object<'a>,
}

type Object<'a> = std::collections::BTreeMap<&'a str, i64>;

/// A sum that 64 bits cannot hold is written as the nearest number that they can.
fn object(amounts: &Amounts) -> Object<'_> {
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

fn one(domain: &DomainReport) -> One<'_> {
    let DomainReport {
        path,
        parent,
        hosts,
        eligible_hosts,
        capacity,
        usage,
        is_heavy,
        loss,
    } = domain;
    One {
        path,
        parent: parent.as_deref(),
        hosts: *hosts,
        eligible_hosts: *eligible_hosts,
        capacity: object(capacity),
        usage: object(usage),
        heavy: *is_heavy,
        loss: Loss {
            share: share(loss.siblings),
            share_of_others: share(loss.siblings.saturating_sub(1)),
            free_elsewhere: object(&loss.free_elsewhere),
            missing: object(&loss.missing),
        },
    }
}

/// Writes a page of the domains of a dimension, and the path after which the next page begins.
pub fn write_list(dimension: &str, domains: &[DomainReport], next: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    append(&mut out, "{\"dimension\":", dimension);
    let page = append_page(&mut out, ",\"domains\":", domains, one);
    let last = page.last().filter(|_| page.len() < domains.len());
    append(
        &mut out,
        ",\"next\":",
        &last.map(|domain| domain.path.as_str()).or(next),
    );
    out.push(b'}');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::pages::PAGE_BYTES;

    #[test]
    fn shares_are_those_of_equal_domains() {
        let both = |parts: usize| (share(parts), share(parts - 1));
        assert_eq!(both(5), (Some(20.0), Some(25.0)));
        assert_eq!(both(10), (Some(10.0), Some(11.11)));
        assert_eq!(both(3), (Some(33.33), Some(50.0)));
        assert_eq!(both(1), (Some(100.0), None));
    }

    #[test]
    fn a_sum_beyond_64_bits_is_the_greatest_number_that_they_hold() {
        let amounts = Amounts::from([("VCPU".into(), 3 << 62), ("DISK_GB".into(), 7)]);
        let written: Vec<(&str, i64)> = object(&amounts).into_iter().collect();
        assert_eq!(written, [("DISK_GB", 7), ("VCPU", i64::MAX)]);
    }

    #[test]
    fn a_page_that_is_too_long_ends_early_and_the_next_one_begins_there() {
        let domain = |n: usize| DomainReport {
            path: format!("/{n}{}", "r".repeat(PAGE_BYTES / 2)),
            ..DomainReport::default()
        };
        let all: Vec<DomainReport> = (0..3).map(domain).collect();
        for (domains, next, written, after) in [
            (&all[..], Some("x"), 2, Some("/1")),
            (&all[..1], Some("x"), 1, Some("x")),
        ] {
            let text = write_list("fault", domains, next);
            let read: serde_json::Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(read["domains"].as_array().unwrap().len(), written);
            assert_eq!(read["next"].as_str().map(|next| &next[..next.len().min(2)]), after);
        }
    }

    #[test]
    fn a_page_has_from_1_to_1000_domains() {
        for (limit, is_read) in [("1000", true), ("1001", false), ("0", false)] {
            assert_eq!(read_list(&format!("dimension=fault&limit={limit}")).is_ok(), is_read);
        }
    }
}
