//! The file of a trace. Its content is valid after each write.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that only its owner may read: arguments can be secrets.
#[derive(Debug)]
pub struct TraceFile {
    path: PathBuf,
    file: File,
    /// Whether the file is new and empty, so that it may be removed.
    is_new: bool,
    /// Whether earlier content must be removed before the first write.
    has_earlier: bool,
}

impl TraceFile {
    /// Creates the file, or opens an existing one without changing its content.
    ///
    /// # Errors
    /// When the system refuses, or an existing file belongs to another user.
    pub fn create(path: &Path) -> io::Result<TraceFile> {
        let of = |file, is_new, has_earlier| TraceFile { path: path.to_owned(), file, is_new, has_earlier };
        let mut options = OpenOptions::new();
        options.write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.clone().create_new(true).open(path) {
            Ok(file) => return Ok(of(file, true, false)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let file = options.open(path)?;
        // Pipes and devices have no content to replace.
        let is_file = file.metadata()?.is_file();
        #[cfg(unix)]
        if is_file {
            file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        }
        Ok(of(file, false, is_file))
    }

    /// Returns its path as the user gave it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends packets.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn write(&mut self, packets: &[u8]) -> io::Result<()> {
        if std::mem::replace(&mut self.has_earlier, false) {
            self.file.set_len(0)?;
        }
        self.is_new = false;
        self.file.write_all(packets)
    }

    /// Removes the file if it was created and nothing was written.
    pub fn discard(self) {
        if self.is_new {
            // An empty file that stays does no harm.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("redial-trace-file-{name}-{}", std::process::id()))
    }

    #[test]
    fn keeps_earlier_content_until_the_first_write() {
        let path = path("earlier");
        std::fs::write(&path, "an earlier trace").expect("written");
        TraceFile::create(&path).expect("opened").discard();
        assert_eq!(std::fs::read(&path).expect("there"), b"an earlier trace");
        let mut file = TraceFile::create(&path).expect("opened");
        file.write(b"new").expect("written");
        file.write(" one".as_bytes()).expect("written");
        assert_eq!(std::fs::read(&path).expect("there"), b"new one");
        std::fs::remove_file(&path).expect("removed");
    }

    #[test]
    fn removes_a_new_file_without_content() {
        let path = path("new");
        TraceFile::create(&path).expect("created").discard();
        assert!(!path.exists());
        let mut file = TraceFile::create(&path).expect("created");
        file.write(b"x").expect("written");
        file.discard();
        assert_eq!(std::fs::read(&path).expect("there"), b"x");
        std::fs::remove_file(&path).expect("removed");
        assert!(TraceFile::create(&std::env::temp_dir()).is_err(), "a folder");
        assert!(TraceFile::create(&path.join("none")).is_err(), "in no folder");
    }

    #[test]
    #[cfg(unix)]
    fn only_the_owner_may_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let path = path("mode");
        let mode = || std::fs::metadata(&path).expect("there").permissions().mode() & 0o777;
        let mut file = TraceFile::create(&path).expect("created");
        file.write(b"x").expect("written");
        assert_eq!(mode(), 0o600);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).expect("changed");
        drop(TraceFile::create(&path).expect("opened"));
        assert_eq!(mode(), 0o600);
        std::fs::remove_file(&path).expect("removed");
        TraceFile::create(Path::new("/dev/null")).expect("opened").write(b"x").expect("written");
    }
}
