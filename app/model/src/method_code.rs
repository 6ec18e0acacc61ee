//! Source and IL of the method on display.

use redial_protocol::ids::CopyKey;
use redial_protocol::il::IlLine;
use redial_protocol::level::Level;
use std::collections::BTreeMap;
use std::time::Duration;

/// The shortest time between two requests about a method.
const PACE: Duration = Duration::from_secs(1);
/// How long a request without an answer holds back those about other methods.
const LOST: Duration = Duration::from_secs(5);

/// What determines a method's code: it is requested again when this changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeVersion {
    /// The copy.
    pub copy: CopyKey,
    /// The wanted level.
    pub wanted: Level,
    /// The number of the live body.
    pub version: Option<u32>,
}

/// A body of a method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeBody {
    /// Bytes of code.
    pub code_size: u32,
    /// Its instructions.
    pub lines: Vec<IlLine>,
    /// Whether the body was cut because it is very long.
    pub is_cut: bool,
}

/// Where the code of a method comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceFile {
    /// Its PDB has lines for it.
    Known {
        /// The file as the compiler wrote it.
        file: String,
        /// The file on this machine, if it is there.
        local: Option<String>,
        /// Its text by lines; empty if the file is not there.
        text: Vec<String>,
        /// First and last line of the method, counted from 1.
        lines: (u32, u32),
        /// The line of each instruction of the original IL, by offset.
        by_offset: BTreeMap<u32, u32>,
        /// The PDB.
        pdb: String,
    },
    /// No lines are known.
    Unknown {
        /// Why, as a sentence.
        why: String,
        /// Where a PDB was looked for, with what was found there.
        searched: Vec<String>,
    },
}

/// Source and IL of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodCode {
    /// The original IL, or why there is none, as a sentence.
    pub original: Result<CodeBody, String>,
    /// The IL with the probe, as the runtime has it or would get it.
    pub instrumented: Result<CodeBody, String>,
    /// The source.
    pub source: SourceFile,
}

/// The code of the method on display.
#[derive(Debug, Default)]
pub struct MethodCodes {
    last: Option<(CopyKey, Box<MethodCode>)>,
    asked: Option<(CodeVersion, Duration)>,
}

impl MethodCodes {
    /// Returns whether to request a method's code now, which counts as done. One request runs at a time: another method waits
    /// until the last one is answered, or lost. The same method is requested again when it changed, and the last request is
    /// a second old.
    pub fn ask(&mut self, version: CodeVersion, now: Duration) -> bool {
        let is_due = self.asked.is_none_or(|(asked, at)| {
            let age = now.saturating_sub(at);
            if asked.copy == version.copy {
                asked != version && age >= PACE
            } else {
                self.of(asked.copy).is_some() || age >= LOST
            }
        });
        if is_due {
            self.asked = Some((version, now));
        }
        is_due
    }

    /// Returns whether a method waits because the last request was about another one.
    pub fn holds_back(&self, copy: CopyKey) -> bool {
        self.asked.is_some_and(|(asked, _)| asked.copy != copy)
    }

    /// Makes the next question a new one, for example after another folder for PDBs was named.
    pub fn forget(&mut self) {
        self.asked = None;
    }

    /// Takes in an answer; ignores those about methods that are no longer on display.
    pub fn take(&mut self, copy: CopyKey, code: Box<MethodCode>) {
        if self.asked.is_some_and(|(asked, _)| asked.copy == copy) {
            self.last = Some((copy, code));
        }
    }

    /// Returns the code of a method, if it is known.
    pub fn of(&self, copy: CopyKey) -> Option<&MethodCode> {
        self.last.as_ref().filter(|(of, _)| *of == copy).map(|(_, code)| &**code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::ids::{MethodToken, ModuleKey};

    fn copy(token: u32) -> CopyKey {
        CopyKey { module: ModuleKey { module_id: 7, generation: 1 }, token: MethodToken(token) }
    }

    fn code() -> Box<MethodCode> {
        let source = SourceFile::Unknown { why: String::new(), searched: Vec::new() };
        Box::new(MethodCode { original: Ok(CodeBody::default()), instrumented: Err(String::new()), source })
    }

    #[test]
    fn code_is_requested_again_when_the_body_changes() {
        let mut codes = MethodCodes::default();
        let version = CodeVersion { copy: copy(1), wanted: Level::Off, version: None };
        let second = Duration::from_secs(1);
        assert!(codes.ask(version, second));
        assert!(!codes.ask(version, 9 * second));
        let counted = CodeVersion { wanted: Level::Count, ..version };
        assert!(codes.ask(counted, 9 * second));
        assert!(!codes.ask(CodeVersion { version: Some(1), ..counted }, 9 * second), "a moment ago");
    }

    #[test]
    fn one_request_runs_at_a_time() {
        let mut codes = MethodCodes::default();
        let of = |token| CodeVersion { copy: copy(token), wanted: Level::Off, version: None };
        let second = Duration::from_secs(1);
        assert!(codes.ask(of(1), second));
        assert!(!codes.ask(of(2), second) && codes.holds_back(copy(2)), "the first is not answered");
        assert!(!codes.ask(of(3), 2 * second) && !codes.holds_back(copy(1)));
        codes.take(copy(1), code());
        assert!(codes.ask(of(3), 2 * second), "at once after the answer");
        assert!(!codes.holds_back(copy(3)));
        assert!(!codes.ask(of(4), 2 * second + LOST - Duration::from_millis(1)));
        assert!(codes.ask(of(4), 2 * second + LOST), "the answer is lost");
        codes.take(copy(3), code());
        assert!(codes.of(copy(3)).is_none(), "too late");
    }

    #[test]
    fn answers_about_other_methods_are_ignored() {
        let mut codes = MethodCodes::default();
        codes.ask(CodeVersion { copy: copy(1), wanted: Level::Off, version: None }, Duration::ZERO);
        codes.take(copy(2), code());
        assert!(codes.of(copy(2)).is_none());
        codes.take(copy(1), code());
        assert!(codes.of(copy(1)).is_some());
    }
}
