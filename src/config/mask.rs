//! Hides secrets in the output for logs and terminals.

/// The text in place of a secret.
pub const MASK: &str = "***";

/// A database URL without its password.
///
/// When in doubt the function masks more. Everything between the user and the last `@` is masked, because a password
/// may contain an unescaped `@`. Every parameter with `pass` in its name is masked too.
pub fn url(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return MASK.to_owned();
    };
    if scheme.starts_with("sqlite") && rest.starts_with('/') {
        return text.to_owned();
    }
    let masked = match rest.rsplit_once('@') {
        Some((account, host)) => match account.split_once(':') {
            Some((user, _)) => format!("{scheme}://{user}:{MASK}@{host}"),
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
            // A mistyped URL of SQLite, without a slash before its path, may be a server's URL.
            ("sqlite://u:pw@h/d", "sqlite://u:***@h/d"),
            ("sqlite://", "sqlite://"),
            ("hunter2", "***"),
        ] {
            assert_eq!(url(text), shown);
        }
    }
}
