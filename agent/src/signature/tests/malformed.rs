//! Malformed signatures and their errors.

use crate::signature::*;

#[test]
fn every_prefix_of_a_signature_is_truncated() {
    // instance class G<int32[2,]> (ref valuetype 0x80.., fnptr void (string))
    let blob = [
        0x20, 2, 0x15, 0x12, 8, 1, 0x14, 0x08, 2, 1, 3, 1, 0, 0x10, 0x11, 0x81, 0x00, 0x1B, 0x00, 1, 0x01,
        0x0E,
    ];
    parse_method(&blob).unwrap();
    for length in 0..blob.len() {
        assert_eq!(parse_method(&blob[..length]), Err(SignatureError::Truncated), "{length}");
    }
    assert_eq!(parse_method(&[&blob[..], &[0, 0]].concat()), Err(SignatureError::Trailing(2)));
}

#[test]
fn refuses_other_kinds_of_signatures() {
    let wrong = |found, wanted| SignatureError::WrongKind { found, wanted };
    assert_eq!(parse_method(&[0x06, 0x08]), Err(wrong(0x06, "method signature")));
    assert_eq!(parse_method(&[0x07, 0]), Err(wrong(0x07, "method signature")));
    assert_eq!(parse_field(&[0x07, 0x08]), Err(wrong(0x07, "field signature")));
    assert_eq!(parse_locals(&[0x06, 0x08]), Err(wrong(0x06, "local-variable signature")));
    assert_eq!(parse_property(&[0x20, 0, 0x08]), Err(wrong(0x20, "property signature")));
    assert_eq!(parse_method_spec(&[0x00, 0]), Err(wrong(0x00, "method instantiation")));
    let sentence = "the signature begins with 0x06, which is not a method signature";
    assert_eq!(parse_method(&[0x06, 0x08]).unwrap_err().to_string(), sentence);
}

#[test]
fn refuses_bytes_that_begin_nothing() {
    for first in [0x00, 0x17, 0x1A, 0x21, 0x22, 0x40, 0x41, 0x44, 0x46, 0x55, 0xFF] {
        assert_eq!(parse_type_spec(&[first, 0, 0]), Err(SignatureError::BadType(first)));
    }
    for first in [0xE0, 0xF0, 0xFF] {
        assert_eq!(parse_type_spec(&[0x13, first, 0, 0, 0]), Err(SignatureError::BadNumber(first)));
    }
    assert_eq!(parse_type_spec(&[0x15, 0x08, 8, 0]), Err(SignatureError::BadType(0x08)));
}

#[test]
fn refuses_tokens_without_table_or_row() {
    assert_eq!(parse_type_spec(&[0x12, 0x07]), Err(SignatureError::BadToken(7)));
    let far = [0x12, 0xC4, 0x00, 0x00, 0x01]; // row 0x0100_0000
    assert_eq!(parse_type_spec(&far), Err(SignatureError::BadToken(0x0400_0001)));
}

#[test]
fn counts_past_the_blob_allocate_nothing() {
    let many = [0xDF, 0xFF, 0xFF, 0xFF];
    let with = |before: &[u8]| [before, &many].concat();
    assert_eq!(parse_method(&with(&[0x00])), Err(SignatureError::Truncated));
    assert_eq!(parse_locals(&with(&[0x07])), Err(SignatureError::Truncated));
    assert_eq!(parse_method_spec(&with(&[0x0A])), Err(SignatureError::Truncated));
    assert_eq!(parse_type_spec(&with(&[0x15, 0x12, 8])), Err(SignatureError::Truncated));
    assert_eq!(parse_type_spec(&with(&[0x14, 0x08, 1])), Err(SignatureError::Truncated));
}

#[test]
fn nesting_is_limited() {
    let nested = |levels: usize, first: &[u8]| [first.repeat(levels), vec![0x08]].concat();
    for first in [&[0x1D][..], &[0x0F], &[0x10], &[0x45], &[0x20, 8], &[0x15, 0x12, 8, 1]] {
        assert!(parse_type_spec(&nested(64, first)).is_ok());
        assert_eq!(parse_type_spec(&nested(65, first)), Err(SignatureError::TooDeep(64)));
        assert_eq!(parse_type_spec(&nested(100_000, first)), Err(SignatureError::TooDeep(64)));
    }
    let pointers = [0x1B, 0x00, 0x00].repeat(100_000);
    assert_eq!(parse_type_spec(&pointers), Err(SignatureError::TooDeep(64)));
}
