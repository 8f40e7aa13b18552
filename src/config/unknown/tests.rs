//! Tests of names of environment variables.

use super::*;

#[test]
fn a_mistyped_variable_is_distinguished_from_those_of_other_programs() {
    for (name, meant) in [
        ("OS_PLACEMENT_DATABSE__CONNECTION", "OS_PLACEMENT_DATABASE__CONNECTION"),
        ("OS_PLACEMENT_DATABASE_CONNECTION", "OS_PLACEMENT_DATABASE__CONNECTION"),
        ("os_placement_database__connection", "OS_PLACEMENT_DATABASE__CONNECTION"),
        ("PLACEMENT_DATABASE__CONNECTION", "OS_PLACEMENT_DATABASE__CONNECTION"),
        ("OS_PLACEMENT_DATABASE__CONECTOIN", "OS_PLACEMENT_DATABASE__CONNECTION"),
        ("OS_PLACEMENT_CONFIGDIR", "OS_PLACEMENT_CONFIG_DIR"),
        ("OS_APIS__AUTH_STRATEGY", "OS_API__AUTH_STRATEGY"),
        ("OS_PLACEMENT_DB__CONNECTION", "OS_PLACEMENT_DATABASE__CONNECTION"),
        ("OS_PLACEMENT__CONNECTION", "OS_PLACEMENT_DATABASE__CONNECTION"),
    ] {
        assert_eq!(mistyped(name), Some(Some(meant.to_owned())), "{name}");
    }
    for name in [
        "OS_XYZ__QQ",
        "OS_FOO__BAR",
        "OS_NOVA__X",
        "OS_GLANCE__API_SERVERS",
        "OS_CACHE__BACKEND",
        "OS_NEUTRON__PASSWORD",
        "OS_OSLO_MESSAGING_RABBIT__SSL",
    ] {
        assert_eq!(mistyped(name), Some(None), "{name}");
    }
    for (name, meant) in [
        ("OS_PLACEMENT_DATABASE__URL", true),
        ("OS_DEFAULT__DEBG", true),
        // Nova's variables.
        ("OS_PLACEMENT__AUTH_URL", false),
        ("OS_PLACEMENT__PASSWORD", false),
    ] {
        assert_eq!(
            nearest_variable(name).is_some(),
            meant,
            "{name}: {:?}",
            nearest_variable(name)
        );
    }
    for name in [
        "OS_PLACEMENT_DATABASE__CONNECTION",
        "OS_PLACEMENT_CONFIG_DIR",
        "OS_PLACEMENT_API_VERSION",
        "OS_PLACEMENT",
        "OS_AUTH_URL",
        "OS_USERNAME",
        "OS_PASSWORD",
        "OS_CACERT",
        "OS_INTERFACE",
        "OS_REGION_NAME",
        "OS_DEFAULT_DOMAIN",
        "OS_DEFAULT_DOMAIN_ID",
        "OS_DEFAULT_DOMAIN_NAME",
        "OS_AUTH_TYPE",
        "OS_ENDPOINT_TYPE",
        "OS_TOKEN",
        "OS_SYSTEM_SCOPE",
        "OS_APPLICATION_CREDENTIAL_ID",
        "OS_PROJECT_DOMAIN_NAME",
        "OS_IDENTITY_API_VERSION",
        "OS_COMPUTE_API_VERSION",
        "OS__",
        "OS__Y",
        "PATH",
        "__CF_USER__TEXT",
    ] {
        assert_eq!(mistyped(name), None, "{name}");
    }
}
