//! The traced calls of the selected method: those in flight, the longest first, and the latest ones.

use super::latency::row_looked_at;
use crate::ui::theme::Palette;
use eframe::egui::{Label, RichText, Ui};
use redial_model::connection::Connection;
use redial_model::live::LiveRow;
use redial_model::subject::Subject;
use redial_model::traced_calls::RowCalls;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::peer_text::clean;
use redial_protocol::trace::{TracedCall, TracedMethod};
use redial_text::traced_calls::{call, outcome, target, time_of_day};
use redial_text::words;
use std::time::{SystemTime, UNIX_EPOCH};

/// Calls of each list with a line of their own at first.
const SHOWN: usize = 5;

/// Returns the row whose traced calls are in view, with the pattern of its method.
pub fn wanted(connection: &Connection) -> Option<(RowId, String)> {
    let row = row_looked_at(connection).filter(|row| row.wanted >= Level::Trace)?;
    Some((row.id, row.name.to_string()))
}

/// Shows the traced calls of a method with a row of its own.
pub fn show(ui: &mut Ui, subject: Subject<'_>, row: &LiveRow) {
    if row.wanted < Level::Trace {
        return;
    }
    let weak = Palette::of(ui).weak;
    let small = |ui: &mut Ui, text: &str| drop(ui.label(RichText::new(text).small().color(weak)));
    ui.add_space(4.0);
    let Some(connection) = subject.process() else {
        return small(ui, "Select a single process to see its traced calls.");
    };
    if let Some(Ok(in_flight)) = connection.traced_calls.in_flight(row.id)
        && !in_flight.calls.is_empty()
    {
        list(ui, "In flight", in_flight, in_flight.with_methods());
    }
    match connection.traced_calls.latest(row.id) {
        Some(Ok(latest)) if latest.calls.is_empty() => small(ui, "Its next calls will be traced."),
        Some(Ok(latest)) => list(ui, "Latest calls", latest, latest.with_methods().rev()),
        Some(Err(why)) => small(ui, &format!("No calls to show: {why}.")),
        None if connection.obstacle().is_none() => small(ui, "Loading calls…"),
        None => {}
    }
}

fn list<'a>(
    ui: &mut Ui,
    title: &str,
    all: &RowCalls,
    calls: impl Iterator<Item = (&'a TracedMethod, &'a TracedCall)>,
) {
    ui.strong(title);
    let open = ui.scope_id().with(("all traced calls", title));
    let is_open = ui.data(|data| data.get_temp::<bool>(open)).unwrap_or_default();
    let shown = if is_open { all.calls.len() } else { SHOWN };
    calls.take(shown).for_each(|(method, traced)| one(ui, method, traced));
    if all.calls.len() > SHOWN {
        let text = match is_open {
            true => format!("Show {SHOWN}"),
            false => format!("Show all {}", all.calls.len()),
        };
        if ui.small_button(text).clicked() {
            ui.data_mut(|data| data.insert_temp(open, !is_open));
        }
    }
    ui.add_space(4.0);
}

/// The duration comes first, then what the call was; the whole text is in the tooltip.
fn one(ui: &mut Ui, method: &TracedMethod, traced: &TracedCall) {
    let ns = traced.duration_ns.unwrap_or_else(|| age_ns(traced.start_unix_ns));
    let took = words::duration(ns);
    let (text, end) = (call(method, traced), outcome(traced));
    // The name is the panel's title.
    let arguments = text.find('(').and_then(|at| text.get(at..)).unwrap_or(&text);
    let line = clean(&format!("{arguments}{end}")).into_owned();
    let target = target(method, traced);
    let when = format!("{}, thread {}", time_of_day(traced.start_unix_ns), traced.thread);
    let both = ui.horizontal(|ui| {
        ui.label(RichText::new(format!("{took:>7}")).monospace());
        ui.add(Label::new(RichText::new(line).monospace()).truncate().show_tooltip_when_elided(false));
    });
    both.response.on_hover_text(clean(&format!("{text}{target}{end}\n{took}, began {when}")).into_owned());
}

/// Returns the nanoseconds since a Unix time.
fn age_ns(start_unix_ns: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX).saturating_sub(start_unix_ns)
}
