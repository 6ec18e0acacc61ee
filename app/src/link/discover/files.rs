//! What /proc tells of one process, each file read once and only when it is asked for.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes read at once.
const CHUNK: usize = 4 << 10;
/// The one that is a list, given line by line as they fit into a page of the kernel's.
const LIST: &str = "maps";

/// The folder of one process.
pub struct Files {
    folder: PathBuf,
}

impl Files {
    /// Those of a process as this machine sees it.
    pub fn of(pid: u32) -> Files {
        Files { folder: PathBuf::from(format!("/proc/{pid}")) }
    }

    /// Those in another folder, for tests.
    #[cfg(test)]
    pub fn below(folder: &Path) -> Files {
        Files { folder: folder.to_owned() }
    }

    /// The path of one of them.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// What is in one of them.
    pub fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        // `read_to_end` would ask for a size first, which files of /proc do not have.
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
            // Only lists come in parts; of all else the kernel gives as much as there is room for.
            if length == 0 || (length < CHUNK && name != LIST) {
                return Ok(bytes);
            }
        }
    }

    /// The same as text, wrong bytes replaced; None when it cannot be read.
    pub fn text(&self, name: &str) -> Option<String> {
        self.read(name).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The state of the process; None when it is gone.
    pub fn stat(&self) -> Option<Stat> {
        Stat::parse(&self.read("stat").ok()?)
    }

    /// The user its files belong to: the effective one.
    pub fn uid(&self) -> Option<u32> {
        self.folder.metadata().ok().map(|facts| facts.uid())
    }

    /// Where its program lies, as it knows it.
    pub fn program(&self) -> Option<PathBuf> {
        self.path("exe").read_link().ok()
    }

    /// The words of its command line; none where it has none.
    pub fn arguments(&self) -> Vec<String> {
        let text = self.text("cmdline").unwrap_or_default();
        let words = text.trim_end_matches('\0');
        if words.is_empty() { Vec::new() } else { words.split('\0').map(str::to_owned).collect() }
    }

    /// The variables it was started with; empty where they may not be read.
    pub fn environment(&self) -> Environment {
        Environment(self.read("environ").unwrap_or_default())
    }

    /// A number after a label in its status file: `TracerPid:`. The last of several.
    pub fn status_number(&self, label: &str) -> Option<u32> {
        let text = self.text("status")?;
        let line = text.lines().find_map(|line| line.strip_prefix(label))?;
        line.split_ascii_whitespace().last()?.parse().ok()
    }
}

/// What a stat file says (proc(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The kernel's short name.
    pub name: Vec<u8>,
    /// `R`, `S`, `T`, `Z`, …
    pub state: u8,
    /// When it started, in clock ticks since the machine did.
    pub start: u64,
    /// Bytes of address space.
    pub memory: u64,
}

impl Stat {
    fn parse(stat: &[u8]) -> Option<Stat> {
        // The name in field 2 may hold anything, brackets included.
        let begin = stat.iter().position(|byte| *byte == b'(')?;
        let end = stat.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
        // The first word behind the name is field 3.
        let mut fields = rest.split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        let mut fields = fields.skip(22 - 4);
        Some(Stat {
            name: stat.get(begin + 1..end)?.to_vec(),
            state,
            start: fields.next()?.parse().ok()?,
            memory: fields.next()?.parse().ok()?,
        })
    }

    /// Whether it has exited and only waits to be noticed.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// Whether none of it runs, until somebody lets it go on.
    pub fn is_halted(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }
}

/// The environment a process was started with.
pub struct Environment(Vec<u8>);

impl Environment {
    /// The first variable whose name fits: name and value.
    pub fn find(&self, fits: impl Fn(&str) -> bool) -> Option<(String, String)> {
        self.0.split(|byte| *byte == 0).find_map(|entry| {
            let (name, value) = std::str::from_utf8(entry).ok()?.split_once('=')?;
            fits(name).then(|| (name.to_owned(), value.to_owned()))
        })
    }

    /// The value of the first variable of that name.
    pub fn value(&self, name: &str) -> Option<String> {
        self.find(|other| other == name).map(|(_, value)| value)
    }
}

/// The file name of a program's path, which may have been deleted since.
pub fn file_name(program: &Path) -> Option<String> {
    let name = program.file_name()?.to_str()?;
    Some(name.strip_suffix(" (deleted)").unwrap_or(name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: &str = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 9 18 777 4096 21";

    #[test]
    fn a_stat_file_is_read_behind_hostile_names() {
        let stat = Stat::parse(format!("12 (a) Z (b)) {REST}").as_bytes()).expect("a stat file");
        let expected = Stat { name: b"a) Z (b)".to_vec(), state: b'S', start: 777, memory: 4096 };
        assert_eq!(stat, expected);
        for broken in ["", "12 (a)", "12 (a) S 1 2", "12 a S", ")(", "12 (a) S 1 2 3 4 5 6 7 8 9 10 x"] {
            assert_eq!(Stat::parse(broken.as_bytes()), None, "{broken}");
        }
        let with = |state| Stat { state, ..expected.clone() };
        assert!(with(b'Z').has_ended() && !with(b'T').has_ended());
        assert!(with(b't').is_halted() && with(b'T').is_halted() && !with(b'D').is_halted());
    }

    #[test]
    fn this_process_tells_the_same_as_the_system() {
        let files = Files::of(std::process::id());
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
    fn a_process_that_is_gone_tells_nothing() {
        let files = Files::of(u32::MAX);
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
