//! `placet token …`: the tokens of `[placet] token_file`, for installations without Keystone.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, Utc};
use clap::{Args, Subcommand};

use super::{CommandError, stderr, stdout, table, token_file};
use crate::auth::tokens::{self, TokenEntry};
use crate::config::Options;

/// Marks a token for programs that search for leaked tokens.
const PREFIX: &str = "placet_";
/// Random bytes of a token: 256 bits.
const TOKEN_BYTES: usize = 32;
const ID_BYTES: usize = 4;

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token and print it, once. The file gets the hash; placet accepts the token from the next request on.
    Create {
        /// The user of the token.
        #[arg(long)]
        user: String,
        /// The project of the token.
        #[arg(long)]
        project: String,
        /// A role of the token, such as admin, or reader. May be repeated. `placet policy list` says what each may do.
        #[arg(long = "role", required_unless_present = "host", value_name = "ROLE")]
        roles: Vec<String>,
        /// The uuid of a host, instead of roles: the token reports for this host, and is refused everywhere else.
        #[arg(long, value_name = "UUID", conflicts_with = "roles")]
        host: Option<String>,
        /// How long the token is valid: 12h, 90d, 2027-01-31 (the beginning of that day in UTC), or never.
        #[arg(long)]
        expires: String,
        #[command(flatten)]
        file: FileArgument,
    },
    /// Print all tokens without the secrets: the id, the user, the project, the roles, the host, and the expiry.
    List {
        #[command(flatten)]
        file: FileArgument,
    },
    /// Remove tokens by id. placet refuses the tokens from the next request on.
    Revoke {
        /// The id of a token, as `placet token list` prints it.
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        #[command(flatten)]
        file: FileArgument,
    },
}

#[derive(Debug, Args)]
pub struct FileArgument {
    /// The token file, instead of `[placet] token_file`. `token create` makes a missing file.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl FileArgument {
    fn path<'a>(&'a self, options: &'a Options) -> Result<&'a Path, CommandError> {
        let path = self.file.as_ref().or(options.placet.token_file.as_ref());
        path.map(PathBuf::as_path)
            .ok_or_else(|| CommandError::File("which file? Set [placet] token_file, or give --file".to_owned()))
    }
}

impl TokenCommand {
    pub fn run(&self, options: &Options) -> Result<(), CommandError> {
        let result = match self {
            Self::Create {
                user,
                project,
                roles,
                host,
                expires,
                file,
            } => create(file.path(options)?, (user, project), roles, host.as_deref(), expires),
            Self::List { file } => list(file.path(options)?),
            Self::Revoke { ids, file } => revoke(file.path(options)?, ids),
        };
        result.map_err(CommandError::File)
    }
}

fn create(
    path: &Path,
    (user, project): (&str, &str),
    roles: &[String],
    host: Option<&str>,
    expires: &str,
) -> Result<(), String> {
    let now = Utc::now();
    tokens::check_word("user", user)?;
    tokens::check_word("project", project)?;
    roles.iter().try_for_each(|role| tokens::check_word("role", role))?;
    let host = host.map(tokens::host_uuid).transpose()?;
    let expires = expiry(expires, now)?;
    let token = format!("{PREFIX}{}", random::<TOKEN_BYTES>()?);
    let id = random::<ID_BYTES>()?;
    let entry = TokenEntry {
        hash: tokens::hash(&token),
        id: id.clone(),
        user: user.to_owned(),
        project: project.to_owned(),
        roles: roles.to_vec(),
        host,
        created: now,
        expires,
    };
    token_file::change(path, |entries| {
        entries.push(entry);
        Ok(())
    })?;
    // Elsewhere a closed pipe is no error. Here no operator has seen the token, so the token is removed again.
    if let Err(error) = stdout::write(format!("{token}\n").as_bytes()) {
        let error = CommandError::Stdout(error);
        token_file::change(path, |entries| {
            entries.retain(|entry| entry.id != id);
            Ok(())
        })
        .map_err(|other| format!("{error}; token {id} is valid, and could not be removed again: {other}"))?;
        return Err(format!("{error}; no token was added"));
    }
    stderr::line(&format!(
        "token {id} was added to {}; it is not shown again",
        path.display()
    ));
    Ok(())
}

fn list(path: &Path) -> Result<(), String> {
    if !path.exists() {
        return Err(format!(
            "there is no token file {}; `placet token create --help` says how to make it",
            path.display()
        ));
    }
    let now = Utc::now();
    let day = |time: DateTime<Utc>| time.format("%Y-%m-%d %H:%M").to_string();
    let rows: Vec<Vec<String>> = token_file::entries(path)?
        .into_iter()
        .map(|entry| {
            let expires = match entry.expires {
                None => "never".to_owned(),
                Some(time) if entry.is_expired(now) => format!("{} (expired)", day(time)),
                Some(time) => day(time),
            };
            vec![
                entry.id,
                entry.user,
                entry.project,
                entry.roles.join(","),
                entry.host.unwrap_or_default(),
                day(entry.created),
                expires,
            ]
        })
        .collect();
    stdout::print(&table::centred(
        &["id", "user", "project", "roles", "host", "created", "expires"],
        &rows,
    ))
    .map_err(|error| error.to_string())
}

fn revoke(path: &Path, ids: &[String]) -> Result<(), String> {
    token_file::change(path, |entries| {
        // All or none, so that the command can be repeated.
        if let Some(unknown) = ids.iter().find(|id| !entries.iter().any(|entry| entry.id == **id)) {
            return Err(format!(
                "{} has no token {unknown}; nothing was revoked. `placet token list --file {}` prints the ids",
                path.display(),
                path.display()
            ));
        }
        entries.retain(|entry| !ids.contains(&entry.id));
        Ok(())
    })?;
    let revoked = format!("revoked: {}", ids.join(" "));
    stdout::line(&revoked).map_err(|error| format!("{revoked}, but {error}"))
}

/// Random bytes of the operating system, as hexadecimal digits.
fn random<const BYTES: usize>() -> Result<String, String> {
    let mut bytes = [0; BYTES];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(|error| format!("cannot read random bytes from /dev/urandom: {error}"))?;
    Ok(tokens::hex(&bytes))
}

/// When a token expires; `None` for never.
fn expiry(text: &str, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>, String> {
    let number = |unit: char| text.strip_suffix(unit).and_then(|number| number.parse::<u32>().ok());
    let expires = if text == "never" {
        return Ok(None);
    } else if let Some(hours) = number('h') {
        now.checked_add_signed(TimeDelta::hours(hours.into()))
    } else if let Some(days) = number('d') {
        now.checked_add_days(Days::new(days.into()))
    } else if let Ok(day) = text.parse::<NaiveDate>() {
        Some(day.and_time(NaiveTime::MIN).and_utc())
    } else {
        DateTime::parse_from_rfc3339(text)
            .ok()
            .map(|time| time.with_timezone(&Utc))
    };
    match expires {
        Some(expires) if expires > now => Ok(Some(expires)),
        Some(_) => Err(format!("--expires {text} has passed already")),
        None => Err(format!(
            "--expires {text} must be like 12h, 90d, 2027-01-31, 2027-01-31T12:00:00Z or never"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_is_a_duration_a_day_or_never() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let after = |text: &str| Ok::<_, String>(expiry(text, now)?.map(|time| (time - now).num_minutes()));
        assert_eq!(after("never"), Ok(None));
        assert_eq!(after("12h"), Ok(Some(720)));
        assert_eq!(after("90d"), Ok(Some(90 * 24 * 60)));
        assert_eq!(after("2027-01-16"), Ok(Some(16 * 60)));
        assert_eq!(
            after("2027-01-15T09:00:00+01:00").unwrap_err(),
            "--expires 2027-01-15T09:00:00+01:00 has passed already"
        );
        for text in ["", "90", "d", "-1d", "2027-13-01", "0d", "4294967296d", "soon"] {
            assert!(after(text).is_err(), "{text}");
        }
    }

    #[test]
    fn tokens_are_256_bits_and_differ() {
        let tokens: Vec<String> = (0..100).map(|_| random::<TOKEN_BYTES>().unwrap()).collect();
        assert!(tokens.iter().all(|token| token.len() == 64));
        let distinct: std::collections::BTreeSet<_> = tokens.iter().collect();
        assert_eq!(distinct.len(), 100);
    }
}
