//! Keys that move through the rows of a table that has the focus.

use eframe::egui::{EventFilter, Id, Key, Modifiers, Ui};

/// Keeps the keys with the table `id`, and returns the number of rows to move by; 0 if none was pressed. `page`: the number
/// of rows that fit.
pub fn steps(ui: &Ui, id: Id, page: usize) -> isize {
    let arrows = EventFilter { vertical_arrows: true, escape: true, ..EventFilter::default() };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(id, arrows));
    let page = page.max(2) as isize - 1;
    let far = isize::MAX;
    let keys = [
        (Key::ArrowDown, 1),
        (Key::ArrowUp, -1),
        (Key::PageDown, page),
        (Key::PageUp, -page),
        (Key::End, far),
        (Key::Home, -far),
    ];
    keys.into_iter().fold(0, |sum, (key, by)| {
        let presses = ui.input_mut(|input| input.count_and_consume_key(Modifiers::NONE, key));
        sum.saturating_add(by.saturating_mul(presses as isize))
    })
}
