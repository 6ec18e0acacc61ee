//! The strip at the bottom: how the connection is, in a few words and numbers.

use crate::commands::Command;
use crate::model::connection::{Connection, Status};
use crate::output::words;
use crate::ui::theme::Palette;
use eframe::egui::{RichText, Sense, Stroke, Ui, vec2};
use std::time::Duration;

/// Shows the strip. `mono` is the time on the model's clock.
pub fn show(ui: &mut Ui, connection: Option<&Connection>, mono: Duration, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    ui.horizontal(|ui| {
        let Some(connection) = connection else {
            ui.weak("no process picked");
            return;
        };
        let (text, colour) = match &connection.status {
            Status::Live => ("connected", palette.live),
            Status::Connecting => ("connecting…", palette.asked),
            Status::Lost { .. } => ("not connected", palette.bad),
        };
        let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
        match &connection.status {
            Status::Live => ui.painter().circle_filled(rect.center(), 5.0, colour),
            _ => ui.painter().circle_stroke(rect.center(), 4.5, Stroke::new(1.5, colour)),
        };
        ui.label(RichText::new(text).color(colour));
        ui.label(format!("{} ({})", connection.name, connection.process.pid));
        match &connection.status {
            Status::Lost { why, retry_at } => lost(ui, why, *retry_at, mono, commands),
            Status::Connecting => {}
            Status::Live => live(ui, connection),
        }
    });
}

fn lost(ui: &mut Ui, why: &str, retry_at: Option<Duration>, mono: Duration, commands: &mut Vec<Command>) {
    ui.separator();
    ui.add(eframe::egui::Label::new(why).truncate());
    if let Some(at) = retry_at {
        let seconds = at.saturating_sub(mono).as_secs_f32().ceil();
        ui.weak(format!("tries again in {seconds:.0} s"));
        ui.ctx().request_repaint_after(Duration::from_secs(1));
    }
    if ui.small_button("Connect again").clicked() {
        commands.push(Command::Reconnect);
    }
}

fn live(ui: &mut Ui, connection: &Connection) {
    let mut item = |text: String, hint: &str| {
        ui.separator();
        ui.weak(text).on_hover_text(hint);
    };
    if let Some(facts) = &connection.facts {
        let runtime = format!("{} {}", facts.runtime_kind.word(), facts.runtime_version);
        item(runtime, "the runtime, as the agent says");
    }
    if let Some(latency) = connection.latency {
        item(format!("{:.1} ms", latency.as_secs_f64() * 1000.0), "round trip to the agent");
    }
    item(format!("{:.0} updates/s", connection.update_rate()), "messages that arrive from the agent");
    if connection.live.dropped() > 0 {
        let dropped = words::count(connection.live.dropped(), "update", "updates");
        item(
            format!("{dropped} dropped"),
            "updates the agent left out because this window was slow; counts are exact",
        );
    }
    if let Some(agent) = &connection.agent {
        item(format!("agent {}", words::bytes(agent.memory_bytes)), "memory of the agent in the process");
        item(
            format!("runtime keeps {}", words::bytes(agent.clr_kept_bytes)),
            "what the runtime keeps for recompiled methods until their AppDomain unloads",
        );
    }
    match &connection.holder {
        Some(holder) if holder.pid == std::process::id() => {
            item("control: this window".to_owned(), "this window may turn dials");
        }
        Some(holder) => item(
            format!("control: {} (pid {})", holder.program, holder.pid),
            "another program turns the dials; turning one here offers to take control",
        ),
        None => item("control: free".to_owned(), "turning a dial takes control"),
    }
}
