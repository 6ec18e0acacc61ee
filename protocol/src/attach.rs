//! Data that crosses a runtime's diagnostics port together with the agent.
//!
//! The client data of the attach request says who attaches the agent. If the agent declines,
//! `InitializeForAttach` returns a Redial code as HRESULT, which the port passes on unchanged.

use crate::limits::MAX_WORD;

/// Environment variables of the process that an attached agent obeys. All others only apply to processes
/// started by `redial run`.
pub const VARIABLES: [&str; 10] = [
    "REDIAL_DISABLE",
    "REDIAL_MAX_LEVEL",
    "REDIAL_SILENCE_MS",
    "REDIAL_FRAME_MS",
    "REDIAL_FIRST_CALL_MS",
    "REDIAL_TEST_BAD_TOKEN",
    "REDIAL_BUDGET",
    "REDIAL_MAX_CAPTURE",
    "REDIAL_MAX_EVENTS",
    "REDIAL_REDACT",
];

/// The user and program that attach an agent, according to themselves: the runtime does not provide them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attacher {
    /// User id in the form that distinguishes peers: a uid in decimal, or a SID.
    pub user: String,
    /// Name that the program gives itself.
    pub program: String,
}

impl Attacher {
    /// Encodes as client data.
    pub fn to_bytes(&self) -> Vec<u8> {
        format!("{}\n{}", self.user, self.program).into_bytes()
    }

    /// Decodes client data; None if it is something else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Attacher> {
        let (user, program) = std::str::from_utf8(bytes).ok()?.split_once('\n')?;
        let is_word =
            |word: &str| !word.is_empty() && word.len() <= MAX_WORD && !word.chars().any(char::is_control);
        (is_word(user) && is_word(program))
            .then(|| Attacher { user: user.to_owned(), program: program.to_owned() })
    }
}

/// Base of Redial's HRESULTs: failure, customer-defined (winerror.h), facility 0x52.
const BASE: u32 = 0xA052_0000;
const MALFORMED: u32 = BASE | 0x0100;
/// The low 16 bits contain the system's error number.
const NO_ENDPOINT: u32 = 0xA053_0000;

/// Reason why an agent declines to be attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachRefusal {
    /// `REDIAL_DISABLE` is set.
    Disabled,
    /// A variable of the process is malformed; holds its index in [`VARIABLES`].
    Malformed(u8),
    /// The agent cannot read pid and start time of its own process.
    NoIdentity,
    /// The agent cannot create the endpoint; holds the system's error number if there is one.
    NoEndpoint(Option<u16>),
    /// The process already has an agent.
    Another,
    /// The agent cannot start its threads.
    NoThreads,
    /// The agent itself failed.
    Fault,
}

impl AttachRefusal {
    /// Returns the refusal for a malformed variable of that name.
    pub fn malformed(name: &str) -> AttachRefusal {
        let index = VARIABLES.iter().position(|known| *known == name);
        AttachRefusal::Malformed(index.and_then(|index| u8::try_from(index).ok()).unwrap_or(u8::MAX))
    }

    /// Returns the code that crosses the diagnostics port.
    pub fn code(self) -> u32 {
        match self {
            AttachRefusal::Disabled => BASE | 1,
            AttachRefusal::NoIdentity => BASE | 2,
            AttachRefusal::Another => BASE | 3,
            AttachRefusal::NoThreads => BASE | 4,
            AttachRefusal::Fault => BASE | 5,
            AttachRefusal::Malformed(index) => MALFORMED | u32::from(index),
            AttachRefusal::NoEndpoint(error) => NO_ENDPOINT | u32::from(error.unwrap_or(0)),
        }
    }

    /// Returns the refusal that a code stands for; None for codes of others.
    pub fn from_code(code: u32) -> Option<AttachRefusal> {
        Some(match code {
            _ if code == BASE | 1 => AttachRefusal::Disabled,
            _ if code == BASE | 2 => AttachRefusal::NoIdentity,
            _ if code == BASE | 3 => AttachRefusal::Another,
            _ if code == BASE | 4 => AttachRefusal::NoThreads,
            _ if code == BASE | 5 => AttachRefusal::Fault,
            _ if code & !0xff == MALFORMED => AttachRefusal::Malformed(code as u8),
            _ if code & !0xffff == NO_ENDPOINT => {
                AttachRefusal::NoEndpoint(Some(code as u16).filter(|error| *error != 0))
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attacher_round_trips_and_rejects_other_data() {
        let attacher = Attacher { user: "1000".into(), program: "redial attach".into() };
        assert_eq!(Attacher::from_bytes(&attacher.to_bytes()), Some(attacher));
        let long = format!("1\n{}", "x".repeat(MAX_WORD + 1));
        for other in
            [&b""[..], b"1000", b"\nx", b"1000\n", b"1\n2\n3", b"1\n\xff", b"1\n\x1b[2J", long.as_bytes()]
        {
            assert_eq!(Attacher::from_bytes(other), None, "{other:?}");
        }
    }

    #[test]
    fn refusal_codes_round_trip_and_are_failures() {
        let all = [
            AttachRefusal::Disabled,
            AttachRefusal::NoIdentity,
            AttachRefusal::Another,
            AttachRefusal::NoThreads,
            AttachRefusal::Fault,
            AttachRefusal::malformed("REDIAL_MAX_LEVEL"),
            AttachRefusal::malformed("SOMETHING_ELSE"),
            AttachRefusal::NoEndpoint(None),
            AttachRefusal::NoEndpoint(Some(28)),
        ];
        for refusal in all {
            assert_eq!(AttachRefusal::from_code(refusal.code()), Some(refusal));
            assert!((refusal.code() as i32) < 0, "{refusal:?}");
        }
        assert_eq!(AttachRefusal::malformed("REDIAL_MAX_LEVEL"), AttachRefusal::Malformed(1));
    }

    #[test]
    fn rejects_codes_of_the_runtime() {
        for code in [0, 0x8013_136A, 0x8013_1375, 0x8000_4005, 0x8007_007E, u32::MAX] {
            assert_eq!(AttachRefusal::from_code(code), None, "{code:#x}");
        }
    }
}
