//! Reads oslo.policy's files from disk, and detects their changes.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::file_watch::DiskFiles;
use crate::config::{OsloPolicy, visible_entries};
use crate::live_value::Files;
use crate::policy::PolicyFile;

/// The policy files, for the service.
pub fn files(options: &OsloPolicy) -> Box<dyn Files<Vec<PolicyFile>>> {
    let (watched_options, options) = (options.clone(), options.clone());
    Box::new(DiskFiles::new(
        move || watched(&watched_options),
        move || read(&options),
    ))
}

/// Reads the file of the option `policy_file`, and after it the files in each of `policy_dirs`. A rule in a later file
/// overrides a rule in an earlier file.
///
/// # Errors
/// The file that cannot be read, and why.
pub fn read(options: &OsloPolicy) -> Result<Vec<PolicyFile>, String> {
    let mut paths: Vec<PathBuf> = options.file().into_iter().collect();
    for dir in options.dirs() {
        paths.extend(files_of(&dir)?);
    }
    paths.iter().map(|path| read_file(path)).collect()
}

/// The files, and the directories to which files may be added. Unreadable files are watched too.
fn watched(options: &OsloPolicy) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = options.file().into_iter().collect();
    for dir in options.dirs() {
        paths.extend(visible_entries(&dir).unwrap_or_default());
        paths.push(dir);
    }
    paths
}

/// The files of a directory. Subdirectories are skipped, and so are links that lead nowhere.
fn files_of(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for path in visible_entries(dir).map_err(|error| format!("{}: {error}", dir.display()))? {
        match fs::metadata(&path) {
            Ok(data) if data.is_file() => files.push(path),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(format!("{}: {error}", path.display())),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(files)
}

fn read_file(path: &Path) -> Result<PolicyFile, String> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
    Ok(PolicyFile { name, text })
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::config::Options;

    fn options(dir: &Path) -> OsloPolicy {
        let mut options = Options::default().oslo_policy;
        // A missing directory is skipped.
        options.policy_dirs.0.push("nowhere".into());
        options.search_dirs = vec![dir.to_owned()];
        options
    }

    /// Asserts that a change is detected until the file is read, and returns the texts of all files.
    fn text_after_change(disk: &dyn Files<Vec<PolicyFile>>) -> String {
        std::thread::sleep(std::time::Duration::from_millis(10));
        assert!(disk.changed(), "a change was not detected");
        let files = disk.read().expect("files that can be read");
        assert!(!disk.changed(), "a change was detected after it was read");
        // The kernel's clock ticks until the next edit.
        std::thread::sleep(std::time::Duration::from_millis(10));
        files.into_iter().map(|file| file.text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_change_of_the_files_is_detected_once() {
        let folder = tempfile::tempdir().expect("a directory");
        let dir = folder.path();
        let put = |name: &str, text: &str| fs::write(dir.join(name), text).expect("the file is written");
        let disk = files(&options(dir));
        assert_eq!(disk.read(), Ok(Vec::new()));
        put("policy.yaml", "first");
        assert_eq!(text_after_change(disk.as_ref()), "first");
        put("policy.yaml", "one");
        assert_eq!(text_after_change(disk.as_ref()), "one");
        // Replaced by a file of the same size.
        put("new", "two");
        fs::rename(dir.join("new"), dir.join("policy.yaml")).expect("the file is renamed");
        assert_eq!(text_after_change(disk.as_ref()), "two");
        fs::create_dir(dir.join("policy.d")).expect("the directory is created");
        put("policy.d/b.yaml", "b");
        put("policy.d/a.json", "a");
        assert_eq!(text_after_change(disk.as_ref()), "two a b");
        put("policy.d/b.yaml", "longer");
        assert_eq!(text_after_change(disk.as_ref()), "two a longer");
        fs::remove_file(dir.join("policy.d/a.json")).expect("the file is removed");
        assert_eq!(text_after_change(disk.as_ref()), "two longer");
        // The directory changes, but neither a subdirectory nor a hidden file is read.
        fs::create_dir(dir.join("policy.d/inner")).expect("the directory is created");
        put("policy.d/inner/c.yaml", "c");
        put("policy.d/.hidden", "h");
        assert_eq!(text_after_change(disk.as_ref()), "two longer");
        fs::remove_file(dir.join("policy.yaml")).expect("the file is removed");
        assert_eq!(text_after_change(disk.as_ref()), "longer");
    }

    #[test]
    fn a_read_error_names_the_file() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("policy.yaml");
        fs::write(&path, b"\xff").expect("the file is written");
        let message = read(&options(folder.path())).expect_err("it is not UTF-8");
        assert!(message.starts_with(&format!("{}: ", path.display())), "{message}");
    }

    #[test]
    fn a_file_that_cannot_be_looked_at_is_an_error_until_it_can() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("policy.d/a.yaml");
        fs::create_dir(folder.path().join("policy.d")).expect("the directory is created");
        // A link to itself, which even root cannot follow.
        symlink(&path, &path).expect("the link is made");
        let disk = files(&options(folder.path()));
        let message = disk.read().expect_err("it cannot be followed");
        assert!(message.starts_with(&format!("{}: ", path.display())), "{message}");
        fs::remove_file(&path).expect("the link is removed");
        fs::write(&path, "one").expect("the file is written");
        assert_eq!(text_after_change(disk.as_ref()), "one");
    }

    #[test]
    fn a_mode_that_changes_is_a_change() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("policy.yaml");
        fs::write(&path, "one").expect("the file is written");
        let disk = files(&options(folder.path()));
        disk.read().expect("files that can be read");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("the mode is set");
        assert_eq!(text_after_change(disk.as_ref()), "one");
    }
}
