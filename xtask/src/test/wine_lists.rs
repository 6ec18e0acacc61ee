//! The tests of a Windows build that do not run under Wine, and a representative share. `cargo xtask tidy` compares the lists
//! with the sources.

/// Entries of `testbed/tests` that do not run on Windows, with the reason. `cargo xtask tidy` checks that exactly these
/// are left out of a Windows build, by `#![cfg(...)]`.
pub const LINUX_ONLY: &[(&str, &str)] = &[
    ("abrupt_ends", "ends by signals"),
    ("appdomains", DOMAINS),
    ("appdomains_cli", DOMAINS),
    ("appdomains_iis", DOMAINS),
    ("bad_servers", "a server in place of an agent listens on a socket file"),
    ("callers", CALLERS),
    ("continuous", "random use for hours; it samples /proc and runs a single-file program for Linux"),
    ("dynamic_callers", CALLERS),
    ("env", "shells and systemd"),
    ("fleet", "links an agent later, among twenty processes"),
    ("host", "tests of the harness use a shell and /proc"),
    ("hot_server", "the single-file program is for Linux"),
    ("interrupted_calls", "loads a C library that interrupts system calls"),
    ("lying_agent", "an agent's stand-in listens on a socket file"),
    ("memory", "measures memory in /proc"),
    ("packages", "packages for Linux, and Windows programs started from Linux"),
    ("processes", "states of Linux processes: users, modes, namespaces, maps"),
    ("reused_pids", "chooses pids in a namespace"),
    ("single_file", "the single-file program is for Linux"),
    ("stopped_searches", "reads processor time in /proc"),
    ("symbol_versions", "symbols of ELF files"),
    ("single_file_values", "the single-file program is for Linux"),
    ("thread_memory", "limits memory with setrlimit and overcommit"),
    ("trace_perfetto", "reads traces with a Python of Linux"),
    ("trace_redaction", "searches memory through /proc"),
    ("trace_stacks", CALLERS),
    ("unreachable", "namespaces, modes of folders, users"),
    ("unwritable_folders", "modes of folders, users"),
    ("upgrades", "the earlier commit is built for Linux"),
    ("users", "becomes other users"),
    ("wall_clock", "loads a C library that sets the clock"),
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
pub const OPEN: &[(&str, &str, &str)] = &[
    ("bad_bodies", "bad_body_fails_alone::net_8_0", HANGS),
    ("bad_bodies", "detects_failure_after_one_call::net_8_0", HANGS),
    ("bad_bodies", "variable_arguments_fail_as_without_agent", HANGS),
    ("budget", "applies_from_the_start_without_controllers", PACED),
    ("budget", "spares_a_dial_after_its_second_step_is_undone", PACED),
    ("budget", "turns_costly_dials_off_and_keeps_lifetimes", PACED),
    ("conditions", "earlier_exceptions_have_no_type", EXCEPTIONS),
    ("conditions", "keeps_failed_calls_with_exception_types", EXCEPTIONS),
    ("control", "anyone_may_read_and_turn_off", EVENTS),
    ("control", "reports_released_dials_at_the_end", EVENTS),
    ("control", "second_command_learns_who_has_control", EVENTS),
    ("dial_sets", "ctrl_c_undoes_a_change", EVENTS),
    ("dial_sets", "holds_a_dial_set", EVENTS),
    ("everything", "compiler_output_is_the_same", COMPILER),
    ("exits", "reports_mistyped_dials_while_the_program_runs::net_2_1", "hangs; not understood yet"),
    ("faults", "limits::memory_of_large_frames_is_bounded", "64 sessions take 62 MB; not understood yet"),
    ("hot", "*", UNTRIED),
    (
        "internals",
        "program_is_unchanged_with_core_library_dialled::net_8_0",
        "ends with 0xc0000409; not understood yet",
    ),
    ("killed_controllers", "*", "the single-file program is for Linux"),
    ("large_bodies", "*", UNTRIED),
    ("paused_controllers", "stopped_controllers_lose_nothing", EVENTS),
    ("refusals", "watches_methods_that_are_not_dialled", EVENTS),
    ("snapshots", "*", UNTRIED),
    ("source_lines", "*", UNTRIED),
    ("times", "dying_threads_leave_no_call_in_flight", "ends threads with pthread_exit"),
    (
        "toggles",
        "toggles_hot_methods_without_growth",
        "under Wine 8 a request waits over 30 s for eight busy threads to stop",
    ),
    ("trace_async", "*", UNTRIED),
    ("trace_conditions", "*", UNTRIED),
    ("trace_layouts", "*", UNTRIED),
    ("web", "everything_timed_under_load_on_3_1", TIMED_WEB),
    ("web", "everything_timed_under_load_on_8_0", TIMED_WEB),
    ("web", "serves_with_times_on_3_1", TIMED_WEB),
    ("web", "serves_with_times_on_8_0", TIMED_WEB),
    ("window_hot", "*", UNTRIED),
    ("window_layouts", "*", UNTRIED),
    ("window_navigation", "*", UNTRIED),
    ("window_numbers", "*", UNTRIED),
    ("window_sessions", "*", UNTRIED),
    ("window_timeline", "*", UNTRIED),
];
const COMPILER: &str = "not run at level trace yet";
const PACED: &str = "failed while the program paced by sleeping; not run since it yields";
const UNTRIED: &str = "not run under Wine yet";
const TIMED_WEB: &str = "not run to its end yet";
const EVENTS: &str = "Wine 8 has no Ctrl-Break";
const EXCEPTIONS: &str = "on Windows types of exceptions inside others stay unknown";
const HANGS: &str = "under Wine 8 the runtime hangs when its JIT refuses a body";

/// The tests of `cargo xtask test wine-e2e`, by suite; `*` means all of a suite. They are quick, on every runtime, and of every
/// subject; `cargo xtask soak` runs all.
pub const SHARE: &[(&str, &[&str])] = &[
    ("async_calls", &["*"]),
    ("attach", &["*"]),
    ("children", &["*"]),
    ("collectible", &["*"]),
    ("counts", &["*"]),
    (
        "faults",
        &[
            "closes_garbage_without_affecting_others",
            "closes_half_a_frame_in_time",
            "limits::turns_off_beside_any_number_of_idle_sessions",
        ],
    ),
    ("load_contexts", &["*"]),
    ("pipes", &["*"]),
    ("pools", &["*"]),
    ("states", &["*"]),
    ("times", &["*"]),
    ("trace", &["*"]),
    ("trace_objects", &["*"]),
    ("unknown_callers", &["*"]),
];
