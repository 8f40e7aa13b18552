//! Large commands: the number of rows that the writer assumes, and the writer's statements.

use super::process::Process;
use super::*;
use crate::db::writer::BatchCommand;
use crate::model::aggregates;
use crate::model::batch::command::{Command, Write};
use crate::model::providers::{Describe, DescribeAll};
use crate::search::{Description, PropertyValue};

/// A job with more rows is large.
const MAX_SMALL_ROWS: usize = 256;

fn replaced_aggregates(numbers: std::ops::Range<u32>) -> Command {
    let replace = aggregates::Replace {
        provider: uuid(1),
        aggregates: numbers.map(uuid).collect(),
        generation: None,
    };
    replace.into_command()
}

/// SQLite has no round trips, and inserts row by row.
#[actix_web::test]
async fn hostile_12_thousands_of_aggregates_are_inserted_by_as_many_statements_as_one() {
    let mut f = fixture();
    if Kind::of(&f.conn) == Kind::Sqlite {
        return;
    }
    f.host(1, 1).await.unwrap();
    let statements_of = |command: Command| {
        let mut process = Process::start(&f.database, true);
        let before = f.model.statements();
        let (answers, pending) = process.commit(&[&command], false).unwrap().expect("no conflict");
        let statements = f.model.statements() - before;
        process.publish(pending);
        assert!(answers.iter().all(Result::is_ok));
        statements
    };
    let of_one = statements_of(replaced_aggregates(1000..1001));
    let of_thousands = statements_of(replaced_aggregates(1000..7000));
    assert!(of_thousands <= of_one, "{of_one} and {of_thousands}");
}

fn descriptions(providers: u32, properties: usize) -> Command {
    let property = |at| (format!("Property{at}").into(), Some(PropertyValue::Integer(1)));
    let describe = |provider| Describe {
        provider: uuid(provider),
        name: None,
        generation: None,
        description: Description {
            properties: (0..properties).map(property).collect(),
            ..Description::default()
        },
    };
    let all = DescribeAll {
        providers: (0..providers).map(describe).collect(),
        is_list: true,
        is_forced: false,
    };
    all.into_command()
}

#[test]
fn hostile_12_the_size_of_descriptions_counts_their_properties() {
    assert!(descriptions(1, 64).rows() <= MAX_SMALL_ROWS);
    assert!(descriptions(100, 4).rows() <= MAX_SMALL_ROWS);
    assert!(descriptions(100, 64).rows() > MAX_SMALL_ROWS);
}
