//! Facts from `/proc`.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result};

use super::Fact;

/// Returns a number of a process.
///
/// # Errors
/// When the process has ended.
pub(super) fn of(pid: u32, fact: Fact) -> Result<u64> {
    let name = match fact {
        Fact::AddressSpace => "VmSize:",
        Fact::Resident => "VmRSS:",
        Fact::PeakResident => "VmHWM:",
        Fact::Threads => "Threads:",
    };
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()).context("no such line")?;
    Ok(number.parse()?)
}

/// Returns the paths of all mapped files.
///
/// # Errors
/// When the process has ended.
pub(super) fn libraries(pid: u32) -> Result<BTreeSet<String>> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    Ok(maps.lines().filter_map(|line| line.get(line.find('/')?..)).map(str::to_owned).collect())
}

/// Returns the number of open sockets.
///
/// # Errors
/// When the descriptors cannot be listed.
pub(super) fn connections(pid: u32) -> Result<usize> {
    let links =
        fs::read_dir(format!("/proc/{pid}/fd"))?.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    Ok(links.filter(|target| target.to_string_lossy().starts_with("socket:")).count())
}
