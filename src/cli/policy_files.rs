//! Reads oslo.policy's files from disk, and detects when they change.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::file_watch::FileWatch;
use crate::config::OsloPolicy;
use crate::policy::PolicyFile;
use crate::policy::live::PolicyFiles;

const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// The file of the option `policy_file`, then the files in each of `policy_dirs`. A rule in a later file overrides one in
/// an earlier file.
pub struct DiskFiles {
    options: OsloPolicy,
    watch: FileWatch,
}

impl DiskFiles {
    /// Records the current state of the files. `read` must follow: then a change between the two calls is detected.
    pub fn new(options: &OsloPolicy) -> DiskFiles {
        DiskFiles {
            options: options.clone(),
            watch: FileWatch::start(CHECK_INTERVAL, watched(options)),
        }
    }
}

impl PolicyFiles for DiskFiles {
    fn changed(&self) -> bool {
        self.watch.changed(|| watched(&self.options))
    }

    fn read(&self) -> Result<Vec<PolicyFile>, String> {
        let mut paths: Vec<PathBuf> = self.options.file().into_iter().collect();
        for dir in self.options.dirs() {
            paths.extend(files_of(&dir)?);
        }
        paths.iter().map(|path| read(path)).collect()
    }
}

/// The files, and the directories to which files may be added.
fn watched(options: &OsloPolicy) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = options.file().into_iter().collect();
    for dir in options.dirs() {
        paths.extend(files_of(&dir).unwrap_or_default());
        paths.push(dir);
    }
    paths
}

/// The files of a directory, sorted by name. Subdirectories are skipped. As in oslo.policy, every name is accepted that
/// does not begin with a dot.
fn files_of(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| {
        let hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        !hidden && path.is_file()
    });
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> Result<PolicyFile, String> {
    let name = path.display().to_string();
    match fs::read_to_string(path) {
        Ok(text) => Ok(PolicyFile { name, text }),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::*;
    use crate::config::Options;

    fn options(dir: &Path) -> OsloPolicy {
        let mut options = Options::default().oslo_policy;
        // A directory that does not exist is skipped.
        options.policy_dirs.0.push("nowhere".into());
        options.search_dirs = vec![dir.to_owned()];
        options
    }

    /// Asserts that a change is detected once, and returns the texts of all files.
    fn text_after_change(disk: &DiskFiles) -> String {
        sleep(CHECK_INTERVAL);
        assert!(disk.changed(), "a change was not detected");
        sleep(CHECK_INTERVAL);
        assert!(!disk.changed(), "a change was detected twice");
        let files = disk.read().expect("files that can be read");
        files.into_iter().map(|file| file.text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_change_of_the_files_is_detected_once() {
        let folder = tempfile::tempdir().expect("a directory");
        let dir = folder.path();
        let put = |name: &str, text: &str| fs::write(dir.join(name), text).expect("the file is written");
        let disk = DiskFiles::new(&options(dir));
        assert_eq!(disk.read(), Ok(Vec::new()));
        put("policy.yaml", "one");
        assert_eq!(text_after_change(&disk), "one");
        // Replaced by a file of the same size.
        put("new", "two");
        fs::rename(dir.join("new"), dir.join("policy.yaml")).expect("the file is renamed");
        assert_eq!(text_after_change(&disk), "two");
        fs::create_dir(dir.join("policy.d")).expect("the directory is created");
        put("policy.d/b.yaml", "b");
        put("policy.d/a.json", "a");
        assert_eq!(text_after_change(&disk), "two a b");
        put("policy.d/b.yaml", "longer");
        assert_eq!(text_after_change(&disk), "two a longer");
        fs::remove_file(dir.join("policy.d/a.json")).expect("the file is removed");
        assert_eq!(text_after_change(&disk), "two longer");
        // The directory changes, but neither a subdirectory nor a hidden file is read.
        fs::create_dir(dir.join("policy.d/inner")).expect("the directory is created");
        put("policy.d/inner/c.yaml", "c");
        put("policy.d/.hidden", "h");
        assert_eq!(text_after_change(&disk), "two longer");
        fs::remove_file(dir.join("policy.yaml")).expect("the file is removed");
        assert_eq!(text_after_change(&disk), "longer");
    }

    #[test]
    fn a_read_error_names_the_file() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("policy.yaml");
        fs::write(&path, b"\xff").expect("the file is written");
        let message = DiskFiles::new(&options(folder.path()))
            .read()
            .expect_err("it is not UTF-8");
        assert!(message.starts_with(&format!("{}: ", path.display())), "{message}");
    }
}
