//! An option file of MySQL's clients, for `read_default_file` and `read_default_group` of a URL. The file's settings
//! hold where the URL has no setting.
//!
//! PyMySQL reads a single group, `client` or the named group, and no escapes. mysqlclient reads both groups, and
//! escapes. Both ignore unknown options, because many programs share the files.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Server, UrlOption, host};
use crate::db::SetupError;

/// Files that are included more deeply include each other.
const MAX_DEPTH: usize = 64;
/// The files for a group without a file.
const DEFAULT_FILES: [&str; 2] = ["/etc/my.cnf", "/etc/mysql/my.cnf"];

/// Options about TLS, in the file and in a URL. In the file `tls-` stands for `ssl-`.
const TLS: [(&str, &str); 6] = [
    ("ssl", "ssl"),
    ("ssl-ca", "ssl_ca"),
    ("ssl-cert", "ssl_cert"),
    ("ssl-key", "ssl_key"),
    ("ssl-mode", "ssl_mode"),
    ("ssl-verify-server-cert", "ssl_verify_identity"),
];

/// Options that PyMySQL keeps, but placet cannot.
const KEPT_BY_PYMYSQL: [&str; 3] = ["ssl-capath", "ssl-cipher", "ssl-password"];

impl Server {
    /// Adds the settings of the URL's option file, if any.
    ///
    /// # Errors
    /// A file that cannot be read, or a setting that placet cannot keep.
    pub(super) fn with_option_file(mut self) -> Result<Server, SetupError> {
        let (named, group) = (self.option("read_default_file"), self.option("read_default_group"));
        let path = match (named, group) {
            (Some(path), _) if path.starts_with('~') => {
                return Err(unusable(Path::new(path), "write the whole path, without ~".to_owned()));
            }
            (Some(path), _) => PathBuf::from(path),
            (None, Some(_)) => {
                let exists = |path: &&str| Path::new(path).exists();
                DEFAULT_FILES
                    .into_iter()
                    .find(exists)
                    .unwrap_or(DEFAULT_FILES[0])
                    .into()
            }
            (None, None) => return Ok(self),
        };
        let mut groups = vec![group.unwrap_or("client").to_owned()];
        if !self.is_pymysql {
            groups.insert(0, "client".to_owned());
        }
        let mut reader = OptionFileReader {
            groups,
            has_escapes: !self.is_pymysql,
            settings: Vec::new(),
        };
        reader.read(&path, 0)?;
        // The last of several lines counts.
        let mut port = None;
        for Setting { name, value, path } in reader.settings.into_iter().rev() {
            if name == "port" {
                port = port.or(Some(value));
            } else {
                self.add(&name, value).map_err(|reason| unusable(&path, reason))?;
            }
        }
        if port.is_some() && self.hosts.is_empty() {
            self.hosts.push(host("localhost"));
        }
        for host in self.hosts.iter_mut().filter(|host| host.port.is_none()) {
            host.port.clone_from(&port);
        }
        Ok(self)
    }

    /// Uses a setting of the file, unless the URL or a later line has the setting.
    fn add(&mut self, spelled: &str, value: String) -> Result<(), String> {
        let name = match spelled.strip_prefix("tls-") {
            Some(rest) => format!("ssl-{rest}"),
            None => spelled.to_owned(),
        };
        match name.as_str() {
            "user" if self.user.is_empty() => self.user = value,
            "password" if self.password.is_none() => self.password = Some(value),
            "database" if self.database.is_empty() => self.database = value,
            "host" if self.hosts.is_empty() => self.hosts = vec![host(&value)],
            "socket" => self.add_option("unix_socket", value),
            "ssl" if value.is_empty() => self.add_option("ssl", "true".to_owned()),
            "ssl-verify-server-cert" if value.is_empty() => self.add_option("ssl_verify_identity", "true".to_owned()),
            _ => match TLS.iter().find(|(known, _)| *known == name) {
                Some((_, parameter)) => self.add_option(parameter, value),
                // PyMySQL ignores all further options.
                None if name.starts_with("ssl-") && (!self.is_pymysql || KEPT_BY_PYMYSQL.contains(&name.as_str())) => {
                    return Err(format!(
                        "placet cannot keep {spelled}: remove it, and say with ssl-ca which authorities are trusted"
                    ));
                }
                None => {}
            },
        }
        Ok(())
    }

    fn add_option(&mut self, name: &str, value: String) {
        if self.option(name).is_none() {
            self.options.push(UrlOption {
                name: name.to_owned(),
                value,
            });
        }
    }
}

/// A line of a group that is read.
struct Setting {
    /// In lower case, with `-`.
    name: String,
    /// Empty without a value.
    value: String,
    path: PathBuf,
}

struct OptionFileReader {
    groups: Vec<String>,
    has_escapes: bool,
    settings: Vec<Setting>,
}

impl OptionFileReader {
    fn read(&mut self, path: &Path, depth: usize) -> Result<(), SetupError> {
        if depth > MAX_DEPTH {
            return Err(unusable(path, "it includes itself".to_owned()));
        }
        let text = fs::read_to_string(path).map_err(|error| unusable(path, error.to_string()))?;
        let mut is_read = false;
        for (number, line) in (1..).zip(text.lines().map(str::trim)) {
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(group) = line.strip_prefix('[') {
                let (group, _) = group
                    .split_once(']')
                    .ok_or_else(|| unusable(path, format!("line {number}: a group must end with ]")))?;
                is_read = self.groups.iter().any(|wanted| wanted == group.trim());
            } else if let Some(directive) = line.strip_prefix('!') {
                self.include(path, directive, depth)?;
            } else if is_read {
                self.setting(path, line);
            }
        }
        Ok(())
    }

    fn include(&mut self, path: &Path, directive: &str, depth: usize) -> Result<(), SetupError> {
        let (word, target) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
        let target = PathBuf::from(target.trim());
        match word {
            "include" => self.read(&target, depth + 1),
            "includedir" => {
                let entries = fs::read_dir(&target).map_err(|error| unusable(&target, error.to_string()))?;
                let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
                files.retain(|file| file.extension().is_some_and(|extension| extension == "cnf"));
                files.sort();
                files.iter().try_for_each(|file| self.read(file, depth + 1))
            }
            _ => Err(unusable(
                path,
                format!("!{word} is no directive: use !include or !includedir"),
            )),
        }
    }

    fn setting(&mut self, path: &Path, line: &str) {
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        let value = unquoted(value.trim());
        let value = if self.has_escapes {
            unescaped(value)
        } else {
            value.to_owned()
        };
        self.settings.push(Setting {
            name: name.trim().to_lowercase().replace('_', "-"),
            value,
            path: path.to_owned(),
        });
    }
}

fn unquoted(value: &str) -> &str {
    for quote in ['\'', '"'] {
        let inner = value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner;
        }
    }
    value
}

/// The text without MySQL's escapes. A backslash before an ordinary letter stays.
fn unescaped(value: &str) -> String {
    let (mut text, mut letters) = (String::new(), value.chars());
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('b') => text.push('\u{8}'),
            Some('s') => text.push(' '),
            Some(plain @ ('"' | '\'' | '\\')) => text.push(plain),
            Some(other) => text.extend(['\\', other]),
            None => text.push('\\'),
        }
    }
    text
}

fn unusable(path: &Path, reason: String) -> SetupError {
    SetupError::OptionFile {
        path: path.display().to_string(),
        reason,
    }
}

#[cfg(test)]
mod tests;
