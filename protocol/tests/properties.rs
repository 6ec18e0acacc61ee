//! Properties that hold for any bytes and any text. More cases: PROPTEST_CASES=100000.

mod samples;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use redial_protocol::dialset;
use redial_protocol::frame::{FrameError, FrameReader, frame};
use redial_protocol::level::Level;
use redial_protocol::limits::{MAX_FRAME, MAX_THRESHOLD_NS};
use redial_protocol::order::{Order, TimeOptions};
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_protocol::pattern::{Pattern, csharp_type, suggestions};

/// Any bytes, often after one of the kind bytes.
fn hostile_body() -> impl Strategy<Value = Vec<u8>> {
    let kind = select(vec![1u8, 2, 3, 0x10, 0x81, 0x82, 0x83, 0x84, 0x90, 0xff]);
    // Small numbers, and the bytes that announce longer ones, reach deep into the messages.
    let byte = prop_oneof![0u8..8, 0xfb..=0xffu8, any::<u8>()];
    (kind, vec(byte, 0..200)).prop_map(|(kind, mut bytes)| {
        bytes.insert(0, kind);
        bytes
    })
}

/// A valid body with some bytes changed, inserted or cut off.
fn mutated_body() -> impl Strategy<Value = Vec<u8>> {
    let mut bodies: Vec<Vec<u8>> = Vec::new();
    bodies.extend(
        samples::controller_packets().iter().map(|(_, message)| message.to_frame().unwrap()[4..].to_vec()),
    );
    bodies.extend(
        samples::agent_packets().iter().map(|(_, message)| message.to_frame().unwrap()[4..].to_vec()),
    );
    let change = (any::<Index>(), any::<u8>(), 0..3u8);
    (select(bodies), vec(change, 0..6)).prop_map(|(mut body, changes)| {
        for (index, byte, kind) in changes {
            let at = index.index(body.len());
            match kind {
                0 => body[at] = byte,
                1 => body.insert(at, byte),
                _ => body.truncate(at.max(1)),
            }
        }
        body
    })
}

fn any_body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![hostile_body(), mutated_body()]
}

proptest! {
    #[test]
    fn decodes_or_refuses_any_body(body in any_body()) {
        if let Ok(message) = ControllerPacket::from_body(&body) {
            let again = message.to_frame().unwrap();
            prop_assert_eq!(ControllerPacket::from_body(&again[4..]).unwrap(), message);
        }
        if let Ok(message) = AgentPacket::from_body(&body) {
            let again = message.to_frame().unwrap();
            prop_assert_eq!(AgentPacket::from_body(&again[4..]).unwrap(), message);
        }
    }

    #[test]
    fn frames_survive_any_cut_of_the_stream(
        bodies in vec(vec(any::<u8>(), 1..300), 0..8),
        cuts in vec(any::<Index>(), 0..20),
    ) {
        let stream: Vec<u8> = bodies.iter().flat_map(|body| frame(body).unwrap()).collect();
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        ends.push(stream.len());
        ends.sort_unstable();
        let (mut reader, mut found, mut start) = (FrameReader::new(), Vec::new(), 0);
        for end in ends {
            reader.push(&stream[start..end]);
            start = end;
            while let Some(body) = reader.next().unwrap() {
                found.push(body);
            }
        }
        prop_assert_eq!(found, bodies);
        prop_assert!(!reader.mid_frame());
    }

    #[test]
    fn any_bytes_are_frames_or_a_lasting_error(chunks in vec(vec(any::<u8>(), 0..40), 0..20)) {
        let mut reader = FrameReader::new();
        let mut broken: Option<FrameError> = None;
        for chunk in chunks {
            reader.push(&chunk);
            loop {
                match reader.next() {
                    Ok(None) => break,
                    Ok(Some(body)) => {
                        prop_assert!(broken.is_none());
                        prop_assert!((1..=MAX_FRAME).contains(&body.len()));
                    }
                    Err(error) => {
                        prop_assert!(broken.as_ref().is_none_or(|before| *before == error));
                        broken = Some(error);
                        break;
                    }
                }
            }
        }
    }

    #[test]
    fn any_text_is_a_pattern_or_a_sentence(
        text in r"[A-C.+*\\<>(),!&?` \[\]0x6déx]{0,40}|(A!)?(\[[AB.*]{0,3}\]){0,2}(implements:)?[A-C.*<>()]{0,12}|\PC{0,20}|.{0,8}"
    ) {
        match Pattern::parse(&text) {
            Err(error) => prop_assert!(!error.to_string().is_empty()),
            Ok(pattern) => {
                let names = [("A", "A.B`1+C", "A"), ("A.B", "A", ".ctor"), ("B", "B.C", "A<B>.C")];
                for (assembly, type_name, method) in names {
                    let _ = pattern.matches_assembly(assembly);
                    let _ = pattern.attributes().iter().all(|attribute| attribute.matches(type_name));
                    let by_name = pattern.for_type(type_name).into_iter();
                    for type_match in by_name.chain(pattern.for_supertype(type_name)) {
                        for params in ["()", "(A)", "(int,!0)", "(A<B>[,]*", "", "((<"] {
                            let _ = type_match.matches(method, 1, || params.to_owned());
                        }
                    }
                }
                for suggestion in suggestions(&pattern, names) {
                    prop_assert!(Pattern::parse(&suggestion).is_ok(), "{} of {}", suggestion, text);
                }
                // The printed text parses as the same pattern.
                let again = Pattern::parse(pattern.text()).unwrap();
                prop_assert_eq!(again.text(), pattern.text());
                let option = format!("{}=count", pattern.text());
                prop_assert_eq!(dialset::parse_dial_option(&option).unwrap().pattern, pattern.text());
            }
        }
    }

    #[test]
    fn printed_form_matches_exactly_its_method(one in method(), other in method()) {
        let printed = one.printed();
        let pattern = Pattern::parse(&printed).unwrap();
        prop_assert!(one.matched_by(&pattern), "{} does not match its own {:?}", printed, one);
        if one != other {
            prop_assert!(!other.matched_by(&pattern), "{} matches {:?}", printed, other);
        }
        prop_assert!(!pattern.has_wildcard());
    }

    #[test]
    fn any_orders_round_trip_as_text(
        orders in vec((select(vec!["*", "A!B.C(int, T)", "A=B.C"]), 0..4u8, any::<Option<String>>(), any::<Option<u64>>(), any::<bool>(), (option::of(1..=MAX_THRESHOLD_NS), any::<bool>(), any::<bool>())), 0..5)
    ) {
        let orders: Vec<Order> = orders
            .into_iter()
            .map(|(pattern, level, domain, copy, all_domains, (slower_than_ns, failed_only, callers))| Order {
                domain,
                copy,
                all_domains,
                options: match Level::from_byte(level).unwrap() {
                    Level::Time | Level::Trace => {
                        TimeOptions { slower_than_ns, failed_only, callers, ..TimeOptions::default() }
                    }
                    Level::Off | Level::Count => TimeOptions::default(),
                },
                ..Order::new(pattern, Level::from_byte(level).unwrap())
            })
            .collect();
        prop_assert_eq!(dialset::parse(&dialset::print(&orders)).unwrap(), orders);
    }

    #[test]
    fn any_text_is_a_dial_set_or_a_sentence(text in r#"([AB.*=" \\cofunt]|domain=|copy=0x| all-domains|\n|count|off){0,30}"#) {
        let _ = dialset::parse(&format!("# redial dials 1\n{text}"));
    }
}

/// A method with so few possible names that two are often alike.
#[derive(Clone, Debug, PartialEq)]
struct Method {
    /// Outer to inner: name and number of type parameters.
    types: Vec<(&'static str, usize)>,
    name: &'static str,
    arity: usize,
    params: Vec<Type>,
}

#[derive(Clone, Debug, PartialEq)]
enum Type {
    Named(&'static str),
    /// Index among all type parameters in scope, modulo their number; `int` if there are none.
    Parameter(usize),
    List(Box<Type>),
    Array(Box<Type>, usize),
    Pointer(Box<Type>),
    Ref(Box<Type>),
}

fn method() -> impl Strategy<Value = Method> {
    let types = vec((select(vec!["A", "B", "<>c"]), 0..3usize), 1..3);
    let name = select(vec!["M", "N", ".ctor", "I<int>.M", "<M>b__0"]);
    let leaf = prop_oneof![
        select(vec!["int", "string", "A", "Ns.A", "T0"]).prop_map(Type::Named),
        (0..4usize).prop_map(Type::Parameter),
    ];
    let inner = leaf.prop_recursive(3, 8, 1, |inner| {
        prop_oneof![
            inner.clone().prop_map(|t| Type::List(Box::new(t))),
            (inner.clone(), 1..3usize).prop_map(|(t, rank)| Type::Array(Box::new(t), rank)),
            inner.prop_map(|t| Type::Pointer(Box::new(t))),
        ]
    });
    let param =
        (inner, any::<bool>()).prop_map(|(t, by_ref)| if by_ref { Type::Ref(Box::new(t)) } else { t });
    let params = vec(param, 0..3);
    (types, name, 0..2usize, params).prop_map(|(types, name, arity, params)| {
        let mut method = Method { types, name, arity, params };
        // Equal methods have equal indexes.
        let count = method.type_parameters() + arity;
        for param in &mut method.params {
            reduce(param, count);
        }
        method
    })
}

fn reduce(t: &mut Type, count: usize) {
    match t {
        Type::Named(_) => {}
        Type::Parameter(_) if count == 0 => *t = Type::Named("int"),
        Type::Parameter(index) => *index %= count,
        Type::List(inner) | Type::Array(inner, _) | Type::Pointer(inner) | Type::Ref(inner) => {
            reduce(inner, count)
        }
    }
}

impl Method {
    fn type_parameters(&self) -> usize {
        self.types.iter().map(|(_, arity)| arity).sum()
    }

    fn metadata_type(&self) -> String {
        let names: Vec<String> = self
            .types
            .iter()
            .map(|(name, arity)| if *arity == 0 { (*name).to_owned() } else { format!("{name}`{arity}") })
            .collect();
        names.join("+")
    }

    /// Prints with declared names P0, P1 … for types and Q0 … for the method.
    fn printed(&self) -> String {
        let mut next = 0;
        let mut names = Vec::new();
        for (name, arity) in &self.types {
            let declared: Vec<String> = (next..next + arity).map(|n| format!("P{n}")).collect();
            next += arity;
            names.push(if *arity == 0 {
                (*name).to_owned()
            } else {
                format!("{name}<{}>", declared.join(", "))
            });
        }
        let own: Vec<String> = (0..self.arity).map(|n| format!("Q{n}")).collect();
        let own = if own.is_empty() { String::new() } else { format!("<{}>", own.join(", ")) };
        let count = self.type_parameters();
        let name =
            |index: usize| if index < count { format!("P{index}") } else { format!("Q{}", index - count) };
        let params: Vec<String> = self.params.iter().map(|t| show(t, &name, r"\*")).collect();
        format!("Asm!Ns.{}.{}{own}({})", names.join("+"), self.name, params.join(", "))
    }

    fn canonical_params(&self) -> String {
        let count = self.type_parameters();
        let name =
            |index: usize| if index < count { format!("!{index}") } else { format!("!!{}", index - count) };
        let params: Vec<String> = self.params.iter().map(|t| show(t, &name, "*")).collect();
        format!("({})", params.join(","))
    }

    fn matched_by(&self, pattern: &Pattern) -> bool {
        pattern.matches_assembly("Asm")
            && pattern.for_type(&format!("Ns.{}", self.metadata_type())).is_some_and(|type_match| {
                type_match.matches(self.name, self.arity as u32, || self.canonical_params())
            })
    }
}

fn show(t: &Type, parameter: &dyn Fn(usize) -> String, star: &str) -> String {
    match t {
        Type::Named(name) => (*name).to_owned(),
        Type::Parameter(index) => parameter(*index),
        Type::List(inner) => format!("System.List<{}>", show(inner, parameter, star)),
        Type::Array(inner, rank) => format!("{}[{}]", show(inner, parameter, star), ",".repeat(rank - 1)),
        Type::Pointer(inner) => format!("{}{star}", show(inner, parameter, star)),
        Type::Ref(inner) => format!("ref {}", show(inner, parameter, star)),
    }
}

#[test]
fn invented_type_parameters_match_by_number() {
    assert_eq!(csharp_type("Ns.A`2+B`1"), "Ns.A<T1,T2>+B<T>");
}

#[test]
fn lengths_at_the_limits_are_frames_or_errors() {
    let announce = |length: u32| {
        let mut reader = FrameReader::new();
        reader.push(&length.to_le_bytes());
        reader
    };
    assert_eq!(announce(0).next(), Err(FrameError::Empty));
    assert_eq!(announce(1).next(), Ok(None));
    assert_eq!(announce(MAX_FRAME as u32).next(), Ok(None));
    for length in [MAX_FRAME as u32 + 1, u32::MAX] {
        let mut reader = announce(length);
        let error = FrameError::TooLong { length: u64::from(length) };
        assert_eq!(reader.next(), Err(error.clone()));
        reader.push(b"\x01\0\0\0x");
        assert_eq!(reader.next(), Err(error));
    }
    assert_eq!(frame(b""), Err(FrameError::Empty));
    let longest = vec![7; MAX_FRAME];
    let mut reader = FrameReader::new();
    reader.push(&frame(&longest).unwrap());
    assert_eq!(reader.next().unwrap().unwrap(), longest);
    assert_eq!(frame(&vec![7; MAX_FRAME + 1]), Err(FrameError::TooLong { length: MAX_FRAME as u64 + 1 }));
}
