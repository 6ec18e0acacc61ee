//! A row that will be requested from the CLR.
#![forbid(unsafe_code)]

use crate::catalogue::Module;
use crate::inlining::Method;
use crate::instrument::instrumented_body::Probe;
use crate::instrument::local_sigs::LocalSigKey;
use crate::instrument::timed_body::Timing;
use crate::instrument::tokens::ModuleTokens;
use crate::instrument::traced_method::TracedBody;
use crate::ledger::async_role::AsyncRole;
use crate::ledger::copy_identity::CopyIdentity;
use crate::ledger::row::Row;
use crate::ledger::row_timing::BodyTiming;
use crate::probes::callers;
use crate::signature::Type;
use crate::sync::lock;
use redial_protocol::condition::{Condition, ConditionError};
use redial_protocol::diagnostics::UntimedReason;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use std::sync::Arc;

/// An offset that takes as many bytes of IL as any.
pub(super) const LONGEST_OFFSET: usize = i32::MAX as usize;

/// A row to request, with the data that is needed several times. Ten thousand rows are read once, because their
/// memory is cold.
pub(super) struct RowRequest {
    pub(super) id: RowId,
    pub(super) module: Arc<Module>,
    pub(super) token: u32,
    /// The metadata tokens of its module, once prepared.
    pub(super) tokens: Option<Arc<ModuleTokens>>,
    pub(super) local_sig: u32,
    pub(super) inlinable: bool,
    pub(super) ends_in_itself: bool,
    pub(super) nearly_too_large: bool,
    pub(super) timing: TimingRequest,
    pub(super) async_role: Option<AsyncRole>,
    pub(super) trace: TraceRequest,
    pub(super) condition: Option<Arc<Condition>>,
    pub(super) stack: bool,
    callers: bool,
}

/// Whether to time a row.
pub(super) enum TimingRequest {
    /// Times are not wanted.
    No,
    /// Times are wanted; the result type, or why the method cannot be timed.
    Yes(Result<Option<Type>, UntimedReason>),
}

/// Whether to trace a row.
#[derive(Default)]
pub(super) enum TraceRequest {
    /// Events are not wanted.
    #[default]
    No,
    /// Events are wanted; the values to capture are not known yet.
    Wanted,
    /// These values shall be captured.
    Yes(&'static TracedBody),
    /// The wanted condition does not fit the method.
    Misfit(Box<ConditionError>),
    /// The memory for bodies with other options is used up.
    NoMemory,
}

impl TraceRequest {
    /// Returns the values to capture, if calls are to be traced.
    pub(super) fn body(&self) -> Option<&'static TracedBody> {
        match self {
            TraceRequest::Yes(body) => Some(body),
            TraceRequest::No | TraceRequest::Wanted | TraceRequest::Misfit(_) | TraceRequest::NoMemory => {
                None
            }
        }
    }
}

impl RowRequest {
    pub(super) fn of(row: &Row) -> RowRequest {
        let identity: &CopyIdentity = &row.identity;
        let timing = match row.wanted.is_timed() {
            // The result type is read later, without the ledger's lock.
            true => TimingRequest::Yes(identity.untimed.map_or(Ok(None), Err)),
            false => TimingRequest::No,
        };
        RowRequest {
            id: row.id,
            module: Arc::clone(&identity.module),
            token: identity.token,
            tokens: None,
            local_sig: identity.local_sig,
            inlinable: identity.inlinable,
            ends_in_itself: identity.ends_in_itself,
            nearly_too_large: identity.nearly_too_large,
            timing,
            async_role: None,
            trace: if row.wanted.level >= Level::Trace { TraceRequest::Wanted } else { TraceRequest::No },
            condition: row.wanted.condition.clone(),
            stack: row.wanted.options.stack && callers::KNOWN,
            callers: row.wanted.options.callers && callers::KNOWN,
        }
    }

    /// Returns the signature of its variables in a timed body; None if it is not timed.
    pub(super) fn timed_sig(&self) -> Option<LocalSigKey> {
        let TimingRequest::Yes(Ok(result)) = &self.timing else { return None };
        let of_trace = self.trace.body().map(TracedBody::variable_types);
        let further = result.iter().cloned().chain(of_trace.into_iter().flatten());
        Some((self.local_sig, further.collect()))
    }

    /// Returns its variables, or why it is only counted.
    pub(super) fn timing(&self) -> BodyTiming {
        let result = match &self.timing {
            TimingRequest::No => return BodyTiming::NotWanted,
            TimingRequest::Yes(Err(untimed)) => return BodyTiming::Untimed(*untimed),
            TimingRequest::Yes(Ok(result)) => result,
        };
        let (Some(tokens), Some(wanted)) = (&self.tokens, self.timed_sig()) else {
            return BodyTiming::Untimed(UntimedReason::NoRoom);
        };
        match lock(&tokens.local_sigs).get(&wanted) {
            Some(with) => BodyTiming::Timed(Timing {
                local_sig: with.token,
                local: with.local,
                returns: result.is_some(),
                noted_at: None,
                callers: self.callers,
                stack: self.stack,
                trace: self.trace.body(),
            }),
            None => BodyTiming::Untimed(UntimedReason::NoRoom),
        }
    }

    /// Returns the probe of the body, with [`LONGEST_OFFSET`] instead of the offset of the slots for completions, which is
    /// not known yet.
    pub(super) fn probe(&self) -> Probe {
        match self.timing() {
            BodyTiming::Timed(timing) => {
                Probe::Time(Timing { noted_at: self.async_role.as_ref().map(|_| LONGEST_OFFSET), ..timing })
            }
            BodyTiming::NotWanted | BodyTiming::Untimed(_) => {
                Probe::Count { ends_in_itself: self.ends_in_itself }
            }
        }
    }

    /// Returns the copy as callbacks identify it.
    pub(super) fn method(&self) -> Method {
        (self.module.id(), self.token)
    }
}
