//! Finds the configuration: files, directories and environment variables.
//!
//! 1. Files: `--config-file`, else `placement.conf` in `$OS_PLACEMENT_CONFIG_DIR`, else
//!    `/etc/placement/placement.conf`.
//! 2. The `*.conf` files, by name, of the directories of `--config-dir`, else of `/etc/placement/placement.conf.d`.
//!
//! A later file overrides an earlier file. Environment variables `OS_<SECTION>__<OPTION>` override all files.
//! oslo.config also searches the home directory; placet, a service, does not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirEntry};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::error::{ConfigError, Result};
use super::raw::RawConfig;
use super::{ini, spec, unknown};

const FILE_NAME: &str = "placement.conf";
const DIR_NAME: &str = "placement.conf.d";

/// The sources of a configuration. [`ConfigSources::default`] is empty. Contains secrets, so there is no `Debug`.
#[derive(Clone, Default)]
pub struct ConfigSources {
    /// `--config-file`, in the order given.
    pub files: Vec<PathBuf>,
    /// `--config-dir`, in the order given; read after the files.
    pub dirs: Vec<PathBuf>,
    /// Name and value of every environment variable.
    pub environment: BTreeMap<String, String>,
    /// The directory of an installed service's configuration, `/etc/placement`.
    pub system_dir: Option<PathBuf>,
    /// `[placet] bind` from the command line, over all other sources. A service with this option alone counts as not
    /// configured.
    pub bind: Option<String>,
}

impl ConfigSources {
    /// The environment of this process, and `/etc/placement`.
    pub fn of_process() -> Self {
        let lossy = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        Self {
            environment: std::env::vars_os()
                .map(|(name, value)| (lossy(name), lossy(value)))
                .collect(),
            system_dir: Some("/etc/placement".into()),
            ..Self::default()
        }
    }

    /// The arguments with which a second placet reads the same files, from any directory.
    pub fn arguments_for_files(&self) -> Vec<String> {
        let absolute = |path: &Path| {
            let path = self.without_tilde(path);
            std::path::absolute(&path).unwrap_or(path).display().to_string()
        };
        let by_variable = self.file_of_variable().filter(|_| self.files.is_empty());
        let files = self.files.iter().chain(&by_variable);
        let files = files.map(|file| ["--config-file".to_owned(), absolute(file)]);
        let dirs = self.dirs.iter().map(|dir| ["--config-dir".to_owned(), absolute(dir)]);
        files.chain(dirs).flatten().collect()
    }

    /// Reads all sources. The errors are missing files and directories, unreadable files, and lines that are not INI.
    pub(super) fn read(&self) -> (RawConfig, Vec<ConfigError>) {
        let mut errors = Vec::new();
        let mut files = Vec::new();
        for path in self.paths(&mut errors) {
            match fs::read_to_string(&path) {
                Ok(text) => {
                    let (entries, bad_lines) = ini::parse(&path, &text);
                    errors.extend(bad_lines);
                    files.push((path, entries));
                }
                Err(error) => errors.push(unreadable(&path, &error)),
            }
        }
        let environment = self.options_in_environment();
        let others = self.environment.keys().filter(|name| !environment.contains_key(*name));
        let mistyped = others.filter_map(|name| Some((name.clone(), unknown::mistyped(name)?)));
        let raw = RawConfig {
            specs: &spec::ALL,
            search_dirs: self.search_dirs(&files),
            files,
            mistyped: mistyped.collect(),
            environment,
            bind: self.bind.clone(),
        };
        (raw, errors)
    }

    /// The order is oslo.config's: the named directories, the directories of the files (the last file first), the
    /// system's directory.
    fn search_dirs<T>(&self, files: &[(PathBuf, T)]) -> Vec<PathBuf> {
        let named = self.dirs.iter().map(|dir| self.without_tilde(dir));
        let of_files = files
            .iter()
            .rev()
            .filter_map(|(path, _)| Some(path.parent()?.to_owned()));
        let system = self
            .system_dir
            .iter()
            .flat_map(|dir| [Some(dir.as_path()), dir.parent()])
            .flatten();
        named.chain(of_files).chain(system.map(Path::to_owned)).collect()
    }

    /// The files to read, in order. As in oslo.config, default files come before named files.
    fn paths(&self, errors: &mut Vec<ConfigError>) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        let mut add = |found: Result<Vec<PathBuf>>| match found {
            Ok(found) => paths.extend(found),
            Err(error) => errors.push(error),
        };
        if self.files.is_empty() {
            add(self.default_file().map(Vec::from_iter));
        }
        if self.dirs.is_empty()
            && let Some(dir) = self.system_dir.as_ref().map(|dir| dir.join(DIR_NAME))
            && dir.exists()
        {
            add(conf_files(&dir));
        }
        for file in &self.files {
            add(Ok(vec![self.without_tilde(file)]));
        }
        for dir in &self.dirs {
            add(conf_files(&self.without_tilde(dir)));
        }
        paths
    }

    fn default_file(&self) -> Result<Option<PathBuf>> {
        if let Some(file) = self.file_of_variable() {
            return Ok(Some(file));
        }
        let Some(file) = self.system_dir.as_ref().map(|dir| dir.join(FILE_NAME)) else {
            return Ok(None);
        };
        // An existing file that cannot be read is an error. Without its configuration the service would accept every
        // token.
        match file.try_exists() {
            Ok(exists) => Ok(exists.then_some(file)),
            Err(error) => Err(unreadable(&file, &error)),
        }
    }

    /// The file of `OS_PLACEMENT_CONFIG_DIR`.
    fn file_of_variable(&self) -> Option<PathBuf> {
        let dir = self.environment.get("OS_PLACEMENT_CONFIG_DIR")?.trim();
        (!dir.is_empty()).then(|| Path::new(dir).join(FILE_NAME))
    }

    /// Shells do not expand the `~` of `--config-file=~/x`; oslo.config does.
    fn without_tilde(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.environment.get("HOME")) {
            (Ok(rest), Some(home)) => Path::new(home).join(rest),
            _ => path.to_owned(),
        }
    }

    /// The variables `OS_<SECTION>__<OPTION>` of known sections; a client's `OS_AUTH_URL` is no such variable.
    fn options_in_environment(&self) -> BTreeMap<String, String> {
        let prefixes: BTreeSet<String> = spec::ALL
            .iter()
            .map(|spec| format!("OS_{}__", spec.section.to_uppercase()))
            .collect();
        self.environment
            .iter()
            .filter(|(name, _)| {
                name.find("__")
                    .is_some_and(|at| prefixes.contains(&name[..at + 2]) && name.len() > at + 2)
            })
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }
}

fn conf_files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = visible_entries(dir).map_err(|error| unreadable(dir, &error))?;
    files.retain(|path| path.extension().is_some_and(|ending| ending == "conf"));
    Ok(files)
}

/// The entries of a directory, sorted by name. As for a shell, names that begin with a dot are hidden.
pub fn visible_entries(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries: io::Result<Vec<DirEntry>> = fs::read_dir(dir)?.collect();
    let mut entries = entries?;
    entries.retain(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    entries.sort_by_key(DirEntry::file_name);
    Ok(entries.iter().map(DirEntry::path).collect())
}

fn unreadable(path: &Path, error: &io::Error) -> ConfigError {
    let reason = match error.kind() {
        ErrorKind::NotFound => "it does not exist".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::InvalidData => "it is not UTF-8".to_owned(),
        _ => error.to_string(),
    };
    ConfigError::Unreadable {
        path: path.to_owned(),
        reason,
    }
}
