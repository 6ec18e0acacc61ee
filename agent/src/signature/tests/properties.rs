//! Properties for all bytes and signatures: nothing panics, and written signatures parse back unchanged.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::signature::*;

struct NoNames;

impl TypeNames for NoNames {
    fn type_name(&self, _: u32) -> Option<String> {
        None
    }
}

const NUMBER: std::ops::Range<u32> = 0..0x2000_0000;

fn token() -> impl Strategy<Value = u32> {
    (prop::sample::select(&[0x0100_0000, 0x0200_0000, 0x1B00_0000][..]), 0_u32..0x100_0000)
        .prop_map(|(table, row)| table | row)
}

fn simple() -> impl Strategy<Value = Type> {
    use Type::*;
    let plain =
        [Void, Boolean, Char, I1, U1, I2, U2, I4, U4, I8, U8, R4, R8, String, Object, I, U, TypedByRef];
    prop_oneof![
        prop::sample::select(plain.to_vec()),
        token().prop_map(Class),
        token().prop_map(ValueType),
        NUMBER.prop_map(Var),
        NUMBER.prop_map(MVar),
    ]
}

fn method_of(ty: impl Strategy<Value = Type> + Clone + 'static) -> impl Strategy<Value = Method> {
    use Convention::*;
    let conventions = [Default, Cdecl, StdCall, ThisCall, FastCall, VarArg, Unmanaged];
    (
        prop::sample::select(conventions.to_vec()),
        any::<(bool, bool)>(),
        0_u32..3,
        ty.clone(),
        vec(ty, 0..4),
        prop::option::of(0_u32..4),
    )
        .prop_map(|(convention, (has_this, explicit_this), generic, result, params, fixed)| Method {
            convention,
            has_this,
            explicit_this,
            generic,
            result,
            fixed: fixed.filter(|fixed| (*fixed as usize) < params.len()),
            params,
        })
}

fn ty() -> impl Strategy<Value = Type> + Clone {
    simple().boxed().prop_recursive(6, 40, 4, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            boxed.clone().prop_map(Type::Ptr),
            boxed.clone().prop_map(Type::ByRef),
            boxed.clone().prop_map(Type::SzArray),
            boxed.clone().prop_map(Type::Pinned),
            (boxed.clone(), NUMBER, vec(NUMBER, 0..3), vec(-0x1000_0000..0x1000_0000, 0..3)).prop_map(
                |(element, rank, sizes, lower_bounds)| Type::Array { element, rank, sizes, lower_bounds }
            ),
            (any::<bool>(), token(), vec(inner.clone(), 0..4)).prop_map(|(value_type, token, arguments)| {
                Type::Generic { value_type, token, arguments }
            }),
            (any::<bool>(), token(), boxed).prop_map(|(required, modifier, inner)| Type::Modified {
                required,
                modifier,
                inner
            }),
            method_of(inner).prop_map(|method| Type::FnPtr(Box::new(method))),
        ]
    })
}

proptest! {
    #[test]
    fn no_bytes_panic(blob in vec(any::<u8>(), 0..60)) {
        let mut out = String::new();
        canonical_parameters(&blob, &NoNames, &mut out);
        display_parameters(&blob, &NoNames, &[], &[], &[], &mut out);
        let _ = (parse_field(&blob), parse_locals(&blob), parse_property(&blob));
        let _ = (parse_method_spec(&blob), parse_type_spec(&blob), append_locals(&blob, &[Type::I4]));
    }

    #[test]
    fn no_name_panics(name in "[A-Z`0-9+.é]{0,20}", parameters in vec("[a-z]{1,2}", 0..4)) {
        let printed = display_type_name(&name, &parameters);
        prop_assert!(parameters.iter().all(|parameter| printed.contains(parameter.as_str())));
    }

    #[test]
    fn methods_round_trip(method in method_of(ty())) {
        let blob = write_method(&method).unwrap();
        prop_assert_eq!(parse_method(&blob), Ok(method));
        let mut out = String::new();
        prop_assert!(print_parameters(&blob, Form::Canonical, &NoNames, &mut out).is_ok());
        // The only space follows `ref`.
        prop_assert!(!out.replace("ref ", "").contains(' '));
    }

    #[test]
    fn locals_round_trip(locals in vec(ty(), 0..20), more in vec(ty(), 0..3)) {
        let blob = write_locals(&locals).unwrap();
        prop_assert_eq!(parse_locals(&blob), Ok(locals.clone()));
        let (blob, first) = append_locals(&blob, &more).unwrap();
        prop_assert_eq!(first as usize, locals.len());
        prop_assert_eq!(parse_locals(&blob), Ok([locals, more].concat()));
    }
}
