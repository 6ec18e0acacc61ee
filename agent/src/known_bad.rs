//! The table of known defects of runtimes: the only place where a version forbids anything.
#![forbid(unsafe_code)]

use redial_protocol::diagnostics::RuntimeDefect;

/// A known defect of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeIssue {
    /// At its start the runtime takes the addresses of two JIT helpers' original bodies. With an earlier dial it
    /// finds none (stores into arrays then crash); a later dial never counts.
    HelpersByAddress,
    /// Recompiling a JIT helper of the core library crashes the runtime.
    FragileHelpers,
    /// The runtime itself implements async methods; recompiling them is unproven.
    RuntimeAsync,
    /// Asked for precompiled inliners, the runtime follows a null pointer if a callee or an inliner is not loaded.
    InlinersNotLoaded,
    /// When the JIT reports inlining a method that meanwhile has a request, the runtime requests the inliner
    /// through an invalid pointer.
    InlinedMeanwhile,
    /// The runtime stops all managed threads while it accepts a request.
    StopsForRequests,
    /// The runtime does not recompile modules open to Hot Reload (Edit and Continue), even if it accepts the
    /// request.
    EditableIgnored,
    /// The runtime may call a recompiled method through an invalid address while tiering is delayed.
    TieringDelay,
    /// In exception stack traces, the runtime measures a recompiled method's offset from the start of its first
    /// code.
    LinesOfTraces,
    /// Once `Shutdown` returns, the runtime frees its side of the profiling API, which other threads may still call.
    /// (Windows has ended them by then.)
    FreedCallbacks,
}

/// A row of the table.
struct Range {
    known: RuntimeIssue,
    /// First and last major version in common terms (2 is Core 2.1, 3 is Core 3.1).
    majors: (u16, u16),
    /// The patch of the last of these versions that fixed the defect, if any.
    mended: Option<u16>,
    /// The issue or source that documents it, in dotnet/runtime unless stated otherwise.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers"))]
    issue: &'static str,
    /// The defect as users with dials on learn it.
    warning: Option<RuntimeDefect>,
}

const TABLE: [Range; 14] = [
    Range {
        known: RuntimeIssue::HelpersByAddress,
        majors: (5, 8),
        mended: None,
        issue: "ECall::PopulateManagedCastHelpers in coreclr's ecall.cpp; everything.rs, program_is_unchanged_with_runtime_helpers_dialled",
        warning: None,
    },
    Range {
        known: RuntimeIssue::FragileHelpers,
        majors: (9, 9),
        mended: None,
        issue: "112636, fixed in 10.0 by 117765",
        warning: None,
    },
    Range {
        known: RuntimeIssue::RuntimeAsync,
        majors: (11, u16::MAX),
        mended: None,
        issue: "not proven",
        warning: None,
    },
    Range {
        known: RuntimeIssue::InlinersNotLoaded,
        majors: (0, 6),
        mended: None,
        issue: "88924, fixed in 7.0 by 69634",
        warning: None,
    },
    // .NET Framework, with major version 4, and Core 2.1 do not request the inliner themselves.
    Range {
        known: RuntimeIssue::InlinedMeanwhile,
        majors: (3, 3),
        mended: None,
        issue: "95653; testbed/tests/web, everything_dialled_under_load",
        warning: None,
    },
    Range {
        known: RuntimeIssue::InlinedMeanwhile,
        majors: (5, 8),
        mended: None,
        issue: "95653, fixed in 9.0 by 95659; and a deadlock there, 97771, fixed by 98400",
        warning: None,
    },
    Range {
        known: RuntimeIssue::StopsForRequests,
        majors: (0, 4),
        mended: None,
        issue: "13442",
        warning: None,
    },
    Range {
        known: RuntimeIssue::EditableIgnored,
        majors: (3, 8),
        mended: None,
        issue: "91963: accepted, then silence, and before 5.0 the caller spins in MethodDesc::DoPrestub; ignored_requests.rs",
        warning: None,
    },
    Range {
        known: RuntimeIssue::EditableIgnored,
        majors: (9, u16::MAX),
        mended: None,
        issue: "98546: the request is refused",
        warning: None,
    },
    Range {
        known: RuntimeIssue::TieringDelay,
        majors: (5, 6),
        mended: Some(13),
        issue: "77973",
        warning: Some(RuntimeDefect::TieringDelay),
    },
    Range {
        known: RuntimeIssue::TieringDelay,
        majors: (7, 7),
        mended: Some(2),
        issue: "77973",
        warning: Some(RuntimeDefect::TieringDelay),
    },
    Range {
        known: RuntimeIssue::LinesOfTraces,
        majors: (0, 4),
        mended: None,
        issue: "GetStackFramesFromException in coreclr's debugdebugger.cpp; shapes.rs",
        warning: Some(RuntimeDefect::StackTraceLines),
    },
    Range {
        known: RuntimeIssue::FreedCallbacks,
        majors: (0, 2),
        mended: None,
        issue: "dotnet/coreclr 22176, fixed in 3.0 by 22712; exits.rs, ends_while_threads_compile",
        warning: None,
    },
    Range {
        known: RuntimeIssue::FreedCallbacks,
        majors: (4, 4),
        mended: None,
        issue: "as above: a self-contained program may run on 2.1 or 3.1, which both report 4.0",
        warning: None,
    },
];

impl RuntimeIssue {
    /// Whether runtimes of this major version have the defect, whatever their patch.
    pub fn is_of(self, major: u16) -> bool {
        TABLE.iter().any(|range| range.known == self && range.covers(major, None))
    }
}

impl Range {
    /// `patch`: None if it makes no difference.
    fn covers(&self, major: u16, patch: Option<u16>) -> bool {
        let (first, last) = self.majors;
        let mended = major == last && self.mended.zip(patch).is_some_and(|(mended, patch)| patch >= mended);
        (first..=last).contains(&major) && !mended
    }
}

/// Returns the defects to report to users with dials on, for a runtime of this major version and patch.
pub fn warnings(major: u16, patch: u16) -> impl Iterator<Item = RuntimeDefect> {
    TABLE.iter().filter(move |range| range.covers(major, Some(patch))).filter_map(|range| range.warning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_range_and_an_issue() {
        for range in &TABLE {
            assert!(range.majors.0 <= range.majors.1 && !range.issue.is_empty(), "{:?}", range.known);
        }
    }

    #[test]
    fn ranges_include_both_ends() {
        assert!(!RuntimeIssue::HelpersByAddress.is_of(3) && RuntimeIssue::HelpersByAddress.is_of(8));
        assert!(
            !RuntimeIssue::FragileHelpers.is_of(8)
                && RuntimeIssue::FragileHelpers.is_of(9)
                && !RuntimeIssue::FragileHelpers.is_of(10)
        );
        let meanwhile = |major| RuntimeIssue::InlinedMeanwhile.is_of(major);
        assert!(!meanwhile(2) && meanwhile(3) && !meanwhile(4) && meanwhile(8) && !meanwhile(9));
        assert!(RuntimeIssue::InlinersNotLoaded.is_of(6) && !RuntimeIssue::InlinersNotLoaded.is_of(7));
        let frees = |major| RuntimeIssue::FreedCallbacks.is_of(major);
        assert!(frees(2) && !frees(3) && frees(4) && !frees(5));
        assert_eq!((warnings(3, 1).count(), warnings(8, 31).count()), (1, 0));
        let count = |major, patch| warnings(major, patch).count();
        assert_eq!([count(5, 17), count(6, 12), count(6, 13), count(7, 1), count(7, 2)], [1, 1, 0, 1, 0]);
    }
}
