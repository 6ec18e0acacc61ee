//! What is known to be bad in which runtimes, in one table: the only place where a version forbids anything.
#![forbid(unsafe_code)]

/// Something that a runtime does badly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It took the addresses of two JIT helpers' original bodies at its start: a dial set before leaves it none to take
    /// (stores into arrays then crash), one set later never counts.
    HelpersByAddress,
    /// Recompiling a JIT helper of the core library crashes it.
    FragileHelpers,
    /// Methods that the runtime itself makes asynchronous: nobody has shown that they can be recompiled.
    RuntimeAsync,
    /// Asked for precompiled inliners it follows a null pointer where a callee or an inliner is not loaded.
    InlinersNotLoaded,
    /// Where the JIT reports that it inlined a method for which a request came meanwhile, it asks for the inliner by a
    /// pointer that is none.
    InlinedMeanwhile,
    /// It stops all managed threads while it takes a request.
    StopsForRequests,
    /// What may be edited (Hot Reload, Edit and Continue) is not recompiled, whatever it answers.
    EditableIgnored,
    /// It may call a recompiled method by an address that is none, while its tiering waits.
    TieringDelay,
    /// In traces of exceptions it measures where a recompiled method was from the start of the method's first code.
    LinesOfTraces,
}

/// A row of the table.
struct Range {
    known: Known,
    /// First and last major version, as people count them (2 is Core 2.1, 3 Core 3.1).
    majors: (u16, u16),
    /// The patch of the last of them that mended it, if one did.
    mended: Option<u16>,
    /// Where it is told of: dotnet/runtime unless it says otherwise.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers"))]
    issue: &'static str,
    /// What people with dials that are on are told of it.
    warning: Option<&'static str>,
}

const TABLE: [Range; 12] = [
    Range {
        known: Known::HelpersByAddress,
        majors: (5, 8),
        mended: None,
        issue: "ECall::PopulateManagedCastHelpers in coreclr's ecall.cpp; everything.rs, helpers_of_the_runtime",
        warning: None,
    },
    Range {
        known: Known::FragileHelpers,
        majors: (9, 9),
        mended: None,
        issue: "112636, fixed in 10.0 by 117765",
        warning: None,
    },
    Range {
        known: Known::RuntimeAsync,
        majors: (11, u16::MAX),
        mended: None,
        issue: "not proven",
        warning: None,
    },
    Range {
        known: Known::InlinersNotLoaded,
        majors: (0, 6),
        mended: None,
        issue: "88924, fixed in 7.0 by 69634",
        warning: None,
    },
    // .NET Framework, whose major is 4, and Core 2.1 do not ask for the inliner themselves.
    Range {
        known: Known::InlinedMeanwhile,
        majors: (3, 3),
        mended: None,
        issue: "95653; testbed/tests/web, everything_dialled_under_load",
        warning: None,
    },
    Range {
        known: Known::InlinedMeanwhile,
        majors: (5, 8),
        mended: None,
        issue: "95653, fixed in 9.0 by 95659; and a deadlock there, 97771, fixed by 98400",
        warning: None,
    },
    Range { known: Known::StopsForRequests, majors: (0, 4), mended: None, issue: "13442", warning: None },
    Range {
        known: Known::EditableIgnored,
        majors: (3, 8),
        mended: None,
        issue: "91963: accepted, then silence, and before 5.0 the caller spins in MethodDesc::DoPrestub; silence.rs",
        warning: None,
    },
    Range {
        known: Known::EditableIgnored,
        majors: (9, u16::MAX),
        mended: None,
        issue: "98546: the request is refused",
        warning: None,
    },
    Range {
        known: Known::TieringDelay,
        majors: (5, 6),
        mended: Some(13),
        issue: "77973",
        warning: Some(TIERING_DELAY),
    },
    Range {
        known: Known::TieringDelay,
        majors: (7, 7),
        mended: Some(2),
        issue: "77973",
        warning: Some(TIERING_DELAY),
    },
    Range {
        known: Known::LinesOfTraces,
        majors: (0, 4),
        mended: None,
        issue: "GetStackFramesFromException in coreclr's debugdebugger.cpp; shapes.rs",
        warning: Some(
            "in traces of exceptions this runtime gives wrong line numbers for methods that were recompiled (.NET 5 and \
             later do not)",
        ),
    },
];

const TIERING_DELAY: &str = "this release of the runtime is known to crash now and then when a recompiled method is called \
                             (dotnet/runtime 77973); update to 6.0.13, 7.0.2 or later";

impl Known {
    /// Whether runtimes of this major version do so, whatever their patch.
    pub fn is_of(self, major: u16) -> bool {
        TABLE.iter().any(|range| range.known == self && range.covers(major, None))
    }
}

impl Range {
    /// `patch`: None where it makes no difference.
    fn covers(&self, major: u16, patch: Option<u16>) -> bool {
        let (first, last) = self.majors;
        let mended = major == last && self.mended.zip(patch).is_some_and(|(mended, patch)| patch >= mended);
        (first..=last).contains(&major) && !mended
    }
}

/// What people with dials that are on are told of a runtime of this major version and patch.
pub fn warnings(major: u16, patch: u16) -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter(move |range| range.covers(major, Some(patch))).filter_map(|range| range.warning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_range_and_says_where_it_is_told_of() {
        for range in &TABLE {
            assert!(range.majors.0 <= range.majors.1 && !range.issue.is_empty(), "{:?}", range.known);
        }
    }

    #[test]
    fn ranges_end_where_they_say() {
        assert!(!Known::HelpersByAddress.is_of(3) && Known::HelpersByAddress.is_of(8));
        assert!(
            !Known::FragileHelpers.is_of(8)
                && Known::FragileHelpers.is_of(9)
                && !Known::FragileHelpers.is_of(10)
        );
        let meanwhile = |major| Known::InlinedMeanwhile.is_of(major);
        assert!(!meanwhile(2) && meanwhile(3) && !meanwhile(4) && meanwhile(8) && !meanwhile(9));
        assert!(Known::InlinersNotLoaded.is_of(6) && !Known::InlinersNotLoaded.is_of(7));
        assert_eq!((warnings(3, 1).count(), warnings(8, 31).count()), (1, 0));
        let told = |major, patch| warnings(major, patch).count();
        assert_eq!([told(5, 17), told(6, 12), told(6, 13), told(7, 1), told(7, 2)], [1, 1, 0, 1, 0]);
    }
}
