//! Rows read while a second thread publishes rows.

use diesel::prelude::*;

use super::*;
use crate::db::tests::support::TestDatabase;

fn execute(conn: &mut DbConnection, sql: &str) {
    diesel::sql_query(sql).execute(conn).unwrap();
}

/// Found by a reader: a reload of everything removed a correction from a later read.
#[test]
fn a_reload_of_everything_keeps_what_was_corrected_while_it_read() {
    let (_kept, database) = TestDatabase::synced();
    let mut conn = database.connect().unwrap();
    execute(
        &mut conn,
        "INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id) VALUES (1, 'u', 'n', 0, 1)",
    );
    let store = SnapshotStore::load(&mut conn).unwrap();
    let reader = RowReader::begin(&store);
    let reload = dialect::read_transaction(&mut conn, |conn| reload::everything(conn, || Ok(()))).unwrap();
    execute(&mut conn, "UPDATE resource_providers SET generation = 7");
    store.reload_suspects(&mut conn, &[ProviderId(1)].into()).unwrap();
    assert!(reader.complete_and_publish(&mut conn, reload).unwrap());
    let newest = store.newest();
    assert_eq!(newest.generation(newest.by_uuid("u").unwrap()), 7);
}
