//! `/v1/domains`.

use serde::Serialize;

use super::output::json;
use super::query::Query;
use super::schema::NativeSchema;
use crate::error::Result;
use crate::model::domains::{Amounts, DomainReport};

static LIST: NativeSchema = NativeSchema::of_query(include_str!("schemas/domains.json"), "list");

/// The most domains of a page.
const MAX_DOMAINS: usize = 1_000;

/// A page of the domains of a dimension.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    pub dimension: String,
    pub limit: usize,
    /// A path.
    pub after: Option<String>,
}

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
struct List<'a> {
    dimension: &'a str,
    domains: Vec<One<'a>>,
    next: Option<&'a str>,
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

/// Writes a page of the domains of a dimension, of which `domains` are all, by path.
pub fn write_list(page: &Page, domains: &[DomainReport]) -> Vec<u8> {
    let after = page.after.as_deref();
    let mut rest = domains
        .iter()
        .filter(|domain| after.is_none_or(|after| domain.path.as_str() > after));
    let shown: Vec<&DomainReport> = rest.by_ref().take(page.limit).collect();
    let last = shown.last().filter(|_| rest.next().is_some());
    json(&List {
        dimension: &page.dimension,
        next: last.map(|domain| domain.path.as_str()),
        domains: shown.into_iter().map(one).collect(),
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

    #[test]
    fn a_sum_beyond_64_bits_is_the_greatest_number_that_they_hold() {
        let amounts = Amounts::from([("VCPU".into(), 3 << 62), ("DISK_GB".into(), 7)]);
        let written: Vec<(&str, i64)> = object(&amounts).into_iter().collect();
        assert_eq!(written, [("DISK_GB", 7), ("VCPU", i64::MAX)]);
    }

    #[test]
    fn a_page_ends_before_the_domain_after_which_the_next_one_begins() {
        let domain = |path: &str| DomainReport {
            path: path.to_owned(),
            ..DomainReport::default()
        };
        let all = ["/a", "/a/r0", "/b"].map(domain);
        let page = |query: &str| {
            let page = read_list(&format!("dimension=fault&{query}")).unwrap();
            let text = String::from_utf8(write_list(&page, &all)).unwrap();
            let end = text.rsplit_once(r#""next":"#).unwrap().1.to_owned();
            (text.matches(r#""path""#).count(), end)
        };
        assert_eq!(page(""), (3, "null}".to_owned()));
        assert_eq!(page("limit=2"), (2, r#""/a/r0"}"#.to_owned()));
        assert_eq!(page("limit=2&after=/a/r0"), (1, "null}".to_owned()));
        assert!(read_list("dimension=fault&limit=1001").is_err() && read_list("dimension=fault&limit=0").is_err());
    }
}
