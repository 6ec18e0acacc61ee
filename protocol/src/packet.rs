//! Frame bodies: one byte for the kind, then the layout of that kind.
//!
//! Frozen kinds (`frozen`) are readable across versions. Requests and events (`message`, encoded by `codec`)
//! travel only between peers of the same version.
//!
//! A controller first sends Hello, and the agent answers with Hello. If their protocols differ, the agent
//! answers every request with VersionRefused without decoding it, but still serves Hello, Status and AllOff.

use crate::codec::{self, CodecError};
use crate::frame::{self, FrameError};
use crate::frozen::{self, AgentFacts, ClientHello, FrozenError};
use crate::message::{Event, Request};

/// Kind byte of each body. Fixed forever, like the frozen layouts.
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
pub enum ControllerPacket {
    /// Introduces the controller; answered by [`AgentPacket::Hello`].
    Hello(ClientHello),
    /// Answered by [`AgentPacket::Status`].
    Status,
    /// Clear all orders and turn every dial off; answered by [`AgentPacket::AllOffDone`].
    AllOff,
    /// Everything else.
    Request(Request),
}

/// A body from an agent to a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentPacket {
    /// To [`ControllerPacket::Hello`].
    Hello(AgentFacts),
    /// To [`ControllerPacket::Status`].
    Status(AgentFacts),
    /// To [`ControllerPacket::AllOff`].
    AllOffDone {
        /// Copies turned off.
        reverted: u64,
        /// Copies that could not be turned off and are still instrumented.
        remaining: u64,
        /// As `DialReport::change`; 0 if there was no order, and from agents that do not send it.
        change: u64,
    },
    /// To a request from a controller with another version.
    VersionRefused {
        /// [`crate::PROTOCOL_VERSION`] of the agent.
        agent_protocol: u32,
        /// The agent's version.
        agent_version: String,
        /// Sentence that names both versions.
        message: String,
    },
    /// Everything else.
    Event(Event),
}

/// Reason why a body cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// No bytes at all.
    #[error("the body is empty")]
    Empty,
    /// A kind that this version does not know or that only travels in the other direction.
    #[error("a body of the unknown kind 0x{0:02x}")]
    UnknownKind(u8),
    /// A frozen message is wrong.
    #[error(transparent)]
    Frozen(#[from] FrozenError),
    /// A request or event is malformed or too long.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// The body does not fit into a frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

impl ControllerPacket {
    /// Returns whether a body is a request, so that the agent can refuse another version without decoding it.
    pub fn is_request(body: &[u8]) -> bool {
        body.first() == Some(&kind::REQUEST)
    }

    /// Returns the frame to write.
    ///
    /// # Errors
    /// If the message would exceed [`crate::limits::MAX_FRAME`].
    pub fn to_frame(&self) -> Result<Vec<u8>, PacketError> {
        let mut body = frame::begin();
        match self {
            ControllerPacket::Hello(hello) => {
                body.push(kind::CLIENT_HELLO);
                hello.write(&mut body);
            }
            ControllerPacket::Status => body.push(kind::STATUS),
            ControllerPacket::AllOff => body.push(kind::ALL_OFF),
            ControllerPacket::Request(request) => {
                body.push(kind::REQUEST);
                codec::encode_into(request, &mut body)?;
            }
        }
        Ok(frame::finish(body)?)
    }

    /// Reads the message in a frame's body.
    ///
    /// # Errors
    /// If the bytes are not exactly one message.
    pub fn from_body(body: &[u8]) -> Result<ControllerPacket, PacketError> {
        let (first, rest) = body.split_first().ok_or(PacketError::Empty)?;
        match *first {
            kind::CLIENT_HELLO => Ok(ControllerPacket::Hello(ClientHello::read(rest)?)),
            kind::STATUS => Ok(ControllerPacket::Status),
            kind::ALL_OFF => Ok(ControllerPacket::AllOff),
            kind::REQUEST => Ok(ControllerPacket::Request(codec::decode(rest)?)),
            unknown => Err(PacketError::UnknownKind(unknown)),
        }
    }
}

impl AgentPacket {
    /// Returns the refusal that an agent of `agent_version` with this crate's protocol sends to a `client` with
    /// another protocol. Its sentence names both versions.
    pub fn version_refused(agent_version: &str, client: &ClientHello) -> AgentPacket {
        let agent_protocol = crate::PROTOCOL_VERSION;
        let message = format!(
            "{} {} speaks protocol {}, but the agent in this process is version {agent_version} and speaks \
             protocol {agent_protocol}; between them only hello, status and off work",
            client.program, client.version, client.protocol
        );
        AgentPacket::VersionRefused { agent_protocol, agent_version: agent_version.to_owned(), message }
    }

    /// Returns the frame to write.
    ///
    /// # Errors
    /// If the message would exceed [`crate::limits::MAX_FRAME`].
    pub fn to_frame(&self) -> Result<Vec<u8>, PacketError> {
        let mut body = frame::begin();
        match self {
            AgentPacket::Hello(facts) => {
                body.push(kind::AGENT_HELLO);
                facts.write(&mut body);
            }
            AgentPacket::Status(facts) => {
                body.push(kind::AGENT_STATUS);
                facts.write(&mut body);
            }
            AgentPacket::AllOffDone { reverted, remaining, change } => {
                body.push(kind::ALL_OFF_DONE);
                frozen::write_all_off_done([*reverted, *remaining, *change], &mut body);
            }
            AgentPacket::VersionRefused { agent_protocol, agent_version, message } => {
                body.push(kind::VERSION_REFUSED);
                frozen::write_version_refused(*agent_protocol, agent_version, message, &mut body);
            }
            AgentPacket::Event(event) => {
                body.push(kind::EVENT);
                codec::encode_into(event, &mut body)?;
            }
        }
        Ok(frame::finish(body)?)
    }

    /// Reads the message in a frame's body.
    ///
    /// # Errors
    /// If the bytes are not exactly one message.
    pub fn from_body(body: &[u8]) -> Result<AgentPacket, PacketError> {
        let (first, rest) = body.split_first().ok_or(PacketError::Empty)?;
        match *first {
            kind::AGENT_HELLO => Ok(AgentPacket::Hello(AgentFacts::read(rest)?)),
            kind::AGENT_STATUS => Ok(AgentPacket::Status(AgentFacts::read(rest)?)),
            kind::ALL_OFF_DONE => {
                let [reverted, remaining, change] = frozen::read_all_off_done(rest)?;
                Ok(AgentPacket::AllOffDone { reverted, remaining, change })
            }
            kind::VERSION_REFUSED => {
                let (agent_protocol, agent_version, message) = frozen::read_version_refused(rest)?;
                Ok(AgentPacket::VersionRefused { agent_protocol, agent_version, message })
            }
            kind::EVENT => Ok(AgentPacket::Event(codec::decode_cleaned(rest)?)),
            unknown => Err(PacketError::UnknownKind(unknown)),
        }
    }
}
