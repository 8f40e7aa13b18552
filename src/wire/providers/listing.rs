//! Parses the query of `GET /v1/providers`, and serializes the list.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::{ProviderAnswer, answer};
use crate::error::Result;
use crate::model::providers::{Described, ProviderField, ProviderListQuestion, ProviderPage};
use crate::search::{ClassId, ProviderQuery, ProviderState, Slot};
use crate::wire::candidates::{Aggregates, ClassAmounts, TraitNames, joined};
use crate::wire::native::{
    InDomain, ListForm, ListItem, Name, NameList, Named, PageLimit, Repeatable, SpelledUuid, Text, WrittenPage,
    read_query, write_page,
};
use crate::wire::output::Pairs;

impl Named for ProviderField {
    const NAMES: &'static [(&'static str, ProviderField)] = &[
        ("inventories", ProviderField::Inventories),
        ("usages", ProviderField::Usages),
        ("traits", ProviderField::Traits),
        ("aggregates", ProviderField::Aggregates),
        ("allocations", ProviderField::Allocations),
        ("state", ProviderField::State),
    ];
}

/// The most domains of a query.
const MAX_DOMAINS: usize = 100;
/// The longest uuid in the tables.
const MAX_UUID: usize = 36;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListParameters {
    /// The parts of each provider, separated by commas: `inventories`, `usages`, `traits`, `aggregates`, `allocations`
    /// and `state`. By default the description.
    fields: Option<NameList<ProviderField>>,
    /// The name of the provider.
    name: Option<Text<1, 200>>,
    /// The uuid of the provider.
    #[schemars(extend("format" = "uuid"))]
    uuid: Option<SpelledUuid>,
    /// The uuid of any provider of a tree: the providers of the tree.
    #[schemars(extend("format" = "uuid"))]
    in_tree: Option<SpelledUuid>,
    /// The uuid of an aggregate, or `in:UUID,UUID` for any of several. A leading `!` excludes their providers. May be
    /// repeated.
    #[serde(default)]
    member_of: Repeatable<Aggregates>,
    /// The traits of the provider, separated by commas. `!TRAIT` forbids a trait. `in:TRAIT,TRAIT` requires any of
    /// several. May be repeated.
    #[serde(default)]
    required: Repeatable<TraitNames<true>>,
    /// The free amounts of the provider as `CLASS:amount`, separated by commas: `VCPU:2,MEMORY_MB:512`.
    #[serde(default)]
    resources: ClassAmounts<1>,
    /// A domain of the provider or of an ancestor, as `dimension:path`, with the domains inside. May be repeated; the
    /// domains of a dimension are alternatives.
    #[serde(default)]
    in_domain: Repeatable<InDomain, MAX_DOMAINS>,
    /// `up`, `draining`, `off` or `lost`: the state of the provider, or of the nearest ancestor that is not up.
    state: Option<Name<ProviderState>>,
    /// The most providers of the page.
    #[serde(default)]
    limit: PageLimit,
    /// The uuid of the provider after which the page begins.
    after: Option<Text<1, MAX_UUID>>,
}

/// Reads the query string of `GET /v1/providers`.
///
/// # Errors
/// The first wrong parameter.
pub fn read_list(query: &str) -> Result<ProviderListQuestion> {
    let parameters: ListParameters = read_query(query)?;
    let (traits, members) = joined(parameters.required.0, parameters.member_of.0);
    let spelled = |uuid: Option<SpelledUuid>| uuid.map(|uuid| uuid.0);
    Ok(ProviderListQuestion {
        query: ProviderQuery {
            name: parameters.name.map(|name| name.0),
            uuid: spelled(parameters.uuid),
            in_tree: spelled(parameters.in_tree),
            traits,
            members,
            resources: parameters.resources.0,
        },
        in_domains: parameters.in_domain.0.into_iter().map(|domain| domain.0).collect(),
        state: parameters.state.map(|state| state.0),
        fields: parameters.fields.map(|fields| fields.0).unwrap_or_default(),
        limit: parameters.limit.get(),
        after: parameters.after.map(|uuid| uuid.0),
    })
}

/// A provider without or with `fields`.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ProviderItem<'a> {
    /// Without `fields`.
    Description(ProviderAnswer<'a>),
    /// With `fields`.
    Parts(PartsAnswer<'a>),
}

impl ListItem for ProviderItem<'_> {
    const LIST: &'static str = "providers";
}

/// A provider with the requested parts.
#[derive(Serialize, JsonSchema)]
pub struct PartsAnswer<'a> {
    /// The provider's uuid.
    uuid: &'a str,
    /// The provider's name.
    name: &'a str,
    /// The generation of the provider, as of OpenStack's routes.
    resource_provider_generation: i64,
    /// The uuid of the parent; `null` for a root.
    parent_provider_uuid: Option<&'a str>,
    /// The name of the parent; `null` for a root.
    parent_provider_name: Option<&'a str>,
    /// The uuid of the root of the tree.
    root_provider_uuid: &'a str,
    /// The name of the root of the tree.
    root_provider_name: &'a str,
    /// The inventories by resource class.
    #[serde(skip_serializing_if = "Option::is_none")]
    inventories: Option<Pairs<&'a str, InventoryAnswer>>,
    /// The amounts in use, by resource class of the inventories.
    #[serde(skip_serializing_if = "Option::is_none")]
    usages: Option<Pairs<&'a str, i64>>,
    /// The names of the traits.
    #[serde(skip_serializing_if = "Option::is_none")]
    traits: Option<Vec<&'a str>>,
    /// The uuids of the aggregates.
    #[serde(skip_serializing_if = "Option::is_none")]
    aggregates: Option<Vec<&'a str>>,
    /// The allocations by consumer.
    #[serde(skip_serializing_if = "Option::is_none")]
    allocations: Option<Pairs<&'a str, AllocationAnswer<'a>>>,
    /// `up`, `draining`, `off` or `lost`. Only a host with the state `up` gets anything new.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<Name<ProviderState>>,
}

/// An inventory, with the members of OpenStack's routes.
#[derive(Serialize, JsonSchema)]
struct InventoryAnswer {
    /// The amount of the class.
    total: i32,
    /// The amount that no consumer gets.
    reserved: i32,
    /// The least amount of an allocation.
    min_unit: i32,
    /// The greatest amount of an allocation.
    max_unit: i32,
    /// Amounts are multiples of this number.
    step_size: i32,
    /// The capacity is `total - reserved`, times this number.
    allocation_ratio: f64,
}

/// The allocations of a consumer.
#[derive(Serialize, JsonSchema)]
struct AllocationAnswer<'a> {
    /// The amounts by resource class.
    resources: Pairs<&'a str, i64>,
}

/// Writes a page of descriptions. `next` is the uuid after which the next page begins.
pub fn write_list(form: ListForm, described: &[Described], next: Option<&str>) -> WrittenPage {
    let items = described
        .iter()
        .map(|described| (&*described.uuid, ProviderItem::Description(answer(described))));
    write_page(form, items, next)
}

/// Writes a page of providers with these parts.
pub fn write_parts(form: ListForm, page: &ProviderPage, fields: &[ProviderField]) -> WrittenPage {
    let items = page.slots.iter().map(|slot| {
        let parts = ProviderItem::Parts(parts(page, *slot, fields));
        (page.snapshot.uuid(*slot), parts)
    });
    write_page(form, items, page.next.as_deref())
}

fn parts<'a>(page: &'a ProviderPage, slot: Slot, fields: &[ProviderField]) -> PartsAnswer<'a> {
    let (snapshot, catalog) = (&*page.snapshot, page.snapshot.catalog());
    let has = |field: ProviderField| fields.contains(&field).then_some(());
    let class = |class: ClassId| catalog.class_name(class).map(|name| &**name);
    let sorted = |names: &mut dyn Iterator<Item = &'a Arc<str>>| {
        let mut names: Vec<&str> = names.map(|name| &**name).collect();
        names.sort_unstable();
        names
    };
    PartsAnswer {
        uuid: snapshot.uuid(slot),
        name: snapshot.name(slot),
        resource_provider_generation: snapshot.generation(slot),
        parent_provider_uuid: snapshot.parent(slot).map(|parent| snapshot.uuid(parent)),
        parent_provider_name: snapshot.parent(slot).map(|parent| snapshot.name(parent)),
        root_provider_uuid: snapshot.uuid(snapshot.root(slot)),
        root_provider_name: snapshot.name(snapshot.root(slot)),
        inventories: has(ProviderField::Inventories).map(|()| {
            let inventories = snapshot.inventories(slot);
            inventories
                .filter_map(|(id, inventory, _)| {
                    let written = InventoryAnswer {
                        total: inventory.total,
                        reserved: inventory.reserved,
                        min_unit: inventory.min_unit,
                        max_unit: inventory.max_unit,
                        step_size: inventory.step_size,
                        allocation_ratio: inventory.allocation_ratio,
                    };
                    Some((class(id)?, written))
                })
                .collect()
        }),
        usages: has(ProviderField::Usages).map(|()| {
            let inventories = snapshot.inventories(slot);
            inventories
                .filter_map(|(id, _, used)| Some((class(id)?, used)))
                .collect()
        }),
        traits: has(ProviderField::Traits)
            .map(|()| sorted(&mut snapshot.traits(slot).filter_map(|id| catalog.trait_name(id)))),
        aggregates: has(ProviderField::Aggregates)
            .map(|()| sorted(&mut snapshot.aggregates(slot).filter_map(|id| catalog.aggregate_uuid(id)))),
        allocations: has(ProviderField::Allocations).map(|()| {
            let consumers = page.allocations.get(snapshot.uuid(slot)).into_iter().flatten();
            consumers
                .map(|(consumer, amounts)| {
                    let amounts = amounts.iter();
                    let resources = amounts.map(|(class, amount)| (&**class, *amount)).collect();
                    (&**consumer, AllocationAnswer { resources })
                })
                .collect()
        }),
        state: has(ProviderField::State).map(|()| Name(snapshot.given_state(slot))),
    }
}
