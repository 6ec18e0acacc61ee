//! The agent's pipe on Windows: its access list, a name that another process took, and children that inherit nothing of it.
//! (Wine keeps access lists, but does not enforce them.)
#![cfg(windows)]

use std::os::windows::io::{FromRawHandle, OwnedHandle};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::process;
use redial_testbed::host::{self, DEADLINE, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::security::{self, Access};
use redial_testbed::under_agent::{self, ensure_messages};
use redial_testbed::{on_each_runtime, pipe, programs};
use windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE;
use windows_sys::Win32::Storage::FileSystem::{FILE_FLAG_FIRST_PIPE_INSTANCE, PIPE_ACCESS_DUPLEX};
use windows_sys::Win32::System::Pipes::{CreateNamedPipeW, PIPE_TYPE_BYTE, PIPE_UNLIMITED_INSTANCES};

on_each_runtime!(
    access_list_is_what_is_promised,
    squatted_name_leaves_the_program_alone,
    child_inherits_no_handle
);

/// `NT AUTHORITY\SYSTEM`
const SYSTEM: &str = "S-1-5-18";
/// `BUILTIN\Administrators`
const ADMINISTRATORS: &str = "S-1-5-32-544";

fn child(runtime: Runtime) -> Result<Command> {
    programs::named("child")?.command(runtime)
}

/// The table in docs/design/security.md: the process's user, SYSTEM and Administrators may do everything, and nobody else
/// anything. The same for every instance of the pipe.
fn access_list_is_what_is_promised(runtime: Runtime) -> Result<()> {
    let live = under_agent::start(child(runtime)?)?;
    let user = process::owner_of(live.pid)?.sid;
    let everything =
        |sid: &str| Access { sid: sid.to_owned(), allows: true, everything: true, inherits: false };
    for _ in 0..2 {
        let instance = pipe::open(&pipe::of(live.pid)?)?;
        let descriptor = security::of(&instance)?;
        ensure!(descriptor.owner == user, "{descriptor:?}, but the process belongs to {user}");
        ensure!(descriptor.is_protected, "a folder of pipes may add entries: {descriptor:?}");
        let expected = [&user, SYSTEM, ADMINISTRATORS].map(everything);
        ensure!(descriptor.access == expected, "{descriptor:?}");
    }
    Ok(())
}

/// Instances that a squatter offers, so that each controller finds a free one.
const OFFERED: usize = 8;

/// Takes the name of a process's pipe as an attacker would; nothing if the agent was faster.
fn squat(name: &str) -> Vec<OwnedHandle> {
    let wide: Vec<u16> = name.encode_utf16().chain([0]).collect();
    let instance = |number| {
        let first = if number == 0 { FILE_FLAG_FIRST_PIPE_INSTANCE } else { 0 };
        // SAFETY: a NUL-terminated name and numbers; the security attributes may be null.
        let pipe = unsafe {
            CreateNamedPipeW(
                wide.as_ptr(),
                PIPE_ACCESS_DUPLEX | first,
                PIPE_TYPE_BYTE,
                PIPE_UNLIMITED_INSTANCES,
                4096,
                4096,
                0,
                std::ptr::null(),
            )
        };
        // SAFETY: an open handle that nothing else owns.
        (pipe != INVALID_HANDLE_VALUE).then(|| unsafe { OwnedHandle::from_raw_handle(pipe) })
    };
    // Wine 8 ignores the flag for the first instance.
    if pipe::is_free(name) { (0..OFFERED).map_while(instance).collect() } else { Vec::new() }
}

/// The program works and ends as without the agent, and no controller talks to the process that took the name.
fn squatted_name_leaves_the_program_alone(runtime: Runtime) -> Result<()> {
    for _ in 0..20 {
        let mut command = child(runtime)?;
        host::load_agent(&mut command)?;
        let mut host = Host::start(command)?;
        // The name contains the time of the start, so nobody can take it before.
        let squatter = squat(&pipe::of(host.pid())?);
        if squatter.is_empty() {
            continue;
        }
        ensure!(squatter.len() == OFFERED, "{} instances", squatter.len());
        let pid = host.wait_for("ready")?;
        host.ask("call 3", "called 3")?;
        let why = format!("is served by process {}", std::process::id());
        for command in ["status", "off"] {
            let outcome = host::run(host::redial(&[command, &pid])?)?;
            ensure!(outcome.code()? != 0 && outcome.stdout.is_empty(), "{}", outcome.output());
            ensure_messages(&outcome, outcome.code()?, &[&why])?;
        }
        host.ask("call 4", "called 4")?;
        drop(squatter);
        host.close_input();
        let outcome = host.finish()?;
        ensure!(outcome.code()? == 0 && outcome.stderr.is_empty(), "{}", outcome.output());
        return Ok(());
    }
    bail!("the agent was always faster")
}

/// .NET gives a child every handle that can be inherited. The pipe ends with its host while the child lives.
fn child_inherits_no_handle(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(child(runtime)?)?;
    let mut session = live.controller()?;
    let name = pipe::of(live.pid)?;
    let stays = programs::named("stays")?;
    let below: u32 = live.host.ask(&format!("start {}", stays.dll().display()), "started")?.parse()?;
    live.host.say("exit")?;
    session.wait_for_end()?;
    drop(session);
    let deadline = Instant::now() + DEADLINE / 10;
    // No event announces the end of the last handle.
    while !pipe::is_free(&name) {
        ensure!(Instant::now() < deadline, "{name} outlives its process");
        std::thread::sleep(Duration::from_millis(10));
    }
    process::key_of(below).context("the child has ended, so this shows nothing")?;
    Ok(())
}
