//! The actual state of a row in the runtime, and its request to the CLR.
#![forbid(unsafe_code)]

use super::row_timing::BodyTiming;
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;
use std::time::Instant;

/// The actual state of a row in the runtime. See [`CopyState`] for each state's meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestState {
    /// Runs its original IL.
    #[default]
    Off,
    /// The CLR accepted the request, and has not compiled its body yet.
    Asked {
        /// The request.
        request: ActiveRequest,
        /// The body of an earlier request that is live until then.
        live_version: Option<u32>,
    },
    /// The body of the request is live, unless the CLR has got a newer one.
    Live {
        /// The request.
        request: ActiveRequest,
        /// The number of that body.
        version: u32,
    },
    /// Reverted, with calls in flight.
    Reverting,
    /// Not requested, for the row's reason.
    Refused,
    /// The CLR reported an error, or the agent withdrew a bad body.
    Failed,
    /// Unloaded.
    Lost,
}

/// The last request for a row that the CLR accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveRequest {
    /// The requested level.
    pub level: Level,
    /// Whether its body times calls.
    pub body: BodyTiming,
}

/// The progress of a request on its way into the CLR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestProgress {
    /// No request is on its way.
    #[default]
    Idle,
    /// The agent does not know yet whether the CLR accepts it.
    Requesting,
    /// The same, but its body is compiled already: it goes live as soon as the acceptance is known.
    CompiledEarly,
}

/// Original code that was compiled for a row after its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IgnoredRequest {
    /// FunctionID of the original code, compiled for the first time.
    pub(super) function: usize,
    /// When that happened.
    pub(super) since: Instant,
    /// It was long enough ago, and has been reported.
    pub(super) reported: bool,
}

impl RequestState {
    /// Returns the state's name for the wire.
    pub fn name(self) -> CopyState {
        match self {
            RequestState::Off => CopyState::Off,
            RequestState::Asked { .. } => CopyState::Asked,
            RequestState::Live { .. } => CopyState::Live,
            RequestState::Reverting => CopyState::Reverting,
            RequestState::Refused => CopyState::Refused,
            RequestState::Failed => CopyState::Failed,
            RequestState::Lost => CopyState::Lost,
        }
    }

    /// Returns the active ReJIT request.
    pub fn active(self) -> Option<ActiveRequest> {
        match self {
            RequestState::Asked { request, .. } | RequestState::Live { request, .. } => Some(request),
            _ => None,
        }
    }

    /// Returns the number of the instrumented body that is live.
    pub fn live_version(self) -> Option<u32> {
        match self {
            RequestState::Asked { live_version, .. } => live_version,
            RequestState::Live { version, .. } => Some(version),
            _ => None,
        }
    }
}
