//! Why a process shows nothing in a row that others have.

/// Why a process has a blank in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingReason {
    /// It has not loaded the method.
    Unloaded,
    /// It may have the method, but its methods are still loading.
    Unread,
    /// It may have the method, but not all of its methods fit into the combined list.
    LeftOut,
}

impl MissingReason {
    /// Returns the sign in the row.
    pub fn sign(self) -> &'static str {
        match self {
            MissingReason::Unloaded => "–",
            MissingReason::Unread => "…",
            MissingReason::LeftOut => "?",
        }
    }

    /// Returns a sentence about what the process called `title` lacks.
    pub fn sentence(self, title: &str, what: &str) -> String {
        match self {
            MissingReason::Unloaded => format!("{title} has not loaded {what}"),
            MissingReason::Unread => format!("{title} may have {what}; its methods are still loading"),
            MissingReason::LeftOut => {
                format!("{title} may have {what}; not all of its methods fit into the combined list")
            }
        }
    }
}
