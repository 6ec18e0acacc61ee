//! Facts from the system's calls and from the agent's pipe.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::io::{Error, Read, Write};
use std::mem::size_of;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};

use anyhow::{Context, Result, ensure};
use redial_protocol::PROTOCOL_VERSION;
use redial_protocol::frozen::ClientHello;
use redial_protocol::packet::ControllerPacket;
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, MODULEENTRY32W, Module32FirstW, Module32NextW, TH32CS_SNAPMODULE,
    TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::Pipes::GetNamedPipeHandleStateW;
use windows_sys::Win32::System::Threading::{OpenProcess, PROCESS_QUERY_INFORMATION};

use super::Fact;
use crate::pipe;

/// `VM_COUNTERS` of ntdll.
#[repr(C)]
#[derive(Default)]
struct VmCounters {
    peak_virtual_size: usize,
    virtual_size: usize,
    page_faults: u32,
    peak_working_set: usize,
    working_set: usize,
    quotas: [usize; 4],
    pagefile: usize,
    peak_pagefile: usize,
}

/// `ProcessVmCounters`
const VM_COUNTERS: i32 = 3;

#[link(name = "ntdll")]
unsafe extern "system" {
    fn NtQueryInformationProcess(
        process: HANDLE,
        class: i32,
        information: *mut c_void,
        length: u32,
        returned: *mut u32,
    ) -> i32;
}

/// Returns a number of a process.
///
/// # Errors
/// When the process has ended.
pub(super) fn of(pid: u32, fact: Fact) -> Result<u64> {
    let bytes = match fact {
        Fact::AddressSpace => memory(pid)?.virtual_size,
        Fact::Resident => memory(pid)?.working_set,
        Fact::PeakResident => memory(pid)?.peak_working_set,
        Fact::Threads => return threads(pid),
    };
    Ok(bytes as u64 >> 10)
}

fn memory(pid: u32) -> Result<VmCounters> {
    // SAFETY: three numbers.
    let process = owned(unsafe { OpenProcess(PROCESS_QUERY_INFORMATION, 0, pid) })
        .with_context(|| format!("{pid} cannot be opened"))?;
    let mut counters = VmCounters::default();
    // SAFETY: an open handle; the structure is ours and has the length given.
    let status = unsafe {
        NtQueryInformationProcess(
            process.as_raw_handle(),
            VM_COUNTERS,
            (&raw mut counters).cast(),
            size_of::<VmCounters>() as u32,
            std::ptr::null_mut(),
        )
    };
    ensure!(status >= 0, "the memory of {pid} is not known: status {status:#x}");
    ensure!(counters.working_set > 0, "{pid} has ended");
    Ok(counters)
}

fn threads(pid: u32) -> Result<u64> {
    // SAFETY: two numbers.
    let snapshot = owned(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) })
        .context("the system lists no threads")?;
    let mut entry = THREADENTRY32 { dwSize: size_of::<THREADENTRY32>() as u32, ..Default::default() };
    let mut found = 0;
    // SAFETY: an open snapshot, and an entry whose size is set.
    let mut more = unsafe { Thread32First(snapshot.as_raw_handle(), &mut entry) };
    while more != 0 {
        found += u64::from(entry.th32OwnerProcessID == pid);
        // SAFETY: as above.
        more = unsafe { Thread32Next(snapshot.as_raw_handle(), &mut entry) };
    }
    ensure!(found > 0, "{pid} has ended");
    Ok(found)
}

/// Returns the paths of the loaded libraries.
///
/// # Errors
/// When the process has ended.
pub(super) fn libraries(pid: u32) -> Result<BTreeSet<String>> {
    // SAFETY: two numbers.
    let snapshot = owned(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPMODULE, pid) })
        .with_context(|| format!("the system lists no libraries of {pid}"))?;
    let mut entry = MODULEENTRY32W { dwSize: size_of::<MODULEENTRY32W>() as u32, ..Default::default() };
    let mut libraries = BTreeSet::new();
    // SAFETY: an open snapshot, and an entry whose size is set.
    let mut more = unsafe { Module32FirstW(snapshot.as_raw_handle(), &mut entry) };
    while more != 0 {
        let length = entry.szExePath.iter().position(|unit| *unit == 0).unwrap_or(entry.szExePath.len());
        libraries.insert(String::from_utf16_lossy(&entry.szExePath[..length]));
        // SAFETY: as above.
        more = unsafe { Module32NextW(snapshot.as_raw_handle(), &mut entry) };
    }
    ensure!(libraries.len() > 1, "the system lists only {libraries:?} of {pid}");
    Ok(libraries)
}

/// Returns the number of instances of the agent's pipe, besides the one by which this asks.
///
/// # Errors
/// When the agent closes that one.
pub(super) fn connections(pid: u32) -> Result<usize> {
    let mut pipe = pipe::open(&pipe::of(pid)?)?;
    // The agent greets a connection after it has made the pipe's next instance.
    let hello =
        ClientHello { protocol: PROTOCOL_VERSION, program: "counting".into(), version: "1".into(), pid: 1 };
    pipe.write_all(&ControllerPacket::Hello(hello).to_frame()?)?;
    ensure!(pipe.read(&mut [0; 16])? > 0, "the agent closed the connection");
    let (mut instances, nothing) = (0, std::ptr::null_mut());
    // SAFETY: an open pipe; the out-parameter is ours, and the others may be null.
    let known = unsafe {
        GetNamedPipeHandleStateW(
            pipe.as_raw_handle(),
            nothing,
            &mut instances,
            nothing,
            nothing,
            std::ptr::null_mut(),
            0,
        )
    };
    ensure!(known != 0, "the pipe's instances are not known: {}", Error::last_os_error());
    Ok(instances as usize - 1)
}

/// Takes ownership of a handle that the system has just returned.
fn owned(handle: HANDLE) -> Result<OwnedHandle> {
    ensure!(!handle.is_null() && handle != INVALID_HANDLE_VALUE, Error::last_os_error());
    // SAFETY: an open handle that nothing else owns.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}
