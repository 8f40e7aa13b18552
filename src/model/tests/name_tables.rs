//! Which tables of names a command reads.

use super::*;
use crate::model::{resource_classes, traits};

/// Aggregates are never deleted, so a database may have many aggregates without a provider.
#[actix_web::test]
async fn a_new_trait_class_or_provider_reads_no_aggregates() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    // A statement that reads the table fails.
    f.execute("ALTER TABLE placement_aggregates RENAME TO hidden_aggregates");
    let (name, class) = ("CUSTOM_TRAIT".to_owned(), "CUSTOM_CLASS".to_owned());
    f.model.submit(traits::Ensure { name: name.clone() }).await.unwrap();
    f.model
        .submit(resource_classes::Ensure { name: class.clone() })
        .await
        .unwrap();
    f.host(2, 10).await.unwrap();
    let shown = f.model.snapshot().await.unwrap();
    assert!(shown.catalog().trait_id(&name).is_some() && shown.catalog().class_id(&class).is_some());
    f.model.submit(traits::Delete { name: name.clone() }).await.unwrap();
    f.model.submit(resource_classes::Delete { name: class }).await.unwrap();
    let shown = f.model.snapshot().await.unwrap();
    assert!(shown.catalog().trait_id(&name).is_none());
    f.execute("ALTER TABLE hidden_aggregates RENAME TO placement_aggregates");
    assert_shows_tables(&shown, &mut f.conn);
}
