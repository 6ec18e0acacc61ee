//! Processor time of scanning all processes of the machine: the first time, and when little or much has
//! changed since. The caller says which processes to add.

use crate::figures::{Figure, Of};
use redial_link::discover::Census;
use redial_link::process_status;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The limit for a refresh, milliseconds of all threads together.
const REFRESH: Option<(Of, f64)> = Some((Of::Worst, 50.0));
/// Processes added between two refreshes in the busiest case.
const COME: usize = 50;

/// Prints the figures.
pub fn run(tabs: bool, quick: bool) {
    let times = if quick { 5 } else { 40 };
    let mut census = Census::default();
    refresh(&mut census);
    let all = census.processes().count();
    let dotnet: Vec<_> = census.processes().filter(|process| process.may_be_dotnet()).cloned().collect();
    let print = |what: String, numbers: Vec<Duration>, target| {
        Figure::times(what, &numbers, target).print(tabs);
    };
    let first = (0..times).map(|_| refresh(&mut Census::default())).collect();
    print(format!("processor time of the first census of {all} processes"), first, REFRESH);
    let later = (0..times * 5).map(|_| refresh(&mut census)).collect();
    print(format!("a later census of {all}, little changed"), later, REFRESH);
    let coming = (0..times).map(|_| {
        let children = Children::start(COME);
        let took = refresh(&mut census);
        drop(children);
        took
    });
    print(format!("a later census of {all}, {COME} new and {COME} gone"), coming.collect(), REFRESH);
    let asked = (0..times).map(|_| {
        let began = processor_time();
        process_status::rows(dotnet.clone(), "redial bench");
        processor_time() - began
    });
    print(format!("querying the agents of {} with .NET", dotnet.len()), asked.collect(), None);
}

fn refresh(census: &mut Census) -> Duration {
    let began = processor_time();
    census.refresh().expect("processes can be listed");
    processor_time() - began
}

/// Returns this process's processor time so far, over all threads.
fn processor_time() -> Duration {
    #[cfg(unix)]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: clock_gettime(2) with a valid pointer for the result.
        let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
        assert_eq!(failed, 0, "the system has no such clock");
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
    #[cfg(not(unix))]
    panic!("processor time is measured on Linux")
}

/// Idle processes that are killed when dropped.
struct Children(Vec<Child>);

impl Children {
    fn start(number: usize) -> Children {
        let child = |_| {
            let mut command = Command::new("sleep");
            command.arg("3600").stdin(Stdio::null()).stdout(Stdio::null());
            command.spawn().expect("sleep")
        };
        Children((0..number).map(child).collect())
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // Both fail only if the process has ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
