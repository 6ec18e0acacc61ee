//! Reads folders for the file list. A folder on a sluggish file system must not stop the window, so a thread reads it.

use crate::views::file_list::{FileEntry, FileListState, FolderContent};
use eframe::egui;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};

/// Most entries listed.
const MOST: usize = 5_000;

/// A folder being read, and the file list that shows the last one.
#[derive(Debug, Default)]
pub(super) struct FolderReader {
    pending: Option<Receiver<(PathBuf, Result<FolderContent, String>)>>,
}

impl FolderReader {
    /// Begins to read a folder. A folder that was being read before is forgotten.
    pub fn read(&mut self, context: &egui::Context, folder: PathBuf) {
        let (sender, receiver) = channel();
        let context = context.clone();
        let read = move || {
            let content = content(&folder, MOST);
            // The window may have closed the list meanwhile.
            let _ = sender.send((folder, content));
            context.request_repaint();
        };
        // Without a thread the list stays as it is.
        self.pending = std::thread::Builder::new().name("folder".into()).spawn(read).ok().map(|_| receiver);
    }

    /// Puts a folder that has been read into the list.
    pub fn deliver(&mut self, list: &mut FileListState) {
        if let Some((folder, content)) = self.pending.as_ref().and_then(|pending| pending.try_recv().ok()) {
            list.show_folder(folder, content);
            self.pending = None;
        }
    }
}

/// Returns at most `most` entries of a folder: folders first, each in the order of names; without hidden files.
fn content(folder: &Path, most: usize) -> Result<FolderContent, String> {
    let all = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let visible = all.filter_map(Result::ok).filter_map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        (!name.starts_with('.')).then(|| FileEntry { is_folder: path.is_dir(), name, path })
    });
    let mut entries: Vec<FileEntry> = visible.collect();
    entries.sort_by_cached_key(|entry| (!entry.is_folder, entry.name.to_lowercase()));
    let total = entries.len();
    entries.truncate(most);
    Ok(FolderContent { entries, total })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_first_and_hidden_files_not_at_all() {
        let folder = std::env::temp_dir().join(format!("redial-folder-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("zoo")).expect("a folder");
        for name in ["B.dll", "a.dll", ".hidden"] {
            std::fs::write(folder.join(name), "").expect("a file");
        }
        let found = content(&folder, 3).expect("readable");
        assert_eq!(found.total, 3);
        let names: Vec<_> =
            found.entries.iter().map(|entry| (entry.name.as_str(), entry.is_folder)).collect();
        assert_eq!(names, [("zoo", true), ("a.dll", false), ("B.dll", false)]);
        let first = content(&folder, 2).expect("readable");
        assert_eq!((first.entries.as_slice(), first.total), (&found.entries[..2], 3), "sorted, then cut");
        assert!(content(&folder.join("none"), 3).is_err());
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
