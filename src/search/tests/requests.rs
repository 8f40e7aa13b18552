//! Random requests with the names of the small worlds, and random packings: requests that nearly fill their worlds.

use std::collections::BTreeSet;

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

use super::oracle::World;
use super::{bare, rows, uuid};
use crate::search::request::{Group, GroupPolicy, MemberOf, ProviderQuery, Request, Traits};
use crate::search::snapshot::{ClassId, ProviderRow, TraitId};

fn names(known: &'static [&'static str], max: usize) -> impl Strategy<Value = BTreeSet<String>> {
    let name = prop_oneof![30 => prop::sample::select(known), 1 => Just("UNKNOWN")];
    btree_set(name.prop_map(str::to_owned), 1..=max)
}

const TRAITS: &[&str] = &["T2", "T3", "T4", "MISC_SHARES_VIA_AGGREGATE"];

fn traits() -> BoxedStrategy<Traits> {
    let required = prop_oneof![2 => Just(Vec::new()), 1 => vec(names(TRAITS, 3), 1..3)];
    let forbidden = prop_oneof![3 => Just(BTreeSet::new()), 1 => names(TRAITS, 1)];
    (required, forbidden)
        .prop_map(|(required, forbidden)| Traits { required, forbidden })
        .boxed()
}

fn members() -> BoxedStrategy<MemberOf> {
    let any_of = prop_oneof![2 => Just(Vec::new()), 1 => vec(names(&["a1", "a2", "a3"], 2), 1..3)];
    let forbidden = prop_oneof![3 => Just(BTreeSet::new()), 1 => names(&["a1", "a2", "a3"], 1)];
    (any_of, forbidden)
        .prop_map(|(any_of, forbidden)| MemberOf { any_of, forbidden })
        .boxed()
}

fn resources(min: usize) -> impl Strategy<Value = Vec<(String, i64)>> {
    let class = prop_oneof![60 => prop::sample::select(&["VCPU", "MEMORY_MB", "DISK_GB"]), 1 => Just("UNKNOWN")];
    btree_map(class.prop_map(str::to_owned), 1i64..5, min..4).prop_map(|all| all.into_iter().collect())
}

fn some_uuid() -> impl Strategy<Value = Option<String>> {
    prop_oneof![4 => Just(None), 1 => (1..12).prop_map(|id| Some(uuid(id)))]
}

/// A group with all kinds of filters, or with few. From 1.36 a group may ask for no resources.
fn group(suffix: &'static str, min: usize) -> BoxedStrategy<Group> {
    let filtered = (resources(min), traits(), members(), some_uuid());
    let few = (
        btree_map(
            prop::sample::select(&["VCPU", "MEMORY_MB", "DISK_GB"]).prop_map(str::to_owned),
            1i64..4,
            min..3,
        ),
        prop_oneof![5 => Just(Traits::default()), 1 => traits()],
        prop_oneof![9 => Just(MemberOf::default()), 1 => members()],
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
            condition: Default::default(),
        })
        .boxed()
}

/// The last group may be equal to the group before, apart from the suffix.
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
            // The same rule in a different order.
            rules.extend(rules.first().map(|rule| rule.iter().rev().cloned().collect()));
        }
        rules
    });
    prop_oneof![1 => Just(Vec::new()), 1 => rules]
}

pub(super) fn request() -> impl Strategy<Value = Request> {
    let root = prop_oneof![7 => Just(Traits::default()), 1 => traits()];
    let policy = prop_oneof![
        Just(None),
        Just(Some(GroupPolicy::None)),
        Just(Some(GroupPolicy::Isolate))
    ];
    let unsuffixed = prop_oneof![2 => group("", 1).prop_map(Some), 1 => Just(None)];
    let groups = (unsuffixed, granular(), any::<prop::sample::Index>());
    (
        groups,
        policy,
        subtrees(),
        root,
        prop_oneof![1 => Just(false), 3 => Just(true)],
    )
        .prop_map(
            |((unsuffixed, mut groups, at), group_policy, mut same_subtrees, root_required, nested)| {
                same_subtrees.retain(|rule| {
                    rule.iter()
                        .all(|suffix| groups.iter().any(|group| group.suffix == *suffix))
                });
                if !nested {
                    same_subtrees.clear();
                    groups.retain(|group| !group.resources.is_empty());
                }
                if let Some(unsuffixed) = unsuffixed.or_else(|| groups.is_empty().then(|| super::group(&[("VCPU", 1)])))
                {
                    groups.insert(at.index(groups.len() + 1), unsuffixed);
                }
                Request {
                    groups,
                    group_policy,
                    same_subtrees,
                    root_required,
                    host: Default::default(),
                    nested,
                    ..super::request(Group::default())
                }
            },
        )
}

pub(super) fn query() -> impl Strategy<Value = ProviderQuery> {
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

/// A root with children, and groups of different sizes which need nearly all room of the children. Some children lack
/// traits of some groups.
pub(super) fn packing() -> impl Strategy<Value = (World, Request)> {
    let child = (3i32..12, 2i32..8, btree_set((2..4).prop_map(TraitId), 0..3));
    let wanted = prop_oneof![4 => Just(None), 1 => Just(Some("T2")), 1 => Just(Some("T3"))];
    let group = (
        1i64..7,
        prop_oneof![1 => Just(None), 1 => (1i64..4).prop_map(Some)],
        wanted,
    );
    let policy = prop_oneof![2 => Just(GroupPolicy::None), 1 => Just(GroupPolicy::Isolate)];
    // With a group without a suffix, which may share a provider with each group, isolated groups are packed too.
    let unsuffixed = prop_oneof![2 => Just(false), 1 => Just(true)];
    (vec(child, 2..6), vec(group, 3..7), policy, unsuffixed).prop_map(|(children, groups, policy, unsuffixed)| {
        let child = |(id, (vcpu, memory, traits)): (i32, (i32, i32, BTreeSet<TraitId>))| ProviderRow {
            traits,
            ..bare(id).with(ClassId(0), vcpu).with(ClassId(1), memory).below(1, 1)
        };
        let world = rows(std::iter::once(bare(1)).chain((2..).zip(children).map(child)));
        let group = |(at, (vcpu, memory, wanted)): (usize, (i64, Option<i64>, Option<&str>))| {
            let resources = [("VCPU", Some(vcpu)), ("MEMORY_MB", memory)];
            let resources = resources.map(|(name, amount)| Some((name.to_owned(), amount?)));
            Group {
                suffix: if unsuffixed && at == 0 {
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
