//! The calls that numbers cover: the choice in the toolbar, and its label in headers and details.

use crate::commands::{CommandContext, RangeChoice, UiCommand};
use crate::ui::capitalized;
use crate::ui::local_time;
use crate::ui::theme::{Palette, SMALL};
use eframe::egui::{Align2, FontId, Rangef, Rect, RichText, Role, Sense, Ui, WidgetInfo, pos2, vec2};
use redial_model::live::Live;
use redial_model::number_range::{NumberRange, RECENT_SECONDS};

/// Width that the name's header keeps beside the label, points.
const LEAST_HEADER: f32 = 80.0;

/// Returns the range as the end of a sentence: `since 12:34:56`, `of the last 10 s`. `None` for all calls.
pub fn label(live: &Live) -> Option<String> {
    match live.range() {
        NumberRange::Total => None,
        NumberRange::Since { unix_ms } => {
            let time = local_time::time_of_day(unix_ms.saturating_mul(1_000_000));
            Some(format!("since {}", time.split('.').next().unwrap_or_default()))
        }
        // Before the first second is over, the label names the full range.
        NumberRange::Recent => match live.recent_seconds() {
            0 | RECENT_SECONDS.. => Some(format!("of the last {RECENT_SECONDS} s")),
            seconds => Some(format!("of the last {seconds} s")),
        },
    }
}

/// Shows the choice of the range.
pub fn choice(ui: &mut Ui, now: &CommandContext, commands: &mut Vec<UiCommand>) {
    let all = [
        (RangeChoice::Total, "Totals"),
        (RangeChoice::SinceNow, "Since now"),
        (RangeChoice::Recent, "Last 10 s"),
    ];
    let shown = all.iter().find(|(choice, _)| *choice == now.switches.numbers);
    let name =
        shown.map_or("", |(choice, text)| if *choice == RangeChoice::SinceNow { "Since mark" } else { text });
    let menu = ui.menu_button(format!("{name} ▼"), |ui| {
        for (choice, text) in all {
            let command = UiCommand::Numbers(choice);
            let entry = ui.selectable_label(now.switches.numbers == choice, text);
            if entry.on_hover_text(command.explained().unwrap_or_default()).clicked() {
                commands.push(command);
                ui.close();
            }
        }
    });
    menu.response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Numbers: {name}")));
    menu.response.on_hover_text("The calls that numbers, times and exceptions cover");
    let again = UiCommand::Numbers(RangeChoice::SinceNow);
    if now.switches.numbers == RangeChoice::SinceNow
        && ui.button("Reset").on_hover_text("Begins at zero again. The process counts on.").clicked()
    {
        commands.push(again);
    }
}

/// Shows the range at the end of the name's header; returns where the rest of that header ends.
pub fn header(ui: &Ui, head: Rect, name: Rangef, live: &Live) -> f32 {
    let Some(label) = label(live) else { return name.max };
    let text = capitalized(label.strip_prefix("of the ").unwrap_or(&label));
    let palette = Palette::of(ui);
    let painter = ui.painter_at(head);
    let written = painter.layout_no_wrap(text, FontId::proportional(SMALL), palette.accent);
    if name.span() < written.size().x + LEAST_HEADER {
        return name.max;
    }
    let place = Align2::RIGHT_CENTER.anchor_size(pos2(name.max - 8.0, head.center().y), written.size());
    painter.galley(place.min, written, palette.accent);
    let response = ui.interact(place.expand2(vec2(4.0, 4.0)), ui.scope_id().with("range"), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, format!("Numbers {label}")));
    response.on_hover_text(format!("Calls, times and exceptions are those {label}."));
    place.left() - 8.0
}

/// Shows the range above numbers, unless they are totals.
pub fn caption(ui: &mut Ui, live: &Live) {
    if let Some(label) = label(live) {
        let text = RichText::new(format!("Numbers {label}")).small();
        ui.label(text.color(Palette::of(ui).accent));
    }
}
