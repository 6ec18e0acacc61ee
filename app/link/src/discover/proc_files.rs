//! Reads a process's files in /proc, each at most once and only on demand.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes per read.
const CHUNK: usize = 4 << 10;
/// The only file the kernel delivers in parts: whole lines, up to a page each.
const LIST: &str = "maps";

/// A process's folder in /proc.
pub struct ProcFolder {
    folder: PathBuf,
}

impl ProcFolder {
    /// The files of a process, by its pid on this machine.
    pub fn of(pid: u32) -> ProcFolder {
        ProcFolder { folder: PathBuf::from(format!("/proc/{pid}")) }
    }

    /// Uses another folder, for tests.
    #[cfg(test)]
    pub fn below(folder: &Path) -> ProcFolder {
        ProcFolder { folder: folder.to_owned() }
    }

    /// Returns the path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Reads a whole file.
    pub fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        // `read_to_end` would first ask for the size, which files in /proc do not have.
        let mut file = File::open(self.path(name))?;
        let mut buffer = [0u8; CHUNK];
        let mut bytes = Vec::new();
        loop {
            let length = match file.read(&mut buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            bytes.extend_from_slice(buffer.get(..length).unwrap_or_default());
            // Only lists come in parts; for other files the kernel fills the buffer as far as possible.
            if length == 0 || (length < CHUNK && name != LIST) {
                return Ok(bytes);
            }
        }
    }

    /// Reads a file as text, replacing invalid bytes; `None` if it cannot be read.
    pub fn text(&self, name: &str) -> Option<String> {
        self.read(name).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the state of the process; `None` if it is gone.
    pub fn stat(&self) -> Option<ProcStat> {
        ProcStat::parse(&self.read("stat").ok()?)
    }

    /// Returns the effective user id.
    pub fn uid(&self) -> Option<u32> {
        self.folder.metadata().ok().map(|facts| facts.uid())
    }

    /// Returns the program's path as the process sees it.
    pub fn program(&self) -> Option<PathBuf> {
        self.path("exe").read_link().ok()
    }

    /// Returns the command line's arguments; empty if there are none.
    pub fn arguments(&self) -> Vec<String> {
        let text = self.text("cmdline").unwrap_or_default();
        let words = text.trim_end_matches('\0');
        if words.is_empty() { Vec::new() } else { words.split('\0').map(str::to_owned).collect() }
    }

    /// Returns the environment at the start; empty if it cannot be read.
    pub fn environment(&self) -> Environment {
        Environment(self.read("environ").unwrap_or_default())
    }

    /// Returns the last number on the line of the status file that starts with `label`, such as `TracerPid:`.
    pub fn status_number(&self, label: &str) -> Option<u32> {
        let text = self.text("status")?;
        let line = text.lines().find_map(|line| line.strip_prefix(label))?;
        line.split_ascii_whitespace().last()?.parse().ok()
    }
}

/// Fields of a stat file (proc(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcStat {
    /// The kernel's short name.
    pub name: Vec<u8>,
    /// `R`, `S`, `T`, `Z`, …
    pub state: u8,
    /// Start time in clock ticks since the machine booted.
    pub start: u64,
    /// Size of the address space in bytes.
    pub memory: u64,
}

impl ProcStat {
    fn parse(stat: &[u8]) -> Option<ProcStat> {
        // The name in field 2 may contain anything, even parentheses.
        let begin = stat.iter().position(|byte| *byte == b'(')?;
        let end = stat.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
        // The first word after the name is field 3.
        let mut fields = rest.split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        let mut fields = fields.skip(22 - 4);
        Some(ProcStat {
            name: stat.get(begin + 1..end)?.to_vec(),
            state,
            start: fields.next()?.parse().ok()?,
            memory: fields.next()?.parse().ok()?,
        })
    }

    /// Returns whether it has exited and only awaits reaping.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// Returns whether it is stopped or traced.
    pub fn is_halted(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }
}

/// The environment of a process at its start.
pub struct Environment(Vec<u8>);

impl Environment {
    /// Returns the name and value of the first variable whose name fits.
    pub fn find(&self, fits: impl Fn(&str) -> bool) -> Option<(String, String)> {
        self.0.split(|byte| *byte == 0).find_map(|entry| {
            let (name, value) = std::str::from_utf8(entry).ok()?.split_once('=')?;
            fits(name).then(|| (name.to_owned(), value.to_owned()))
        })
    }

    /// Returns the value of the first variable with that name.
    pub fn value(&self, name: &str) -> Option<String> {
        self.find(|other| other == name).map(|(_, value)| value)
    }
}

/// Returns the file name of a program's path, without the mark of a deleted file.
pub fn file_name(program: &Path) -> Option<String> {
    let name = program.file_name()?.to_str()?;
    Some(name.strip_suffix(" (deleted)").unwrap_or(name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: &str = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 9 18 777 4096 21";

    #[test]
    fn parses_stat_files_with_hostile_names() {
        let stat = ProcStat::parse(format!("12 (a) Z (b)) {REST}").as_bytes()).expect("a stat file");
        let expected = ProcStat { name: b"a) Z (b)".to_vec(), state: b'S', start: 777, memory: 4096 };
        assert_eq!(stat, expected);
        for broken in ["", "12 (a)", "12 (a) S 1 2", "12 a S", ")(", "12 (a) S 1 2 3 4 5 6 7 8 9 10 x"] {
            assert_eq!(ProcStat::parse(broken.as_bytes()), None, "{broken}");
        }
        let with = |state| ProcStat { state, ..expected.clone() };
        assert!(with(b'Z').has_ended() && !with(b'T').has_ended());
        assert!(with(b't').is_halted() && with(b'T').is_halted() && !with(b'D').is_halted());
    }

    #[test]
    fn agrees_with_the_system_about_this_process() {
        let files = ProcFolder::of(std::process::id());
        let key = redial_protocol::process::key_of(std::process::id()).expect("own key");
        assert_eq!(files.stat().expect("it runs").start, key.start);
        assert_eq!(files.program(), std::env::current_exe().ok());
        assert_eq!(files.arguments(), std::env::args().collect::<Vec<_>>());
        assert_eq!(files.environment().value("PATH"), std::env::var("PATH").ok());
        assert_eq!(files.environment().find(|_| false), None);
        assert_eq!(files.status_number("NSpid:"), Some(std::process::id()));
        assert_eq!(files.status_number("Nothing:"), None);
    }

    #[test]
    fn returns_nothing_for_a_missing_process() {
        let files = ProcFolder::of(u32::MAX);
        assert_eq!((files.stat(), files.uid(), files.program()), (None, None, None));
        assert!(files.arguments().is_empty() && files.text("maps").is_none());
        assert_eq!(files.environment().value("PATH"), None);
    }

    #[test]
    fn deleted_programs_keep_their_names() {
        assert_eq!(file_name(Path::new("/opt/shop (deleted)")).as_deref(), Some("shop"));
        assert_eq!(file_name(Path::new("/")), None);
    }
}
