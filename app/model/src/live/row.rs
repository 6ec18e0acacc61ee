//! A row of the agent's ledger, as the model keeps it.

use super::recent_rate::RecentCalls;
use crate::ids::MethodIx;
use crate::number_range::{RangeBasis, RangedNumbers};
use crate::series::Series;
use redial_protocol::diagnostics::{RowNote, TimesNote};
use redial_protocol::ids::{CopyKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::Instance;
use redial_protocol::order::TimeOptions;
use redial_protocol::state::CopyState;
use redial_protocol::times::Times;

/// A row of the agent's ledger.
#[derive(Clone, Debug)]
pub struct LiveRow {
    /// Its number.
    pub id: RowId,
    /// The copy.
    pub copy: CopyKey,
    /// The method, once the catalogue has it.
    pub method: Option<MethodIx>,
    /// `Module!Namespace.Type.Method(PARAMS)` for display.
    pub name: Box<str>,
    /// The AppDomain's name.
    pub domain: Box<str>,
    /// The wanted level.
    pub wanted: Level,
    /// Options beyond the times themselves.
    pub options: TimeOptions,
    /// The actual state.
    pub state: CopyState,
    /// The number of its live body.
    pub version: Option<u32>,
    /// Why it was refused or failed, or which calls the number excludes.
    pub note: Option<RowNote>,
    /// Why it is only counted though times are wanted, or which times are missing.
    pub times_note: Option<Box<TimesNote>>,
    /// Calls since it was first dialled.
    pub calls: u64,
    /// Calls per second in the last interval; absent before there was one.
    pub rate: Option<f32>,
    /// The last rate above zero; of the last two intervals the higher one, because the final interval is only
    /// partly counted.
    pub last_rate: f32,
    /// Rates of the last ticks; absent if never called.
    pub series: Option<Series>,
    /// Every compiled instance.
    pub instances: Box<[Instance]>,
    /// Durations of its calls; absent if none was timed.
    pub times: Option<Box<Times>>,
    /// The numbers of the range on display, unless that is all calls.
    pub(super) ranged: Option<Box<RangedNumbers>>,
    /// The counts before that range.
    pub(super) basis: Option<Box<RangeBasis>>,
    pub(super) fold: u64,
    pub(super) recent: RecentCalls,
}

impl LiveRow {
    /// Returns the calls in the range on display.
    pub fn shown_calls(&self) -> u64 {
        self.ranged.as_ref().map_or(self.calls, |ranged| ranged.calls)
    }

    /// Returns the times in the range on display; absent if no call was ever timed.
    pub fn shown_times(&self) -> Option<&Times> {
        match &self.ranged {
            Some(ranged) => ranged.times.as_ref(),
            None => self.times.as_deref(),
        }
    }

    /// Returns whether calls are counted, or will be from the next one on; otherwise the number is final.
    pub fn counts(&self) -> bool {
        self.state.counts()
    }

    /// Returns whether calls are timed, or will be from the next one on; otherwise the times are final.
    pub fn is_timed(&self) -> bool {
        self.state.is_timed(self.wanted)
    }

    /// Returns whether it has calls that may have been timed, and no times yet.
    pub(super) fn lacks_times(&self) -> bool {
        self.is_timed() && self.times.is_none() && self.calls > 0
    }

    /// Returns calls per second while it counts; unknown when off.
    pub fn counted_rate(&self) -> Option<f32> {
        self.rate.filter(|_| self.counts())
    }

    /// Returns whether its sparkline continues; while reverting, new calls are not counted.
    pub(crate) fn is_sampled(&self) -> bool {
        self.counts() && self.state != CopyState::Reverting
    }

    /// Adds the rate at a tick of the sparkline.
    pub(super) fn record_rate(&mut self, tick: u64, rate: f32) {
        let is_sampled = self.is_sampled();
        match &mut self.series {
            Some(series) if is_sampled => series.put(tick, rate),
            Some(series) => {
                series.put_last(tick, rate);
                series.end(tick.saturating_sub(1));
            }
            None => self.series = Some(Series::new(tick, rate)),
        }
        self.record_counting(tick);
    }

    /// Records whether it counts; while it does not, the sparkline has a gap.
    pub(super) fn record_counting(&mut self, tick: u64) {
        let is_sampled = self.is_sampled();
        match &mut self.series {
            Some(series) if is_sampled => series.begin(tick),
            Some(series) => series.end(tick),
            None => {}
        }
    }
}
