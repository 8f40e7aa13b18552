//! Searches with conditions, compared with the rows of the tables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::db::DbConnection;
use crate::model::batch::own_tables::OwnRow;
use crate::model::limits::LimitRow;
use crate::model::providers;
use crate::model::snapshot::load;
use crate::search::{
    self, Catalog, Description, Domain, Group, HostConditions, PropertyValue, ProviderId, ProviderRow, ProviderState,
    Purpose, Request, SearchSettings, Snapshot, Truth,
};

const CONDITIONS: [&str; 5] = [
    "",
    "a >= 1",
    "!(b == 0) || c == true",
    "ProviderType == big",
    "a == x && NodeName != n1",
];
const PATHS: [&str; 3] = ["/d1", "/d1/r1", "/d2"];
const SETTINGS_SEED: u64 = 7;

/// The tables: the rows and the descriptions of providers.
struct Tables {
    catalog: Catalog,
    rows: BTreeMap<ProviderId, ProviderRow>,
    descriptions: BTreeMap<ProviderId, Description>,
}

/// Asserts that searches agree with the tables: by condition, domain, state, and normal limit.
pub fn check(snapshot: &Arc<Snapshot>, conn: &mut DbConnection) {
    let (catalog, rows) = load::snapshot_parts(conn, || Ok(())).unwrap();
    let rows: Vec<ProviderRow> = rows.collect();
    let descriptions = providers::of_reloaded(conn, &rows).unwrap().into_iter().collect();
    let rows = rows.into_iter().map(|row| (row.id, row)).collect();
    let tables = Tables {
        catalog,
        rows,
        descriptions,
    };
    check_conditions(snapshot, &tables);
    check_normal_limit(snapshot, &tables, conn);
}

fn check_conditions(snapshot: &Arc<Snapshot>, tables: &Tables) {
    let unconditional = found(snapshot, &request("", "", None, false));
    for condition in CONDITIONS {
        for path in [None].into_iter().chain(PATHS.map(Some)) {
            for only_up in [false, true] {
                let of_host = found(snapshot, &request("", condition, path, only_up));
                let of_group = found(snapshot, &request("_X", condition, path, only_up));
                let keep = |is_group: bool| {
                    let mut kept = unconditional.clone();
                    kept.retain(|id| {
                        let root = tables.rows[id].root;
                        let judged = if is_group { *id } else { root };
                        tables.meets(judged, condition)
                            && path.is_none_or(|path| tables.is_in(root, path))
                            && (!only_up || tables.is_up(*id))
                    });
                    kept
                };
                let asked = format!("where {condition}, in {path:?}, up {only_up}");
                assert_eq!(of_host, keep(false), "{asked}");
                assert_eq!(of_group, keep(true), "where_X, {asked}");
            }
        }
    }
}

fn check_normal_limit(snapshot: &Arc<Snapshot>, tables: &Tables, conn: &mut DbConnection) {
    let limit = LimitRow::rows(conn, &["VCPU"]).unwrap().remove("VCPU");
    let (class, limit) = (
        tables.catalog.class_id("VCPU").unwrap(),
        limit.and_then(|row| row.normal),
    );
    let unlimited = request("", "", None, false);
    let settings = SearchSettings::uncut(SETTINGS_SEED);
    let within = search::for_purpose(snapshot, Purpose::Normal, &unlimited, &settings).unwrap();
    let mut expected = found(snapshot, &unlimited);
    expected.retain(|id| {
        let row = &tables.rows[id];
        let used = row.used.get(&class).copied().unwrap_or(0);
        limit.is_none_or(|limit| used < limit.of(&row.inventories[&class]))
    });
    assert_eq!(found(&within, &unlimited), expected, "within {limit:?}");
}

/// For one VCPU. With a suffix the condition is about the serving provider, without a suffix about the host.
fn request(suffix: &str, condition: &str, path: Option<&str>, only_up: bool) -> Request {
    let condition: Arc<search::Expression> = Arc::new(condition.parse().unwrap());
    let (of_group, of_host) = if suffix.is_empty() {
        (Arc::default(), condition)
    } else {
        (condition, Arc::default())
    };
    let in_domain = |path: &str| Domain {
        dimension: "fault".into(),
        path: path.into(),
    };
    Request {
        groups: vec![Group {
            suffix: suffix.to_owned(),
            resources: vec![("VCPU".to_owned(), 1)],
            condition: of_group,
            ..Group::default()
        }],
        group_policy: None,
        same_subtrees: Vec::new(),
        root_required: Default::default(),
        host: HostConditions {
            condition: of_host,
            in_domains: path.map(in_domain).into_iter().collect(),
            not_in_domains: Vec::new(),
            only_up,
        },
        limit: None,
        nested: true,
    }
}

/// The serving providers.
fn found(snapshot: &Arc<Snapshot>, request: &Request) -> BTreeSet<ProviderId> {
    let settings = SearchSettings::uncut(SETTINGS_SEED);
    let candidates = search::candidates(&**snapshot, request, &settings).unwrap();
    candidates.map(|found| snapshot.id(found.placements[0].slot)).collect()
}

impl Tables {
    /// The provider and its ancestors.
    fn lineage(&self, id: ProviderId) -> Vec<&ProviderRow> {
        let parent = |row: &&ProviderRow| row.parent.and_then(|parent| self.rows.get(&parent));
        std::iter::successors(self.rows.get(&id), parent)
            .take(self.rows.len())
            .collect()
    }

    fn said<T>(&self, id: ProviderId, say: impl Fn(&Description) -> Option<T>) -> Option<T> {
        self.lineage(id)
            .into_iter()
            .find_map(|row| say(&self.descriptions[&row.id]))
    }

    fn meets(&self, id: ProviderId, condition: &str) -> bool {
        let property = |name: &str| match name {
            "NodeName" => Some(PropertyValue::Text(self.rows[&id].name.clone())),
            "ProviderType" => self.said(id, |own| own.kind.clone()).map(PropertyValue::Text),
            name => self.said(id, |own| self.stated(own, name)).flatten(),
        };
        condition.parse::<search::Expression>().unwrap().judge(property) == Truth::True
    }

    /// The statement about a property: of the description, or of the type.
    fn stated(&self, own: &Description, name: &str) -> Option<Option<PropertyValue>> {
        let of_type = || self.catalog.declarations().types.get(own.kind.as_ref()?)?.get(name);
        own.properties.get(name).or_else(of_type).cloned()
    }

    /// The domain of the aggregates of a provider.
    fn of_aggregates(&self, row: &ProviderRow) -> Option<Arc<str>> {
        let domains = self.catalog.declarations().domains.iter();
        let is_member = |uuid: &str| {
            let aggregate = self.catalog.aggregate_id(uuid);
            aggregate.is_some_and(|id| row.aggregates.contains(&id))
        };
        let paths = domains.filter(|(_, uuid)| is_member(uuid));
        let paths: Vec<&Arc<str>> = paths.map(|((_, path), _)| path).collect();
        let has_inside = |path: &str| paths.iter().any(|other| other.starts_with(&format!("{path}/")));
        paths
            .iter()
            .filter(|path| !has_inside(path))
            .min()
            .map(|path| Arc::clone(path))
    }

    fn is_in(&self, id: ProviderId, top: &str) -> bool {
        let described = self.said(id, |own| own.domains.get("fault").cloned());
        let of_aggregates = || self.lineage(id).into_iter().find_map(|row| self.of_aggregates(row));
        let path = described.or_else(of_aggregates);
        path.is_some_and(|path| path.split('/').take(top.split('/').count()).eq(top.split('/')))
    }

    fn is_up(&self, id: ProviderId) -> bool {
        self.said(id, |own| (own.state != ProviderState::Up).then_some(()))
            .is_none()
    }
}
