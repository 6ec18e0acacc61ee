//! Processes on Linux, read from /proc.

use super::owner::{Owner, ProcessError};
use crate::ids::ProcessKey;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;

pub(super) fn own_key() -> Result<ProcessKey, ProcessError> {
    let pid = std::process::id();
    // `self` and not the pid: /proc may belong to an outer pid namespace.
    let stat = read(pid, "self", "stat")?;
    Ok(ProcessKey { pid, start: start_time(&stat).ok_or_else(|| malformed(pid, "stat"))? })
}

pub(super) fn key_of(pid: u32) -> Result<ProcessKey, ProcessError> {
    let stat = read(pid, &pid.to_string(), "stat")?;
    let status = read(pid, &pid.to_string(), "status")?;
    let start = start_time(&stat).ok_or_else(|| malformed(pid, "stat"))?;
    // Kernels before 4.1 have no NSpid line and no other way to find out.
    let inner = numbers_after(&status, "NSpid:").and_then(|pids| pids.last().copied()).unwrap_or(pid);
    Ok(ProcessKey { pid: inner, start })
}

pub(super) fn owner_of(pid: u32) -> Result<Owner, ProcessError> {
    let status = read(pid, &pid.to_string(), "status")?;
    // Order: real, effective, saved, file system.
    let uids = numbers_after(&status, "Uid:").unwrap_or_default();
    let uid = uids.get(1).copied().ok_or_else(|| malformed(pid, "status"))?;
    Ok(Owner { uid })
}

/// Returns the environment that a process started with; empty if unreadable. `process` is a pid or `self`.
pub(crate) fn environment_of(process: &str) -> HashMap<OsString, OsString> {
    let bytes = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    parse_environment(&bytes)
}

/// Returns the uid that `uid` (as seen from here) has in the user namespace of `pid`; unchanged if there is
/// none.
pub(crate) fn inner_uid(pid: u32, uid: u32) -> u32 {
    let map = std::fs::read_to_string(format!("/proc/{pid}/uid_map")).unwrap_or_default();
    map_inwards(&map, uid).unwrap_or(uid)
}

fn read(pid: u32, process: &str, file: &str) -> Result<Vec<u8>, ProcessError> {
    std::fs::read(format!("/proc/{process}/{file}")).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => ProcessError::NoSuchProcess { pid },
        io::ErrorKind::PermissionDenied => ProcessError::NotAllowed { pid, source },
        // ESRCH: the process ended between open and read.
        _ if source.raw_os_error() == Some(libc::ESRCH) => ProcessError::NoSuchProcess { pid },
        _ => ProcessError::Io { pid, source },
    })
}

fn malformed(pid: u32, file: &str) -> ProcessError {
    let source =
        io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/{file} has an unknown form"));
    ProcessError::Io { pid, source }
}

/// Returns field 22 of a stat file. The command in field 2 may contain spaces, brackets and any other byte; it
/// ends at the last `)` of the file.
fn start_time(stat: &[u8]) -> Option<u64> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    // The first word after the command is field 3.
    rest.split_ascii_whitespace().nth(22 - 3)?.parse().ok()
}

fn numbers_after(status: &[u8], label: &str) -> Option<Vec<u32>> {
    let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(label.as_bytes()))?;
    std::str::from_utf8(line).ok()?.split_ascii_whitespace().map(|word| word.parse().ok()).collect()
}

fn parse_environment(bytes: &[u8]) -> HashMap<OsString, OsString> {
    let mut environment = HashMap::new();
    for entry in bytes.split(|byte| *byte == 0) {
        let Some(equals) = entry.iter().position(|byte| *byte == b'=') else { continue };
        let (name, value) = (&entry[..equals], &entry[equals + 1..]);
        // getenv returns the first of equal names.
        environment
            .entry(OsStr::from_bytes(name).to_owned())
            .or_insert_with(|| OsStr::from_bytes(value).to_owned());
    }
    environment
}

/// Lines of `uid_map` contain the first uid inside, the first uid as the reader sees it, and the length.
fn map_inwards(map: &str, uid: u32) -> Option<u32> {
    map.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace().map(|word| word.parse::<u32>().ok());
        let (inside, outside, length) = (words.next()??, words.next()??, words.next()??);
        let offset = uid.checked_sub(outside).filter(|offset| *offset < length)?;
        inside.checked_add(offset)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_time_survives_a_hostile_command_name() {
        let fields = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20";
        let stat = format!("42 (a) b 1 2 (x)) {fields}");
        assert_eq!(start_time(stat.as_bytes()), Some(777));
        assert_eq!(start_time(b"42 (a) S 1 2"), None);
        assert_eq!(start_time(b"no bracket"), None);
        assert_eq!(start_time(b"42 (a)"), None);
    }

    #[test]
    fn own_key_matches_the_systems_key() {
        let me = own_key().unwrap();
        assert!(me.start > 0);
        let pid = std::fs::read_link("/proc/self").unwrap().to_string_lossy().parse().unwrap();
        assert_eq!(key_of(pid).unwrap(), me);
    }

    #[test]
    fn owner_is_the_effective_uid() {
        // SAFETY: geteuid takes nothing and cannot fail.
        let me = unsafe { libc::geteuid() };
        assert_eq!(owner_of(std::process::id()).unwrap().uid, me);
    }

    #[test]
    fn impossible_pids_are_no_such_process() {
        for pid in [u32::MAX, 0x7fff_fffe] {
            let error = key_of(pid).unwrap_err();
            assert!(matches!(error, ProcessError::NoSuchProcess { .. }), "{error}");
            assert_eq!(error.to_string(), format!("there is no process {pid}"));
            assert!(matches!(owner_of(pid), Err(ProcessError::NoSuchProcess { .. })));
        }
    }

    #[test]
    fn innermost_pid_is_the_last_one() {
        let status = b"Name:\tdotnet\nPid:\t4711\nNSpid:\t4711\t12\t1\nUid:\t1000\t1001\t0\t0\n";
        assert_eq!(numbers_after(status, "NSpid:"), Some(vec![4711, 12, 1]));
        assert_eq!(numbers_after(status, "Uid:").unwrap()[1], 1001);
        assert_eq!(numbers_after(status, "Gid:"), None);
    }

    #[test]
    fn environment_keeps_the_first_of_equal_names_and_any_byte() {
        let parsed = parse_environment(b"TMPDIR=/a=b\0nonsense\0TMPDIR=/c\0E=\0X=\xff\0");
        assert_eq!(parsed[OsStr::new("TMPDIR")], OsStr::new("/a=b"));
        assert_eq!(parsed[OsStr::new("E")], OsStr::new(""));
        assert_eq!(parsed[OsStr::new("X")], OsStr::from_bytes(b"\xff"));
        assert_eq!(parsed.len(), 3);
    }

    #[test]
    fn uids_are_mapped_into_a_user_namespace() {
        let map = "         0       1000          1\n         1     100000      65536\n";
        assert_eq!(map_inwards(map, 1000), Some(0));
        assert_eq!(map_inwards(map, 100_009), Some(10));
        assert_eq!(map_inwards(map, 5), None);
        assert_eq!(map_inwards("0 0 4294967295", 5), Some(5));
        assert_eq!(map_inwards("garbage", 5), None);
    }
}
