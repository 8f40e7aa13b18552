//! What of a secret may be shown.

use super::known::Known;

const MASK: &str = "***";

/// `text`, a value of `known`, as a log or a terminal may show it: of a database URL all but the password, of any
/// other secret nothing.
pub fn value(known: &Known, text: &str) -> String {
    match known.secret {
        false => text.to_owned(),
        true if known.name.ends_with("connection") => url(text),
        true => MASK.to_owned(),
    }
}

/// A database URL without its password.
///
/// Rather too much is masked than too little: everything up to the last `@`, because a password may hold one that
/// should have been escaped, and every parameter whose name has `pass` in it.
pub fn url(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return MASK.to_owned();
    };
    if scheme.starts_with("sqlite") {
        return text.to_owned();
    }
    let masked = match rest.rsplit_once('@') {
        Some((account, place)) => match account.split_once(':') {
            Some((user, _)) => format!("{scheme}://{user}:{MASK}@{place}"),
            None => text.to_owned(),
        },
        None => text.to_owned(),
    };
    let Some((path, query)) = masked.split_once('?') else {
        return masked;
    };
    let parameters = query.split('&').map(|parameter| match parameter.split_once('=') {
        Some((name, _)) if name.to_lowercase().contains("pass") => format!("{name}={MASK}"),
        _ => parameter.to_owned(),
    });
    format!("{path}?{}", parameters.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_masked() {
        for (text, shown) in [
            (
                "mysql+pymysql://u:pw@h/d?charset=utf8",
                "mysql+pymysql://u:***@h/d?charset=utf8",
            ),
            ("postgresql://u:p@w@h/d", "postgresql://u:***@h/d"),
            ("postgresql://u:p/w?x@h/d", "postgresql://u:***@h/d"),
            ("postgresql://u@h/d", "postgresql://u@h/d"),
            (
                "postgresql://h/d?user=u&password=pw",
                "postgresql://h/d?user=u&password=***",
            ),
            ("sqlite:////var/a:b@c.sqlite", "sqlite:////var/a:b@c.sqlite"),
            ("hunter2", "***"),
        ] {
            assert_eq!(url(text), shown);
        }
    }
}
