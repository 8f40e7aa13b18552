//! Tests of option files of MySQL's clients.

use std::fs;

use tempfile::TempDir;

use super::super::Server;
use crate::db::SetupError;

/// The server of a URL in which `FILE` is an option file with this text.
fn server(driver: &str, url: &str, text: &str) -> (Result<Server, SetupError>, TempDir) {
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().join("my.cnf");
    fs::write(&path, text.replace("DIR", &dir.path().to_string_lossy())).expect("a file");
    let url = url.replace("FILE", &path.to_string_lossy());
    let server = Server::parse("mysql", driver, &url).expect("a URL");
    (server.into_mysql(), dir)
}

fn read(driver: &str, url: &str, text: &str) -> Server {
    server(driver, url, text)
        .0
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refusal(driver: &str, text: &str) -> String {
    let (result, _dir) = server(driver, "h/d?read_default_file=FILE", text);
    result.err().map_or_else(String::new, |error| error.to_string())
}

const FULL: &str = "# a comment\n[client]\nuser = u\npassword = \"p # w\"\nport=3307\nssl_ca = /ca\nssl-cert=/c\n\
                    ssl-key='/k'\nprompt = x\nno-auto-rehash\n[other]\nuser = of_other\nssl-ca = /other\n";

#[test]
fn found_c2_the_client_group_of_an_option_file_is_used() {
    let found = read("pymysql", "h/d?read_default_file=FILE", FULL);
    assert_eq!(
        found.mysql_urls(),
        [
            "mysql://u:p%20%23%20w@host=h;connect-timeout=10;ssl-verify-server-cert=1:3307/d?ssl_ca=%2Fca&ssl_cert=%2Fc&ssl_key=%2Fk"
        ]
    );
    assert!(found.requires_tls());
    // The URL wins.
    let found = read("pymysql", "a:b@h:1/d?ssl_ca=/mine&read_default_file=FILE", FULL);
    assert!(
        found.mysql_urls()[0].starts_with("mysql://a:b@host=h;connect-timeout=10"),
        "{found:?}"
    );
    assert_eq!(
        (found.option("ssl_ca"), found.option("ssl_key")),
        (Some("/mine"), Some("/k"))
    );
}

#[test]
fn found_c2_a_named_group_is_used_as_the_driver_does() {
    let text =
        "[client]\nuser = of_client\nssl-ca = /client\n[tripleo]\nbind-address = 10.0.0.1\nssl=1\nssl-ca=/tripleo\n";
    let url = "h/d?read_default_file=FILE&read_default_group=tripleo";
    let pymysql = read("pymysql", url, text);
    assert_eq!(
        (pymysql.user.as_str(), pymysql.option("ssl_ca")),
        ("", Some("/tripleo"))
    );
    let mysqlclient = read("mysqldb", url, text);
    assert_eq!(
        (mysqlclient.user.as_str(), mysqlclient.option("ssl_ca")),
        ("of_client", Some("/tripleo"))
    );
    assert!(read("", "h/d?read_default_file=FILE", "[client]\nssl\n").requires_tls());
}

#[test]
fn found_c2_files_are_included_and_a_later_line_wins() {
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().display().to_string();
    for (name, text) in [
        ("a.cnf", "[client]\nhost = of_a\nssl-ca = /a\n".to_owned()),
        ("b.cnf", "[client]\nssl-ca = /b\n".to_owned()),
        ("c.txt", "[client]\nssl-ca = /c\n".to_owned()),
        ("loop", format!("!include {path}/loop\n")),
    ] {
        fs::write(dir.path().join(name), text).expect("a file");
    }
    let found = read(
        "",
        "u@/d?read_default_file=FILE",
        &format!("!includedir {path}\n[client]\nuser = x\n"),
    );
    assert_eq!((found.option("ssl_ca"), found.user.as_str()), (Some("/b"), "u"));
    assert!(found.to_string().contains("of_a"), "{found}");
    let found = read("", "u@/d?read_default_file=FILE", &format!("!include {path}/a.cnf\n"));
    assert_eq!(found.option("ssl_ca"), Some("/a"));
    assert!(refusal("", &format!("!include {path}/loop\n")).contains("includes itself"));
}

#[test]
fn found_c2_an_option_file_that_cannot_be_kept_is_refused() {
    let missing = Server::parse("mysql", "pymysql", "h/d?read_default_file=/nowhere/my.cnf").map(Server::into_mysql);
    let error = missing.expect("a URL").expect_err("no file").to_string();
    assert!(
        error.contains("/nowhere/my.cnf") && error.contains("No such file"),
        "{error}"
    );
    for (driver, text, named) in [
        ("pymysql", "[client]\nssl-capath = /x\n", "ssl-capath"),
        ("mysqldb", "[client]\nssl-crl = /x\n", "ssl-crl"),
        ("mysqldb", "[client]\ntls-version = TLSv1.3\n", "tls-version"),
        ("pymysql", "[client]\nssl-mode = VERIFY_IDENTTY\n", "verify_identity"),
        ("pymysql", "[client\n", "line 1"),
        ("pymysql", "!includes /x\n", "!include or !includedir"),
    ] {
        let refused = refusal(driver, text);
        assert!(refused.contains(named), "{text}: {refused}");
    }
    assert_eq!(refusal("pymysql", "[client]\nssl-crl = /x\n"), "", "PyMySQL ignores it");
}

#[test]
fn found_c2_a_socket_and_escapes_are_read_as_the_driver_reads_them() {
    let text = "[client]\nsocket = /run/m.sock\npassword = a\\sb\n";
    let pymysql = read("pymysql", "u@h/d?read_default_file=FILE", text);
    assert_eq!(pymysql.password.as_deref(), Some("a\\sb"));
    assert_eq!(
        pymysql.mysql_urls(),
        ["mysql://u:a%5Csb@localhost/d?unix_socket=%2Frun%2Fm%2Esock"]
    );
    assert_eq!(
        read("mysqldb", "u@h/d?read_default_file=FILE", text)
            .password
            .as_deref(),
        Some("a b")
    );
}

#[test]
fn found_c2_the_name_in_the_certificate_is_checked_where_the_driver_checks_it() {
    let checks = |driver: &str, url: &str| {
        let server = Server::parse("mysql", driver, url).expect("a URL").into_mysql();
        server.map(|server| server.mysql_urls()[0].contains("ssl-verify-server-cert=1"))
    };
    for (driver, url, checked) in [
        ("pymysql", "h/d?ssl_ca=/a", true),
        ("pymysql", "h/d?ssl_ca=/a&ssl_check_hostname=false", false),
        ("pymysql", "h/d?ssl_ca=/a&ssl_verify_cert=true", false),
        ("pymysql", "h/d?ssl_ca=/a&ssl_disabled=true", false),
        ("pymysql", "[::1]/d?ssl_ca=/a", false),
        ("pymysql", "h/d?charset=utf8", false),
        ("mysqldb", "h/d?ssl_ca=/a", false),
        ("mysqldb", "h/d?ssl_mode=VERIFY_IDENTITY", true),
        ("", "h/d?ssl_verify_identity=true", true),
        ("", "localhost/d?ssl_check_hostname=true", true),
    ] {
        assert!(
            checks(driver, url).is_ok_and(|found| found == checked),
            "{driver} {url}"
        );
    }
    for url in [
        "[::1]/d?ssl_verify_identity=true",
        "h/d?ssl_verify_identity=true&unix_socket=/s",
    ] {
        assert!(matches!(checks("", url), Err(SetupError::NoIdentity)), "{url}");
    }
}

#[test]
fn found_c2_an_option_is_refused_as_it_is_spelled() {
    for name in ["tls-version", "ssl-cipher"] {
        let refused = refusal("mysqldb", &format!("[client]\n{name} = x\n"));
        assert!(refused.contains(&format!("placet cannot keep {name}:")), "{refused}");
    }
}

#[test]
fn found_c2_a_path_in_the_users_home_is_refused_with_advice() {
    let server = Server::parse("mysql", "pymysql", "h/d?read_default_file=~/.my.cnf").expect("a URL");
    let refused = server.into_mysql().expect_err("a path with ~").to_string();
    assert!(refused.contains("write the whole path"), "{refused}");
}
