//! A snapshot as a file for speedscope, an interactive viewer of profiles: an evented profile for each thread from traced
//! calls, and one from the self times of timed methods, which know no callers.
//!
//! Its schema is `file-format-schema.json` on the viewer's site, www.speedscope.app.

mod evented;

use crate::process_snapshot::ProcessSnapshot;
use evented::{FrameEvent, ProfiledCall, lanes, nested};
use redial_text::times;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// The address of the format's schema, which names the format.
const SCHEMA: &str = concat!("https", "://www.speedscope.app/file-format-schema.json");
/// The unit of all values.
const UNIT: &str = "nanoseconds";
/// Least self time of a method in a profile, nanoseconds.
const LEAST: u64 = 1;

/// A file for speedscope.
#[derive(Debug, Serialize)]
pub struct SpeedscopeFile {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: String,
    exporter: String,
    #[serde(rename = "activeProfileIndex")]
    active: usize,
    shared: Shared,
    profiles: Vec<Profile>,
}

#[derive(Debug, Default, Serialize)]
struct Shared {
    frames: Vec<Frame>,
}

#[derive(Debug, Serialize)]
struct Frame {
    name: String,
}

/// A profile of one kind.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Profile {
    Evented {
        name: String,
        unit: &'static str,
        #[serde(rename = "startValue")]
        start: u64,
        #[serde(rename = "endValue")]
        end: u64,
        events: Vec<FrameEvent>,
    },
    Sampled {
        name: String,
        unit: &'static str,
        #[serde(rename = "startValue")]
        start: u64,
        #[serde(rename = "endValue")]
        end: u64,
        samples: Vec<[usize; 1]>,
        weights: Vec<u64>,
    },
}

/// The frames of all profiles, by name.
#[derive(Debug, Default)]
struct Frames {
    shared: Shared,
    indices: HashMap<String, usize>,
}

impl Frames {
    fn index(&mut self, name: String) -> usize {
        if let Some(index) = self.indices.get(&name) {
            return *index;
        }
        let index = self.shared.frames.len();
        self.shared.frames.push(Frame { name: name.clone() });
        self.indices.insert(name, index);
        index
    }
}

impl SpeedscopeFile {
    /// Converts a snapshot. Calls without a duration are left out.
    pub fn of(snapshot: &ProcessSnapshot) -> SpeedscopeFile {
        let mut frames = Frames::default();
        let calls: Vec<(Option<u64>, ProfiledCall)> =
            snapshot.calls.iter().filter_map(|call| read(call, &mut frames)).collect();
        let origin = calls.iter().map(|(_, call)| call.start).min().unwrap_or(0);
        let mut threads: BTreeMap<Option<u64>, Vec<ProfiledCall>> = BTreeMap::new();
        for (thread, call) in calls {
            let call = ProfiledCall { start: call.start - origin, ..call };
            threads.entry(thread).or_default().push(call);
        }
        // Calls that left their thread while they waited overlap, so each lane of them is a profile.
        let waiting = threads.remove(&None).unwrap_or_default();
        let waiting = lanes(waiting).into_iter().zip(1..);
        let tracks = threads.into_iter().map(|(thread, calls)| {
            let name = format!("Thread {} (traced calls)", thread.unwrap_or_default());
            (name, calls)
        });
        let tracks =
            tracks.chain(waiting.map(|(calls, lane)| (format!("Async calls {lane} (traced calls)"), calls)));
        let mut profiles: Vec<Profile> = tracks.map(|(name, calls)| evented_profile(name, calls)).collect();
        profiles.extend(self_times(snapshot, &mut frames));
        let header = &snapshot.header;
        let program = header.name.as_deref().unwrap_or("process");
        SpeedscopeFile {
            schema: SCHEMA,
            name: format!("{program} ({})", header.pid),
            exporter: format!("redial {}", env!("CARGO_PKG_VERSION")),
            active: 0,
            shared: frames.shared,
            profiles,
        }
    }

    /// Returns whether it has no profile: nothing was traced or timed. The format needs one.
    pub fn is_empty(&self) -> bool {
        self.profiles.is_empty()
    }
}

fn evented_profile(name: String, calls: Vec<ProfiledCall>) -> Profile {
    let events = nested(calls);
    let at = |event: Option<&FrameEvent>| event.map_or(0, |event| event.at);
    Profile::Evented { name, unit: UNIT, start: at(events.first()), end: at(events.last()), events }
}

/// Reads a call as a snapshot has it, with its thread; no thread for one that left it while it waited.
fn read(call: &Value, frames: &mut Frames) -> Option<(Option<u64>, ProfiledCall)> {
    let course = &call["async"];
    let is_waiting = course["began"] == false || course["steps"].as_u64().is_some_and(|steps| steps > 1);
    let name = format!("{}{}", call["method"].as_str()?, call["signature"].as_str().unwrap_or_default());
    let profiled = ProfiledCall {
        start: times::unix_ns(call["start"].as_str()?)?,
        duration_ns: call["duration_ns"].as_u64()?,
        depth: call["depth"].as_u64().unwrap_or(0),
        frame: frames.index(name),
    };
    Some((Some(call["thread"].as_u64().unwrap_or(0)).filter(|_| !is_waiting), profiled))
}

/// Returns the self times of timed methods, those with the most first; none if nothing was timed.
fn self_times(snapshot: &ProcessSnapshot, frames: &mut Frames) -> Option<Profile> {
    let mut sums: Vec<(u64, String)> = snapshot
        .sums()
        .into_iter()
        .filter(|(_, sum)| sum.exits > 0 && sum.self_ns >= LEAST)
        .map(|(name, sum)| (sum.self_ns, format!("{}{}", name.method, name.signature)))
        .collect();
    sums.sort_by(|(one, name), (other, other_name)| other.cmp(one).then_with(|| name.cmp(other_name)));
    if sums.is_empty() {
        return None;
    }
    let weights: Vec<u64> = sums.iter().map(|(ns, _)| *ns).collect();
    Some(Profile::Sampled {
        name: "Self times of timed methods (no callers)".to_owned(),
        unit: UNIT,
        start: 0,
        end: weights.iter().fold(0, |sum: u64, ns| sum.saturating_add(*ns)),
        samples: sums.into_iter().map(|(_, name)| [frames.index(name)]).collect(),
        weights,
    })
}

#[cfg(test)]
mod tests;
