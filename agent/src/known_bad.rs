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
    /// It follows a null pointer where the JIT reports that it inlined a method for which a request came meanwhile.
    InlinedMeanwhile,
    /// It stops all managed threads while it takes a request.
    StopsForRequests,
    /// In traces of exceptions it measures where a recompiled method was from the start of the method's first code.
    LinesOfTraces,
}

/// A row of the table.
struct Range {
    known: Known,
    /// First and last major version, as people count them (2 is Core 2.1, 3 Core 3.1).
    majors: (u16, u16),
    /// Where it is told of: dotnet/runtime unless it says otherwise.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers"))]
    issue: &'static str,
    /// What people with dials that are on are told of it.
    warning: Option<&'static str>,
}

const TABLE: [Range; 7] = [
    Range {
        known: Known::HelpersByAddress,
        majors: (5, 8),
        issue: "seen on 8.0.31 (everything.rs, helpers_of_the_runtime)",
        warning: None,
    },
    Range {
        known: Known::FragileHelpers,
        majors: (9, 9),
        issue: "112636, fixed in 10.0 by 117765",
        warning: None,
    },
    Range { known: Known::RuntimeAsync, majors: (11, u16::MAX), issue: "not proven", warning: None },
    Range {
        known: Known::InlinersNotLoaded,
        majors: (0, 6),
        issue: "88924, fixed in 7.0 by 69634",
        warning: None,
    },
    Range {
        known: Known::InlinedMeanwhile,
        majors: (0, 7),
        issue: "95653, fixed in 8.0; web.rs, everything_dialled_under_load",
        warning: None,
    },
    Range { known: Known::StopsForRequests, majors: (0, 4), issue: "13442", warning: None },
    Range {
        known: Known::LinesOfTraces,
        majors: (0, 4),
        issue: "GetStackFramesFromException in coreclr's debugdebugger.cpp; shapes.rs",
        warning: Some(
            "in traces of exceptions this runtime gives wrong line numbers for methods that were recompiled (.NET 5 and \
             later do not)",
        ),
    },
];

impl Known {
    /// Whether runtimes of this major version do so.
    pub fn is_of(self, major: u16) -> bool {
        TABLE.iter().any(|range| range.known == self && range.covers(major))
    }
}

impl Range {
    fn covers(&self, major: u16) -> bool {
        (self.majors.0..=self.majors.1).contains(&major)
    }
}

/// What people with dials that are on are told of a runtime of this major version.
pub fn warnings(major: u16) -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter(move |range| range.covers(major)).filter_map(|range| range.warning)
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
        assert!(Known::InlinersNotLoaded.is_of(6) && !Known::InlinersNotLoaded.is_of(7));
        assert_eq!((warnings(3).count(), warnings(8).count()), (1, 0));
    }
}
