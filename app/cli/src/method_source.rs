//! The source file and lines of a method, from the PDB of its module.

use redial_protocol::il::{IlBody, IlLine, IlSource};
use redial_symbols::{MethodSource, Searched, SymbolSearch};
use redial_text::words::printable;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What is known about a method's source.
#[derive(Debug)]
pub enum SourceInfo {
    /// It has lines.
    Known {
        /// The PDB.
        pdb: String,
        /// Its documents and lines.
        source: MethodSource,
    },
    /// The PDB has no lines for it.
    NoLines {
        /// The PDB.
        pdb: String,
    },
    /// There is no PDB.
    NoPdb(Vec<Searched>),
    /// The module has no file.
    NoFile,
    /// The PDB is damaged, as a sentence.
    Damaged(String),
}

/// Looks for the source of a method. `module` is the path of its module as the process names it.
pub fn find(pid: u32, module: &str, token: u32, folders: &[PathBuf]) -> SourceInfo {
    if module.is_empty() {
        return SourceInfo::NoFile;
    }
    let found = match SymbolSearch::of_process(pid, folders.to_vec()).find(Path::new(module)) {
        Ok(found) => found,
        Err(searched) => return SourceInfo::NoPdb(searched),
    };
    let pdb = found.place.to_string();
    match found.method(token) {
        Ok(Some(source)) if source.start().is_some() => SourceInfo::Known { pdb, source },
        Ok(_) => SourceInfo::NoLines { pdb },
        Err(why) => SourceInfo::Damaged(why),
    }
}

impl SourceInfo {
    /// Returns file and line where the method begins.
    pub fn start(&self) -> Option<(&str, u32)> {
        match self {
            SourceInfo::Known { source, .. } => source.start(),
            _ => None,
        }
    }

    /// Returns the PDB that was used.
    pub fn pdb(&self) -> Option<&str> {
        match self {
            SourceInfo::Known { pdb, .. } | SourceInfo::NoLines { pdb } => Some(pdb),
            _ => None,
        }
    }

    /// Returns the lines about the source in the header.
    pub fn header(&self) -> Vec<String> {
        match self {
            SourceInfo::Known { pdb, source } => {
                let (file, line) = source.start().unwrap_or_default();
                let place = format!("  source: {}:{line}, by {}", printable(file), printable(pdb));
                let body = "    its code is in MoveNext of its state machine, so the instructions here have no lines";
                std::iter::once(place).chain(source.is_state_machine.then(|| body.to_owned())).collect()
            }
            SourceInfo::NoLines { pdb } => vec![format!("  source: {} has no lines for it", printable(pdb))],
            SourceInfo::NoFile => vec!["  source: unknown, since its module has no file".to_owned()],
            SourceInfo::Damaged(why) => vec![format!("  source: unknown: {}", printable(why))],
            SourceInfo::NoPdb(searched) => {
                let place = |one: &Searched| format!("    {}: {}", one.place, one.problem);
                let places = searched.iter().map(place).map(|line| printable(&line));
                let head = "  source: unknown, since no PDB of this module was found (--symbols FOLDER adds a place):";
                std::iter::once(head.to_owned()).chain(places).collect()
            }
        }
    }

    /// Returns the line of each instruction with which another line begins, by offset; none for an instrumented body, whose
    /// offsets are others, and for an async or iterator method, whose lines are those of its `MoveNext`.
    pub fn lines(&self, body: &IlBody, lines: &[IlLine]) -> HashMap<u32, u32> {
        let SourceInfo::Known { source, .. } = self else { return HashMap::new() };
        if body.source != IlSource::Original {
            return HashMap::new();
        }
        let at = |line: &IlLine| Some((line.offset, source.at(line.offset)?.1));
        lines.iter().filter_map(at).collect()
    }
}
