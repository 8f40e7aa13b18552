//! Chooses the lines to log: by `RUST_LOG`, else by `[DEFAULT] debug`. A mistake in `RUST_LOG` silences no line.

use log::LevelFilter;

/// The default: without the start and stop lines of the HTTP server, which repeat placet's, and without its errors
/// about unreadable requests.
const INFO: &str = "info,actix_http=off,actix_server=warn";
const DEBUG: &str = "info,actix_http=off,placet=debug";

/// The filters for env_logger, and a warning about the filters that cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub struct LogFilter {
    pub filters: String,
    pub warning: Option<String>,
}

/// `variable` is the value of `RUST_LOG`.
pub fn choose(variable: Option<&str>, debug: bool) -> LogFilter {
    let default = if debug { DEBUG } else { INFO };
    let faultless = |filters: &str| LogFilter {
        filters: filters.to_owned(),
        warning: None,
    };
    let Some(asked) = variable.filter(|filters| !filters.trim().is_empty()) else {
        return faultless(default);
    };
    let (directives, pattern) = asked.split_once('/').map_or((asked, None), |(d, p)| (d, Some(p)));
    let (mut kept, mut mistakes) = (Vec::new(), Vec::new());
    let mut is_about_placet = false;
    for directive in directives.split(',').map(str::trim).filter(|each| !each.is_empty()) {
        match read(directive) {
            Some(target) => {
                is_about_placet |= target.is_none_or(|target| target.starts_with("placet"));
                kept.push(directive);
            }
            None => mistakes.push(directive),
        }
    }
    if is_about_placet && mistakes.is_empty() {
        return faultless(asked);
    }
    let reason = if mistakes.is_empty() {
        "says nothing of placet".to_owned()
    } else {
        format!("has what is no log level: {}", mistakes.join(", "))
    };
    // A directive for all targets, before the usable directives.
    kept.insert(0, default);
    let pattern = pattern.map_or(String::new(), |pattern| format!("/{pattern}"));
    LogFilter {
        filters: kept.join(",") + &pattern,
        warning: Some(format!(
            "RUST_LOG={asked} {reason}; the level is {} for everything else. Write it like \
             RUST_LOG=info,placet::model=debug, with the levels off, error, warn, info, debug and trace",
            if debug { "debug" } else { "info" },
        )),
    }
}

/// The target of a directive: `Some(None)` for a level alone; `None` for a directive that cannot be used.
fn read(directive: &str) -> Option<Option<&str>> {
    match directive.split_once('=') {
        Some((target, level)) => level.trim().parse::<LevelFilter>().ok().map(|_| Some(target.trim())),
        None if directive.parse::<LevelFilter>().is_ok() => Some(None),
        // env_logger takes a word without a level for a target, and a mistyped level too.
        None => directive.starts_with("placet").then_some(Some(directive)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_without_a_mistake_is_taken_as_it_is() {
        for asked in [
            "debug",
            "OFF",
            "placet::access=info",
            "placet",
            "warn,placet::db=trace/regex",
            " info , actix_http=off",
        ] {
            let filter = choose(Some(asked), false);
            assert_eq!((filter.filters.as_str(), filter.warning), (asked, None));
        }
    }

    #[test]
    fn a_mistake_is_reported_and_the_rest_is_logged_at_info() {
        for (asked, filters) in [
            ("inof", INFO.to_owned()),
            ("nonsense=foo", INFO.to_owned()),
            ("placet=dbug", INFO.to_owned()),
            ("actix_http=debug", format!("{INFO},actix_http=debug")),
            ("inof,placet::db=trace/x", format!("{INFO},placet::db=trace/x")),
        ] {
            let filter = choose(Some(asked), false);
            assert_eq!(filter.filters, filters);
            assert!(filter.warning.is_some_and(|warning| warning.contains(asked)), "{asked}");
        }
    }

    #[test]
    fn without_the_variable_the_option_decides() {
        assert_eq!(choose(None, false).filters, INFO);
        assert_eq!(choose(Some(" "), true).filters, DEBUG);
    }
}
