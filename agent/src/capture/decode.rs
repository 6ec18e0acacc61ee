//! Turns captured bytes into values.

use super::plan::{Capture, PlannedValue};
use super::primitives::{enum_value, primitive_value};
use super::records::{Classes, Records};
use redial_protocol::trace::{OmittedReason, Value};

/// Place of a value whose bytes did not fit.
pub const NO_ROOM: u64 = 1;
/// Place of a value that could not be read.
pub const UNREADABLE: u64 = 2;

/// The captured bytes of a call. Offsets count from its beginning.
#[derive(Clone, Copy, Debug)]
pub struct CapturedCall<'a> {
    /// The call's bytes.
    pub bytes: &'a [u8],
    /// Offset of the first place.
    pub places: usize,
}

impl CapturedCall<'_> {
    fn place(&self, place: usize) -> Option<u64> {
        let at = self.places.checked_add(place.checked_mul(8)?)?;
        let bytes = self.bytes.get(at..at.checked_add(8)?)?;
        bytes.try_into().ok().map(u64::from_le_bytes)
    }
}

/// Returns a captured value from its place. `classes` returns the shape of the class with a number.
pub fn value(call: CapturedCall<'_>, place: usize, planned: &PlannedValue, classes: Classes<'_>) -> Value {
    let bits = match &planned.capture {
        Capture::Omitted(reason) => return Value::Omitted(*reason),
        Capture::Out(_) => return Value::Omitted(OmittedReason::Pending),
        _ => call.place(place),
    };
    match (bits, &planned.capture) {
        (None, _) | (_, Capture::Omitted(_)) => Value::Omitted(OmittedReason::Unreadable),
        (Some(bits), Capture::Primitive(primitive)) => primitive_value(bits, *primitive),
        (Some(bits), Capture::Enum(of)) => enum_value(bits, of, &planned.type_name),
        (Some(bits), Capture::String) => string(call.bytes, bits),
        (Some(bits), _) => object(call.bytes, bits, classes),
    }
}

/// Returns the value of a by-reference parameter at the end of a call, from its place there.
pub fn value_after(
    call: CapturedCall<'_>,
    place: usize,
    planned: &PlannedValue,
    classes: Classes<'_>,
) -> Value {
    match (call.place(place), planned.capture.is_by_ref()) {
        (Some(bits), true) => object(call.bytes, bits, classes),
        _ => Value::Omitted(OmittedReason::Unreadable),
    }
}

/// Returns the message of an exception from its record at an offset, and moves the offset behind it.
pub fn message(call: CapturedCall<'_>, at: &mut usize) -> Option<Value> {
    Records { bytes: call.bytes, classes: &|_| None }.read(at, 0)
}

/// Reads the record of a value that a helper captured; its place has the record's offset.
fn object(bytes: &[u8], place: u64, classes: Classes<'_>) -> Value {
    match place {
        0 => Value::Null,
        NO_ROOM => Value::Omitted(OmittedReason::Bytes),
        UNREADABLE => Value::Omitted(OmittedReason::Unreadable),
        at => {
            let records = Records { bytes, classes };
            records.read(&mut (at as usize), 0).unwrap_or(Value::Omitted(OmittedReason::Unreadable))
        }
    }
}

/// Reads a string: its length in UTF-16 units, then the units that were kept. The place has their offset and, in its
/// upper half, their number.
fn string(bytes: &[u8], place: u64) -> Value {
    match place {
        0 => return Value::Null,
        NO_ROOM => return Value::Omitted(OmittedReason::Bytes),
        _ => {}
    }
    let (at, kept) = (place as u32 as usize, (place >> 32) as usize);
    let read = || {
        let length = bytes.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_le_bytes)?;
        let units = bytes.get(at + 4..)?.get(..kept.checked_mul(2)?)?;
        let units = units.chunks_exact(2).filter_map(|unit| unit.try_into().ok()).map(u16::from_le_bytes);
        Some(Value::String { units: units.collect(), length })
    };
    read().unwrap_or(Value::Omitted(OmittedReason::Unreadable))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{EnumType, Primitive};
    use std::sync::Arc;

    fn planned(capture: Capture) -> PlannedValue {
        PlannedValue { name: String::new(), type_name: "Shop.Day".into(), argument: 0, capture }
    }

    #[test]
    fn enums_have_their_names() {
        let names = vec![("Monday".to_owned(), 1), ("Never".to_owned(), -1)];
        let of = Capture::Enum(Arc::new(EnumType { underlying: Primitive::I2, names }));
        let read = |bits: u64| {
            value(CapturedCall { bytes: &bits.to_le_bytes(), places: 0 }, 0, &planned(of.clone()), &|_| None)
        };
        let day = |name: Option<&str>, value| Value::Enum {
            type_name: "Shop.Day".into(),
            name: name.map(str::to_owned),
            value,
        };
        assert_eq!(read(0xAAAA_0001), day(Some("Monday"), 1));
        assert_eq!(read(0xFFFF), day(Some("Never"), -1));
        assert_eq!(read(7), day(None, 7));
    }

    #[test]
    fn reads_primitives_of_any_width_from_their_places() {
        let bytes: Vec<u8> =
            [0xAAAA_AAAA_AAAA_AAAA_u64, 0xFFFF_FFFF_FFFF_FFFE].map(u64::to_le_bytes).concat();
        let call = CapturedCall { bytes: &bytes, places: 8 };
        let read = |primitive| value(call, 0, &planned(Capture::Primitive(primitive)), &|_| None);
        assert_eq!(read(Primitive::I1), Value::Int(-2));
        assert_eq!(read(Primitive::U1), Value::UInt(0xFE));
        assert_eq!(read(Primitive::U2), Value::UInt(0xFFFE));
        assert_eq!(read(Primitive::I4), Value::Int(-2));
        assert_eq!(read(Primitive::U8), Value::UInt(u64::MAX - 1));
        assert_eq!(read(Primitive::Boolean), Value::Bool(true));
        assert_eq!(read(Primitive::R8), Value::Double(u64::MAX - 1));
        let missing = value(call, 1, &planned(Capture::Primitive(Primitive::I4)), &|_| None);
        assert_eq!(missing, Value::Omitted(OmittedReason::Unreadable));
    }

    #[test]
    fn strings_are_read_within_their_bytes() {
        let mut bytes = vec![0; 16];
        bytes.extend(300_u32.to_le_bytes());
        bytes.extend([b'h', 0, b'i', 0]);
        let of = |place: u64| {
            let mut bytes = bytes.clone();
            bytes[8..16].copy_from_slice(&place.to_le_bytes());
            value(CapturedCall { bytes: &bytes, places: 8 }, 0, &planned(Capture::String), &|_| None)
        };
        assert_eq!(of(0), Value::Null);
        assert_eq!(of(NO_ROOM), Value::Omitted(OmittedReason::Bytes));
        assert_eq!(of(16 | 2 << 32), Value::String { units: "hi".encode_utf16().collect(), length: 300 });
        for wrong in [16 | 3 << 32, 18 | 2 << 32, 4000, u64::MAX] {
            assert_eq!(of(wrong), Value::Omitted(OmittedReason::Unreadable), "{wrong:x}");
        }
    }
}
