//! Tests of parsing signatures.

use crate::signature::*;

fn plain(result: Type, params: Vec<Type>) -> Method {
    Method {
        convention: Convention::Default,
        has_this: false,
        explicit_this: false,
        generic: 0,
        result,
        params,
        fixed: None,
    }
}

#[test]
fn methods() {
    assert_eq!(parse_method(&[0x00, 0, 0x01]), Ok(plain(Type::Void, vec![])));
    // instance int32 (string, class TypeRef 5)
    let method = parse_method(&[0x20, 2, 0x08, 0x0E, 0x12, 0x15]).unwrap();
    assert!(method.has_this && !method.explicit_this);
    assert_eq!(method.params, [Type::String, Type::Class(0x0100_0005)]);
    assert_eq!((method.argument_count(), method.returns_value()), (3, true));
    // explicit this: counted as a parameter
    let method = parse_method(&[0x60, 1, 0x01, 0x1C]).unwrap();
    assert_eq!((method.argument_count(), method.returns_value()), (1, false));
    // !!0 (!1) with two generic parameters
    let method = parse_method(&[0x10, 2, 1, 0x1E, 0, 0x13, 1]).unwrap();
    assert_eq!(
        (method.generic, &method.result, &method.params[..]),
        (2, &Type::MVar(0), &[Type::Var(1)][..])
    );
}

#[test]
fn conventions_and_variable_arguments() {
    let convention = |first| parse_method(&[first, 0, 0x01]).unwrap().convention;
    assert_eq!(convention(1), Convention::Cdecl);
    assert_eq!(convention(2), Convention::StdCall);
    assert_eq!(convention(3), Convention::ThisCall);
    assert_eq!(convention(4), Convention::FastCall);
    assert_eq!(convention(9), Convention::Unmanaged);
    // vararg void (int32, ..., string)
    let method = parse_method(&[0x05, 2, 0x01, 0x08, 0x41, 0x0E]).unwrap();
    assert_eq!((method.params.len(), method.fixed), (2, Some(1)));
    // A modified void is void.
    assert!(!parse_method(&[0x09, 0, 0x20, 0x15, 0x01]).unwrap().returns_value());
}

#[test]
fn types_within_types() {
    let spec = |blob: &[u8]| parse_type_spec(blob).unwrap();
    let int = || Box::new(Type::I4);
    assert_eq!(spec(&[0x0F, 0x08]), Type::Ptr(int()));
    assert_eq!(spec(&[0x1D, 0x08]), Type::SzArray(int()));
    assert_eq!(
        spec(&[0x10, 0x1F, 0x15, 0x08]),
        Type::ByRef(Box::new(Type::Modified { required: true, modifier: 0x0100_0005, inner: int() }))
    );
    // int32[3, 0...5]: rank 2, one size, two lower bounds
    let array = Type::Array { element: int(), rank: 2, sizes: vec![3], lower_bounds: vec![0, -1] };
    assert_eq!(spec(&[0x14, 0x08, 2, 1, 3, 2, 0, 0x7F]), array);
    // class TypeDef 2<int32, valuetype TypeSpec 1>
    let generic = Type::Generic {
        value_type: false,
        token: 0x0200_0002,
        arguments: vec![Type::I4, Type::ValueType(0x1B00_0001)],
    };
    assert_eq!(spec(&[0x15, 0x12, 8, 2, 0x08, 0x11, 6]), generic);
    let pointer = spec(&[0x1B, 0x00, 1, 0x01, 0x08]);
    assert_eq!(pointer, Type::FnPtr(Box::new(plain(Type::Void, vec![Type::I4]))));
}

#[test]
fn fields_locals_properties_and_instantiations() {
    assert_eq!(parse_field(&[0x06, 0x0E]), Ok(Type::String));
    let pinned = Type::Pinned(Box::new(Type::ByRef(Box::new(Type::U1))));
    assert_eq!(parse_locals(&[0x07, 2, 0x08, 0x45, 0x10, 0x05]), Ok(vec![Type::I4, pinned]));
    let indexer = Property { has_this: true, ty: Type::String, params: vec![Type::I4] };
    assert_eq!(parse_property(&[0x28, 1, 0x0E, 0x08]), Ok(indexer));
    assert_eq!(parse_method_spec(&[0x0A, 2, 0x0E, 0x1C]), Ok(vec![Type::String, Type::Object]));
}

#[test]
fn numbers_in_all_their_forms() {
    let var = |bytes: &[u8]| match parse_type_spec(&[&[0x13], bytes].concat()) {
        Ok(Type::Var(number)) => number,
        other => panic!("{other:?}"),
    };
    // Examples from II.23.2.
    for (bytes, value) in [
        (&[0x03][..], 0x03),
        (&[0x7F], 0x7F),
        (&[0x80, 0x80], 0x80),
        (&[0xAE, 0x57], 0x2E57),
        (&[0xBF, 0xFF], 0x3FFF),
        (&[0xC0, 0x00, 0x40, 0x00], 0x4000),
        (&[0xDF, 0xFF, 0xFF, 0xFF], 0x1FFF_FFFF),
    ] {
        assert_eq!(var(bytes), value);
    }
    let bound = |bytes: &[u8]| match parse_type_spec(&[&[0x14, 0x08, 1, 0, 1], bytes].concat()) {
        Ok(Type::Array { lower_bounds, .. }) => lower_bounds[0],
        other => panic!("{other:?}"),
    };
    for (bytes, value) in [
        (&[0x06][..], 3),
        (&[0x7B], -3),
        (&[0x80, 0x80], 64),
        (&[0x01], -64),
        (&[0xC0, 0x00, 0x40, 0x00], 8192),
        (&[0x80, 0x01], -8192),
        (&[0xDF, 0xFF, 0xFF, 0xFE], 268_435_455),
        (&[0xC0, 0x00, 0x00, 0x01], -268_435_456),
    ] {
        assert_eq!(bound(bytes), value);
    }
}

#[test]
fn reads_first_attribute_argument_if_it_is_a_string() {
    let value = |rest: &[u8]| [&[1, 0], rest].concat();
    assert_eq!(first_string(&value(b"\x03A+B\0\0")).as_deref(), Some("A+B"));
    let long = format!("A+<{}>d__1", "x".repeat(200));
    let bytes = value(&[&[0x80, long.len() as u8], long.as_bytes(), &[0, 0]].concat());
    assert_eq!(first_string(&bytes), Some(long));
    for bad in [&[][..], &[1], &[2, 0, 1, 65], &[1, 0], &[1, 0, 0xFF, 0, 0], &[1, 0, 5, 65], &[1, 0, 1, 0x80]]
    {
        assert_eq!(first_string(bad), None, "{bad:?}");
    }
}
