//! Windows builds on Windows runtimes. The suite `wine` starts the programs from Linux; in `wine-e2e` the end-to-end tests
//! themselves are Windows programs.

use anyhow::Result;
use redial_testbed::artefacts::WINDOWS_TARGET;
use redial_testbed::prebuilt;

use super::nextest::{self, WORKSPACE};
use super::plan::{Plan, Tally};
use crate::{build, setup};

/// The tests that start Windows programs from Linux.
const FROM_LINUX: &str = "package(redial-testbed) & binary(windows)";

/// Entries of `testbed/tests` that do not run on Windows, with the reason. `cargo xtask tidy` checks that exactly these
/// are left out of a Windows build, by `#![cfg(...)]`.
pub const LINUX_ONLY: &[(&str, &str)] = &[
    ("abrupt_ends", "ends by signals"),
    ("appdomains", DOMAINS),
    ("appdomains_cli", DOMAINS),
    ("bad_servers", "a server in place of an agent listens on a socket file"),
    ("callers", CALLERS),
    ("continuous", "random use for hours; it samples /proc and runs a single-file program for Linux"),
    ("dynamic_callers", CALLERS),
    ("env", "shells and systemd"),
    ("faults", "counts threads and sockets in /proc, and sets limits of resources"),
    ("fleet", "links an agent later, among twenty processes"),
    ("host", "tests of the harness use a shell and /proc"),
    ("hostile_clients", "measures memory and sockets in /proc"),
    ("interrupted_calls", "loads a C library that interrupts system calls"),
    ("lying_agent", "an agent's stand-in listens on a socket file"),
    ("memory", "measures memory in /proc"),
    ("processes", "states of Linux processes: users, modes, namespaces, maps"),
    ("single_file", "the single-file program is for Linux"),
    ("thread_memory", "limits memory with setrlimit and overcommit"),
    ("unreachable", "namespaces, modes of folders, users"),
    ("unwritable_folders", "modes of folders, users"),
    ("users", "becomes other users"),
    ("wall_clock", "loads a C library that sets the clock"),
    ("web", "there is no ASP.NET Core package for Windows"),
    ("window_changes", "stops its host with SIGSTOP"),
    ("window_domains", DOMAINS),
    ("window_fleet", "links an agent later"),
    ("window_retries", "links an agent later"),
    ("window_stop", "a shell that ignores signals"),
    ("windows", "starts Windows programs from Linux; it is the other part"),
];
const CALLERS: &str = "callers are known on Linux for x64 only; elsewhere they are refused";
const DOMAINS: &str = "several AppDomains need private functions of libcoreclr.so";

/// Tests that do not pass on Windows yet, or cannot: the suite, the test, and the reason.
const OPEN: &[(&str, &str, &str)] = &[
    ("bad_bodies", "bad_body_fails_alone::net_8_0", HANGS),
    ("bad_bodies", "detects_failure_after_one_call::net_8_0", HANGS),
    ("bad_bodies", "variable_arguments_fail_as_without_agent", HANGS),
    ("budget", ".*", "a paced program reaches no stable share of time within minutes; not understood yet"),
    ("conditions", "earlier_exceptions_have_no_type", EXCEPTIONS),
    ("conditions", "keeps_failed_calls_with_exception_types", EXCEPTIONS),
    ("contracts", "json::json_fields_stay", "without callers there are no fields of callers"),
    ("control", "anyone_may_read_and_turn_off", EVENTS),
    ("control", "reports_released_dials_at_the_end", EVENTS),
    ("control", "second_command_learns_who_has_control", EVENTS),
    ("dial_sets", "ctrl_c_undoes_a_change", EVENTS),
    ("dial_sets", "holds_a_dial_set", EVENTS),
    ("everything", "compiler_output_is_the_same", COMPILER),
    ("everything", "compiler_output_is_the_same_with_callers", COMPILER),
    ("everything", "compiler_output_is_the_same_with_times", COMPILER),
    ("exits", "reports_mistyped_dials_while_the_program_runs::net_2_1", "hangs; not understood yet"),
    (
        "internals",
        "program_is_unchanged_with_core_library_dialled::net_8_0",
        "ends with 0xc0000409; not understood yet",
    ),
    ("killed_controllers", ".*", "the single-file program is for Linux"),
    ("paused_controllers", "stopped_controllers_lose_nothing", EVENTS),
    ("planted_faults", "faults_at_the_start_leave_the_host_alone", "a path is not found; not understood yet"),
    ("planted_faults", "faults_in_an_attach_leave_a_3_1_host_alone", "not understood yet"),
    ("planted_faults", "faults_in_an_attach_leave_an_8_0_host_alone", "not understood yet"),
    ("refusals", "reports_ended_process", PROGRAMS),
    ("refusals", "reports_process_without_dotnet", PROGRAMS),
    ("refusals", "run_exits_with_125_to_127_for_its_own_failures", PROGRAMS),
    ("refusals", "run_survives_a_library_that_is_not_the_agent", PROGRAMS),
    ("refusals", "run_without_a_library_starts_nothing", PROGRAMS),
    ("refusals", "watches_methods_that_are_not_dialled", EVENTS),
    ("times", "dying_threads_leave_no_call_in_flight", "ends threads with pthread_exit"),
    ("toggles", "toggles_hot_methods_without_growth", "the host reads its memory in /proc"),
];
const EVENTS: &str = "Wine 8 delivers no console event to another process";
const EXCEPTIONS: &str = "on Windows types of exceptions inside others stay unknown";
const COMPILER: &str = "the C# compiler's precompiled code is for Linux";
const HANGS: &str = "under Wine 8 the runtime hangs when its JIT refuses a body";
const PROGRAMS: &str = "uses programs and libraries of Linux";

/// Runs the tests that start Windows programs from Linux.
///
/// # Errors
/// When the Windows builds do not compile, or Wine does not work.
pub fn from_linux(plan: &Plan<'_>) -> Result<Tally> {
    let built = build::windows()?;
    let wine = setup::wine::ensure()?;
    nextest::run(plan, WORKSPACE, FROM_LINUX, |command| {
        built.tell(command);
        wine.tell(command);
    })
}

/// Runs the end-to-end tests as Windows programs.
///
/// # Errors
/// As [`from_linux`].
pub fn end_to_end(plan: &Plan<'_>) -> Result<Tally> {
    let built = build::windows()?;
    let wine = setup::wine::ensure()?;
    setup::step("the C# programs of the tests", prebuilt::ensure_all)?;
    for (suite, test, reason) in OPEN {
        println!("    not run on Windows: {suite}::{test}: {reason}");
    }
    let _server = wine.serve()?;
    let packages = ["--package", "redial-testbed", "--target", WINDOWS_TARGET];
    nextest::run(plan, &packages, &inside_wine(), |command| {
        built.tell_inside_wine(command);
        wine.tell(command);
        command.env(RUNNER, &wine.loader);
    })
}

/// The variable that names the program under which tests for Windows run.
const RUNNER: &str = "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER";

/// Returns the filter of the tests that are Windows programs.
fn inside_wine() -> String {
    let suites = LINUX_ONLY.iter().map(|(suite, _)| format!("binary(={suite})"));
    let tests = OPEN.iter().map(|(suite, test, _)| format!("(binary(={suite}) & test(/^{test}(::|$)/))"));
    format!("kind(test) - ({})", suites.chain(tests).collect::<Vec<_>>().join(" + "))
}
