//! What crosses a runtime's diagnostics port with our agent: who attaches it, as the client data of the request, and how
//! an agent says why it declines: `InitializeForAttach` answers a code of ours, which the port hands on as it is.

use crate::limits::MAX_WORD;

/// Variables of the process that an attached agent obeys. The others are about a process that `redial run` starts.
pub const VARIABLES: [&str; 7] = [
    "REDIAL_DISABLE",
    "REDIAL_MAX_LEVEL",
    "REDIAL_SILENCE_MS",
    "REDIAL_FRAME_MS",
    "REDIAL_FIRST_CALL_MS",
    "REDIAL_TEST_BAD_TOKEN",
    "REDIAL_BUDGET",
];

/// Who attaches an agent, by his own word: the runtime does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attacher {
    /// The user, as peers are told apart: a uid in decimal, or a SID.
    pub user: String,
    /// The program's own name for itself.
    pub program: String,
}

impl Attacher {
    /// As client data.
    pub fn to_bytes(&self) -> Vec<u8> {
        format!("{}\n{}", self.user, self.program).into_bytes()
    }

    /// From client data; None when it is something else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Attacher> {
        let (user, program) = std::str::from_utf8(bytes).ok()?.split_once('\n')?;
        let is_word =
            |word: &str| !word.is_empty() && word.len() <= MAX_WORD && !word.chars().any(char::is_control);
        (is_word(user) && is_word(program))
            .then(|| Attacher { user: user.to_owned(), program: program.to_owned() })
    }
}

/// An HRESULT of ours: failure, customer-defined (winerror.h), facility 0x52.
const OURS: u32 = 0xA052_0000;
const MALFORMED: u32 = OURS | 0x0100;
/// The low 16 bits are the system's error number.
const NO_ENDPOINT: u32 = 0xA053_0000;

/// Why an agent declines to be attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declined {
    /// `REDIAL_DISABLE` is set.
    Disabled,
    /// A variable of the process cannot be understood: its index in [`VARIABLES`].
    Malformed(u8),
    /// The process's own pid and start time cannot be read.
    NoIdentity,
    /// The endpoint cannot be made; the system's error number where there is one.
    NoEndpoint(Option<u16>),
    /// Another agent is in the process.
    Another,
    /// The agent's threads cannot be started.
    NoThreads,
    /// The agent itself failed.
    Fault,
}

impl Declined {
    /// A variable that cannot be understood, by its name.
    pub fn malformed(name: &str) -> Declined {
        let index = VARIABLES.iter().position(|known| *known == name);
        Declined::Malformed(index.and_then(|index| u8::try_from(index).ok()).unwrap_or(u8::MAX))
    }

    /// The code that crosses the diagnostics port.
    pub fn code(self) -> u32 {
        match self {
            Declined::Disabled => OURS | 1,
            Declined::NoIdentity => OURS | 2,
            Declined::Another => OURS | 3,
            Declined::NoThreads => OURS | 4,
            Declined::Fault => OURS | 5,
            Declined::Malformed(index) => MALFORMED | u32::from(index),
            Declined::NoEndpoint(error) => NO_ENDPOINT | u32::from(error.unwrap_or(0)),
        }
    }

    /// What a code means; None when it is none of ours.
    pub fn from_code(code: u32) -> Option<Declined> {
        Some(match code {
            _ if code == OURS | 1 => Declined::Disabled,
            _ if code == OURS | 2 => Declined::NoIdentity,
            _ if code == OURS | 3 => Declined::Another,
            _ if code == OURS | 4 => Declined::NoThreads,
            _ if code == OURS | 5 => Declined::Fault,
            _ if code & !0xff == MALFORMED => Declined::Malformed(code as u8),
            _ if code & !0xffff == NO_ENDPOINT => {
                Declined::NoEndpoint(Some(code as u16).filter(|error| *error != 0))
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_attaches_is_read_back_and_nothing_else() {
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
    fn codes_come_back_and_are_failures() {
        let all = [
            Declined::Disabled,
            Declined::NoIdentity,
            Declined::Another,
            Declined::NoThreads,
            Declined::Fault,
            Declined::malformed("REDIAL_MAX_LEVEL"),
            Declined::malformed("SOMETHING_ELSE"),
            Declined::NoEndpoint(None),
            Declined::NoEndpoint(Some(28)),
        ];
        for declined in all {
            assert_eq!(Declined::from_code(declined.code()), Some(declined));
            assert!((declined.code() as i32) < 0, "{declined:?}");
        }
        assert_eq!(Declined::malformed("REDIAL_MAX_LEVEL"), Declined::Malformed(1));
    }

    #[test]
    fn codes_of_the_runtime_are_not_ours() {
        for code in [0, 0x8013_136A, 0x8013_1375, 0x8000_4005, 0x8007_007E, u32::MAX] {
            assert_eq!(Declined::from_code(code), None, "{code:#x}");
        }
    }
}
