//! A file that is there in whole or not at all.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A new file beside the one named, which takes its place when it is whole. What is no regular file (a pipe,
/// /dev/stdout) is written to directly.
pub struct WholeFile {
    path: PathBuf,
    temporary: Option<PathBuf>,
    file: File,
}

impl WholeFile {
    /// Opens it, so that a wrong path is known before anything is done.
    pub fn create(path: &Path) -> io::Result<WholeFile> {
        let named = |error: io::Error| named(path, &error);
        match std::fs::metadata(path) {
            Ok(facts) if facts.is_dir() => return Err(named(io::Error::other("it is a folder"))),
            Ok(facts) if !facts.is_file() => {
                let file = OpenOptions::new().write(true).open(path).map_err(named)?;
                return Ok(WholeFile { path: path.to_owned(), temporary: None, file });
            }
            _ => {}
        }
        // A link is followed, so that it stays one.
        let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let name = target.file_name().ok_or_else(|| named(io::Error::other("it names no file")))?;
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.part", std::process::id()));
        let temporary = target.with_file_name(hidden);
        // A file of that name is the leaving of a program that was killed and had the same pid.
        let _ = std::fs::remove_file(&temporary);
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary).map_err(named)?;
        Ok(WholeFile { path: target, temporary: Some(temporary), file })
    }

    /// The file named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes it, over what may be there.
    pub fn write(mut self, content: &[u8]) -> io::Result<()> {
        self.fill(content)?;
        if let Some(temporary) = &self.temporary {
            std::fs::rename(temporary, &self.path)?;
            self.temporary = None;
        }
        Ok(())
    }

    /// Writes it unless there is a file of that name, even one that came only now.
    pub fn write_new(mut self, content: &[u8]) -> io::Result<()> {
        self.fill(content)?;
        let Some(temporary) = &self.temporary else { return Ok(()) };
        match std::fs::hard_link(temporary, &self.path) {
            Ok(()) => Ok(()), // the other name goes with `self`
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(named(&self.path, &error)),
            // A file system without links.
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

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = std::fs::remove_file(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of a test's own, gone when dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let folder = std::env::temp_dir().join(format!("redial-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).expect("folder");
            Folder(folder)
        }

        fn files(&self) -> usize {
            std::fs::read_dir(&self.0).expect("folder").count()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn read(path: &Path) -> String {
        std::fs::read_to_string(path).expect("there")
    }

    #[test]
    fn the_file_appears_whole_or_not_at_all() {
        let folder = Folder::new("whole");
        let path = folder.0.join("report.json");
        std::fs::write(&path, "before").expect("an old report");
        drop(WholeFile::create(&path).expect("created"));
        assert_eq!(read(&path), "before");
        WholeFile::create(&path).expect("created").write(b"after").expect("written");
        assert_eq!((read(&path).as_str(), folder.files()), ("after", 1), "nothing else is left");
        assert!(WholeFile::create(&folder.0).is_err(), "a folder");
        assert!(WholeFile::create(&folder.0.join("none/report.json")).is_err(), "in no folder");
    }

    #[test]
    fn a_file_that_is_there_stays_as_it_is() {
        let folder = Folder::new("new");
        let path = folder.0.join("shop.dials");
        let (first, late) =
            (WholeFile::create(&path).expect("created"), || WholeFile::create(&path).expect("created"));
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
    fn a_device_is_written_to_and_stays_one() {
        let null = Path::new("/dev/null");
        WholeFile::create(null).expect("opened").write(b"x").expect("written");
        WholeFile::create(null).expect("opened").write_new(b"x").expect("written");
        assert!(!std::fs::metadata(null).expect("there").is_file());
    }
}
