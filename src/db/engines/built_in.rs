//! The engines in this binary.

/// The engines, and the features of missing engines: `SQLite 3.50.4, PostgreSQL with TLS, …`.
pub fn engines() -> String {
    let postgresql = match (cfg!(feature = "postgresql"), cfg!(feature = "postgresql-tls")) {
        (_, true) => "PostgreSQL with TLS",
        (true, false) => "PostgreSQL without TLS (feature postgresql-tls)",
        (false, false) => "no PostgreSQL (feature postgresql)",
    };
    let mariadb = if cfg!(feature = "mariadb") {
        "MariaDB and MySQL with TLS"
    } else {
        "no MariaDB (feature mariadb)"
    };
    let sqlite = libsqlite3_sys::SQLITE_VERSION.to_string_lossy();
    format!("SQLite {sqlite}, {postgresql}, {mariadb}")
}
