//! Tests of the pattern grammar, rule by rule.

use redial_protocol::limits::MAX_PATTERN;
use redial_protocol::pattern::{Pattern, csharp_type, suggestions};

/// A method as an agent knows it: assembly, metadata type, metadata name, number of own type parameters,
/// canonical params.
type Method = (&'static str, &'static str, &'static str, u32, &'static str);

const METHODS: [Method; 35] = [
    ("Shop", "Shop.Cart", "Add", 0, "(Shop.Item)"),
    ("Shop", "Shop.Cart", "Add", 0, "(Shop.Item,int)"),
    ("Shop", "Shop.Cart", ".ctor", 0, "()"),
    ("Shop", "Shop.Cart", ".cctor", 0, "()"),
    ("Shop", "Shop.Cart", "get_Total", 0, "()"),
    ("Shop", "Shop.Cart", "op_Addition", 0, "(Shop.Cart,Shop.Cart)"),
    ("Shop", "Shop.Cart", "Shop.ICart.Add", 0, "(Shop.Item)"),
    ("Shop", "Shop.Cart", "<Sum>g__Each|3_0", 0, "(int)"),
    ("Shop", "Shop.Cart+Line", "Add", 0, "()"),
    ("Shop", "Shop.Cart+<>c", "<Sum>b__1_0", 0, "(Shop.Item)"),
    ("Shop", "Shop.Cart+<>c__DisplayClass2_0`1", "<Map>b__0", 0, "(!0)"),
    ("Shop", "Shop.Data.Store", "Add", 0, "(ref int,out,int*)"),
    ("Shop", "Shop.Box`1", "Put", 0, "(!0)"),
    ("Shop", "Shop.Box`1", "Put", 1, "(!0,!!0)"),
    ("Shop", "Shop.Box`1", "Put", 1, "(!!0,!0)"),
    ("Shop", "Shop.Box`1", "Put", 1, "(int,!!0)"),
    ("Shop", "Shop.Box`1+Lid`1", "Open", 0, "(!0,!1)"),
    ("Shop", "Shop.Box`1+Lid`1", "Open", 0, "(!1,!0)"),
    ("Shop", "Shop.Box`1", "System.Collections.Generic.IEnumerable<T>.GetEnumerator", 0, "()"),
    ("Shop", "Shop.Box`1", "System.IEquatable<System.Int32>.Equals", 0, "(int)"),
    ("Shop", "Shop.Box`2", "Put", 0, "(!0)"),
    ("Shop", "Program", "<Main>$", 0, "(string[])"),
    ("Shop", "Shop.Raw", "Fill", 0, "(int*,nuint)"),
    ("Shop", "Shop.Raw", "Fill", 0, "(int[],nuint)"),
    ("Shop", "Shop.Raw", "Fill", 0, "(int[,][],delegate*<ref int,void>)"),
    (
        "Shop",
        "Shop.Raw",
        "Fill",
        0,
        "(System.Collections.Generic.Dictionary<string,System.Nullable<int>>,ref Shop.Item)",
    ),
    ("Shop", "Shop.Raw", "Fill", 0, "(Shop.Box<int>+Lid<string>)"),
    ("Shop", "Shop.Raw", "my method", 0, "()"),
    ("Shop.Tests", "Shop.CartTests", "Add", 0, "()"),
    ("System.Private.CoreLib", "System.String", "Concat", 0, "(string,string)"),
    ("System.Private.CoreLib", "System.String", "Concat", 0, "(object,object)"),
    ("System.Private.CoreLib", "System.Collections.Generic.List`1", "Add", 0, "(!0)"),
    (
        "System.Private.CoreLib",
        "System.Collections.Generic.List`1",
        "ConvertAll",
        1,
        "(System.Converter<!0,!!0>)",
    ),
    ("System.Private.CoreLib", "System.Collections.Generic.Dictionary`2", "Add", 0, "(!0,!1)"),
    (
        "Shop",
        "Shop.Box`1",
        "System.IEquatable<(System.Int32,System.String)>.Equals",
        0,
        "(System.ValueTuple<int,string>)",
    ),
];

fn matched(pattern: &str) -> Vec<usize> {
    let pattern = Pattern::parse(pattern).unwrap();
    (0..METHODS.len())
        .filter(|index| {
            let (assembly, type_name, method, arity, params) = METHODS[*index];
            pattern.matches_assembly(assembly)
                && pattern
                    .for_type(type_name)
                    .is_some_and(|type_match| type_match.matches(method, arity, || params.to_owned()))
        })
        .collect()
}

#[track_caller]
fn check(pattern: &str, expected: &[usize]) {
    assert_eq!(matched(pattern), expected, "{pattern}");
}

#[test]
fn a_dot_splits_and_both_halves_match_whole_names() {
    check("Shop.Cart.Add", &[0, 1]);
    check("Shop!Shop.Cart.Add", &[0, 1]);
    check("Shop.Tests!Shop.Cart.Add", &[]);
    check("Shop.Cart.Ad", &[]);
    check("Cart.Add", &[]);
    check("Shop.Cart", &[]);
    check("Add", &[]);
    check("shop.cart.add", &[]);
}

#[test]
fn stars_match_runs_within_a_half() {
    check("Shop.Cart.*", &[0, 1, 2, 3, 4, 5, 6, 7]);
    check("Shop.Cart*.*", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 28]);
    check("Shop.Cart+*.*", &[8, 9, 10]);
    check("Shop.*.Add", &[0, 1, 8, 11, 28]);
    check("*.Add", &[0, 1, 8, 11, 28, 31, 33]);
    check("Shop.Cart.*_*", &[4, 5, 7]);
    check("Shop.Data.*.*", &[11]);
    check("*", &(0..METHODS.len()).collect::<Vec<_>>());
    check("**", &(0..METHODS.len()).collect::<Vec<_>>());
    check("Shop.Tests!*", &[28]);
    check("Shop*!*.Add", &[0, 1, 8, 11, 28]);
    let below: Vec<usize> = matched("Shop.*.*");
    assert_eq!(below, (0..METHODS.len()).filter(|i| METHODS[*i].1.starts_with("Shop.")).collect::<Vec<_>>());
}

#[test]
fn members_have_their_metadata_names() {
    check("Shop.Cart..ctor", &[2]);
    check("Shop.Cart..cctor", &[3]);
    check("*..ctor", &[2]);
    check("Shop.Cart.get_Total", &[4]);
    check("Shop.Cart.op_Addition", &[5]);
    check("Shop.Cart.Shop.ICart.Add", &[6]);
    check("Shop.Cart.<Sum>g__Each|3_0", &[7]);
    check("Shop.Cart+<>c.<Sum>b__1_0", &[9]);
    check("Program.<Main>$", &[21]);
    check("Shop.Raw.my method", &[27]);
    check("Shop.Raw.mymethod", &[27]);
    check("Shop.Box<T>.System.Collections.Generic.IEnumerable<T>.GetEnumerator", &[18]);
    check("Shop.Box<T>.System.IEquatable<System.Int32>.Equals(int)", &[19]);
    check("Shop.Box<T>.System.IEquatable<(System.Int32,System.String)>.Equals", &[34]);
    check("Shop.Box<T>.System.IEquatable<(System.Int32, System.String)>.Equals(*)", &[34]);
}

#[test]
fn types_match_in_csharp_form_by_parameter_count() {
    for list in ["List<T>", "List<Anything>", "List<>", "List< int >", "List<*>", "List`1"] {
        check(&format!("System.Collections.Generic.{list}.Add"), &[31]);
    }
    for dictionary in ["Dictionary<TKey, TValue>", "Dictionary<,>", "Dictionary<K,V>"] {
        check(&format!("System.Collections.Generic.{dictionary}.*"), &[33]);
    }
    check("System.Collections.Generic.List.Add", &[]);
    check("System.Collections.Generic.*<T>.Add", &[31]);
    check("Shop.Box<T>+Lid<U>.Open", &[16, 17]);
    check("Shop.Box<A,B>.*", &[20]);
    check("Shop.Cart+<>c__DisplayClass2_0<T>.*", &[10]);
    check("string.Concat", &[29, 30]);
}

#[test]
fn methods_match_by_their_own_type_parameters() {
    check("Shop.Box<T>.Put", &[12, 13, 14, 15]);
    check("Shop.Box<T>.Put<U>", &[13, 14, 15]);
    check("Shop.Box<T>.Put<U,V>", &[]);
    check("Shop.Box<T>.Put(T)", &[12]);
    check("Shop.Box<T>.*(T)", &[12]);
}

#[test]
fn params_choose_an_overload() {
    check("Shop.Cart.Add(Shop.Item)", &[0]);
    check("Shop.Cart.Add( Shop.Item , int )", &[1]);
    check("Shop.Cart.Add(Shop.Item, System.Int32)", &[1]);
    check("Shop.Cart.Add(Shop.Item,Int32)", &[]);
    check("Shop.Cart.Add()", &[]);
    check("Shop.Cart.*()", &[2, 3, 4]);
    check("Shop.Cart.Add(*)", &[0, 1]);
    check("Shop.Cart.Add(*, int)", &[1]);
    check("string.Concat(string, string)", &[29]);
    check("System.String.Concat(System.Object,object)", &[30]);
    check("*(Shop.Item)", &[0, 6, 9]);
    check("Shop.Raw.Fill(int[,][], delegate\\*<ref int, void>)", &[24]);
    check("Shop.Raw.Fill(int[ , ][], delegate\\*<out System.Int32, void>)", &[24]);
    check("Shop.Raw.Fill(System.Collections.Generic.Dictionary<string, int?>, in Shop.Item)", &[25]);
    check(
        "Shop.Raw.Fill(System.Collections.Generic.Dictionary<string, int?>, ref readonly Shop.Item)",
        &[25],
    );
    check("Shop.Raw.Fill(System.Collections.Generic.Dictionary<string, int?>, Shop.Item)", &[]);
    check("Shop.Raw.Fill(Shop.Box<System.Int32>+Lid<string>)", &[26]);
}

#[test]
fn escaped_stars_match_pointers() {
    check(r"Shop.Raw.Fill(int\*, nuint)", &[22]);
    check(r"Shop.Raw.Fill(System.Int32\*, System.UIntPtr)", &[22]);
    check("Shop.Raw.Fill(int*, nuint)", &[22, 23]);
}

#[test]
fn declared_type_parameters_stand_for_their_numbers() {
    check("Shop.Box<T>.Put<U>(T, U)", &[13]);
    check("Shop.Box<T>.Put<U>(U, T)", &[14]);
    check("Shop.Box<X>.Put<Y>(X, Y)", &[13]);
    check("Shop.Box<T>.Put<U>(!0, !!0)", &[13]);
    check("Shop.Box<T>.Put<U>(int, U)", &[15]);
    // The method's parameter hides the type's, as in C#.
    check("Shop.Box<T>.Put<T>(int, T)", &[15]);
    check("Shop.Box<T>+Lid<U>.Open(T, U)", &[16]);
    check("Shop.Box<T>+Lid<U>.Open(U, T)", &[17]);
    check("System.Collections.Generic.List<T>.ConvertAll<TOutput>(System.Converter<T, TOutput>)", &[32]);
    check("System.Collections.Generic.Dictionary<TKey,TValue>.Add(TKey, TValue)", &[33]);
    check("Shop.Cart+<>c__DisplayClass2_0<T>.<Map>b__0(T)", &[10]);
    // Keywords only count.
    check("Shop.Box<int>.Put<U>(int, U)", &[15]);
}

#[test]
fn a_token_names_one_method_of_an_assembly() {
    let pattern = Pattern::parse("Shop!0x06000012").unwrap();
    assert_eq!(pattern.token(), Some(0x0600_0012));
    assert!(pattern.matches_assembly("Shop"));
    assert!(!pattern.matches_assembly("Shop.Tests"));
    assert!(pattern.for_type("Shop.Cart").is_none());
    assert!(!pattern.has_wildcard());
    assert_eq!(Pattern::parse("Shop!0X0600ABcd").unwrap().token(), Some(0x0600_abcd));
    assert_eq!(Pattern::parse("Shop.Cart.Add").unwrap().token(), None);
}

/// Returns whether a pattern means a member of an interface or base class, with its own type parameters and the
/// params of the method that implements it.
fn means(pattern: &str, type_name: &str, (member, arity, params): (&str, u32, &str)) -> bool {
    let pattern = Pattern::parse(pattern).unwrap();
    assert!(pattern.names_supertype() && pattern.needs_metadata() && pattern.has_wildcard());
    assert!(pattern.for_type(type_name).is_none(), "it matches by its members only");
    let members = pattern.for_supertype(type_name);
    members.is_some_and(|members| members.matches(member, arity, || params.to_owned()))
}

#[test]
fn interfaces_are_named_with_or_without_members() {
    const HANDLER: &str = "Shop.IOrderHandler";
    const HANDLE: (&str, u32, &str) = ("Handle", 0, "(Shop.Order)");
    for pattern in [
        "implements:Shop.IOrderHandler",
        " implements: Shop.IOrderHandler ",
        "Shop!implements:Shop.IOrderHandler",
        "implements:Shop.IOrderHandler.Handle",
        "implements:Shop.IOrderHandler.H*",
        "implements:Shop.IOrderHandler.Handle(Shop.Order)",
        "implements:Shop.*",
        "implements:*Handler",
        "implements:*",
        "implements:*.Handle",
    ] {
        assert!(means(pattern, HANDLER, HANDLE), "{pattern}");
    }
    for pattern in [
        "implements:IOrderHandler",
        "implements:Shop.IOrder",
        "implements:Shop.IOrderHandler.Handles",
        "implements:Shop.IOrderHandler.Handle(int)",
        "implements:Shop.IOrderHandler.Handle<T>",
        "implements:Shop.IOrderHandler<T>",
    ] {
        assert!(!means(pattern, HANDLER, HANDLE), "{pattern}");
    }
    for pattern in ["implements:Shop.IHandler", "implements:Shop.IHandler<T>.Handle", "implements:Shop.IH*"] {
        assert!(means(pattern, "Shop.IHandler`1", HANDLE), "{pattern}");
    }
    for pattern in ["implements:Shop.IHandler<>.Put<U>(U)", "implements:Shop.IHandler.Put<>"] {
        assert!(means(pattern, "Shop.IHandler`1", ("Put", 1, "(!!0)")), "{pattern}");
    }
    assert!(!means("implements:Shop.IHandler<T,U>", "Shop.IHandler`1", HANDLE));
    assert!(means("implements:Shop.Outer+IHandler", "Shop.Outer`1+IHandler`1", HANDLE));
    assert!(Pattern::parse("Shop.Cart.Add").unwrap().for_supertype("Shop.Cart").is_none());
}

#[test]
fn attributes_precede_names() {
    for (pattern, attributes, matches_get) in [
        ("[HttpGet]", 1, true),
        ("Shop![HttpGet]", 1, true),
        ("[HttpGet] [Audit] Shop.Cart.*", 2, true),
        ("[HttpGet]Shop.Cart.Get()", 1, true),
        ("[HttpGet]Shop.Cart.Get(int)", 1, false),
        ("[HttpGet]Shop.Till.*", 1, false),
    ] {
        let parsed = Pattern::parse(pattern).unwrap();
        assert_eq!((parsed.attributes().len(), parsed.text()), (attributes, pattern));
        assert!(parsed.needs_metadata() && parsed.has_wildcard() && parsed.matches_assembly("Shop"));
        assert!(parsed.attributes()[0].matches("Web.HttpGetAttribute"));
        let of_type = parsed.for_type("Shop.Cart");
        let matched = of_type.is_some_and(|of_type| of_type.matches("Get", 0, || "()".to_owned()));
        assert_eq!(matched, matches_get, "{pattern}");
    }
    let both = Pattern::parse("[Audit]implements:Shop.IOrderHandler.Handle").unwrap();
    assert!(both.names_supertype() && both.attributes().len() == 1);
    assert!(!Pattern::parse("Shop.Cart.Get").unwrap().needs_metadata());
}

#[test]
fn refuses_more_dots_than_any_name_has() {
    assert!(Pattern::parse("a.".repeat(64).trim_end_matches('.')).is_ok());
    let problem = Pattern::parse(&"a.".repeat(66)).unwrap_err().to_string();
    assert!(problem.contains("66 dots") || problem.contains("65 dots"), "{problem}");
}

#[test]
fn patterns_report_text_and_wildcards() {
    let pattern = Pattern::parse("  Shop!Shop.Cart.Add(int)  ").unwrap();
    assert_eq!(pattern.text(), "Shop!Shop.Cart.Add(int)");
    assert!(!pattern.has_wildcard());
    for wild in ["*", "A.*", "A*!B.C", "A.B(*)"] {
        assert!(Pattern::parse(wild).unwrap().has_wildcard(), "{wild}");
    }
    assert!(!Pattern::parse(r"A.B(int\*)").unwrap().has_wildcard());
}

#[test]
fn params_are_requested_only_if_needed() {
    let never = || -> String { panic!("not needed") };
    let pattern = Pattern::parse("Shop.Cart.Add").unwrap();
    assert!(pattern.for_type("Shop.Cart").unwrap().matches("Add", 0, never));
    let pattern = Pattern::parse("Shop.Cart.Add(int)").unwrap();
    assert!(!pattern.for_type("Shop.Cart").unwrap().matches("Remove", 0, never));
    assert!(!pattern.for_type("Shop.Cart").unwrap().matches("Add", 1, never));
}

#[test]
fn problems_are_complete_sentences() {
    for (pattern, expected) in [
        ("", "the pattern is empty; write [ASSEMBLY!]TYPE.METHOD[(PARAMS)], for example Shop.Cart.*"),
        ("  ", "the pattern is empty; write [ASSEMBLY!]TYPE.METHOD[(PARAMS)], for example Shop.Cart.*"),
        ("!Shop.Cart.Add", "the pattern '!Shop.Cart.Add' names no assembly before its '!'"),
        ("Shop!", "the pattern 'Shop!' names no method; for all methods of an assembly write ASSEMBLY!*"),
        (
            "Shop!(int)",
            "the pattern 'Shop!(int)' names no method; for all methods of an assembly write ASSEMBLY!*",
        ),
        ("A.B(int", "the brackets of the parameters in the pattern 'A.B(int' do not match"),
        ("A.B int)", "the brackets of the parameters in the pattern 'A.B int)' do not match"),
        ("A.B(List<int)", "the brackets of the parameters in the pattern 'A.B(List<int)' do not match"),
        ("A.<*(", "the brackets of the parameters in the pattern 'A.<*(' do not match"),
        ("A.<(int)>B)", "the brackets of the parameters in the pattern 'A.<(int)>B)' do not match"),
        ("A.B(int,,int)", "parameter 2 of the pattern 'A.B(int,,int)' is empty"),
        ("A.B(,int)", "parameter 1 of the pattern 'A.B(,int)' is empty"),
        ("A.B((int,*))", "in the pattern 'A.B((int,*))', write the tuple '(int,*)' as System.ValueTuple<…>"),
        (
            r"A\.B",
            r"in the pattern 'A\.B', the backslash at character 2 does not precede a star or another backslash",
        ),
        ("A.\tB\0", "character 3 of the pattern 'A.\\tB\\0' is a control character"),
        (
            "0x06000012",
            "the token in the pattern '0x06000012' needs its assembly's name, without wildcards: ASSEMBLY!0x06000012",
        ),
        (
            "S*!0x06000012",
            "the token in the pattern 'S*!0x06000012' needs its assembly's name, without wildcards: ASSEMBLY!0x06000012",
        ),
        ("Shop!0x02000012", "'0x02000012' is not a method token; method tokens are 0x06000001 to 0x06ffffff"),
        ("Shop!0x06000000", "'0x06000000' is not a method token; method tokens are 0x06000001 to 0x06ffffff"),
        ("Shop!0x", "'0x' is not a method token; method tokens are 0x06000001 to 0x06ffffff"),
        ("Shop!0x*", "'0x*' is not a method token; method tokens are 0x06000001 to 0x06ffffff"),
        (
            "Shop!0x106000012",
            "'0x106000012' is not a method token; method tokens are 0x06000001 to 0x06ffffff",
        ),
        (
            "Shop![HttpGet",
            "in the pattern 'Shop![HttpGet', the '[' at character 6 has no ']'; write an attribute as [HttpGet]",
        ),
        (
            "[HttpGet] [ ]A.B",
            "in the pattern '[HttpGet] [ ]A.B', the brackets at character 11 name no attribute; write, for example, [HttpGet]",
        ),
        (
            "[Route(\"x\")]",
            "in the pattern '[Route(\"x\")]', the attribute at character 1 has more than a name; write only its type, as in [HttpGet]",
        ),
        (
            "Shop!implements: ",
            "in the pattern 'Shop!implements:', no interface or base class follows the ':' at character 16; write, for example, implements:Shop.IOrderHandler",
        ),
        (
            "Shop![A]0x06000012",
            "the token in the pattern 'Shop![A]0x06000012' already names one method; write only ASSEMBLY!0x06000012",
        ),
        (
            "Shop!implements:0x06000012",
            "the token in the pattern 'Shop!implements:0x06000012' already names one method; write only ASSEMBLY!0x06000012",
        ),
        (
            "[A](int)",
            "the pattern '[A](int)' names no method; for all methods of an assembly write ASSEMBLY!*",
        ),
    ] {
        assert_eq!(Pattern::parse(pattern).unwrap_err().to_string(), expected);
    }
    let long = "a".repeat(MAX_PATTERN + 1);
    assert!(Pattern::parse(&long).unwrap_err().to_string().contains("4097 bytes"));
    assert!(Pattern::parse(&long[1..]).is_ok());
}

#[test]
fn suggests_interfaces_and_base_classes() {
    for (pattern, expected) in [
        ("implements:Cart", vec!["implements:Shop.Cart"]),
        ("implements:Shop.Crat", vec!["implements:Shop.Cart"]),
        ("Tests!implements:shop.cart.Add*", vec!["Tests!implements:Shop.Cart.Add*"]),
        ("implements:Shop.Cart.Remove", vec!["implements:Shop.Cart"]),
        ("implements:System.Collections.Generic.Lst", vec!["implements:System.Collections.Generic.List<T>"]),
        // The type exists, but no loaded type implements it.
        ("implements:Shop.Cart", vec!["implements:Shop.Cart+Line"]),
        ("implements:Cart*", vec![]),
        ("[Audit]implements:Cart", vec![]),
        ("[Audt]", vec![]),
    ] {
        let parsed = Pattern::parse(pattern).unwrap();
        let names = METHODS.iter().map(|(assembly, type_name, method, ..)| (*assembly, *type_name, *method));
        let suggested = suggestions(&parsed, names);
        let first: Vec<&str> = suggested.iter().map(String::as_str).take(1).collect();
        assert_eq!(first, expected, "{pattern}: {suggested:?}");
    }
}

#[track_caller]
fn check_suggestions(pattern: &str, expected: &[&str]) {
    let pattern = Pattern::parse(pattern).unwrap();
    let names = METHODS.iter().map(|(assembly, type_name, method, ..)| (*assembly, *type_name, *method));
    let suggested = suggestions(&pattern, names);
    assert!(suggested.len() <= 5);
    assert_eq!(
        &suggested[..expected.len().min(suggested.len())],
        expected,
        "{} of {suggested:?}",
        pattern.text()
    );
    for suggestion in &suggested {
        assert!(!matched(suggestion).is_empty(), "{suggestion} matches nothing");
    }
}

#[test]
fn suggests_the_nearest_names() {
    let adds = ["*.Add", "Shop.Cart.Add", "Shop.Cart+Line.Add", "Shop.Data.Store.Add", "Shop.CartTests.Add"];
    check_suggestions("Add", &adds);
    check_suggestions("add", &adds);
    check_suggestions("Shop!Add", &["Shop!*.Add", "Shop!Shop.Cart.Add"]);
    check_suggestions("Shop.Cart", &["Shop.Cart.*"]);
    check_suggestions("Shop.Crat", &["Shop.Cart.*"]);
    check_suggestions("Crat", &["Shop.Cart.*"]);
    check_suggestions("Crat.Add", &["Shop.Cart.Add"]);
    check_suggestions("Shopp", &["Shop!*"]);
    check_suggestions("Shop.Data", &["Shop.Data.*.*"]);
    check_suggestions("Shop.Tests", &["Shop.Tests!*"]);
    check_suggestions("Add*", &["*.Add*"]);
    check_suggestions("Cart.Add", &["Shop.Cart.Add"]);
    check_suggestions("shop.cart.add", &["Shop.Cart.Add"]);
    check_suggestions("Shop.Crat.Add", &["Shop.Cart.Add"]);
    check_suggestions("Shop.Cart.Addd", &["Shop.Cart.Add"]);
    check_suggestions("Shop.Cart.Add(long)", &["Shop.Cart.Add"]);
    check_suggestions("Shop.Crat.*", &["Shop.Cart.*"]);
    check_suggestions("Shp.*.*", &["Shop.*.*"]);
    check_suggestions("Shopp!Shop.Cart.Add", &["Shop!Shop.Cart.Add"]);
    check_suggestions("Shop.box<T>.Put<U,V>", &["Shop.Box<T>.Put"]);
    check_suggestions("Shop.Cart..Ctor", &["Shop.Cart..ctor"]);
    check_suggestions("Shop.Cart.Nope", &["Shop.Cart.*"]);
    check_suggestions("Shop!Shop.Cart.Nope", &["Shop!Shop.Cart.*"]);
    check_suggestions("Cart.Nope", &["Shop.Cart.*"]);
    check_suggestions("Shop.Box<T>.Nope", &["Shop.Box<T>.*"]);
    check_suggestions("Shop.Cart.Adding", &["Shop.Cart.Add"]);
    check_suggestions("Shop.dll!*", &["Shop!*"]);
    check_suggestions("SHOP.EXE!*", &["Shop!*"]);
    check_suggestions("S*p.dll!*", &["Shop!*"]);
    check_suggestions("shop!*", &["Shop!*"]);
    check_suggestions("Shop.dll!Shop.Cart.Add", &["Shop!Shop.Cart.Add"]);
    check_suggestions("Shop.dll!Shop.Crat.*", &["Shop!Shop.Cart.*"]);
    check_suggestions("Shop.*", &["Shop!*", "Shop.*.*"]);
    check_suggestions("shop.*", &["Shop!*", "Shop.*.*"]);
    check_suggestions("Shop!Shop.*", &["Shop!*", "Shop!Shop.*.*"]);
    check_suggestions("Shop.Data.*", &["Shop.Data.*.*"]);
    check_suggestions("Zebra.dll!*", &[]);
    check_suggestions(".dll!*", &[]);
    check_suggestions("Zebra.*", &[]);
    check_suggestions("Zebra.Quagga", &[]);
    check_suggestions("Zebra.Quagga.Nope", &[]);
    check_suggestions("*.Quagga", &[]);
    check_suggestions("Shop!0x06000012", &[]);
}

#[test]
fn metadata_types_become_csharp_types() {
    for (metadata, expected) in [
        ("Shop.Cart", "Shop.Cart"),
        ("Shop.Box`1+Lid`2", "Shop.Box<T>+Lid<T1,T2>"),
        ("A`x", "A`x"),
        ("A`0", "A`0"),
        ("Shop.Cart+<>c", "Shop.Cart+<>c"),
    ] {
        assert_eq!(csharp_type(metadata), expected);
        let pattern = Pattern::parse(&format!("{expected}.M")).unwrap();
        assert!(
            pattern.for_type(metadata).is_some_and(|type_match| type_match.matches("M", 0, String::new)),
            "{metadata}"
        );
    }
}
