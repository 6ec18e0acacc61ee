//! Source and IL of the selected method.

use super::fixture::{deliver, execute, look_at_shop, window_of};
use super::snapshots::both;
use crate::commands::UiCommand;
use crate::desktop::App;
use crate::settings::LowerTab;
use eframe::egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::fixtures::module;
use redial_model::method_code::{CodeBody, MethodCode, SourceFile};
use redial_model::update::ConnectionUpdate;
use redial_protocol::ids::{CopyKey, MethodToken};
use redial_protocol::il::IlLine;

const SIZE: [f32; 2] = [1280.0, 1000.0];

fn line(offset: u32, opcode: &str, operand: Option<&str>, inserted: bool) -> IlLine {
    IlLine {
        offset,
        opcode: opcode.into(),
        operand: operand.map(str::to_owned),
        inserted,
        ..IlLine::default()
    }
}

fn original() -> CodeBody {
    let lines = vec![
        line(0, "ldarg.0", None, false),
        line(1, "ldfld", Some("int Shop.Cart.total"), false),
        line(6, "ldarg.1", None, false),
        line(7, "add", None, false),
        IlLine { targets: vec![0], ..line(8, "brtrue.s", None, false) },
        line(10, "ret", None, false),
    ];
    CodeBody { code_size: 11, lines, is_cut: false }
}

fn instrumented() -> CodeBody {
    let probe = [("ldloca.s", Some("0")), ("conv.u", None), ("calli", Some("void (nint, nint)"))];
    let mut lines: Vec<IlLine> =
        (0..).zip(probe).map(|(index, (opcode, operand))| line(index * 2, opcode, operand, true)).collect();
    lines.extend(original().lines.into_iter().map(|one| IlLine { offset: one.offset + 9, ..one }));
    CodeBody { code_size: 20, lines, is_cut: false }
}

pub(super) fn source() -> SourceFile {
    let text = (1..=60).map(|number| match number {
        40 => "    public void Add(int amount)".to_owned(),
        41 => "    {".to_owned(),
        42 => "\t\ttotal += amount;".to_owned(),
        43 => "    }".to_owned(),
        _ => format!("    // {number}"),
    });
    SourceFile::Known {
        file: "/build/shop/src/Shop/Cart.cs".into(),
        local: Some("/build/shop/src/Shop/Cart.cs".into()),
        text: text.collect(),
        lines: (40, 43),
        by_offset: [(0, 42), (10, 43)].into(),
        pdb: "/opt/shop/Shop.pdb".into(),
    }
}

pub(super) fn code(theme: Theme, size: [f32; 2], source: SourceFile) -> Harness<'static, App> {
    let mut harness = look_at_shop(window_of(theme, size));
    harness.get_by_label("Shop!Shop.Cart.Add(int)").click();
    harness.run_steps(3);
    execute(&mut harness, UiCommand::Lower(LowerTab::Code));
    let copy = CopyKey { module: module(1, "Shop", "").key, token: MethodToken(0x0600_0001) };
    let code = MethodCode { original: Ok(original()), instrumented: Ok(instrumented()), source };
    deliver(&mut harness, vec![ConnectionUpdate::Code(copy, Box::new(code))]);
    harness.run_steps(3);
    harness
}

fn shows(harness: &Harness<'static, App>, text: &str) -> bool {
    harness.query_all_by_label_contains(text).next().is_some()
}

#[test]
fn the_source_opens_at_the_method() {
    let mut harness = code(Theme::Dark, SIZE, source());
    assert!(shows(&harness, "42:         total += amount;"));
    assert!(shows(&harness, "Cart.cs:40"));
    assert!(!shows(&harness, "1:     // 1"), "the beginning of the file is far above");
    execute(&mut harness, UiCommand::SetEditor("/nonexistent/editor {file} +{line}".into()));
    harness.get_by_label("Open in editor").click();
    harness.run_steps(3);
    let mut log = harness.state().model.log.entries().iter();
    assert!(log.any(|entry| entry.text.starts_with("Open in editor: /nonexistent/editor cannot be started")));
}

#[test]
fn il_stands_side_by_side_with_the_probe_marked() {
    let mut harness = code(Theme::Dark, SIZE, source());
    harness.get_by_label("IL before and after").click();
    harness.run_steps(3);
    assert!(
        shows(&harness, "Original: 11 bytes of code") && shows(&harness, "With the probe: 20 bytes of code")
    );
    assert!(
        shows(&harness, "  IL_0000  ldarg.0  // line 42")
            && shows(&harness, "+ IL_0004  calli      void (nint, nint)")
    );
    assert!(shows(&harness, "  IL_0008  brtrue.s   IL_0000"));
}

#[test]
fn without_a_pdb_the_pane_tells_where_it_looked() {
    let searched = vec![
        "/opt/shop/Shop.dll (embedded): has no PDB in it".to_owned(),
        "/opt/shop/Shop.pdb: no such file".to_owned(),
    ];
    let why = "No PDB of this module was found.".to_owned();
    let harness = code(Theme::Dark, SIZE, SourceFile::Unknown { why, searched });
    assert!(
        shows(&harness, "No PDB of this module was found.")
            && shows(&harness, "/opt/shop/Shop.pdb: no such file")
    );
}

#[test]
fn another_selection_shows_another_method() {
    let mut harness = code(Theme::Dark, SIZE, source());
    harness.get_by_label("Shop!Shop.Catalog.Find(string)").click();
    harness.run_steps(3);
    assert!(shows(&harness, "Loading source and IL…"));
    execute(&mut harness, UiCommand::SelectAll);
    assert!(shows(&harness, "Select one method to see its source and IL."));
}

#[test]
fn source_panel() {
    both("source", |theme| code(theme, SIZE, source()));
}

#[test]
fn il_panel() {
    both("source_il", |theme| {
        let mut harness = code(theme, [1600.0, 1000.0], source());
        harness.get_by_label("IL before and after").click();
        harness.run_steps(3);
        harness
    });
}
