//! Providers, inventories, traits, aggregates and classes: moves of generations, and refusals.

use super::*;
use crate::error::Error;
use crate::model::inventories::{Clear, Remove};
use crate::model::resource_providers::{Delete, NewParent, Update};
use crate::model::{aggregates, resource_classes, traits};

async fn provider(f: &Fixture, n: u32, parent: Option<u32>) {
    let create = Create {
        uuid: uuid(n),
        name: format!("p{n}"),
        parent: parent.map(uuid),
    };
    f.model.submit(create).await.unwrap();
}

fn place(n: u32, parent: Option<u32>, may_reparent: bool) -> Update {
    Update {
        uuid: uuid(n),
        name: format!("p{n}"),
        parent: NewParent::Set(parent.map(uuid)),
        may_reparent,
    }
}

#[actix_web::test]
async fn a_provider_without_a_name_is_refused() {
    let f = fixture();
    let create = Create {
        uuid: uuid(1),
        name: String::new(),
        parent: Some(uuid(9)),
    };
    let refused = f.model.submit(create).await.unwrap_err().to_string();
    assert!(
        refused.ends_with("Object action create failed because: name is required"),
        "{refused}"
    );
}

#[actix_web::test]
async fn a_provider_moves_without_loops_and_is_deleted_after_its_children() {
    let mut f = fixture();
    for (n, parent) in [(1, None), (2, Some(1)), (3, Some(2)), (4, None)] {
        provider(&f, n, parent).await;
    }
    let refused = f.model.submit(place(2, Some(4), false)).await.unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("re-parenting a provider is not currently allowed"),
        "{refused}"
    );
    let refused = f.model.submit(place(1, Some(3), true)).await.unwrap_err();
    assert!(refused.to_string().contains("creating loop"), "{refused}");
    let moved = f.model.submit(place(2, Some(4), true)).await.unwrap();
    assert_eq!(
        (moved.parent.as_deref(), moved.root.as_ref()),
        (Some(uuid(4).as_str()), uuid(4).as_str())
    );
    f.check_snapshot().await;
    let parent = f.model.submit(Delete { uuid: uuid(2) }).await.unwrap_err();
    assert_eq!(parent, Error::ProviderHasChildren { uuid: uuid(2) });
    let root = f.model.submit(place(2, None, true)).await.unwrap();
    assert_eq!(root.root.as_ref(), uuid(2).as_str());
    for n in [3, 2, 1] {
        f.model.submit(Delete { uuid: uuid(n) }).await.unwrap();
    }
    assert_eq!(f.generation(4), 0, "neither name nor parent moves a generation");
    f.check_snapshot().await;
}

#[actix_web::test]
async fn names_and_uuids_are_unique() {
    let f = fixture();
    provider(&f, 1, None).await;
    let same = f
        .model
        .submit(Create {
            uuid: uuid(2),
            name: "p1".into(),
            parent: None,
        })
        .await
        .unwrap_err();
    assert_eq!(
        same,
        Error::DuplicateProvider {
            duplicate: "name: p1".into()
        }
    );
    let same = f
        .model
        .submit(Create {
            uuid: uuid(1),
            name: "p2".into(),
            parent: None,
        })
        .await
        .unwrap_err();
    assert_eq!(
        same,
        Error::DuplicateProvider {
            duplicate: format!("uuid: {}", uuid(1))
        }
    );
}

#[actix_web::test]
async fn inventory_writes_always_move_the_generation() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    assert_eq!(f.generation(1), 1);
    let same = replacing(1, &[("VCPU", inventory(4))]);
    let answer = f.model.submit(same.clone()).await.unwrap();
    assert_eq!((answer.generation, f.generation(1)), (2, 2));
    assert_eq!(f.model.submit(same).await.unwrap_err(), Error::StaleInventoryGeneration);
    f.model.submit(claim(10, 1, "VCPU", 1, Expected::New)).await.unwrap();
    let used = f.model.submit(Clear { provider: uuid(1) }).await.unwrap_err();
    assert_eq!(
        used,
        Error::AllInventoriesInUse {
            classes: "VCPU".into(),
            provider: uuid(1)
        }
    );
    assert!(
        f.model
            .submit(Remove {
                provider: uuid(1),
                class: "VCPU".into()
            })
            .await
            .is_err()
    );
    f.model
        .submit(crate::model::allocations::Release { consumer: uuid(10) })
        .await
        .unwrap();
    f.model
        .submit(Remove {
            provider: uuid(1),
            class: "VCPU".into(),
        })
        .await
        .unwrap();
    assert_eq!(f.generation(1), 4);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn traits_move_the_generation_only_when_they_change() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    f.model
        .submit(traits::Ensure {
            name: "CUSTOM_A".into(),
        })
        .await
        .unwrap();
    let set = |generation, names: &[&str]| traits::Replace {
        provider: uuid(1),
        generation,
        traits: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    assert_eq!(
        f.model
            .submit(set(1, &["CUSTOM_A", "HW_CPU_X86_AVX"]))
            .await
            .unwrap()
            .generation,
        2
    );
    assert_eq!(
        f.model
            .submit(set(2, &["HW_CPU_X86_AVX", "CUSTOM_A"]))
            .await
            .unwrap()
            .generation,
        2
    );
    assert_eq!(
        f.model.submit(set(1, &[])).await.unwrap_err(),
        Error::StaleProviderGeneration
    );
    assert_eq!(
        f.model.submit(set(2, &["CUSTOM_B"])).await.unwrap_err(),
        Error::UnknownTraits {
            names: "CUSTOM_B".into()
        }
    );
    let used = f
        .model
        .submit(traits::Delete {
            name: "CUSTOM_A".into(),
        })
        .await
        .unwrap_err();
    assert_eq!(
        used,
        Error::TraitInUse {
            name: "CUSTOM_A".into()
        }
    );
    f.model.submit(traits::Clear { provider: uuid(1) }).await.unwrap();
    f.model
        .submit(traits::Delete {
            name: "CUSTOM_A".into(),
        })
        .await
        .unwrap();
    let standard = f
        .model
        .submit(traits::Delete {
            name: "HW_CPU_X86_AVX".into(),
        })
        .await
        .unwrap_err();
    assert_eq!(
        standard,
        Error::CannotDeleteStandardTrait {
            name: "HW_CPU_X86_AVX".into()
        }
    );
    f.check_snapshot().await;
}

#[actix_web::test]
async fn aggregates_move_the_generation_only_if_the_request_names_it() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    let set = |names: &[&str], generation| aggregates::Replace {
        provider: uuid(1),
        aggregates: names.iter().map(|name| (*name).to_owned()).collect(),
        generation,
    };
    assert_eq!(f.model.submit(set(&["A", "B"], None)).await.unwrap().generation, 1);
    assert_eq!(f.model.submit(set(&["B"], Some(1))).await.unwrap().generation, 2);
    assert_eq!(
        f.model.submit(set(&["B"], Some(1))).await.unwrap_err(),
        Error::StaleProviderGeneration
    );
    assert_eq!(
        f.model.submit(set(&["B"], Some(2))).await.unwrap().generation,
        3,
        "even unchanged"
    );
    f.check_snapshot().await;
}

#[actix_web::test]
async fn custom_classes_have_ids_from_10000_and_are_deleted_only_if_unused() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    f.model
        .submit(resource_classes::Create {
            name: "CUSTOM_A".into(),
        })
        .await
        .unwrap();
    assert_eq!(
        f.number("SELECT id AS n FROM resource_classes WHERE name = 'CUSTOM_A'"),
        10000
    );
    assert!(
        !f.model
            .submit(resource_classes::Ensure {
                name: "CUSTOM_A".into()
            })
            .await
            .unwrap()
            .created
    );
    assert!(
        f.model
            .submit(resource_classes::Ensure {
                name: "CUSTOM_B".into()
            })
            .await
            .unwrap()
            .created
    );
    let rename = |from: &str, to: &str| resource_classes::Rename {
        from: from.into(),
        to: to.into(),
    };
    assert_eq!(
        f.model.submit(rename("CUSTOM_A", "CUSTOM_B")).await.unwrap_err(),
        Error::ClassExistsForRename {
            name: "CUSTOM_B".into()
        }
    );
    f.model.submit(rename("CUSTOM_A", "CUSTOM_C")).await.unwrap();
    let add = adding(1, "CUSTOM_C", 2);
    f.model.submit(add).await.unwrap();
    let delete = |name: &str| resource_classes::Delete { name: name.into() };
    assert_eq!(
        f.model.submit(delete("CUSTOM_C")).await.unwrap_err(),
        Error::ClassInUse {
            name: "CUSTOM_C".into()
        }
    );
    assert_eq!(
        f.model.submit(delete("VCPU")).await.unwrap_err(),
        Error::CannotDeleteStandardClass { name: "VCPU".into() }
    );
    f.model.submit(delete("CUSTOM_B")).await.unwrap();
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_new_child_has_no_update_time_and_nor_has_one_whose_parent_moves_within_the_tree() {
    let mut f = fixture();
    let create = |n, parent: Option<u32>| Create {
        uuid: uuid(n),
        name: format!("host-{n}"),
        parent: parent.map(uuid),
    };
    for (n, parent) in [(1, None), (2, Some(1)), (3, Some(1)), (4, Some(3))] {
        f.model.submit(create(n, parent)).await.unwrap();
    }
    let changed = "SELECT name AS t FROM resource_providers WHERE updated_at IS NOT NULL ORDER BY id";
    assert_eq!(f.texts(changed), ["host-1"]);
    let update = Update {
        uuid: uuid(3),
        name: "host-3".into(),
        parent: NewParent::Set(Some(uuid(2))),
        may_reparent: true,
    };
    f.model.submit(update).await.unwrap();
    assert_eq!(f.texts(changed), ["host-1", "host-3"]);
    f.check_snapshot().await;
}
