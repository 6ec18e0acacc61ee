//! The processes whose calls the timeline shows: one, or several below each other on one scale of time.

use redial_model::call_history::CallHistory;
use redial_model::events::Events;
use redial_model::ids::ConnectionId;
use redial_text::traced_calls::name;
use std::collections::HashMap;

/// A process.
pub struct ShownProcess<'a> {
    /// Its connection.
    pub connection: ConnectionId,
    /// Its title, if several processes are shown.
    pub title: Option<String>,
    /// Its calls.
    pub events: &'a Events,
    /// Numbers that choose the colours of its methods: the same for a method of one name in all processes. Empty for one
    /// process alone, whose methods have their own numbers.
    colours: Vec<u32>,
}

impl<'a> ShownProcess<'a> {
    /// Makes the only process that is shown.
    pub fn alone(connection: ConnectionId, events: &'a Events) -> Vec<ShownProcess<'a>> {
        vec![ShownProcess { connection, title: None, events, colours: Vec::new() }]
    }

    /// Makes several processes, each with its title.
    pub fn together(
        processes: impl Iterator<Item = (ConnectionId, String, &'a Events)>,
    ) -> Vec<ShownProcess<'a>> {
        let mut numbers: HashMap<(&str, &str), u32> = HashMap::new();
        let shown = |(connection, title, events): (ConnectionId, String, &'a Events)| {
            let methods = events.history().methods().iter();
            let colours = methods.map(|method| {
                let next = numbers.len() as u32;
                *numbers.entry((name(method), method.signature.as_str())).or_insert(next)
            });
            ShownProcess { connection, title: Some(title), events, colours: colours.collect() }
        };
        processes.map(shown).collect()
    }

    /// Returns its calls as the timeline keeps them.
    pub fn history(&self) -> &'a CallHistory {
        self.events.history()
    }

    /// Returns the number that chooses a method's colour.
    pub fn colour(&self, method: u32) -> u32 {
        self.colours.get(method as usize).copied().unwrap_or(method)
    }
}

/// Returns the first beginning and the last end of all calls; None without calls.
pub fn range(shown: &[ShownProcess<'_>]) -> Option<(i64, i64)> {
    let ranges = shown.iter().filter_map(|process| process.history().spans().range());
    ranges.reduce(|(start, end), (other, until)| (start.min(other), end.max(until)))
}

/// Returns the beginning of the first call ever; 0 without one.
pub fn origin(shown: &[ShownProcess<'_>]) -> i64 {
    shown.iter().filter_map(|process| process.history().origin()).min().unwrap_or(0)
}
