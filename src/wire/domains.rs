//! `/v1/domains`.

use serde::Serialize;

use super::output::json;
use super::query::Query;
use super::schema::NativeSchema;
use crate::error::Result;
use crate::model::domains::{Amounts, DomainReport};

static LIST: NativeSchema = NativeSchema::of_query(include_str!("schemas/domains.json"), "list");

/// Reads the query string of `GET /v1/domains`: the dimension.
///
/// # Errors
/// `InvalidQuery` for other parameters, and if it is missing.
pub fn read_list(query: &str) -> Result<String> {
    let query = Query::read_native(&LIST, query)?;
    Ok(query.last("dimension").unwrap_or_default().to_owned())
}

#[derive(Serialize)]
struct List<'a> {
    dimension: &'a str,
    domains: Vec<One<'a>>,
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

/// Writes the domains of a dimension.
pub fn write_list(dimension: &str, domains: &[DomainReport]) -> Vec<u8> {
    json(&List {
        dimension,
        domains: domains.iter().map(one).collect(),
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
}
