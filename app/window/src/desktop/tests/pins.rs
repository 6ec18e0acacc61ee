//! Tests of pinned methods: on top in every order, and again when the program returns.

use super::fixture::deliver;
use super::fixture::{execute, look_at_shop, rows, still, with_shop};
use crate::commands::UiCommand;
use crate::desktop::App;
use eframe::egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::ids::Node;
use redial_model::list::{Sort, SortKey};
use redial_model::selection::SelectionMode;

const TAKE: &str = "Shop!Shop.Cart.TryTake(int, out int)";

fn first(harness: &Harness<'static, App>) -> String {
    let table = harness.state().model.list().expect("a table");
    table.catalogue.full_name(table.list.at(0).expect("a row")).text
}

#[test]
fn pinned_method_is_on_top_in_every_order() {
    let mut harness = with_shop(Theme::Dark);
    deliver(&mut harness, vec![rows()]);
    let shown = harness.state().model.list().expect("a table").list.len();
    harness.get_by_label(TAKE).click();
    harness.run_steps(3);
    execute(&mut harness, UiCommand::Pin);
    for key in [SortKey::Name, SortKey::Calls, SortKey::State] {
        for descending in [true, false] {
            execute(&mut harness, UiCommand::Sort(Sort { key, descending }));
            assert_eq!(first(&harness), TAKE, "{key:?} {descending}");
            let list = &harness.state().model.list().expect("a table").list;
            assert_eq!(list.len(), shown, "each method has one row");
            let mut all: Vec<u32> = (0..shown).filter_map(|place| list.at(place)).map(|one| one.0).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), shown);
        }
    }
    execute(&mut harness, UiCommand::Sort(Sort { key: SortKey::Name, descending: false }));
    execute(&mut harness, UiCommand::Pin);
    assert_ne!(first(&harness), TAKE, "pinning again unpins");
}

#[test]
fn pins_return_with_the_program() {
    let mut harness = with_shop(Theme::Dark);
    let table = harness.state().model.list().expect("a table");
    let take = (0..table.catalogue.len() as u32).map(redial_model::ids::MethodIx);
    let take = take.into_iter().find(|method| table.catalogue.full_name(*method).text == TAKE);
    execute(&mut harness, UiCommand::Pick(Node::Method(take.expect("a method")), SelectionMode::Replace));
    execute(&mut harness, UiCommand::Pin);
    let saved = harness.state().settings.programs.clone();
    let mut again = Harness::builder()
        .with_size([1180.0, 720.0])
        .with_theme(Theme::Dark)
        .build_eframe(|creation| App::new(&creation.egui_ctx, still()));
    again.state_mut().settings.programs = saved;
    again.run_steps(3);
    let again = look_at_shop(again);
    assert_eq!(first(&again), TAKE);
}
