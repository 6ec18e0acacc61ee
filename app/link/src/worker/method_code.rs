//! Reads source and IL of a method, on a thread and over a session of its own, so that neither files nor a long body delay
//! anything else.

use super::update_sender::UpdateSender;
use crate::connect;
use crate::error::LinkError;
use crate::session::{ReplyPage, Session};
use redial_model::ids::ConnectionId;
use redial_model::method_code::{CodeBody, MethodCode, SourceFile};
use redial_model::update::ConnectionUpdate;
use redial_protocol::ids::CopyKey;
use redial_protocol::message::{Reply, WireCommand};
use redial_symbols::SymbolSearch;
use std::path::{Path, PathBuf};

/// Most instructions that are shown.
const MAX_LINES: usize = 20_000;
/// Largest source file, bytes.
const MAX_SOURCE: u64 = 4 << 20;

/// A method whose code is wanted.
#[derive(Clone, Debug)]
pub struct CodeRequest {
    /// The process.
    pub pid: u32,
    /// The copy.
    pub copy: CopyKey,
    /// Path of its module, as the process names it; empty without a file.
    pub module: String,
    /// Folders in which to look for PDBs, too.
    pub folders: Vec<PathBuf>,
}

/// Reads the code and reports it.
pub fn start(connection: ConnectionId, request: CodeRequest, sender: UpdateSender) {
    let read = move || {
        let code = read(&request);
        let update = ConnectionUpdate::Code(request.copy, Box::new(code));
        // Without a receiver the window is gone.
        let _ = sender.report(connection, vec![update]);
    };
    // Without a thread the pane goes on waiting until another method is selected.
    let _ = std::thread::Builder::new().name("code".into()).spawn(read);
}

fn read(request: &CodeRequest) -> MethodCode {
    let source = source(request);
    match connect::open(request.pid, "redial window") {
        Ok(mut session) => {
            let mut body = |instrumented| {
                body(&mut session, request.copy, instrumented).map_err(|error| error.to_string())
            };
            MethodCode { original: body(false), instrumented: body(true), source }
        }
        Err(error) => {
            let why = error.to_string();
            MethodCode { original: Err(why.clone()), instrumented: Err(why), source }
        }
    }
}

fn body(session: &mut Session, copy: CopyKey, instrumented: bool) -> Result<CodeBody, LinkError> {
    let (mut lines, mut is_cut) = (Vec::new(), false);
    let reply = session.ask(WireCommand::Il { copy, instrumented }, &mut |page| {
        if let ReplyPage::Il(page) = page {
            let room = MAX_LINES - lines.len();
            is_cut |= page.lines.len() > room;
            lines.extend(page.lines.into_iter().take(room));
        }
    })?;
    match reply {
        Reply::Il(body) => Ok(CodeBody { code_size: body.code_size, lines, is_cut }),
        _ => Err(session.wrong_reply()),
    }
}

fn source(request: &CodeRequest) -> SourceFile {
    let unknown = |why: &str| SourceFile::Unknown { why: why.to_owned(), searched: Vec::new() };
    if request.module.is_empty() {
        return unknown("Its module has no file.");
    }
    let search = SymbolSearch::of_process(request.pid, request.folders.clone());
    let found = match search.find(Path::new(&request.module)) {
        Ok(found) => found,
        Err(searched) => {
            let searched = searched.iter().map(|one| format!("{}: {}", one.place, one.problem));
            let why = "No PDB of this module was found.".to_owned();
            return SourceFile::Unknown { why, searched: searched.collect() };
        }
    };
    let pdb = found.place.to_string();
    let source = match found.method(request.copy.token.0) {
        Ok(Some(source)) if source.start().is_some() => source,
        Ok(_) => return unknown(&format!("{pdb} has no lines for this method.")),
        Err(why) => return unknown(&why),
    };
    let file = source.start().map(|(file, _)| file.to_owned()).unwrap_or_default();
    let here = |point: &&redial_symbols::SequencePoint| {
        source.documents.get(point.document as usize).is_some_and(|document| *document == file)
    };
    let points = source.points.iter().filter(here);
    let lines = points.clone().filter_map(|point| point.lines).map(|lines| (lines.start, lines.end));
    let lines = lines.fold((u32::MAX, 0), |(first, last), (start, end)| (first.min(start), last.max(end)));
    // The offsets of a state machine are those of another method.
    let points = points.filter(|_| !source.is_state_machine);
    let by_offset = points.filter_map(|point| Some((point.il_offset, point.lines?.start))).collect();
    let candidates = search.root.iter().map(|root| root.join(file.trim_start_matches('/')));
    let text = candidates.chain([PathBuf::from(&file)]).find_map(|path| Some((read_text(&path)?, path)));
    let (text, local) = match text {
        Some((text, path)) => (text, Some(shortest(&path, &file))),
        None => (Vec::new(), None),
    };
    SourceFile::Known { file, local, text, lines, by_offset, pdb }
}

/// Returns the path of a file that was found: as the compiler wrote it, if that is the same file. Editors take a path below
/// the process's root for another file.
fn shortest(found: &Path, written: &str) -> String {
    if is_same(found, Path::new(written)) { written.to_owned() } else { found.display().to_string() }
}

#[cfg(unix)]
fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let number = |path| std::fs::metadata(path).ok().map(|about| (about.dev(), about.ino()));
    number(one).is_some_and(|found| number(other) == Some(found))
}

/// Without roots of processes, a file has one path.
#[cfg(not(unix))]
fn is_same(one: &Path, other: &Path) -> bool {
    one == other
}

fn read_text(path: &Path) -> Option<Vec<String>> {
    let about = std::fs::metadata(path).ok()?;
    if !about.is_file() || about.len() > MAX_SOURCE {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.trim_start_matches('\u{feff}').lines().map(str::to_owned).collect())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_same_file_has_its_plain_path() {
        let file = std::env::current_exe().expect("a program");
        let through_root = Path::new("/proc/self/root").join(file.strip_prefix("/").expect("absolute"));
        let plain = file.display().to_string();
        if cfg!(target_os = "linux") {
            assert_eq!(shortest(&through_root, &plain), plain);
        }
        assert_eq!(shortest(&file, "/nonexistent/C.cs"), plain);
        assert_eq!(shortest(&file, "/"), plain, "another file");
    }
}
