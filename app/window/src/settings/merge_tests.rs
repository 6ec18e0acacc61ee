//! Tests of two windows that save to one file.

use super::layouts::NamedLayout;
use super::merge::merged;
use super::programs::SavedDialSet;
use super::sections::DetailSection;
use super::{Settings, ThemeChoice};

fn pinned(names: &[&str]) -> Settings {
    let mut settings = Settings::default();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    settings.programs.pin("Shop.dll", &names, true).expect("room");
    settings
}

fn pins(settings: &Settings) -> Vec<&str> {
    let program = settings.programs.get("Shop.dll");
    program.map_or_else(Vec::new, |program| program.pins.iter().map(String::as_str).collect())
}

#[test]
fn pins_of_two_windows_add_up() {
    let before = pinned(&["A"]);
    assert_eq!(pins(&merged(&before, &pinned(&["A", "B"]), &pinned(&["A", "C"]))), ["A", "C", "B"]);
    assert_eq!(pins(&merged(&before, &Settings::default(), &pinned(&["A", "C"]))), ["C"], "A was unpinned");
    assert_eq!(pins(&merged(&before, &before, &Settings::default())), [] as [&str; 0], "unpinned elsewhere");
    assert_eq!(pins(&merged(&Settings::default(), &before, &Settings::default())), ["A"]);
    let none = merged(&before, &Settings::default(), &before);
    assert!(none.programs.get("Shop.dll").is_none(), "nothing is kept for it any more");
}

#[test]
fn only_changed_settings_replace_those_of_the_file() {
    let before = Settings::default();
    let mut mine = Settings { zoom: 1.5, ..Settings::default() };
    mine.toggle_filter("cart").expect("room");
    let mut theirs = Settings { theme: ThemeChoice::Light, ..Settings::default() };
    theirs.toggle_filter("order").expect("room");
    theirs.launch.program = "dotnet".to_owned();
    let both = merged(&before, &mine, &theirs);
    assert_eq!((both.zoom, both.theme, both.launch.program.as_str()), (1.5, ThemeChoice::Light, "dotnet"));
    assert_eq!(both.filters, ["order", "cart"]);
    let mine = Settings { theme: ThemeChoice::Dark, ..before.clone() };
    assert_eq!(merged(&before, &mine, &theirs).theme, ThemeChoice::Dark, "the last one to change it");
}

#[test]
fn a_dial_set_replaces_one_of_its_name() {
    let with = |text: &str| {
        let mut settings = Settings::default();
        let set = SavedDialSet { name: "checkout".into(), text: text.into() };
        settings.programs.save_dial_set("Shop.dll", set).expect("room");
        settings
    };
    let both = merged(&with("old"), &with("mine"), &with("theirs"));
    let sets = &both.programs.get("Shop.dll").expect("kept").dial_sets;
    assert_eq!(sets.iter().map(|set| set.text.as_str()).collect::<Vec<_>>(), ["mine"]);
}

#[test]
fn pins_of_a_program_named_like_a_setting_add_up() {
    for program in ["launch", "dock", "filters"] {
        let with = |names: &[&str]| {
            let mut settings = Settings::default();
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            settings.programs.pin(program, &names, true).expect("room");
            settings
        };
        let both = merged(&with(&["A"]), &with(&["A", "B"]), &with(&["A", "C"]));
        assert_eq!(both.programs.get(program).expect("kept").pins, ["A", "C", "B"]);
    }
}

#[test]
fn layouts_and_sections_of_two_windows_add_up() {
    let with = |name: &str, section: DetailSection| {
        let mut settings = Settings::default();
        let layout = NamedLayout { name: name.into(), standard: settings.standard_layout(), dock: None };
        settings.layouts.save(layout).expect("room");
        settings.toggle_section(section);
        settings
    };
    let mine = with("mine", DetailSection::Rate);
    let both = merged(&Settings::default(), &mine, &with("theirs", DetailSection::Numbers));
    let names: Vec<&str> = both.layouts.named.iter().map(|layout| layout.name.as_str()).collect();
    assert_eq!(names, ["theirs", "mine"]);
    assert_eq!(
        both.closed_sections.into_iter().collect::<Vec<_>>(),
        [DetailSection::Numbers, DetailSection::Rate]
    );
}
