//! Tests of printing parameter lists.

use crate::signature::*;

/// Names by row, independent of the table.
struct Rows(&'static [&'static str]);

impl TypeNames for Rows {
    fn type_name(&self, token: u32) -> Option<String> {
        self.0.get((token & 0xFF_FFFF) as usize).map(|name| (*name).to_owned())
    }
}

const NAMES: Rows = Rows(&[
    "",
    "System.Collections.Generic.List`1",
    "Shop.Box`1+Lid`2",
    "Shop.Cart+Line",
    "System.Decimal",
    "System.Collections.Generic.Dictionary`2",
    "Shop.Odd",
]);

/// Returns canonical and display forms of a method with these parameters in `Box<T>.Put<U>`.
fn forms(params: &[&[u8]]) -> (String, String) {
    let blob = [&[0x20, params.len() as u8, 0x01][..], &params.concat()].concat();
    let mut canonical = String::from("before");
    canonical_parameters(&blob, &NAMES, &mut canonical);
    let mut display = String::new();
    display_parameters(&blob, &NAMES, &["T".to_owned()], &["U".to_owned()], &[], &mut display);
    (canonical.strip_prefix("before").unwrap().to_owned(), display)
}

fn check(params: &[&[u8]], canonical: &str, display: &str) {
    assert_eq!(forms(params), (canonical.to_owned(), display.to_owned()));
}

#[test]
fn keywords() {
    let params: Vec<[u8; 1]> = (0x02..=0x0E).chain([0x18, 0x19, 0x1C]).map(|byte| [byte]).collect();
    let params: Vec<&[u8]> = params.iter().map(|byte| &byte[..]).collect();
    let keywords = [
        "bool", "char", "sbyte", "byte", "short", "ushort", "int", "uint", "long", "ulong", "float",
        "double", "string", "nint", "nuint", "object",
    ];
    check(&params, &format!("({})", keywords.join(",")), &format!("({})", keywords.join(", ")));
    check(&[], "()", "()");
    check(&[&[0x11, 0x10]], "(decimal)", "(decimal)");
    check(&[&[0x16]], "(System.TypedReference)", "(System.TypedReference)");
}

#[test]
fn named_and_generic_types() {
    check(&[&[0x12, 0x0C]], "(Shop.Cart+Line)", "(Shop.Cart+Line)");
    let list_of_string: &[u8] = &[0x15, 0x12, 0x05, 1, 0x0E];
    let list = "(System.Collections.Generic.List<string>)";
    check(&[list_of_string], list, list);
    let lid = &[0x15, 0x12, 0x08, 3, 0x08, 0x13, 0, 0x1E, 0][..];
    check(&[lid], "(Shop.Box<int>+Lid<!0,!!0>)", "(Shop.Box<int>+Lid<T, U>)");
    let nested = &[&[0x15, 0x12, 0x15, 2, 0x11, 0x10], list_of_string].concat()[..];
    check(
        &[nested],
        "(System.Collections.Generic.Dictionary<decimal,System.Collections.Generic.List<string>>)",
        "(System.Collections.Generic.Dictionary<decimal, System.Collections.Generic.List<string>>)",
    );
}

#[test]
fn generic_parameters_by_number_and_by_name() {
    check(&[&[0x13, 0], &[0x1E, 0]], "(!0,!!0)", "(T, U)");
    // Without a declared name the number stays.
    check(&[&[0x13, 7], &[0x1E, 12]], "(!7,!!12)", "(!7, !!12)");
}

#[test]
fn references_pointers_and_modifiers() {
    check(&[&[0x10, 0x0E], &[0x08]], "(ref string,int)", "(ref string, int)");
    check(&[&[0x10, 0x1F, 0x0D, 0x08]], "(ref int)", "(ref int)");
    check(&[&[0x0F, 0x01], &[0x0F, 0x0F, 0x05]], "(void*,byte**)", r"(void\*, byte\*\*)");
    check(&[&[0x10, 0x0F, 0x03]], "(ref char*)", r"(ref char\*)");
}

#[test]
fn arrays_print_the_outermost_first() {
    check(&[&[0x1D, 0x08]], "(int[])", "(int[])");
    check(&[&[0x14, 0x08, 3, 0, 0]], "(int[,,])", "(int[,,])");
    // An array of int[,], and a two-dimensional array of int[].
    check(&[&[0x1D, 0x14, 0x08, 2, 0, 0]], "(int[][,])", "(int[][,])");
    check(&[&[0x14, 0x1D, 0x08, 2, 0, 0]], "(int[,][])", "(int[,][])");
    check(&[&[0x1D, 0x0F, 0x08]], "(int*[])", r"(int\*[])");
    check(&[&[0x14, 0x08, 1, 0, 0]], "(int[*])", r"(int[\*])");
    check(
        &[&[0x15, 0x12, 0x05, 1, 0x1D, 0x13, 0]],
        "(System.Collections.Generic.List<!0[]>)",
        "(System.Collections.Generic.List<T[]>)",
    );
    // A rank that only bad metadata has does not fill the memory.
    assert!(forms(&[&[0x14, 0x08, 0xDF, 0xFF, 0xFF, 0xFF, 0, 0]]).0.len() < 64);
}

#[test]
fn function_pointers_have_the_result_last() {
    check(&[&[0x1B, 0x00, 1, 0x01, 0x08]], "(delegate*<int,void>)", r"(delegate\*<int, void>)");
    check(&[&[0x1B, 0x09, 0, 0x0E]], "(delegate*<string>)", r"(delegate\*<string>)");
}

#[test]
fn variable_arguments() {
    let mut out = String::new();
    canonical_parameters(&[0x05, 1, 0x01, 0x08], &NAMES, &mut out);
    canonical_parameters(&[0x05, 0, 0x01], &NAMES, &mut out);
    assert_eq!(out, "(int,__arglist)(__arglist)");
}

#[test]
fn prints_unknown_names_and_bad_signatures() {
    check(&[&[0x12, 0x7D]], "(0x0100001f)", "(0x0100001f)");
    let mut out = String::from("x");
    canonical_parameters(&[0x00, 1, 0x01], &NAMES, &mut out);
    assert_eq!(out, "x(?)");
    let error = print_parameters(&[0x00, 1, 0x01], Form::Canonical, &NAMES, &mut out);
    assert_eq!((error, out.as_str()), (Err(SignatureError::Truncated), "x(?)"));
}

#[test]
fn type_names() {
    let print = |name, parameters: &[&str]| display_type_name(name, parameters);
    assert_eq!(print("Ns.Outer`1+Inner`1", &["T", "U"]), "Ns.Outer<T>+Inner<U>");
    assert_eq!(print("Ns.Outer`1+Inner", &["T"]), "Ns.Outer<T>+Inner");
    assert_eq!(print("Ns.Outer+Inner`2", &["K", "V"]), "Ns.Outer+Inner<K, V>");
    assert_eq!(print("Ns.Plain", &[]), "Ns.Plain");
    // Parameters without a mark, marks without parameters, and text that only looks like a mark.
    assert_eq!(print("Ns.Plain", &["T"]), "Ns.Plain<T>");
    assert_eq!(print("Ns.List`1", &[]), "Ns.List`1");
    assert_eq!(print("Ns.List`2", &["T"]), "Ns.List`2<T>");
    assert_eq!(print("Odd`Name`1", &["T"]), "Odd`Name<T>");
    assert_eq!(print("Odd`1x+In`1", &["T"]), "Odd`1x+In<T>");
    assert_eq!(print("Zero`0", &["T"]), "Zero`0<T>");
    assert_eq!(print("Huge`99999999999999999999", &["T"]), "Huge`99999999999999999999<T>");
    assert_eq!(print("Schrägstrich`1", &["Ü"]), "Schrägstrich<Ü>");
    assert_eq!(print("<>c__Display`1", &["T"]), "<>c__Display<T>");
}

#[test]
fn prints_how_parameters_are_passed() {
    // `(int, ref int, in int modreq(…), out T, delegate*<ref int, void>)`
    let params: [&[u8]; 5] = [
        &[0x08],
        &[0x10, 0x08],
        &[0x1F, 0x0D, 0x10, 0x08],
        &[0x10, 0x13, 0],
        &[0x1B, 0x00, 1, 0x01, 0x10, 0x08],
    ];
    let blob = [&[0x20, params.len() as u8, 0x01][..], &params.concat()].concat();
    let print = |passing: &[(u32, Passing)]| {
        let mut out = String::new();
        display_parameters(&blob, &NAMES, &["T".to_owned()], &[], passing, &mut out);
        out
    };
    let [ref_, in_, out] = [0, 1, 2].map(Passing::of_flags);
    assert_eq!((ref_, Passing::of_flags(3), Passing::of_flags(0x2010)), (Passing::Ref, ref_, ref_));
    assert_eq!(print(&[]), r"(int, ref int, ref int, ref T, delegate\*<ref int, void>)");
    // In any order, for the return value (0), and for parameters that are not by reference; the latter print
    // nothing.
    let all_passings = [(4, out), (5, out), (0, out), (3, in_), (1, in_), (9, in_), (2, ref_)];
    assert_eq!(print(&all_passings), r"(int, ref int, in int, out T, delegate\*<ref int, void>)");
    assert!(print(&[(2, Passing::RefReadonly)]).starts_with("(int, ref readonly int, ref int"));
    let mut canonical = String::new();
    canonical_parameters(&blob, &NAMES, &mut canonical);
    assert_eq!(canonical, "(int,ref int,ref int,ref !0,delegate*<ref int,void>)");
}

#[test]
fn detects_signatures_without_references() {
    assert!(!may_pass_by_reference(&[]));
    assert!(!may_pass_by_reference(&[0x10, 1, 1, 0x01, 0x08]), "the generic flag is not a reference");
    assert!(may_pass_by_reference(&[0x00, 1, 0x01, 0x10, 0x08]));
}
