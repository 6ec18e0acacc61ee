//! Writes a file atomically: its full content, or nothing.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A temporary file that replaces its target once it is complete. Pipes and devices such as /dev/stdout are written to
/// directly.
pub struct AtomicFile {
    path: PathBuf,
    temporary: Option<PathBuf>,
    file: File,
}

impl AtomicFile {
    /// Creates the temporary file, so that a wrong path fails before anything else happens.
    pub fn create(path: &Path) -> io::Result<AtomicFile> {
        AtomicFile::create_with(path, OpenOptions::new().write(true).create_new(true))
    }

    /// As `create`, but only the user may read the file (mode 0600 on Unix).
    pub fn create_private(path: &Path) -> io::Result<AtomicFile> {
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        AtomicFile::create_with(path, options.write(true).create_new(true))
    }

    fn create_with(path: &Path, options: &OpenOptions) -> io::Result<AtomicFile> {
        let named = |error: io::Error| named(path, &error);
        match std::fs::metadata(path) {
            Ok(facts) if facts.is_dir() => return Err(named(io::Error::other("is a folder"))),
            Ok(facts) if !facts.is_file() => {
                let file = OpenOptions::new().write(true).open(path).map_err(named)?;
                return Ok(AtomicFile { path: path.to_owned(), temporary: None, file });
            }
            _ => {}
        }
        // Follow a symbolic link, so that the link itself stays.
        let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let name = target.file_name().ok_or_else(|| named(io::Error::other("has no file name")))?;
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.part", std::process::id()));
        let temporary = target.with_file_name(hidden);
        // Such a file is left over from a killed program with the same pid.
        let _ = std::fs::remove_file(&temporary);
        let file = options.open(&temporary).map_err(named)?;
        Ok(AtomicFile { path: target, temporary: Some(temporary), file })
    }

    /// Returns the path of the target.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the content and replaces an existing file.
    pub fn write(mut self, content: &[u8]) -> io::Result<()> {
        self.fill(content)?;
        if let Some(temporary) = &self.temporary {
            std::fs::rename(temporary, &self.path)?;
            self.temporary = None;
        }
        Ok(())
    }

    /// Writes the content unless the file exists, even if it was created meanwhile.
    pub fn write_new(mut self, content: &[u8]) -> io::Result<()> {
        self.fill(content)?;
        let Some(temporary) = &self.temporary else { return Ok(()) };
        match std::fs::hard_link(temporary, &self.path) {
            Ok(()) => Ok(()), // dropping `self` removes the temporary name
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(named(&self.path, &error)),
            // The file system does not support links.
            Err(_) => {
                drop(
                    OpenOptions::new()
                        .write(true)
                        .create_new(true)
                        .open(&self.path)
                        .map_err(|e| named(&self.path, &e))?,
                );
                self.write_over()
            }
        }
    }

    fn write_over(mut self) -> io::Result<()> {
        if let Some(temporary) = self.temporary.take() {
            std::fs::rename(temporary, &self.path)?;
        }
        Ok(())
    }

    fn fill(&mut self, content: &[u8]) -> io::Result<()> {
        self.file.write_all(content)?;
        if self.temporary.is_some() { self.file.sync_all() } else { Ok(()) }
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = std::fs::remove_file(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A temporary folder, removed on drop.
    struct TempFolder(PathBuf);

    impl TempFolder {
        fn new(name: &str) -> TempFolder {
            let folder = std::env::temp_dir().join(format!("redial-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).expect("folder");
            TempFolder(folder)
        }

        fn files(&self) -> usize {
            std::fs::read_dir(&self.0).expect("folder").count()
        }
    }

    impl Drop for TempFolder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn read(path: &Path) -> String {
        std::fs::read_to_string(path).expect("there")
    }

    #[test]
    fn writes_the_whole_file_or_nothing() {
        let folder = TempFolder::new("whole");
        let path = folder.0.join("report.json");
        std::fs::write(&path, "before").expect("an old report");
        drop(AtomicFile::create(&path).expect("created"));
        assert_eq!(read(&path), "before");
        AtomicFile::create(&path).expect("created").write(b"after").expect("written");
        assert_eq!((read(&path).as_str(), folder.files()), ("after", 1), "nothing else is left");
        assert!(AtomicFile::create(&folder.0).is_err(), "a folder");
        assert!(AtomicFile::create(&folder.0.join("none/report.json")).is_err(), "in no folder");
    }

    #[test]
    fn write_new_keeps_an_existing_file() {
        let folder = TempFolder::new("new");
        let path = folder.0.join("shop.dials");
        let (first, late) =
            (AtomicFile::create(&path).expect("created"), || AtomicFile::create(&path).expect("created"));
        first.write_new(b"first").expect("there was none");
        let error = late().write_new(b"late").expect_err("there is one");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert!(error.to_string().contains("shop.dials"), "{error}");
        assert_eq!((read(&path).as_str(), folder.files()), ("first", 1), "nothing else is left");
        late().write(b"forced").expect("over it");
        assert_eq!(read(&path), "forced");
    }

    #[test]
    #[cfg(unix)]
    fn private_files_are_for_the_user_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = TempFolder::new("private");
        let path = folder.0.join("shop.snapshot");
        std::fs::write(&path, "before").expect("an old file, readable by all");
        AtomicFile::create_private(&path).expect("created").write(b"after").expect("written");
        let mode = std::fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!((mode & 0o777, read(&path).as_str()), (0o600, "after"));
    }

    #[test]
    #[cfg(unix)]
    fn writes_directly_to_a_device() {
        let null = Path::new("/dev/null");
        AtomicFile::create(null).expect("opened").write(b"x").expect("written");
        AtomicFile::create(null).expect("opened").write_new(b"x").expect("written");
        assert!(!std::fs::metadata(null).expect("there").is_file());
    }
}
