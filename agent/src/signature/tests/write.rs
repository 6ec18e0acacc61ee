//! Tests of writing signatures.

use crate::signature::*;

#[test]
fn call_sites() {
    let cdecl = call_site(Convention::Cdecl, &[], Type::Void, &[Type::I4]).unwrap();
    assert_eq!(cdecl, [0x01, 1, 0x01, 0x08]);
    let managed = call_site(Convention::Default, &[], Type::I4, &[Type::I4]).unwrap();
    assert_eq!(managed, [0x00, 1, 0x08, 0x08]);
    // unmanaged with two modopts: TypeRef 0x44 (coded 0x111), TypeDef 3 (coded 0x0C)
    let suppressed =
        call_site(Convention::Unmanaged, &[0x0100_0044, 0x0200_0003], Type::Void, &[Type::I]).unwrap();
    assert_eq!(suppressed, [0x09, 1, 0x20, 0x81, 0x11, 0x20, 0x0C, 0x01, 0x18]);
    let error = call_site(Convention::Unmanaged, &[0x0600_0001], Type::Void, &[]);
    assert_eq!(error, Err(SignatureError::BadToken(0x0600_0001)));
}

#[test]
fn writes_a_single_type_token() {
    let coded = |token| {
        let mut out = Vec::new();
        write_type_token(&mut out, token);
        out
    };
    assert_eq!(coded(0x0100_0005), [0x15]);
    assert_eq!(coded(0x0200_0005), [0x14]);
    assert_eq!(coded(0x1B00_0005), [0x16]);
    assert_eq!(coded(0x0600_0005), [0x00]);
}

#[test]
fn appends_locals_after_existing_ones() {
    assert_eq!(append_locals(&[], &[Type::I8]), Ok((vec![0x07, 1, 0x0A], 0)));
    let existing = [0x07, 2, 0x08, 0x45, 0x10, 0x05];
    let (blob, first) = append_locals(&existing, &[Type::I8, Type::Object]).unwrap();
    assert_eq!((blob, first), (vec![0x07, 4, 0x08, 0x45, 0x10, 0x05, 0x0A, 0x1C], 2));
    // The count takes a second byte from the 128th local on; the types stay.
    let existing = write_locals(&vec![Type::I4; 127]).unwrap();
    let (blob, first) = append_locals(&existing, &[Type::I8]).unwrap();
    assert_eq!((&blob[..4], blob.len(), first), (&[0x07, 0x80, 0x80, 0x08][..], 3 + 128, 127));
    let (blob, first) = append_locals(&blob, &[Type::I8]).unwrap();
    assert_eq!((&blob[..4], blob.len(), first), (&[0x07, 0x80, 0x81, 0x08][..], 3 + 129, 128));
    assert!(append_locals(&[0x06, 0x08], &[Type::I4]).is_err());
}

#[test]
fn refuses_values_that_no_blob_can_hold() {
    let too_large = SignatureError::NumberTooLarge(0x2000_0000);
    assert_eq!(write_type(&Type::Var(0x2000_0000), &mut Vec::new()), Err(too_large));
    assert_eq!(too_large.to_string(), "536870912 does not fit a signature");
    let bound = |bound| {
        let array =
            Type::Array { element: Box::new(Type::I4), rank: 1, sizes: vec![], lower_bounds: vec![bound] };
        write_type(&array, &mut Vec::new())
    };
    assert_eq!(bound(0x0FFF_FFFF), Ok(()));
    assert!(bound(0x1000_0000).is_err());
    assert_eq!(bound(-0x1000_0000), Ok(()));
    assert!(bound(-0x1000_0001).is_err());
}
