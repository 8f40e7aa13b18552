//! The tokens of `[placet] token_file`, with the user, the roles and the end of each token.
//!
//! A token is 256 random bits. The file has the SHA-256 of the token, so a reader of the file cannot use the token. A
//! line of the file is a token: `sha256=… id=… user=… project=… roles=…,… created=… expires=…`. The line of a host's
//! token has `host=…` too, and no roles.

use std::collections::HashMap;
use std::fmt::{self, Write};
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use uuid::Uuid;

use crate::policy::Caller;

/// The SHA-256 of a token.
pub type TokenHash = [u8; 32];

const HASH: &str = "sha256";

/// One token of the file, without the token itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenEntry {
    pub hash: TokenHash,
    /// Names the token in lists and messages.
    pub id: String,
    pub user: String,
    pub project: String,
    pub roles: Vec<String>,
    /// The uuid of the only host for which the token may report, in lower case with dashes.
    pub host: Option<String>,
    pub created: DateTime<Utc>,
    /// `None` for a token that never expires.
    pub expires: Option<DateTime<Utc>>,
}

/// The hash of a token.
pub fn hash(token: &str) -> TokenHash {
    Sha256::digest(token.as_bytes()).into()
}

impl TokenEntry {
    pub fn is_expired(&self, now: DateTime<Utc>) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// A line of the file.
impl fmt::Display for TokenEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Secs, true);
        write!(
            f,
            "{HASH}={} id={} user={} project={} roles={}{} created={} expires={}",
            hex(&self.hash),
            self.id,
            self.user,
            self.project,
            self.roles.join(","),
            self.host.as_ref().map_or(String::new(), |host| format!(" host={host}")),
            time(self.created),
            self.expires.map_or("never".to_owned(), time),
        )
    }
}

/// Digits of bytes.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Checks a word that the file can hold: an id, a user, a project or a role.
///
/// # Errors
/// The mistake, for a message.
pub fn check_word(what: &str, word: &str) -> Result<(), String> {
    let is_allowed = |c: char| !c.is_whitespace() && !c.is_control() && c != ',' && c != '=';
    if !word.is_empty() && word.len() <= 255 && word.chars().all(is_allowed) {
        return Ok(());
    }
    Err(format!(
        "the {what} {word:?} must have 1 to 255 characters, and no blank, comma or equals sign"
    ))
}

/// The uuid of a host, in lower case with dashes.
///
/// # Errors
/// The mistake, for a message.
pub fn host_uuid(text: &str) -> Result<String, String> {
    let uuid = Uuid::try_parse(text).map_err(|_| format!("the host {text:?} must be a uuid"))?;
    Ok(uuid.to_string())
}

/// Reads a token file. Empty lines and lines that begin with `#` are comments.
///
/// # Errors
/// The first line that cannot be used, as `LINE: reason`.
pub fn parse(text: &str) -> Result<Vec<TokenEntry>, String> {
    let lines = (1..).zip(text.lines().map(str::trim));
    let entries = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let entries: Result<Vec<TokenEntry>, String> = entries
        .map(|(number, line)| parse_line(line).map_err(|reason| format!("{number}: {reason}")))
        .collect();
    let entries = entries?;
    let mut ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    ids.sort_unstable();
    match ids.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("two tokens have the id {}", pair[0])),
        None => Ok(entries),
    }
}

fn parse_line(line: &str) -> Result<TokenEntry, String> {
    let mut fields: HashMap<&str, &str> = HashMap::new();
    for word in line.split_whitespace() {
        let (name, value) = word.split_once('=').ok_or("each word must be name=value")?;
        if fields.insert(name, value).is_some() {
            return Err(format!("{name} is given twice"));
        }
    }
    let host = fields.remove("host").map(host_uuid).transpose()?;
    let mut take = |name: &'static str| fields.remove(name).ok_or(format!("{name}= is missing"));
    let time = |name: &str, text: &str| {
        let read = DateTime::parse_from_rfc3339(text).map(|time| time.with_timezone(&Utc));
        read.map_err(|_| format!("{name} must be a time like 2027-01-31T12:00:00Z"))
    };
    let entry = TokenEntry {
        hash: unhex(take(HASH)?).ok_or(format!("{HASH} must be 64 hexadecimal digits"))?,
        id: take("id")?.to_owned(),
        user: take("user")?.to_owned(),
        project: take("project")?.to_owned(),
        roles: take("roles")?
            .split(',')
            .filter(|role| !role.is_empty())
            .map(str::to_owned)
            .collect(),
        host,
        created: time("created", take("created")?)?,
        expires: match take("expires")? {
            "never" => None,
            text => Some(time("expires", text)?),
        },
    };
    if entry.host.is_some() && !entry.roles.is_empty() {
        return Err("a token with host= has no roles: empty roles=".to_owned());
    }
    // A misspelt name may have been meant to restrict the token.
    if let Some(name) = fields.keys().next() {
        return Err(format!("{name}= means nothing here"));
    }
    for (what, word) in [("id", &entry.id), ("user", &entry.user), ("project", &entry.project)] {
        check_word(what, word)?;
    }
    Ok(entry)
}

fn unhex(text: &str) -> Option<TokenHash> {
    let is_hex = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut hash = TokenHash::default();
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2).filter(|_| is_hex)?, 16).ok()?;
    }
    Some(hash)
}

/// The tokens of the file, by their hash.
pub struct TokenTable {
    /// By the first half of the hash. The rest is compared in constant time.
    tokens: HashMap<[u8; 16], Vec<KnownToken>>,
}

struct KnownToken {
    hash: TokenHash,
    expires: Option<DateTime<Utc>>,
    caller: Arc<Caller>,
}

impl TokenTable {
    pub fn new(entries: &[TokenEntry]) -> TokenTable {
        let mut tokens: HashMap<_, Vec<KnownToken>> = HashMap::new();
        for entry in entries {
            tokens.entry(first_half(&entry.hash)).or_default().push(KnownToken {
                hash: entry.hash,
                expires: entry.expires,
                caller: Arc::new(Caller {
                    user_id: Some(entry.user.clone()),
                    project_id: Some(entry.project.clone()),
                    roles: entry.roles.clone(),
                    host: entry.host.clone(),
                    ..Caller::default()
                }),
            });
        }
        TokenTable { tokens }
    }

    /// The caller with this token; `None` if it is unknown or expired.
    pub fn caller(&self, token: &str, now: DateTime<Utc>) -> Option<Arc<Caller>> {
        let hash = hash(token);
        let candidates = self.tokens.get(&first_half(&hash))?;
        let known = candidates.iter().find(|known| bool::from(known.hash.ct_eq(&hash)))?;
        let is_valid = known.expires.is_none_or(|expires| now < expires);
        is_valid.then(|| Arc::clone(&known.caller))
    }

    pub fn count(&self) -> usize {
        self.tokens.values().map(Vec::len).sum()
    }
}

fn first_half(hash: &TokenHash) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&hash[..16]);
    half
}

#[cfg(test)]
mod tests;
