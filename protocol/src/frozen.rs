//! Frozen layer: the layout of Hello, Status and AllOff. It is written by hand and never changes, so that any
//! later controller can inspect and stop any older agent.
//!
//! Layout: integers are little-endian; a string is its `u16` length in bytes (at most [`MAX_WORD`]) and its
//! UTF-8; a list is its `u8` number of entries and the entries; an option is a `u8` 0 or 1 and, for 1, the
//! value. Readers ignore bytes after the last known field, so a message can grow; nothing else may ever change.
//! This module must not know bincode or anything of `message` that could change between versions.

use crate::holder::Holder;
use crate::ids::ProcessKey;
use crate::level::Level;
use crate::limits::MAX_WORD;
use crate::peer_text::clean;

/// A controller's first message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientHello {
    /// [`crate::PROTOCOL_VERSION`] of the controller.
    pub protocol: u32,
    /// Name that the program gives itself (`redial dial`).
    pub program: String,
    /// Version of the program (`0.1.0`).
    pub version: String,
    /// Process id, as the program sees it.
    pub pid: u32,
}

/// Kind of the CLR that hosts the agent (`COR_PRF_RUNTIME_TYPE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeKind {
    /// .NET Core 1.0 to 3.1 and .NET 5 onwards.
    CoreClr,
    /// .NET Framework.
    Framework,
    /// A kind this version does not know.
    Unknown(u8),
}

impl RuntimeKind {
    /// Returns the wire byte.
    pub fn byte(self) -> u8 {
        match self {
            RuntimeKind::Framework => 1,
            RuntimeKind::CoreClr => 2,
            RuntimeKind::Unknown(byte) => byte,
        }
    }

    /// Returns the kind for a wire byte.
    pub fn from_byte(byte: u8) -> RuntimeKind {
        match byte {
            1 => RuntimeKind::Framework,
            2 => RuntimeKind::CoreClr,
            other => RuntimeKind::Unknown(other),
        }
    }

    /// Returns the word in listings and JSON.
    pub fn word(self) -> &'static str {
        match self {
            RuntimeKind::CoreClr => "coreclr",
            RuntimeKind::Framework => "framework",
            RuntimeKind::Unknown(_) => "unknown",
        }
    }
}

/// The agent's description of itself, as the answer to Hello and to Status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFacts {
    /// [`crate::PROTOCOL_VERSION`] of the agent.
    pub protocol: u32,
    /// The agent's version (`0.1.0`).
    pub agent_version: String,
    /// Process of the agent, as the process sees itself.
    pub process: ProcessKey,
    /// Kind of the CLR.
    pub runtime_kind: RuntimeKind,
    /// The CLR's version (`8.0.31`).
    pub runtime_version: String,
    /// Offered levels, without levels unknown to the reader.
    pub levels: Vec<Level>,
    /// Controller that has control; absent: nobody.
    pub holder: Option<Holder>,
    /// Copies whose instrumented body runs.
    pub live: u64,
    /// Copies dialled by kept orders.
    pub kept: u64,
    /// Copies dialled by held orders.
    pub held: u64,
    /// Estimated bytes the CLR keeps for requests and recompilations.
    pub clr_kept_bytes: u64,
}

/// Reason why bytes are not a frozen message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrozenError {
    /// The bytes ended inside a field.
    #[error("the message ends inside its field '{0}'")]
    Truncated(&'static str),
    /// A string is longer than the layout allows.
    #[error("the field '{field}' is {length} bytes long; the limit is {MAX_WORD} bytes")]
    WordTooLong {
        /// Name of the field.
        field: &'static str,
        /// Its length.
        length: usize,
    },
    /// A string is not UTF-8.
    #[error("the field '{0}' is not valid UTF-8")]
    NotText(&'static str),
    /// An option's byte is neither 0 nor 1.
    #[error("the field '{field}' has the presence byte {byte}; only 0 and 1 are possible")]
    BadPresence {
        /// Name of the field.
        field: &'static str,
        /// The byte.
        byte: u8,
    },
}

impl ClientHello {
    /// Appends the layout. Strings over [`MAX_WORD`] bytes are cut at a character.
    pub fn write(&self, out: &mut Vec<u8>) {
        put_u32(out, self.protocol);
        put_word(out, &self.program);
        put_word(out, &self.version);
        put_u32(out, self.pid);
    }

    /// Reads the layout and ignores the bytes after it.
    ///
    /// # Errors
    /// See [`FrozenError`].
    pub fn read(bytes: &[u8]) -> Result<ClientHello, FrozenError> {
        let mut fields = Fields(bytes);
        Ok(ClientHello {
            protocol: fields.u32("protocol")?,
            program: fields.word("program")?,
            version: fields.word("version")?,
            pid: fields.u32("pid")?,
        })
    }
}

impl AgentFacts {
    /// Appends the layout. Strings over [`MAX_WORD`] bytes are cut at a character.
    pub fn write(&self, out: &mut Vec<u8>) {
        put_u32(out, self.protocol);
        put_word(out, &self.agent_version);
        put_u32(out, self.process.pid);
        put_u64(out, self.process.start);
        out.push(self.runtime_kind.byte());
        put_word(out, &self.runtime_version);
        let levels = self.levels.get(..usize::from(u8::MAX)).unwrap_or(&self.levels);
        out.push(levels.len() as u8);
        out.extend(levels.iter().map(|level| *level as u8));
        match &self.holder {
            None => out.push(0),
            Some(holder) => {
                out.push(1);
                put_u32(out, holder.pid);
                put_word(out, &holder.program);
            }
        }
        for number in [self.live, self.kept, self.held, self.clr_kept_bytes] {
            put_u64(out, number);
        }
    }

    /// Reads the layout and ignores unknown levels and the bytes after it.
    ///
    /// # Errors
    /// See [`FrozenError`].
    pub fn read(bytes: &[u8]) -> Result<AgentFacts, FrozenError> {
        let mut fields = Fields(bytes);
        Ok(AgentFacts {
            protocol: fields.u32("protocol")?,
            agent_version: fields.word("agent_version")?,
            process: ProcessKey { pid: fields.u32("pid")?, start: fields.u64("start")? },
            runtime_kind: RuntimeKind::from_byte(fields.u8("runtime_kind")?),
            runtime_version: fields.word("runtime_version")?,
            levels: fields.levels("levels")?,
            holder: fields.holder("holder")?,
            live: fields.u64("live")?,
            kept: fields.u64("kept")?,
            held: fields.u64("held")?,
            clr_kept_bytes: fields.u64("clr_kept_bytes")?,
        })
    }
}

/// Appends the layout of AllOffDone: copies turned off, copies that could not be, and the number of the change.
pub(crate) fn write_all_off_done([reverted, remaining, change]: [u64; 3], out: &mut Vec<u8>) {
    put_u64(out, reverted);
    put_u64(out, remaining);
    put_u64(out, change);
}

/// Reads AllOffDone and ignores the bytes after it. Early agents send no change number; it reads as 0.
pub(crate) fn read_all_off_done(bytes: &[u8]) -> Result<[u64; 3], FrozenError> {
    let mut fields = Fields(bytes);
    let (reverted, remaining) = (fields.u64("reverted")?, fields.u64("remaining")?);
    let change = if fields.0.is_empty() { 0 } else { fields.u64("change")? };
    Ok([reverted, remaining, change])
}

/// Appends the layout of VersionRefused: the agent's protocol, its version and a sentence. Strings over
/// [`MAX_WORD`] bytes are cut at a character.
pub(crate) fn write_version_refused(protocol: u32, version: &str, message: &str, out: &mut Vec<u8>) {
    put_u32(out, protocol);
    put_word(out, version);
    put_word(out, message);
}

/// Reads VersionRefused and ignores the bytes after it.
pub(crate) fn read_version_refused(bytes: &[u8]) -> Result<(u32, String, String), FrozenError> {
    let mut fields = Fields(bytes);
    Ok((fields.u32("agent_protocol")?, fields.word("agent_version")?, fields.word("message")?))
}

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_word(out: &mut Vec<u8>, word: &str) {
    let word = &word[..word.floor_char_boundary(MAX_WORD)];
    out.extend_from_slice(&(word.len() as u16).to_le_bytes());
    out.extend_from_slice(word.as_bytes());
}

/// Unread rest of a message.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], FrozenError> {
        let (value, rest) = self.0.split_first_chunk::<N>().ok_or(FrozenError::Truncated(field))?;
        self.0 = rest;
        Ok(*value)
    }

    fn u8(&mut self, field: &'static str) -> Result<u8, FrozenError> {
        self.array::<1>(field).map(|[byte]| byte)
    }

    fn u32(&mut self, field: &'static str) -> Result<u32, FrozenError> {
        self.array(field).map(u32::from_le_bytes)
    }

    fn u64(&mut self, field: &'static str) -> Result<u64, FrozenError> {
        self.array(field).map(u64::from_le_bytes)
    }

    fn bytes(&mut self, length: usize, field: &'static str) -> Result<&[u8], FrozenError> {
        let (value, rest) = self.0.split_at_checked(length).ok_or(FrozenError::Truncated(field))?;
        self.0 = rest;
        Ok(value)
    }

    fn word(&mut self, field: &'static str) -> Result<String, FrozenError> {
        let length = usize::from(self.array(field).map(u16::from_le_bytes)?);
        if length > MAX_WORD {
            return Err(FrozenError::WordTooLong { field, length });
        }
        let bytes = self.bytes(length, field)?;
        let text = std::str::from_utf8(bytes).map_err(|_| FrozenError::NotText(field))?;
        Ok(clean(text).into_owned())
    }

    fn levels(&mut self, field: &'static str) -> Result<Vec<Level>, FrozenError> {
        let count = usize::from(self.u8(field)?);
        let bytes = self.bytes(count, field)?;
        Ok(bytes.iter().filter_map(|byte| Level::from_byte(*byte)).collect())
    }

    fn holder(&mut self, field: &'static str) -> Result<Option<Holder>, FrozenError> {
        match self.u8(field)? {
            0 => Ok(None),
            1 => Ok(Some(Holder { pid: self.u32(field)?, program: self.word(field)? })),
            byte => Err(FrozenError::BadPresence { field, byte }),
        }
    }
}
