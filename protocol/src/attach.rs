//! How an agent that is loaded into a running process says why it declines: `InitializeForAttach` answers a code of
//! ours, which the runtime's diagnostics port hands on as it is.

/// Variables of the process that an attached agent obeys. The others are about a process that `redial run` starts.
pub const VARIABLES: [&str; 6] = [
    "REDIAL_DISABLE",
    "REDIAL_MAX_LEVEL",
    "REDIAL_SILENCE_MS",
    "REDIAL_FRAME_MS",
    "REDIAL_FIRST_CALL_MS",
    "REDIAL_TEST_BAD_TOKEN",
];

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
