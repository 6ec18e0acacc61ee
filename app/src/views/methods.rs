//! The methods in the middle: filter, head of the table, and the rows of table or tree.

use super::columns::{Besides, Columns, PLACE, SUMMED, WORD};
use super::{heads, rows};
use crate::commands::{Command, Situation};
use crate::model::connection::{Connection, Shape};
use crate::model::ids::Node;
use crate::model::lines::Lines;
use crate::model::list::Key;
use crate::output::words;
use crate::ui::list::Scroll;
use crate::ui::theme::{Palette, ROW};
use eframe::egui::{self, Align, Id, Label, Layout, Popup, Rect, RichText, TextEdit, TextStyle, Ui, vec2};
use redial_protocol::state::State as DialState;
use std::time::Duration;

/// What the view itself remembers.
#[derive(Debug, Default)]
pub struct State {
    /// What stands in the filter's field.
    pub text: String,
    /// The field is to get the keyboard.
    pub focus_filter: bool,
    /// The focused row is to be brought into view.
    pub follow: bool,
    /// The same, unless it is the first rows that are looked at because of their numbers.
    pub find_again: bool,
    /// The first row is to be brought into view.
    pub to_top: bool,
    /// The groups of the tree that stand alone were opened.
    pub unfolded: bool,
    /// Rows that fit, for Page Up and Page Down.
    pub page: usize,
    /// The panel of the selection finds no room beside them.
    pub no_panel: bool,
    /// The rows drawn in this frame, and the place of the first of them; absent since a frame asked for them.
    drawn: Option<(usize, Vec<Node>)>,
    scroll: Scroll,
    focus: Option<(Node, usize)>,
    /// The pointer was moved, pressed or scrolled among the rows, and has not left them since. Rows that merely come to where it
    /// rests are not held.
    pointed_at: bool,
    /// Until when the rows keep their places all the same, seconds on the toolkit's clock.
    still_until: f64,
}

/// Room that names leave to numbers where others beside them say the same names, points.
const LESS: f32 = 60.0;
/// How long rows keep their places after the pointer has left them, or a key did something to one of them, seconds: the
/// next click or key must not meet another method.
const STILL: f64 = 2.0;

/// How long the sign that puts rows in order waits for a pointer that rests at it, seconds.
const WAITS: f32 = 20.0;

/// Rows whose names are laid out with next to no work.
const FEW: usize = 5;
/// Least room for the hint that there is a panel, points.
const HINT: f32 = 60.0;

impl State {
    /// Whether more than a few of the rows in view were not drawn in the last frame: their names are to be laid out. To be asked
    /// once a frame; where the last one drew nothing, the window being hidden, the next one will not either.
    pub fn shows_new(&mut self, list: &Connection) -> bool {
        let Some((first, drawn)) = self.drawn.take() else { return false };
        let in_view = (first..).take(self.page.max(FEW + 1)).map_while(|place| list.row_at(place));
        in_view.filter(|row| !drawn.contains(row)).nth(FEW).is_some()
    }

    /// Whether rows are to keep their places.
    pub fn is_still(&self, context: &egui::Context) -> bool {
        self.pointed_at || context.input(|input| input.time) < self.still_until
    }

    /// One row is being acted on by a key: it stays where it is for a moment.
    pub fn keep_still(&mut self, context: &egui::Context) {
        self.still_until = context.input(|input| input.time) + STILL;
    }

    /// The order of the numbers is wanted, whatever was acted on: until the pointer moves again.
    pub fn let_go(&mut self) {
        (self.pointed_at, self.still_until) = (false, 0.0);
    }

    /// Scrolls to where the tables beside it are.
    pub fn share_scroll(&mut self, offset: f64) {
        self.scroll.share(offset);
    }

    /// Beside others one of them keeps what is picked in view, for all.
    pub fn leave_focus(&mut self) {
        self.focus = None;
    }

    /// Where it was scrolled to since.
    pub fn scrolled(&self) -> Option<f64> {
        self.scroll.moved()
    }

    /// Notes what the pointer does among the rows. While a menu is open they keep their places: it is of one of them.
    fn note_pointer(&mut self, ui: &Ui, rows: Rect) {
        let menu = Popup::is_any_open(ui.ctx());
        let over = menu || ui.rect_contains_pointer(rows);
        let (time, busy) = ui.input(|input| {
            let pointer = &input.pointer;
            let comes = input.events.iter().any(|event| matches!(event, egui::Event::PointerMoved(_)));
            let moves = comes || input.smooth_scroll_delta().y != 0.0;
            (input.time, moves || pointer.any_down() || pointer.any_released())
        });
        if over {
            self.pointed_at |= busy || menu;
        } else if std::mem::take(&mut self.pointed_at) {
            self.still_until = time + STILL;
        }
        if time < self.still_until {
            ui.ctx().request_repaint_after(Duration::from_secs_f64(self.still_until - time));
        }
    }
}

/// The id of the filter's field.
pub fn filter_id() -> Id {
    Id::unique("filter of the methods")
}

/// Filter and switches.
pub fn toolbar(
    ui: &mut Ui,
    state: &mut State,
    connection: &Connection,
    now: &Situation,
    commands: &mut Vec<Command>,
) {
    // Of a frame that shows none, none.
    state.drawn = Some((0, Vec::new()));
    let spans = connection.catalogue.spans_processes();
    ui.horizontal(|ui| {
        let (text, hint) = totals(connection);
        let font = TextStyle::Body.resolve(ui.style());
        let galley = ui.painter().layout_no_wrap(text.clone(), font, Palette::of(ui).text);
        // In steps, so that a digit more does not move the end of the field; and there is room for a spinner.
        let beside = ((galley.size().x / 30.0).ceil() * 30.0).max(110.0) + 40.0;
        let edit = TextEdit::singleline(&mut state.text)
            .id(filter_id())
            .hint_text("filter: any part of a name; of several words all must fit  ( / )")
            .desired_width((ui.available_width() - beside).max(80.0));
        let field = ui.add(edit).accessible_name("filter of the methods");
        if std::mem::take(&mut state.focus_filter) {
            field.request_focus();
        }
        if field.changed() {
            commands.push(Command::Filter(state.text.clone()));
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.add(Label::new(text).truncate()).on_hover_text(hint);
            if !connection.catalogue.is_complete() && now.connected {
                ui.spinner();
            }
        });
    });
    ui.horizontal_wrapped(|ui| {
        let filter = connection.list.filter();
        // Of several processes that is chosen above.
        let copies = !spans && (connection.catalogue.has_copies() || connection.catalogue.has_domains());
        for (there, on, text, command) in [
            (true, filter.only_dialled, "only dialled", Command::OnlyDialled),
            (true, filter.hide_framework, "hide framework", Command::HideFramework),
            (true, connection.shape == Shape::Tree, "tree", Command::Tree),
            (copies, connection.catalogue.is_merged(), "merge copies", Command::MergeCopies),
            (true, connection.list.hold(), "hold order", Command::HoldOrder),
        ] {
            if !there {
                continue;
            }
            let mut value = on;
            let shortcut = command.keys(ui.ctx()).unwrap_or_default();
            let more = command.explained().map(|text| format!("\n{text}")).unwrap_or_default();
            if ui
                .checkbox(&mut value, text)
                .on_hover_text(format!("{} ({shortcut}){more}", command.name()))
                .changed()
            {
                commands.push(command.clone());
            }
        }
        // Behind all of them: it comes and goes.
        if connection.list.filter().only_dialled {
            off_again(ui, connection, commands);
        }
        if state.no_panel && ui.available_size_before_wrap().x > HINT {
            no_panel(ui);
        }
    });
}

/// Of dialled methods those that are off again are a number, behind which they stand.
fn off_again(ui: &mut Ui, connection: &Connection, commands: &mut Vec<Command>) {
    let list = &connection.list;
    let text = match (list.filter().off_again, list.off_again() as u64) {
        (true, _) if connection.live.count(DialState::Off) == 0 => return,
        (true, _) => "hide those that are off again".to_owned(),
        (false, 0) => return,
        (false, methods) => format!("{} off again · show", words::grouped(methods)),
    };
    let hint = Command::OffAgain.explained().unwrap_or_default();
    if ui.link(text).on_hover_text(hint).clicked() {
        commands.push(Command::OffAgain);
    }
}

/// Says how the panel of the selection is seen, at the end of the line.
fn no_panel(ui: &mut Ui) {
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let text = RichText::new("a wider window shows the panel").small().color(Palette::of(ui).weak);
        let keys = Command::ZoomOut.keys(ui.ctx()).unwrap_or_default();
        ui.add(Label::new(text).truncate()).on_hover_text(format!(
            "The panel of the selection (a large knob, numbers, histogram, notes) stands at the right where there is room: \
             make the window wider or the list of processes narrower, or zoom out ({keys})."
        ));
    });
}

/// How many methods are shown, of how many, and what they are methods of.
fn totals(connection: &Connection) -> (String, &'static str) {
    let (shown, all) = (connection.list.shown() as u64, connection.list.all() as u64);
    let text = match shown == all {
        true => words::methods(all),
        false => format!("{} of {}", words::grouped(shown), words::methods(all)),
    };
    let catalogue = &connection.catalogue;
    match (catalogue.spans_processes(), catalogue.is_merged()) {
        (false, _) => (text, "methods shown, of all methods of the process"),
        (true, merged) => {
            let hint = match merged {
                true => "methods shown, of all methods; one that several processes have counts once",
                false => "methods shown, of all methods; one that several processes have counts in each",
            };
            (format!("{text} in {}", connection.title()), hint)
        }
    }
}

/// What columns depend on besides the room there is. Tables beside each other have the same columns: what one needs, all do.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// Something is or was timed.
    timed: bool,
    /// Room that states need besides what they usually do.
    state: f32,
}

impl Needs {
    /// Of the processes whose tables are shown together.
    pub fn of<'a>(together: impl IntoIterator<Item = &'a Connection>) -> Needs {
        let nothing = Needs { timed: false, state: WORD };
        together.into_iter().fold(nothing, |needs, one| Needs {
            timed: needs.timed || one.live.is_timed(),
            state: needs.state.max(state_room(one)),
        })
    }
}

/// Head and rows, in the rest of `ui`.
pub fn table(ui: &mut Ui, state: &mut State, lines: Lines<'_>, needs: Needs, commands: &mut Vec<Command>) {
    let Lines { own: connection, list, .. } = lines;
    ui.spacing_mut().item_spacing.y = 0.0;
    let head = Rect::from_min_size(ui.cursor().min, vec2(ui.available_width(), ROW));
    ui.advance_cursor_after_rect(head);
    let count = lines.len();
    keep_focus(state, list);
    if std::mem::take(&mut state.to_top) {
        state.scroll.bring_into_view(0);
    }
    // The wheel on the dial of the focused row turns that, and scrolls nothing.
    let turning = connection.obstacle().is_none()
        && connection.selection.focus().is_some_and(|node| {
            let dial = ui.ctx().read_response(rows::dial_id(ui, node));
            dial.is_some_and(|dial| dial.hovered())
        });
    let mut wheel = 0.0;
    if turning {
        wheel = ui.input_mut(|input| std::mem::take(&mut input.smooth_scroll_delta.y));
    }
    let window = state.scroll.show(ui, "methods", count, ROW);
    ui.input_mut(|input| input.smooth_scroll_delta.y += wheel);
    state.page = state.scroll.page(ROW);
    let before = match (connection.catalogue.interleaves(), lines.is_beside()) {
        (true, _) => PLACE,
        (false, true) => -LESS,
        (false, false) => 0.0,
    };
    let Needs { timed, state: room } = needs;
    let besides = Besides { before, state: room, compared: lines.is_beside() };
    let columns = Columns::of(window.rect, besides, timed, list.list.sort().key);
    state.note_pointer(ui, window.rect);
    let gone = columns.gone(timed);
    let pointed_at = state.pointed_at;
    // Beside others it is the pointer's place in any of them that holds the order of all.
    let by_pointer = pointed_at || lines.is_beside();
    let at_sign = heads::show(ui, head, (&columns, &gone), (list, by_pointer), commands);
    let came = ui.input(|input| input.pointer.time_since_last_movement()) < WAITS;
    if at_sign && came && (state.is_still(ui.ctx()) || lines.is_beside()) {
        // Who is about to click the sign that puts them in order must not meet what stands behind it.
        state.keep_still(ui.ctx());
    }
    let painter = ui.painter_at(window.rect);
    rows::show(ui, &painter, &window, &columns, (lines, pointed_at), commands);
    let drawn = window.rows.clone().filter_map(|place| list.row_at(place)).collect();
    state.drawn = Some((window.rows.start, drawn));
}

/// Room that states need besides what they usually do: those of single methods are a word, those of sums are several.
fn state_room(connection: &Connection) -> f32 {
    let catalogue = &connection.catalogue;
    let single = connection.shape == Shape::List && !(catalogue.is_merged() && catalogue.has_copies());
    match (catalogue.spans_processes(), single) {
        (true, _) => SUMMED,
        // Some of them say whose doing it is.
        (false, _) if connection.agent.as_ref().is_some_and(|agent| agent.cost_budget.stepped > 0) => SUMMED,
        (false, true) => WORD,
        (false, false) => 0.0,
    }
}

/// The focused row stays where it is on screen while rows above it come and go, and is brought into view when the
/// keyboard moved it. Who looks at the first rows because of their numbers is shown the first rows.
fn keep_focus(state: &mut State, connection: &Connection) {
    // Of several selected rows none is the one that is looked at.
    let one = connection.selection.len() <= 1;
    let now = connection
        .selection
        .focus()
        .filter(|_| one || state.follow || state.find_again)
        .zip(connection.focus_place());
    let by_number = connection.list.sort().key != Key::Name;
    let first = by_number && state.scroll.is_at_top(ROW);
    if let (Some((before, from)), Some((node, to))) = (state.focus, now)
        && !first
        && before == node
        && from != to
        && state.scroll.shows(from, ROW)
    {
        state.scroll.shift(to as f64 - from as f64, ROW);
    }
    state.follow |= std::mem::take(&mut state.find_again) && !first;
    if let Some((_, place)) = now.filter(|_| std::mem::take(&mut state.follow)) {
        state.scroll.bring_into_view(place);
    }
    state.focus = now;
}
