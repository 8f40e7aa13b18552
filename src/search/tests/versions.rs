//! Versions of a snapshot, each made from the version before.

use super::*;
use crate::search::Description;
use crate::search::snapshot::{Block, Delta, IDLE_VERSIONS, SnapshotChange};

fn cloud(size: i32) -> Snapshot {
    build_colliding((1..=size).map(|id| bare(id).with(VCPU, 4)).collect())
}

fn delta(id: i32, used: i64, modified: i64) -> Delta {
    Delta {
        provider: ProviderId(id),
        moves: 1,
        generation: 0,
        modified: Some(modified),
        used: vec![(VCPU, used), (DISK, -used)],
    }
}

#[test]
fn deltas_are_added_in_any_order_and_the_latest_time_wins() {
    let before = cloud(3);
    let after = before.apply(&SnapshotChange {
        deltas: vec![delta(2, 3, 20), delta(2, -1, 10)],
        ..SnapshotChange::default()
    });
    let slot = after.by_id(ProviderId(2)).unwrap();
    assert_eq!((after.generation(slot), after.modified(slot)), (2, 20));
    assert_eq!(after.sums(slot).collect::<Vec<_>>(), [(VCPU, 2), (DISK, -2)]);
    assert_eq!((before.generation(slot), before.used(slot, VCPU)), (0, 0));
    let back = after.apply(&SnapshotChange {
        deltas: vec![delta(2, -2, 0), delta(77, 1, 0)],
        ..SnapshotChange::default()
    });
    assert_eq!(back.row(slot).used, Default::default());
}

#[test]
fn a_reload_replaces_the_results_of_deltas_in_the_same_change() {
    let row = bare(1).with(VCPU, 9).using(VCPU, 5);
    let change = SnapshotChange {
        deltas: vec![delta(1, 3, 20)],
        reloaded: vec![row.clone()],
        ..SnapshotChange::default()
    };
    let after = cloud(1).apply(&change);
    assert_eq!(after.row(after.by_id(ProviderId(1)).unwrap()), row);
}

#[test]
fn a_removed_provider_is_not_found_and_its_slot_is_used_again() {
    let before = cloud(3);
    let slot = before.by_id(ProviderId(2)).unwrap();
    let after = before.apply(&SnapshotChange {
        removed: vec![ProviderId(2), ProviderId(55)],
        ..SnapshotChange::default()
    });
    assert_eq!(
        (after.len(), after.by_uuid("uuid-2"), after.by_name("name-2")),
        (2, None, None)
    );
    assert_eq!(after.by_id(ProviderId(2)), None);
    let after = after.apply(&SnapshotChange {
        reloaded: vec![bare(4)],
        ..SnapshotChange::default()
    });
    assert_eq!((after.by_id(ProviderId(4)), after.slots()), (Some(slot), 3));
    assert_eq!(after.row(slot), bare(4));
    assert_eq!(before.row(slot), bare(2).with(VCPU, 4));
}

#[test]
fn a_reused_id_is_another_provider() {
    let new = ProviderRow {
        uuid: "another".into(),
        name: "other".into(),
        ..bare(2)
    };
    for removed in [vec![ProviderId(2)], vec![]] {
        let after = cloud(3).apply(&SnapshotChange {
            removed,
            reloaded: vec![new.clone()],
            ..SnapshotChange::default()
        });
        assert_eq!(
            (after.len(), after.by_uuid("uuid-2"), after.by_name("name-2")),
            (3, None, None)
        );
        assert_eq!(after.row(after.by_uuid("another").unwrap()), new);
    }
}

#[test]
fn two_providers_may_swap_their_names() {
    let named = |id, name: &str| ProviderRow {
        name: name.into(),
        ..bare(id)
    };
    let swap = vec![named(1, "name-2"), named(2, "name-1")];
    let after = cloud(2).apply(&SnapshotChange {
        reloaded: swap,
        ..SnapshotChange::default()
    });
    let id = |name: &str| after.id(after.by_name(name).unwrap()).0;
    assert_eq!((id("name-1"), id("name-2")), (2, 1));
}

#[test]
fn a_provider_is_found_in_any_case_if_the_database_ignores_case() {
    let named = |name: &str| ProviderRow {
        name: name.into(),
        ..bare(1)
    };
    for ignores_case in [[false, false], [true, false], [true, true]] {
        let [uuids, names] = ignores_case;
        let before = Snapshot::lay_out(catalog(), ignores_case, [named("Rack-é")]);
        let renamed = before.apply(&SnapshotChange {
            reloaded: vec![named("RACK-é")],
            ..SnapshotChange::default()
        });
        for (snapshot, name, other) in [(&before, "Rack-é", "rack-é"), (&renamed, "RACK-é", "Rack-é")] {
            assert!(snapshot.by_uuid("uuid-1").is_some() && snapshot.by_name(name).is_some());
            assert_eq!(snapshot.by_uuid("UUID-1").is_some(), uuids);
            assert_eq!(snapshot.by_name(other).is_some(), names);
            assert_eq!(snapshot.by_name("RACK-É"), None, "only the database knows");
        }
        let removed = renamed.apply(&SnapshotChange {
            removed: vec![ProviderId(1)],
            ..SnapshotChange::default()
        });
        assert_eq!((removed.by_uuid("UUID-1"), removed.by_name("rack-é")), (None, None));
    }
}

#[test]
fn trees_grow_move_and_shrink() {
    let tree = vec![
        bare(3).below(2, 1),
        bare(2).below(1, 1),
        bare(1),
        bare(4),
        bare(5).below(2, 1),
    ];
    let before = Snapshot::build(catalog(), tree);
    let ids = |snapshot: &Snapshot, top: i32| {
        let top = snapshot.by_id(ProviderId(top)).unwrap();
        snapshot
            .tree(top)
            .into_iter()
            .map(|slot| snapshot.id(slot).0)
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&before, 1), [1, 2, 3, 5]);
    // 2 moves below 4 with its descendants. A new child comes in the same change, before its parent.
    let moved = vec![
        bare(7).below(6, 4),
        bare(6).below(4, 4),
        bare(2).below(4, 4),
        bare(3).below(2, 4),
        bare(5).below(2, 4),
    ];
    let after = before.apply(&SnapshotChange {
        reloaded: moved,
        ..SnapshotChange::default()
    });
    assert_eq!((ids(&after, 1), ids(&after, 4)), (vec![1], vec![4, 2, 3, 5, 6, 7]));
    let slot = |id| after.by_id(ProviderId(id)).unwrap();
    assert_eq!((after.root(slot(5)), after.parent(slot(5))), (slot(4), Some(slot(2))));
    let fewer = after.apply(&SnapshotChange {
        removed: vec![ProviderId(7), ProviderId(6)],
        ..SnapshotChange::default()
    });
    assert_eq!(ids(&fewer, 4), [4, 2, 3, 5]);
    assert!(fewer.has_trees());
    let flat = [5, 3, 2].map(ProviderId).to_vec();
    assert!(
        !fewer
            .apply(&SnapshotChange {
                removed: flat,
                ..SnapshotChange::default()
            })
            .has_trees()
    );
    assert_eq!(ids(&before, 1), [1, 2, 3, 5]);
}

#[test]
fn sharing_providers_are_found_if_the_trait_is_added_or_its_id_changes() {
    let empty = Catalog::new(Vec::new(), Vec::new(), Vec::new());
    let before = Snapshot::build(empty, vec![bare(1).traits([1]), bare(2)]);
    assert_eq!(before.sharing().count(), 0);
    let named = before.apply(&SnapshotChange {
        catalog: Some(catalog()),
        ..SnapshotChange::default()
    });
    assert_eq!(named.sharing().map(|slot| named.id(slot).0).collect::<Vec<_>>(), [1]);
    let change = SnapshotChange {
        reloaded: vec![bare(1), bare(2).traits([1])],
        ..SnapshotChange::default()
    };
    let after = named.apply(&change);
    assert_eq!(after.sharing().map(|slot| after.id(slot).0).collect::<Vec<_>>(), [2]);
    let without_sharing = after.apply(&SnapshotChange {
        removed: vec![ProviderId(2)],
        ..SnapshotChange::default()
    });
    assert_eq!(without_sharing.sharing().count(), 0);
}

#[test]
fn a_claim_copies_the_usage_of_one_block_and_shares_the_rest() {
    let before = cloud(6400);
    let after = before.apply(&SnapshotChange {
        deltas: vec![delta(1000, 1, 1)],
        ..SnapshotChange::default()
    });
    let copied = |what: fn(&Block) -> *const u8| {
        let parts = (0..before.blocks.len()).map(|at| (before.blocks.get(at), after.blocks.get(at)));
        parts.filter(|(before, after)| what(before) != what(after)).count()
    };
    assert_eq!(copied(|block| Arc::as_ptr(&block.usage).cast()), 1);
    assert_eq!(copied(|block| Arc::as_ptr(&block.profile).cast()), 0);
    assert_eq!(copied(|block| Arc::as_ptr(&block.identity).cast()), 0);
}

#[test]
fn a_reload_with_the_same_profile_copies_no_profile() {
    let before = cloud(64);
    let slot = before.by_id(ProviderId(5)).unwrap();
    assert_eq!(*before.derived(slot, || 1), 1);
    let row = bare(5).with(VCPU, 4).using(VCPU, 3);
    let reload = |row: ProviderRow| {
        before.apply(&SnapshotChange {
            reloaded: vec![row],
            ..SnapshotChange::default()
        })
    };
    let same = reload(row.clone());
    assert!(Arc::ptr_eq(&before.blocks.get(0).profile, &same.blocks.get(0).profile));
    assert_eq!((same.used(slot, VCPU), *same.derived(slot, || 2)), (3, 1));
    for other in [
        row.clone().traits([2]),
        row.clone().in_aggregates([1]),
        row.clone().with(VCPU, 5),
        row.clone().with(DISK, 1),
    ] {
        let after = reload(other.clone());
        assert_eq!((after.row(slot), *after.derived(slot, || 2)), (other, 2));
        assert_eq!(*before.derived(slot, || 3), 1);
    }
}

#[test]
fn derived_data_that_is_not_used_is_dropped_after_many_versions() {
    let mut snapshot = cloud(65);
    let slots = [1, 65].map(|id| snapshot.by_id(ProviderId(id)).unwrap());
    assert_eq!(slots.map(|slot| *snapshot.derived(slot, || 1)), [1, 1]);
    for _ in 0..2 * IDLE_VERSIONS {
        snapshot = snapshot.apply(&SnapshotChange::default());
        snapshot.derived(slots[0], || 2);
    }
    assert_eq!(slots.map(|slot| *snapshot.derived(slot, || 2)), [1, 2]);
}

#[test]
fn what_is_derived_from_all_providers_is_kept_until_something_but_usage_changes() {
    let derived = std::cell::Cell::new(0);
    let number = |snapshot: &Snapshot| {
        *snapshot.derived_from_all(|| {
            derived.set(derived.get() + 1);
            derived.get()
        })
    };
    let before = cloud(3).with_descriptions([(ProviderId(3), described("fd:/a"))]);
    let change = SnapshotChange::default;
    let used = bare(1).with(VCPU, 4).using(VCPU, 3);
    let kept = [
        SnapshotChange {
            deltas: vec![delta(2, 3, 20)],
            ..change()
        },
        SnapshotChange {
            reloaded: vec![ProviderRow { generation: 9, ..used }],
            ..change()
        },
    ];
    let renamed = ProviderRow {
        name: "other".into(),
        ..bare(1).with(VCPU, 4)
    };
    let dropped = [
        SnapshotChange {
            reloaded: vec![bare(1).with(VCPU, 5)],
            ..change()
        },
        SnapshotChange {
            reloaded: vec![bare(1).with(VCPU, 4).traits([7])],
            ..change()
        },
        SnapshotChange {
            reloaded: vec![renamed],
            ..change()
        },
        SnapshotChange {
            reloaded: vec![bare(4)],
            ..change()
        },
        SnapshotChange {
            removed: vec![ProviderId(2)],
            ..change()
        },
        SnapshotChange {
            descriptions: vec![(ProviderId(1), described("fd:/b"))],
            ..change()
        },
        SnapshotChange {
            descriptions: vec![(ProviderId(3), Description::default())],
            ..change()
        },
        SnapshotChange {
            catalog: Some(catalog()),
            ..change()
        },
    ];
    // A version changed before the first derivation shares nothing with later derivations of the old version.
    let unread = dropped.each_ref().map(|change| before.apply(change));
    assert_eq!(number(&before), 1);
    assert!(kept.iter().all(|change| number(&before.apply(change)) == 1));
    let changed = dropped.iter().map(|change| before.apply(change)).chain(unread);
    let numbers: Vec<i32> = changed.map(|changed| number(&changed)).collect();
    assert_eq!(numbers, (2..18).collect::<Vec<i32>>());
    assert_eq!(number(&before), 1);
}

fn described(fault: &str) -> Description {
    Description {
        domains: [("fault".into(), fault.into())].into(),
        ..Description::default()
    }
}
