//! The folder that holds the sockets: opened once without following links, checked, and used by its descriptor
//! from then on, so that nobody can exchange it under us.

use crate::endpoint;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// An opened folder that is 0700 and its user's.
#[derive(Debug)]
pub(super) struct Folder {
    dir: File,
    path: PathBuf,
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum FolderError {
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    #[error("{} may not be looked into", .0.display())]
    NotAllowed(PathBuf),
    #[error("{} cannot be trusted: {why}", path.display())]
    Untrusted { path: PathBuf, why: String },
    #[error("{} cannot be used: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl FolderError {
    fn from_io(path: &Path, source: io::Error) -> FolderError {
        let path = path.to_owned();
        match source.raw_os_error() {
            Some(libc::ENOENT) => FolderError::Missing(path),
            Some(libc::EACCES | libc::EPERM) => FolderError::NotAllowed(path),
            Some(libc::ELOOP) => FolderError::Untrusted { path, why: "it is a link".to_owned() },
            Some(libc::ENOTDIR) => FolderError::Untrusted { path, why: "it is not a folder".to_owned() },
            _ => FolderError::Io { path, source },
        }
    }
}

impl Folder {
    /// Opens a folder that `uid` owns, making it if it is not there.
    pub(super) fn open_or_make(place: &endpoint::Folder, uid: u32) -> Result<Folder, FolderError> {
        let parent =
            open_dir(&place.parent, 0).map_err(|error| FolderError::from_io(&place.parent, error))?;
        check_parent(&parent, &place.parent, uid)?;
        let entry = by_descriptor(&parent, &place.name);
        let made = match DirBuilder::new().mode(0o700).create(&entry) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(FolderError::from_io(&place.path(), error)),
        };
        let folder = Folder::open_entry(&parent, place)?;
        if made {
            // The umask may have taken bits away.
            fs::set_permissions(descriptor_path(&folder.dir), fs::Permissions::from_mode(0o700))
                .map_err(|error| FolderError::from_io(&folder.path, error))?;
        }
        folder.check(uid)?;
        Ok(folder)
    }

    /// Opens a folder that must be there and be owned by `uid`.
    pub(super) fn open(place: &endpoint::Folder, uid: u32) -> Result<Folder, FolderError> {
        let parent =
            open_dir(&place.parent, 0).map_err(|error| FolderError::from_io(&place.parent, error))?;
        let folder = Folder::open_entry(&parent, place)?;
        folder.check(uid)?;
        Ok(folder)
    }

    fn open_entry(parent: &File, place: &endpoint::Folder) -> Result<Folder, FolderError> {
        let path = place.path();
        // Without O_DIRECTORY beside O_PATH|O_NOFOLLOW a link would itself be opened.
        let dir = open_dir(&by_descriptor(parent, &place.name), libc::O_NOFOLLOW)
            .map_err(|error| FolderError::from_io(&path, error))?;
        Ok(Folder { dir, path })
    }

    fn check(&self, uid: u32) -> Result<(), FolderError> {
        let untrusted = |why| Err(FolderError::Untrusted { path: self.path.clone(), why });
        let facts = self.dir.metadata().map_err(|error| FolderError::from_io(&self.path, error))?;
        if facts.uid() != uid {
            return untrusted(format!("it belongs to uid {}, not to uid {uid}", facts.uid()));
        }
        match facts.mode() & 0o7777 {
            0o700 => Ok(()),
            mode => untrusted(format!("its mode is {mode:04o}, not 0700")),
        }
    }

    /// The path users know.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A path of an entry that leads through this very folder, wherever its name may lead by now.
    pub(super) fn entry(&self, name: &str) -> PathBuf {
        by_descriptor(&self.dir, name)
    }

    /// What an entry is, without following links; None when there is none.
    pub(super) fn stat(&self, name: &str) -> io::Result<Option<Metadata>> {
        match fs::symlink_metadata(self.entry(name)) {
            Ok(facts) => Ok(Some(facts)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Names in the folder, at most `limit` of them.
    pub(super) fn names(&self, limit: usize) -> Vec<String> {
        let Ok(entries) = fs::read_dir(descriptor_path(&self.dir)) else { return Vec::new() };
        entries.take(limit).filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
    }

    /// Removes an entry if it is still the inode meant.
    pub(super) fn remove(&self, name: &str, inode: Inode) -> io::Result<()> {
        match self.stat(name)? {
            Some(facts) if Inode::of(&facts) == inode => fs::remove_file(self.entry(name)),
            _ => Ok(()),
        }
    }
}

/// One file, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inode {
    device: u64,
    number: u64,
}

impl Inode {
    pub(super) fn of(facts: &Metadata) -> Inode {
        Inode { device: facts.dev(), number: facts.ino() }
    }
}

/// Refuses a parent in which someone else could exchange our folder.
fn check_parent(parent: &File, path: &Path, uid: u32) -> Result<(), FolderError> {
    let untrusted = |why| Err(FolderError::Untrusted { path: path.to_owned(), why });
    let facts = parent.metadata().map_err(|error| FolderError::from_io(path, error))?;
    if facts.uid() != uid && facts.uid() != 0 {
        return untrusted(format!("it belongs to uid {}, neither to uid {uid} nor to root", facts.uid()));
    }
    if facts.mode() & 0o022 != 0 && facts.mode() & libc::S_ISVTX == 0 {
        return untrusted(format!("others can write in it (mode {:04o})", facts.mode() & 0o7777));
    }
    Ok(())
}

fn open_dir(path: &Path, more: libc::c_int) -> io::Result<File> {
    // std adds O_CLOEXEC.
    OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY | more).open(path)
}

fn descriptor_path(dir: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd()))
}

fn by_descriptor(dir: &File, name: &str) -> PathBuf {
    descriptor_path(dir).join(name)
}
