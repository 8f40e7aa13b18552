//! The default rules of placet, with the names and the checks of OpenStack Placement.
//!
//! By default the rule of a native route requires the rules of the OpenStack routes with the same effect. So a policy
//! file for OpenStack's routes holds for the native API too.
//!
//! The route table refers to a rule as one of these statics, so a route without a rule does not compile.

/// One rule and its default.
#[derive(Debug, PartialEq, Eq)]
pub struct PolicyRule {
    pub name: &'static str,
    /// The default check, in oslo.policy's language.
    pub check: &'static str,
    /// A second check, which also allows a request if `[oslo_policy] enforce_new_defaults` is off.
    pub older_check: Option<&'static str>,
    /// Whether tokens with system or domain scope are refused, with any roles.
    pub project_scope_only: bool,
    pub about: &'static str,
}

const SERVICE: &str = "rule:service_api";
const ADMIN_OR_PROJECT_READER_OR_SERVICE: &str = "rule:admin_or_project_reader_or_service_api";
/// Choosing places and claiming them, for any number of consumers.
const PLACE_AND_CLAIM: &str = "rule:placement:allocation_candidates:list and rule:placement:allocations:manage and \
                               rule:placement:allocations:update";
const OLDER: Option<&str> = Some("role:admin");
/// Older policy files may set all rules that have an `older_check` under this name.
pub const OLDER_NAME: &str = "rule:admin_api";

/// A rule for references in further rules.
const fn common(name: &'static str, check: &'static str, about: &'static str) -> PolicyRule {
    PolicyRule {
        name,
        check,
        older_check: OLDER,
        project_scope_only: true,
        about,
    }
}

/// A rule that authorizes routes.
const fn authorize(name: &'static str, check: &'static str, about: &'static str) -> PolicyRule {
    PolicyRule {
        older_check: None,
        ..common(name, check, about)
    }
}

/// A rule that authorizes routes for admins and services, as most rules of OpenStack Placement.
const fn admin_or_service(name: &'static str, about: &'static str) -> PolicyRule {
    authorize(name, "rule:admin_or_service_api", about)
}

impl PolicyRule {
    /// Whether this is a rule of the native API.
    pub fn is_native(&self) -> bool {
        self.name.starts_with("placet:")
    }
}

/// The rule of this name.
pub fn find(name: &str) -> Option<&'static PolicyRule> {
    ALL.iter().copied().find(|rule| rule.name == name)
}

/// The known name most similar to `name`, for messages.
pub fn nearest(name: &str) -> &'static str {
    let similarity = |rule: &&&PolicyRule| strsim::jaro_winkler(rule.name, name);
    let nearest = ALL.iter().max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
    nearest.map_or("", |rule| rule.name)
}

macro_rules! rules {
    ($($id:ident = $rule:expr;)*) => {
        $(pub static $id: PolicyRule = $rule;)*
        /// Every rule.
        pub static ALL: &[&PolicyRule] = &[$(&$id),*];
    };
}

rules! {
    ADMIN_API = authorize("admin_api", "role:admin", "Default rule for most placement APIs.");
    SERVICE_API = common("service_api", "role:service", "Default rule for service-to-service placement APIs.");
    ADMIN_OR_SERVICE_API =
        common("admin_or_service_api", "role:admin or role:service", "Default rule for most placement APIs.");
    PROJECT_READER_API = PolicyRule {
        project_scope_only: false,
        ..common(
            "project_reader_api",
            "role:reader and project_id:%(project_id)s",
            "Default rule for Project level reader APIs.",
        )
    };
    ADMIN_OR_PROJECT_READER_OR_SERVICE_API = common(
        "admin_or_project_reader_or_service_api",
        "role:admin or rule:project_reader_api or role:service",
        "Default rule for project level reader APIs.",
    );

    PROVIDERS_LIST = admin_or_service("placement:resource_providers:list", "List resource providers.");
    PROVIDERS_CREATE = admin_or_service("placement:resource_providers:create", "Create a resource provider.");
    PROVIDERS_SHOW = admin_or_service("placement:resource_providers:show", "Show resource provider.");
    PROVIDERS_UPDATE = admin_or_service("placement:resource_providers:update", "Update resource provider.");
    PROVIDERS_DELETE = admin_or_service("placement:resource_providers:delete", "Delete resource provider.");

    CLASSES_LIST = admin_or_service("placement:resource_classes:list", "List resource classes.");
    CLASSES_CREATE = admin_or_service("placement:resource_classes:create", "Create resource class.");
    CLASSES_SHOW = admin_or_service("placement:resource_classes:show", "Show resource class.");
    CLASSES_UPDATE = admin_or_service("placement:resource_classes:update", "Update resource class.");
    CLASSES_DELETE = admin_or_service("placement:resource_classes:delete", "Delete resource class.");

    INVENTORIES_LIST =
        admin_or_service("placement:resource_providers:inventories:list", "List resource provider inventories.");
    INVENTORIES_CREATE =
        admin_or_service("placement:resource_providers:inventories:create", "Create one resource provider inventory.");
    INVENTORIES_SHOW =
        admin_or_service("placement:resource_providers:inventories:show", "Show resource provider inventory.");
    INVENTORIES_UPDATE =
        admin_or_service("placement:resource_providers:inventories:update", "Update resource provider inventory.");
    INVENTORIES_DELETE =
        admin_or_service("placement:resource_providers:inventories:delete", "Delete resource provider inventory.");

    AGGREGATES_LIST =
        admin_or_service("placement:resource_providers:aggregates:list", "List resource provider aggregates.");
    AGGREGATES_UPDATE =
        admin_or_service("placement:resource_providers:aggregates:update", "Update resource provider aggregates.");

    PROVIDER_USAGES = admin_or_service("placement:resource_providers:usages", "List resource provider usages.");
    TOTAL_USAGES = authorize(
        "placement:usages",
        ADMIN_OR_PROJECT_READER_OR_SERVICE,
        "List total resource usages for a given project.",
    );

    TRAITS_LIST = admin_or_service("placement:traits:list", "List traits.");
    TRAITS_SHOW = admin_or_service("placement:traits:show", "Show trait.");
    TRAITS_UPDATE = admin_or_service("placement:traits:update", "Update trait.");
    TRAITS_DELETE = admin_or_service("placement:traits:delete", "Delete trait.");
    PROVIDER_TRAITS_LIST =
        admin_or_service("placement:resource_providers:traits:list", "List resource provider traits.");
    PROVIDER_TRAITS_UPDATE =
        admin_or_service("placement:resource_providers:traits:update", "Update resource provider traits.");
    PROVIDER_TRAITS_DELETE =
        admin_or_service("placement:resource_providers:traits:delete", "Delete resource provider traits.");

    ALLOCATIONS_MANAGE = admin_or_service("placement:allocations:manage", "Manage allocations.");
    ALLOCATIONS_LIST = admin_or_service("placement:allocations:list", "List allocations.");
    ALLOCATIONS_UPDATE = admin_or_service("placement:allocations:update", "Update allocations.");
    ALLOCATIONS_DELETE = admin_or_service("placement:allocations:delete", "Delete allocations.");
    PROVIDER_ALLOCATIONS_LIST =
        admin_or_service("placement:resource_providers:allocations:list", "List resource provider allocations.");

    CANDIDATES_LIST = admin_or_service("placement:allocation_candidates:list", "List allocation candidates.");
    RESHAPE = authorize("placement:reshaper:reshape", SERVICE, "Reshape Inventory and Allocations.");

    NATIVE_USE = PolicyRule {
        project_scope_only: false,
        ..authorize("placet:api:use", "@", "Use the native API, besides the rule of each of its routes.")
    };
    NATIVE_SHOW = PolicyRule {
        project_scope_only: false,
        ..authorize("placet:api:show", "@", "List the operations of the native API.")
    };
    CLAIMS_CREATE = authorize("placet:claims:create", PLACE_AND_CLAIM, "Place and claim in one call.");
    CLAIMS_CREATE_FOR_OTHERS = admin_or_service(
        "placet:claims:create:other_projects",
        "Place and claim for consumers of other projects than the token's.",
    );
    NATIVE_CANDIDATES_LIST = authorize(
        "placet:candidates:list",
        "rule:placement:allocation_candidates:list",
        "List the best allocation candidates.",
    );
    CAPACITY_SHOW = authorize(
        "placet:capacity:show",
        "rule:placement:allocation_candidates:list and rule:placement:resource_providers:usages",
        "Count how many more consumers of a query fit.",
    );
    EXPLAIN_SHOW = authorize(
        "placet:explain:show",
        "rule:placement:allocation_candidates:list and rule:placement:resource_providers:inventories:list",
        "Explain why a query has no candidate.",
    );
    HOSTS_LIST = authorize(
        "placet:hosts:list",
        "rule:placement:resource_providers:list",
        "List the hosts that report.",
    );
    HOSTS_SHOW = authorize(
        "placet:hosts:show",
        "rule:placement:resource_providers:show",
        "Show a host that reports.",
    );
    HOSTS_REPORT = authorize(
        "placet:hosts:report",
        "rule:placement:resource_providers:update and rule:placement:resource_providers:inventories:update",
        "Report what a host has.",
    );
    HOSTS_REPORT_FOR_OTHERS = admin_or_service(
        "placet:hosts:report:other_users",
        "Report for hosts that are bound to other users than the token's.",
    );
    LIMITS_LIST = authorize(
        "placet:limits:list",
        "rule:placement:resource_providers:inventories:list",
        "List the limits of resource classes.",
    );
    LIMITS_SHOW = authorize(
        "placet:limits:show",
        "rule:placement:resource_providers:inventories:show",
        "Show the limit of a resource class.",
    );
    LIMITS_UPDATE = authorize(
        "placet:limits:update",
        "rule:placement:resource_providers:inventories:update",
        "Set the limit of a resource class.",
    );
    DOMAINS_LIST = authorize(
        "placet:domains:list",
        "rule:placement:resource_providers:list and rule:placement:resource_providers:usages and \
         rule:placement:resource_providers:aggregates:list",
        "List the domains of a dimension.",
    );
    DOMAINS_SHOW = authorize(
        "placet:domains:show",
        "rule:placement:resource_providers:aggregates:list",
        "Show the aggregate of a domain.",
    );
    DOMAINS_UPDATE = authorize(
        "placet:domains:update",
        "rule:placement:resource_providers:update and rule:placement:resource_providers:aggregates:update",
        "Make the members of an aggregate a domain.",
    );
    DOMAINS_DELETE = authorize(
        "placet:domains:delete",
        "rule:placement:resource_providers:update and rule:placement:resource_providers:aggregates:update",
        "Take the aggregate from a domain.",
    );
    TYPES_LIST = authorize("placet:types:list", "rule:placement:resource_providers:list", "List types.");
    TYPES_SHOW = authorize(
        "placet:types:show",
        "rule:placement:resource_providers:show",
        "Show the properties of a type.",
    );
    TYPES_UPDATE = authorize(
        "placet:types:update",
        "rule:placement:resource_providers:update and rule:placement:resource_providers:traits:update",
        "Set the properties of a type.",
    );
    TYPES_DELETE = authorize(
        "placet:types:delete",
        "rule:placement:resource_providers:update and rule:placement:resource_providers:traits:update",
        "Delete the properties of a type.",
    );
    DESCRIPTIONS_LIST = authorize(
        "placet:providers:list",
        "rule:placement:resource_providers:list",
        "List what providers are.",
    );
    DESCRIPTIONS_SHOW = authorize(
        "placet:providers:show",
        "rule:placement:resource_providers:show",
        "Show what a provider is.",
    );
    DESCRIPTIONS_UPDATE = authorize(
        "placet:providers:update",
        "rule:placement:resource_providers:update and rule:placement:resource_providers:traits:update",
        "Describe providers.",
    );
    WORKLOADS_LIST = authorize("placet:workloads:list", "rule:placement:usages", "List the workloads of a project.");
    WORKLOADS_SHOW = authorize("placet:workloads:show", "rule:placement:usages", "Show a workload.");
    VIOLATIONS_LIST = authorize(
        "placet:violations:list",
        "rule:placement:usages",
        "List which rules of the workloads of a project are broken.",
    );
    REFUSALS_LIST = authorize(
        "placet:refusals:list",
        "rule:placement:usages",
        "List which requests of a project got nothing, and why.",
    );
    CONSUMERS_LIST = authorize(
        "placet:consumers:list",
        "rule:placement:usages",
        "List the consumers of a project.",
    );
    USAGES_LIST = authorize(
        "placet:usages:list",
        "rule:placement:usages",
        "List sums of usages, of the consumers of a project or of providers.",
    );
    WORKLOADS_UPDATE = authorize("placet:workloads:update", PLACE_AND_CLAIM, "Create or change a workload.");
    WORKLOADS_DELETE =
        authorize("placet:workloads:delete", "rule:placement:allocations:delete", "Delete a workload.");
    WORKLOADS_UPDATE_FOR_OTHERS = admin_or_service(
        "placet:workloads:update:other_projects",
        "Create, change or delete workloads of other projects than the token's.",
    );
}
