//! Random small worlds and requests, answered by the search and by the oracle.
//!
//! 20,000 cases each with a fixed seed; `PLACET_CASES` asks for more, `PLACET_SEED` for others. A case that ever
//! differed becomes a named test beside this file.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::worlds::{row, world};
use super::{Found, bare, catalog, rows, uuid};
use crate::search::naive::{self, Choice, Rows};
use crate::search::request::{Group, GroupPolicy, Members, ProviderQuery, Request, Traits};
use crate::search::snapshot::{Change, ClassId, Delta, ProviderId, ProviderRow, Slot, Snapshot, TraitId};
use crate::search::{self, Settings, candidates, providers};

fn config() -> ProptestConfig {
    let asked = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    ProptestConfig {
        cases: asked("PLACET_CASES").map_or(20_000, |cases| cases as u32),
        rng_seed: RngSeed::Fixed(asked("PLACET_SEED").unwrap_or(5)),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn names(known: &'static [&'static str], most: usize) -> impl Strategy<Value = BTreeSet<String>> {
    let name = prop_oneof![30 => prop::sample::select(known), 1 => Just("UNKNOWN")];
    btree_set(name.prop_map(str::to_owned), 1..=most)
}

const TRAITS: &[&str] = &["T2", "T3", "T4", "MISC_SHARES_VIA_AGGREGATE"];

fn traits() -> BoxedStrategy<Traits> {
    let required = prop_oneof![2 => Just(Vec::new()), 1 => vec(names(TRAITS, 3), 1..3)];
    let forbidden = prop_oneof![3 => Just(BTreeSet::new()), 1 => names(TRAITS, 1)];
    (required, forbidden)
        .prop_map(|(required, forbidden)| Traits { required, forbidden })
        .boxed()
}

fn members() -> BoxedStrategy<Members> {
    let any_of = prop_oneof![2 => Just(Vec::new()), 1 => vec(names(&["a1", "a2", "a3"], 2), 1..3)];
    let forbidden = prop_oneof![3 => Just(BTreeSet::new()), 1 => names(&["a1", "a2", "a3"], 1)];
    (any_of, forbidden)
        .prop_map(|(any_of, forbidden)| Members { any_of, forbidden })
        .boxed()
}

fn resources(least: usize) -> impl Strategy<Value = Vec<(String, i64)>> {
    let class = prop_oneof![60 => prop::sample::select(&["VCPU", "MEMORY_MB", "DISK_GB"]), 1 => Just("UNKNOWN")];
    btree_map(class.prop_map(str::to_owned), 1i64..5, least..4).prop_map(|all| all.into_iter().collect())
}

fn some_uuid() -> impl Strategy<Value = Option<String>> {
    prop_oneof![4 => Just(None), 1 => (1..12).prop_map(|id| Some(uuid(id)))]
}

/// One with all kinds of filters, or with few. From 1.36 a group may want no resources.
fn group(suffix: &'static str, least: usize) -> BoxedStrategy<Group> {
    let filtered = (resources(least), traits(), members(), some_uuid());
    let few = (
        btree_map(
            prop::sample::select(&["VCPU", "MEMORY_MB", "DISK_GB"]).prop_map(str::to_owned),
            1i64..4,
            least..3,
        ),
        prop_oneof![5 => Just(Traits::default()), 1 => traits()],
        prop_oneof![9 => Just(Members::default()), 1 => members()],
        prop_oneof![15 => Just(None), 1 => some_uuid()],
    );
    let few =
        few.prop_map(|(resources, traits, members, uuid)| (resources.into_iter().collect(), traits, members, uuid));
    prop_oneof![1 => filtered, 9 => few]
        .prop_map(move |(resources, traits, member_of, in_tree)| Group {
            suffix: suffix.to_owned(),
            resources,
            traits,
            member_of,
            in_tree,
        })
        .boxed()
}

/// The last may be what the one before it is, but for its name.
fn granular() -> impl Strategy<Value = Vec<Group>> {
    let three = (group("_A", 1), group("_B", 0), group("_C", 0));
    (three, 0usize..4, any::<bool>()).prop_map(|((a, b, c), len, same)| {
        let mut groups = vec![a, b, c];
        groups.truncate(len);
        if let [.., before, last] = groups.as_mut_slice()
            && same
        {
            *last = Group {
                suffix: last.suffix.clone(),
                ..before.clone()
            };
        }
        groups
    })
}

fn subtrees() -> impl Strategy<Value = Vec<Vec<String>>> {
    let rule = btree_set(prop::sample::select(&["_A", "_B", "_C"]), 1..4);
    let rule = rule.prop_map(|rule| rule.into_iter().map(str::to_owned).collect());
    let rules = (vec(rule, 1..3), any::<bool>()).prop_map(|(mut rules, twice): (Vec<Vec<String>>, bool)| {
        if twice {
            // The same rule in another order.
            rules.extend(rules.first().map(|rule| rule.iter().rev().cloned().collect()));
        }
        rules
    });
    prop_oneof![1 => Just(Vec::new()), 1 => rules]
}

fn request() -> impl Strategy<Value = Request> {
    let root = prop_oneof![7 => Just(Traits::default()), 1 => traits()];
    let policy = prop_oneof![
        Just(None),
        Just(Some(GroupPolicy::None)),
        Just(Some(GroupPolicy::Isolate))
    ];
    let whole = prop_oneof![2 => group("", 1).prop_map(Some), 1 => Just(None)];
    let groups = (whole, granular(), any::<prop::sample::Index>());
    (
        groups,
        policy,
        subtrees(),
        root,
        prop_oneof![1 => Just(false), 3 => Just(true)],
    )
        .prop_map(
            |((whole, mut groups, at), group_policy, mut same_subtrees, root_required, nested)| {
                same_subtrees.retain(|rule| {
                    rule.iter()
                        .all(|suffix| groups.iter().any(|group| group.suffix == *suffix))
                });
                if !nested {
                    same_subtrees.clear();
                    groups.retain(|group| !group.resources.is_empty());
                }
                if let Some(whole) = whole.or_else(|| groups.is_empty().then(|| super::group(&[("VCPU", 1)]))) {
                    groups.insert(at.index(groups.len() + 1), whole);
                }
                Request {
                    groups,
                    group_policy,
                    same_subtrees,
                    root_required,
                    nested,
                    ..super::request(Group::default())
                }
            },
        )
}

fn query() -> impl Strategy<Value = ProviderQuery> {
    let name = prop_oneof![6 => Just(None), 1 => (1..12).prop_map(|id| Some(format!("name-{id}")))];
    (name, some_uuid(), some_uuid(), traits(), members(), resources(0)).prop_map(
        |(name, uuid, in_tree, traits, members, resources)| ProviderQuery {
            name,
            uuid,
            in_tree,
            traits,
            members,
            resources,
        },
    )
}

fn build(world: &Rows) -> Snapshot {
    Snapshot::build(catalog(), world.values().cloned().collect())
}

/// The candidates as a set; none may come twice.
fn choices(snapshot: &Snapshot, found: &Found) -> BTreeSet<Choice> {
    let all = found.candidates.iter().map(|candidate| {
        let amounts: Vec<_> = candidate
            .placements
            .iter()
            .map(|it| ((snapshot.id(it.slot), it.class), it.amount))
            .collect();
        let named = |(suffix, slots): &(Arc<str>, Vec<Slot>)| {
            let ids: BTreeSet<ProviderId> = slots.iter().map(|&slot| snapshot.id(slot)).collect();
            assert_eq!(ids.len(), slots.len(), "a provider serves a group twice");
            (suffix.to_string(), ids)
        };
        let choice: Choice = (
            amounts.iter().copied().collect(),
            candidate.mappings.iter().map(named).collect(),
        );
        assert_eq!(choice.0.len(), amounts.len(), "a provider gives a class twice");
        choice
    });
    let set: BTreeSet<Choice> = all.collect();
    assert_eq!(set.len(), found.candidates.len(), "a candidate came twice");
    set
}

fn settings(seed: u64, strict_step: bool) -> Settings {
    Settings {
        seed,
        strict_step,
        strategy: if seed.is_multiple_of(2) {
            search::Strategy::DepthFirst
        } else {
            search::Strategy::BreadthFirst
        },
        ..super::settings()
    }
}

/// As `build`, but the providers lie in several blocks, trees across them: others stood between them and were removed.
fn scatter(world: &Rows) -> Snapshot {
    let mut snapshot = Snapshot::build(catalog(), Vec::new());
    let mut removed = Vec::new();
    for (at, row) in world.values().enumerate() {
        let between = (0..if at % 3 == 2 { 62 } else { 0 }).map(|n| bare(1000 + at as i32 * 100 + n));
        let reloaded: Vec<ProviderRow> = std::iter::once(row.clone()).chain(between).collect();
        removed.extend(reloaded[1..].iter().map(|row| row.id));
        snapshot = snapshot.apply(&Change {
            reloaded,
            ..Change::default()
        });
    }
    snapshot.apply(&Change {
        removed,
        ..Change::default()
    })
}

fn compare_candidates(world: &Rows, request: &Request, seed: u64, strict: bool) {
    let snapshot = if seed % 8 < 2 { scatter(world) } else { build(world) };
    compare(&snapshot, world, request, seed, strict);
}

fn compare(snapshot: &Snapshot, world: &Rows, request: &Request, seed: u64, strict: bool) {
    let expected = naive::candidates(&catalog(), world, request, strict);
    let found = candidates(snapshot, request, &settings(seed, strict), ()).and_then(|all| all.found());
    match (&expected, &found) {
        (Ok(expected), Ok(found)) => {
            assert_eq!(*expected, choices(snapshot, found));
            let shown: BTreeSet<_> = found.summaries.iter().map(|&slot| snapshot.id(slot)).collect();
            assert_eq!(shown.len(), found.summaries.len(), "a summary came twice");
            assert_eq!(shown, naive::summaries(world, expected, request.nested));
            compare_limited(snapshot, expected, request, seed, strict);
        }
        (expected, found) => assert_eq!(expected.as_ref().err(), found.as_ref().err()),
    }
}

/// A limit leaves some of all candidates, as many as there are up to it.
fn compare_limited(snapshot: &Snapshot, all: &BTreeSet<Choice>, request: &Request, seed: u64, strict: bool) {
    let limit = 1 + seed as usize % 6;
    let request = Request {
        limit: Some(limit),
        ..request.clone()
    };
    let found = candidates(snapshot, &request, &settings(seed, strict), ()).and_then(|all| all.found());
    let found = choices(snapshot, &found.unwrap());
    assert_eq!(found.len(), limit.min(all.len()));
    assert!(found.is_subset(all), "a limit made other candidates");
}

/// A root with children whose room is nearly all asked for, by groups of different sizes that not every child may take.
fn packing() -> impl Strategy<Value = (Rows, Request)> {
    let child = (3i32..12, 2i32..8, btree_set((2..4).prop_map(TraitId), 0..3));
    let wanted = prop_oneof![4 => Just(None), 1 => Just(Some("T2")), 1 => Just(Some("T3"))];
    let group = (
        1i64..7,
        prop_oneof![1 => Just(None), 1 => (1i64..4).prop_map(Some)],
        wanted,
    );
    let policy = prop_oneof![2 => Just(GroupPolicy::None), 1 => Just(GroupPolicy::Isolate)];
    // With a group without a suffix, which may share a provider with any other, isolated ones are packed too.
    let whole = prop_oneof![2 => Just(false), 1 => Just(true)];
    (vec(child, 2..6), vec(group, 3..7), policy, whole).prop_map(|(children, groups, policy, whole)| {
        let child = |(id, (vcpu, memory, traits)): (i32, (i32, i32, BTreeSet<TraitId>))| ProviderRow {
            traits,
            ..bare(id).with(ClassId(0), vcpu).with(ClassId(1), memory).below(1, 1)
        };
        let world = rows(std::iter::once(bare(1)).chain((2..).zip(children).map(child)));
        let group = |(at, (vcpu, memory, wanted)): (usize, (i64, Option<i64>, Option<&str>))| {
            let resources = [("VCPU", Some(vcpu)), ("MEMORY_MB", memory)];
            let resources = resources.map(|(name, amount)| Some((name.to_owned(), amount?)));
            Group {
                suffix: if whole && at == 0 {
                    String::new()
                } else {
                    format!("_{at}")
                },
                resources: resources.into_iter().flatten().collect(),
                traits: super::required(wanted.as_slice()),
                ..Group::default()
            }
        };
        let request = Request {
            groups: groups.into_iter().enumerate().map(group).collect(),
            group_policy: Some(policy),
            ..super::request(Group::default())
        };
        (world, request)
    })
}

/// What came of editing a world, as rows and as changes.
fn edit(world: &mut Rows, row: ProviderRow, what: u8, amount: i64) -> Change {
    let id = ProviderId(row.generation as i32 % 12 + 1);
    let leaf = !world.values().any(|other| other.parent == Some(id));
    match (world.get(&id).cloned(), what) {
        (Some(_), 0) if leaf => {
            world.remove(&id);
            Change {
                removed: vec![id],
                ..Change::default()
            }
        }
        (Some(mut old), 1..=4) => {
            let delta = Delta {
                provider: id,
                moves: 1,
                generation: 0,
                modified: Some(amount),
                used: vec![(ClassId(1), amount)],
            };
            old.generation += 1;
            old.modified = old.modified.max(amount);
            *old.used.entry(ClassId(1)).or_default() += amount;
            old.used.retain(|_, used| *used != 0);
            world.insert(id, old);
            Change {
                deltas: vec![delta],
                ..Change::default()
            }
        }
        (old, _) => {
            let mut who = old.unwrap_or_else(|| bare(id.0));
            if leaf && what > 5 {
                // Moves, or is made below another.
                let parent = world
                    .values()
                    .filter(|other| other.id != id)
                    .nth(amount.unsigned_abs() as usize);
                let root = parent.map_or(id, |parent| parent.root);
                (who.parent, who.root) = (parent.map(|parent| parent.id), root);
            }
            let new = ProviderRow {
                id,
                uuid: who.uuid,
                name: who.name,
                parent: who.parent,
                root: who.root,
                ..row
            };
            world.insert(id, new.clone());
            Change {
                reloaded: vec![new],
                ..Change::default()
            }
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn candidates_are_those_of_the_oracle(world in world(), request in request(), seed: u64, strict: bool) {
        compare_candidates(&world, &request, seed, strict);
    }

    #[test]
    fn providers_are_those_of_the_oracle(world in world(), query in query(), strict: bool) {
        let snapshot = build(&world);
        let found = providers(&snapshot, &query, strict);
        let found = found.map(|slots| slots.into_iter().map(|slot| snapshot.id(slot)).collect());
        prop_assert_eq!(naive::providers(&catalog(), &world, &query, strict), found);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: config().cases / 10, ..config() })]

    #[test]
    fn packings_are_those_of_the_oracle((world, request) in packing(), seed: u64) {
        compare_candidates(&world, &request, seed, false);
    }

    #[test]
    fn a_changed_version_is_what_would_be_built_anew(
        world in world(),
        edits in vec((row(), 0i64..12, 0u8..8, -2i64..4), 1..12),
        query in query(),
        request in request(),
        scattered: bool,
    ) {
        let mut now = world.clone();
        let first = if scattered { scatter(&world) } else { build(&world) };
        let mut snapshot = first.clone();
        for (row, id, what, amount) in edits {
            // What a search works out once for a version must not be taken for the next.
            let _ = candidates(&snapshot, &request, &settings(1, false), ()).map(Iterator::count);
            let change = edit(&mut now, ProviderRow { generation: id, ..row }, what, amount);
            snapshot = snapshot.apply(&change);
        }
        for (snapshot, world) in [(&snapshot, &now), (&first, &world)] {
            let kept: Vec<ProviderRow> = snapshot.iter().map(|slot| snapshot.row(slot)).collect();
            prop_assert_eq!(&kept, &world.values().cloned().collect::<Vec<_>>());
            let found = providers(snapshot, &query, false);
            let found = found.map(|slots| slots.into_iter().map(|slot| snapshot.id(slot)).collect());
            prop_assert_eq!(naive::providers(&catalog(), world, &query, false), found);
            compare(snapshot, world, &request, 1, false);
            for row in world.values() {
                let slot = snapshot.by_uuid(&row.uuid).unwrap();
                prop_assert_eq!(snapshot.by_name(&row.name), Some(slot));
                let children: Vec<_> = snapshot.children(slot).iter().map(|&child| snapshot.id(child)).collect();
                let expected: Vec<_> = world.values().filter(|it| it.parent == Some(row.id)).map(|it| it.id).collect();
                prop_assert_eq!(children, expected);
            }
        }
    }
}
