//! Tests of choosing one of several matches.

use super::*;
use crate::target::Target;
use redial_protocol::ids::ModuleKey;

fn found(module_id: u64, token: u32, signature: &str) -> MethodMatch {
    MethodMatch {
        copy: CopyKey { module: ModuleKey { module_id, generation: 1 }, token: MethodToken(token) },
        module: "Shop".into(),
        name: "Shop.Cart.Add".into(),
        signature: signature.into(),
        path: String::new(),
    }
}

fn chosen(found: Vec<MethodMatch>, matched: u64, copy: Option<u64>) -> Result<u32, (Exit, String)> {
    let arguments = arguments::IlArguments {
        target: Target::parse("7").expect("a target"),
        pattern: "Shop.Cart.Add".into(),
        instrumented: false,
        copy,
        symbols: Vec::new(),
        json: false,
    };
    match choose(found, matched, &arguments) {
        Ok(found) => Ok(found.copy.token.0),
        Err(failure) => Err((failure.exit(), failure.to_string())),
    }
}

#[test]
fn asks_to_choose_between_several_matches() {
    assert_eq!(chosen(vec![found(1, 5, "(int)")], 1, None), Ok(5));
    let (exit, why) =
        chosen(vec![found(1, 5, "(int)"), found(1, 6, "(byte\\*)")], 2, None).expect_err("two overloads");
    assert_eq!(exit, Exit::Usage);
    let expected = "2 methods match; choose one: 'Shop!Shop.Cart.Add(byte\\*)' or 'Shop!Shop.Cart.Add(int)'";
    assert_eq!(why, expected);
    let many = (0..9).map(|number| found(1, number, &format!("({number})"))).collect();
    let (_, why) = chosen(many, 9000, None).expect_err("many");
    assert!(why.starts_with("9,000 methods match;") && why.ends_with("or another"), "{why}");
}

#[test]
fn a_copy_is_chosen_by_its_module() {
    let both = || vec![found(0x10, 5, "(int)"), found(0x20, 5, "(int)")];
    let (exit, why) = chosen(both(), 2, None).expect_err("two copies");
    assert_eq!(exit, Exit::Usage);
    assert_eq!(why, "'Shop!Shop.Cart.Add(int)' is loaded 2 times; choose one with --copy 0x10 or 0x20");
    assert_eq!(chosen(both(), 2, Some(0x20)), Ok(5));
    let (exit, why) = chosen(both(), 2, Some(0x30)).expect_err("no such copy");
    assert_eq!(
        (exit, why.as_str()),
        (Exit::NothingMatched, "none of the 2 matching methods is in module 0x30")
    );
    let (_, why) = chosen(vec![found(0x10, 5, "(int)")], 1, Some(0x30)).expect_err("no such copy");
    assert_eq!(why, "the only matching method is not in module 0x30");
    let (_, why) = chosen(vec![found(1, 5, "(int)"), found(1, 6, "(int)")], 2, None).expect_err("one name");
    assert_eq!(
        why,
        "several methods are called 'Shop!Shop.Cart.Add(int)'; use 'Shop!0x00000005' or 'Shop!0x00000006'"
    );
}
