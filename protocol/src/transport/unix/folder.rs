//! The folder that holds the sockets. It is opened once without following links, checked, and from then on used
//! through its descriptor, so that nobody can exchange it.

use crate::endpoint;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// An open folder with mode 0700 that belongs to the expected user.
#[derive(Debug)]
pub(super) struct Folder {
    dir: File,
    path: PathBuf,
}

/// Reason why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum FolderError {
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    #[error("{} cannot be read by this user", .0.display())]
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
    /// Opens the folder, which must belong to `uid`; creates it if it does not exist.
    pub(super) fn open_or_create(place: &endpoint::Folder, uid: u32) -> Result<Folder, FolderError> {
        let parent =
            open_dir(&place.parent, 0).map_err(|error| FolderError::from_io(&place.parent, error))?;
        check_parent(&parent, &place.parent, uid)?;
        let entry = by_descriptor(&parent, &place.name);
        let created = match DirBuilder::new().mode(0o700).create(&entry) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(FolderError::from_io(&place.path(), error)),
        };
        let folder = Folder::open_entry(&parent, place)?;
        if created {
            // The umask may have cleared bits.
            fs::set_permissions(descriptor_path(&folder.dir), fs::Permissions::from_mode(0o700))
                .map_err(|error| FolderError::from_io(&folder.path, error))?;
        }
        folder.check(uid)?;
        Ok(folder)
    }

    /// Opens an existing folder, which must belong to `uid`.
    pub(super) fn open(place: &endpoint::Folder, uid: u32) -> Result<Folder, FolderError> {
        let parent =
            open_dir(&place.parent, 0).map_err(|error| FolderError::from_io(&place.parent, error))?;
        let folder = Folder::open_entry(&parent, place)?;
        folder.check(uid)?;
        Ok(folder)
    }

    fn open_entry(parent: &File, place: &endpoint::Folder) -> Result<Folder, FolderError> {
        let path = place.path();
        // O_DIRECTORY is needed: O_PATH|O_NOFOLLOW alone would open a link itself.
        let dir = open_dir(&by_descriptor(parent, &place.name), libc::O_NOFOLLOW)
            .map_err(|error| FolderError::from_io(&path, error))?;
        Ok(Folder { dir, path })
    }

    fn check(&self, uid: u32) -> Result<(), FolderError> {
        let untrusted = |why| Err(FolderError::Untrusted { path: self.path.clone(), why });
        let metadata = self.dir.metadata().map_err(|error| FolderError::from_io(&self.path, error))?;
        if metadata.uid() != uid {
            return untrusted(format!("it belongs to uid {}, not to uid {uid}", metadata.uid()));
        }
        match metadata.mode() & 0o7777 {
            0o700 => Ok(()),
            mode => untrusted(format!("its mode is {mode:04o}, not 0700")),
        }
    }

    /// Returns the path as users know it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a path to an entry through this folder's descriptor, wherever its name leads by now.
    pub(super) fn entry(&self, name: &str) -> PathBuf {
        by_descriptor(&self.dir, name)
    }

    /// Returns the metadata of an entry without following links; None if there is no such entry.
    pub(super) fn stat(&self, name: &str) -> io::Result<Option<Metadata>> {
        match fs::symlink_metadata(self.entry(name)) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns at most `limit` names in the folder.
    pub(super) fn names(&self, limit: usize) -> Vec<String> {
        let Ok(entries) = fs::read_dir(descriptor_path(&self.dir)) else { return Vec::new() };
        entries.take(limit).filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
    }

    /// Removes an entry if it still is that inode.
    pub(super) fn remove(&self, name: &str, inode: Inode) -> io::Result<()> {
        match self.stat(name)? {
            Some(metadata) if Inode::of(&metadata) == inode => fs::remove_file(self.entry(name)),
            _ => Ok(()),
        }
    }
}

/// Identity of a file, independent of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inode {
    device: u64,
    number: u64,
}

impl Inode {
    pub(super) fn of(metadata: &Metadata) -> Inode {
        Inode { device: metadata.dev(), number: metadata.ino() }
    }
}

/// Refuses a parent in which another user could exchange the folder.
fn check_parent(parent: &File, path: &Path, uid: u32) -> Result<(), FolderError> {
    let untrusted = |why| Err(FolderError::Untrusted { path: path.to_owned(), why });
    let metadata = parent.metadata().map_err(|error| FolderError::from_io(path, error))?;
    if metadata.uid() != uid && metadata.uid() != 0 {
        return untrusted(format!("it belongs to uid {}, neither to uid {uid} nor to root", metadata.uid()));
    }
    if metadata.mode() & 0o022 != 0 && metadata.mode() & libc::S_ISVTX == 0 {
        return untrusted(format!("others can write in it (mode {:04o})", metadata.mode() & 0o7777));
    }
    Ok(())
}

fn open_dir(path: &Path, extra_flags: libc::c_int) -> io::Result<File> {
    // std adds O_CLOEXEC.
    OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY | extra_flags).open(path)
}

fn descriptor_path(dir: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd()))
}

fn by_descriptor(dir: &File, name: &str) -> PathBuf {
    descriptor_path(dir).join(name)
}
