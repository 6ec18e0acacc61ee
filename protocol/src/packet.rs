//! What a frame body is: one byte that tells the kind, then the kind's own layout. Frozen kinds (`frozen`) are
//! read whatever the peer's version; requests and events (`message`, through `codec`) only between equals.
//!
//! A controller first sends Hello and the agent answers Hello. If their protocols differ, the agent answers every
//! request with VersionRefused without looking into it, and keeps serving Hello, Status and AllOff.

use crate::codec::{self, CodecError};
use crate::frame::{self, FrameError};
use crate::frozen::{self, AgentFacts, ClientHello, FrozenError};
use crate::message::{Event, Request};

/// The kind byte of each body. Fixed for all time, like the frozen layouts.
mod kind {
    pub const CLIENT_HELLO: u8 = 0x01;
    pub const STATUS: u8 = 0x02;
    pub const ALL_OFF: u8 = 0x03;
    pub const REQUEST: u8 = 0x10;
    pub const AGENT_HELLO: u8 = 0x81;
    pub const AGENT_STATUS: u8 = 0x82;
    pub const ALL_OFF_DONE: u8 = 0x83;
    pub const VERSION_REFUSED: u8 = 0x84;
    pub const EVENT: u8 = 0x90;
}

/// A body from a controller to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromController {
    /// Who I am; answered by [`FromAgent::Hello`].
    Hello(ClientHello),
    /// Answered by [`FromAgent::Status`].
    Status,
    /// Clear all orders and turn every dial off; answered by [`FromAgent::AllOffDone`].
    AllOff,
    /// Everything else.
    Request(Request),
}

/// A body from an agent to a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromAgent {
    /// To [`FromController::Hello`].
    Hello(AgentFacts),
    /// To [`FromController::Status`].
    Status(AgentFacts),
    /// To [`FromController::AllOff`].
    AllOffDone {
        /// Copies that were turned off.
        reverted: u64,
        /// Copies that could not be, still instrumented.
        remaining: u64,
        /// As `DialReport::change`; 0 where no order stood, and from agents that do not say.
        change: u64,
    },
    /// To a request from a controller of another version.
    VersionRefused {
        /// [`crate::PROTOCOL_VERSION`] of the agent.
        agent_protocol: u32,
        /// The agent's version.
        agent_version: String,
        /// A sentence that names both versions.
        message: String,
    },
    /// Everything else.
    Event(Event),
}

/// Why a body could not be read or made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// No bytes at all.
    #[error("the body is empty")]
    Empty,
    /// A kind this version does not know, or one that only travels the other way.
    #[error("a body of the unknown kind 0x{0:02x}")]
    UnknownKind(u8),
    /// A frozen message is wrong.
    #[error(transparent)]
    Frozen(#[from] FrozenError),
    /// A request or event is wrong, or too long.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// It does not fit a frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

impl FromController {
    /// Whether a body is a request, so that a peer of another version can be refused without decoding it.
    pub fn is_request(body: &[u8]) -> bool {
        body.first() == Some(&kind::REQUEST)
    }

    /// The frame to write.
    ///
    /// # Errors
    /// When the message would pass [`crate::limits::MAX_FRAME`].
    pub fn to_frame(&self) -> Result<Vec<u8>, PacketError> {
        let mut body = frame::begin();
        match self {
            FromController::Hello(hello) => {
                body.push(kind::CLIENT_HELLO);
                hello.write(&mut body);
            }
            FromController::Status => body.push(kind::STATUS),
            FromController::AllOff => body.push(kind::ALL_OFF),
            FromController::Request(request) => {
                body.push(kind::REQUEST);
                codec::encode_into(request, &mut body)?;
            }
        }
        Ok(frame::finish(body)?)
    }

    /// The message in a frame's body.
    ///
    /// # Errors
    /// Any bytes that are not one.
    pub fn from_body(body: &[u8]) -> Result<FromController, PacketError> {
        let (first, rest) = body.split_first().ok_or(PacketError::Empty)?;
        match *first {
            kind::CLIENT_HELLO => Ok(FromController::Hello(ClientHello::read(rest)?)),
            kind::STATUS => Ok(FromController::Status),
            kind::ALL_OFF => Ok(FromController::AllOff),
            kind::REQUEST => Ok(FromController::Request(codec::decode(rest)?)),
            unknown => Err(PacketError::UnknownKind(unknown)),
        }
    }
}

impl FromAgent {
    /// The refusal that an agent of `agent_version` (and this crate's protocol) owes a `client` of another
    /// protocol; its sentence names both versions.
    pub fn version_refused(agent_version: &str, client: &ClientHello) -> FromAgent {
        let agent_protocol = crate::PROTOCOL_VERSION;
        let message = format!(
            "{} {} speaks protocol {}, but the agent in this process is version {agent_version} and speaks \
             protocol {agent_protocol}; between them only hello, status and off work",
            client.program, client.version, client.protocol
        );
        FromAgent::VersionRefused { agent_protocol, agent_version: agent_version.to_owned(), message }
    }

    /// The frame to write.
    ///
    /// # Errors
    /// When the message would pass [`crate::limits::MAX_FRAME`].
    pub fn to_frame(&self) -> Result<Vec<u8>, PacketError> {
        let mut body = frame::begin();
        match self {
            FromAgent::Hello(facts) => {
                body.push(kind::AGENT_HELLO);
                facts.write(&mut body);
            }
            FromAgent::Status(facts) => {
                body.push(kind::AGENT_STATUS);
                facts.write(&mut body);
            }
            FromAgent::AllOffDone { reverted, remaining, change } => {
                body.push(kind::ALL_OFF_DONE);
                frozen::write_all_off_done([*reverted, *remaining, *change], &mut body);
            }
            FromAgent::VersionRefused { agent_protocol, agent_version, message } => {
                body.push(kind::VERSION_REFUSED);
                frozen::write_version_refused(*agent_protocol, agent_version, message, &mut body);
            }
            FromAgent::Event(event) => {
                body.push(kind::EVENT);
                codec::encode_into(event, &mut body)?;
            }
        }
        Ok(frame::finish(body)?)
    }

    /// The message in a frame's body.
    ///
    /// # Errors
    /// Any bytes that are not one.
    pub fn from_body(body: &[u8]) -> Result<FromAgent, PacketError> {
        let (first, rest) = body.split_first().ok_or(PacketError::Empty)?;
        match *first {
            kind::AGENT_HELLO => Ok(FromAgent::Hello(AgentFacts::read(rest)?)),
            kind::AGENT_STATUS => Ok(FromAgent::Status(AgentFacts::read(rest)?)),
            kind::ALL_OFF_DONE => {
                let [reverted, remaining, change] = frozen::read_all_off_done(rest)?;
                Ok(FromAgent::AllOffDone { reverted, remaining, change })
            }
            kind::VERSION_REFUSED => {
                let (agent_protocol, agent_version, message) = frozen::read_version_refused(rest)?;
                Ok(FromAgent::VersionRefused { agent_protocol, agent_version, message })
            }
            kind::EVENT => Ok(FromAgent::Event(codec::decode(rest)?)),
            unknown => Err(PacketError::UnknownKind(unknown)),
        }
    }
}
