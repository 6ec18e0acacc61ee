//! Where the fields of a struct are, by the rules of the CLR.
//!
//! .NET Core 2.1 and 3.1 place structs within structs at multiples of a word, later versions at their alignment. Only later
//! versions keep the order of fields if one of them is a struct without order. A layout is returned only where both rules
//! agree.

use std::cmp::Reverse;

/// Bytes of a word: a reference, a native integer.
const WORD: u32 = size_of::<usize>() as u32;
/// Largest struct that is laid out.
const MAX_SIZE: u32 = 256;

/// How metadata asks for the fields to be placed (`tdLayoutMask`, ECMA-335 II.23.1.15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// In order of declaration.
    Sequential,
    /// As the CLR likes.
    Auto,
}

/// A value as it lies in a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldLayout {
    /// Its bytes.
    pub size: u32,
    /// Its address is a multiple of this.
    pub alignment: u32,
    /// Whether it is or contains a reference.
    pub has_references: bool,
    /// Whether it is a struct.
    pub is_struct: bool,
    /// Whether it is a struct whose fields, or those of a struct in it, the CLR placed as it likes.
    pub is_auto: bool,
}

impl FieldLayout {
    /// Returns the layout of a primitive value of this many bytes.
    pub fn primitive(size: usize) -> FieldLayout {
        let size = size as u32;
        FieldLayout { size, alignment: size, has_references: false, is_struct: false, is_auto: false }
    }

    /// Returns the layout of a reference.
    pub fn reference() -> FieldLayout {
        FieldLayout { has_references: true, ..FieldLayout::primitive(WORD as usize) }
    }
}

/// The layout of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructLayout {
    /// Offsets of its fields, in order of declaration.
    pub offsets: Vec<u32>,
    /// How it lies in a struct around it.
    pub whole: FieldLayout,
}

/// The place of a field whose layout was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    offset: u32,
    /// Bytes up to the next field, or to the end.
    bytes: u32,
}

impl Room {
    /// Returns the room from an offset to the next of the other fields' offsets, or to the end of what contains them.
    pub fn between(offset: u32, others: impl Iterator<Item = u32>, end: u32) -> Room {
        let next = others.filter(|other| *other > offset).min().unwrap_or(end);
        Room { offset, bytes: next.saturating_sub(offset) }
    }

    /// Whether a field of this layout leaves no more bytes than its neighbour's alignment needs.
    pub fn is_filled_by(self, layout: FieldLayout) -> bool {
        let alignment = if layout.has_references { WORD } else { layout.alignment };
        self.offset.is_multiple_of(alignment) && layout.size <= self.bytes && self.bytes - layout.size < WORD
    }
}

/// The rules of a range of versions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rules {
    /// Up to 3.1.
    Words,
    /// Later ones.
    Alignments,
}

impl StructLayout {
    /// Lays out a struct with these fields; None if that depends on the version of .NET, or it is too large.
    pub fn new(placement: Placement, fields: &[FieldLayout]) -> Option<StructLayout> {
        let mut total = 0_u32;
        for field in fields {
            total = total.checked_add(field.size)?;
            if !field.alignment.is_power_of_two() || field.alignment > WORD || total > MAX_SIZE {
                return None;
            }
        }
        let has_references = fields.iter().any(|field| field.has_references);
        let has_auto = fields.iter().any(|field| field.is_auto);
        let laid_out = |rules: Rules| match placement {
            Placement::Sequential if !has_references && (rules == Rules::Alignments || !has_auto) => {
                sequential(fields)
            }
            Placement::Sequential | Placement::Auto => auto(fields, rules),
        };
        let (words, alignments) = (laid_out(Rules::Words), laid_out(Rules::Alignments));
        // The older rules use only the alignment of structs that both rules lay out in order.
        let agree = words.offsets == alignments.offsets && words.whole.size == alignments.whole.size;
        let is_auto = words.whole.is_auto;
        agree.then_some(StructLayout { whole: FieldLayout { is_auto, ..alignments.whole }, ..alignments })
    }
}

/// Places fields one after another, each at its alignment.
fn sequential(fields: &[FieldLayout]) -> StructLayout {
    let mut at = 0;
    let place = |field: &FieldLayout| {
        let offset = u32::next_multiple_of(at, field.alignment);
        at = offset + field.size;
        offset
    };
    let offsets = fields.iter().map(place).collect();
    let alignment = fields.iter().map(|field| field.alignment).max().unwrap_or(1);
    let size = at.max(1).next_multiple_of(alignment);
    let whole = FieldLayout { size, alignment, has_references: false, is_struct: true, is_auto: false };
    StructLayout { offsets, whole }
}

/// Places large primitives before small ones, references before numbers of their size, and structs last.
fn auto(fields: &[FieldLayout], rules: Rules) -> StructLayout {
    let mut order: Vec<(usize, &FieldLayout)> = fields.iter().enumerate().collect();
    // The sort is stable: otherwise fields stay in order of declaration.
    order.sort_by_key(|(_, field)| match field.is_struct {
        true => (true, Reverse(0), false),
        false => (false, Reverse(field.size), !field.has_references),
    });
    let mut offsets = vec![0; fields.len()];
    let (mut at, mut largest) = (0_u32, 1);
    for (index, field) in order {
        let alignment = match (field.is_struct, rules) {
            (true, Rules::Words) => WORD,
            (true, Rules::Alignments) if field.has_references => WORD,
            _ => field.alignment,
        };
        // A primitive counts as a word there.
        largest = largest.max(if field.is_struct { alignment } else { WORD });
        let offset = at.next_multiple_of(alignment);
        if let Some(known) = offsets.get_mut(index) {
            *known = offset;
        }
        at = offset + field.size;
        if field.is_struct && rules == Rules::Words {
            at = at.next_multiple_of(WORD);
        }
    }
    let has_references = fields.iter().any(|field| field.has_references);
    let bytes = at.max(1);
    let alignment = match rules {
        _ if bytes <= WORD => bytes.next_power_of_two(),
        Rules::Alignments if !has_references => largest,
        _ => WORD,
    };
    let size = bytes.next_multiple_of(alignment);
    StructLayout {
        offsets,
        whole: FieldLayout { size, alignment, has_references, is_struct: true, is_auto: true },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(size: usize) -> FieldLayout {
        FieldLayout::primitive(size)
    }

    fn laid_out(placement: Placement, fields: &[FieldLayout]) -> Option<(Vec<u32>, u32, u32)> {
        let layout = StructLayout::new(placement, fields)?;
        Some((layout.offsets, layout.whole.size, layout.whole.alignment))
    }

    #[test]
    fn numbers_are_in_order_of_declaration() {
        let sequential = |fields: &[FieldLayout]| laid_out(Placement::Sequential, fields);
        assert_eq!(sequential(&[]), Some((vec![], 1, 1)));
        assert_eq!(sequential(&[bytes(1), bytes(8), bytes(2)]), Some((vec![0, 8, 16], 24, 8)));
        assert_eq!(sequential(&[bytes(1), bytes(1), bytes(4)]), Some((vec![0, 1, 4], 8, 4)));
        let inner = StructLayout::new(Placement::Sequential, &[bytes(4), bytes(1)]).unwrap().whole;
        assert_eq!((inner.size, inner.alignment, inner.is_auto), (8, 4, false));
        assert_eq!(sequential(&[bytes(1), inner]), Some((vec![0, 4], 12, 4)));
    }

    #[test]
    fn references_come_first_then_large_numbers() {
        for placement in [Placement::Sequential, Placement::Auto] {
            let fields = [bytes(1), bytes(8), FieldLayout::reference(), bytes(4)];
            assert_eq!(laid_out(placement, &fields), Some((vec![20, 8, 0, 16], 24, 8)), "{placement:?}");
            assert_eq!(laid_out(placement, &[bytes(4), FieldLayout::reference()]), Some((vec![8, 0], 16, 8)));
        }
        assert_eq!(laid_out(Placement::Auto, &[bytes(1), bytes(4)]), Some((vec![4, 0], 8, 8)));
        assert_eq!(laid_out(Placement::Auto, &[bytes(1), bytes(2)]), Some((vec![2, 0], 4, 4)));
        assert_eq!(laid_out(Placement::Auto, &[bytes(4), bytes(4), bytes(4)]), Some((vec![0, 4, 8], 16, 8)));
    }

    #[test]
    fn structs_come_last_where_versions_agree() {
        let pair = StructLayout::new(Placement::Auto, &[bytes(4), FieldLayout::reference()]).unwrap().whole;
        assert!(pair.is_auto && pair.has_references);
        assert_eq!(
            laid_out(Placement::Sequential, &[pair, bytes(1), FieldLayout::reference()]),
            Some((vec![16, 8, 0], 32, 8))
        );
        // Sixteen bytes at multiples of four: behind four bytes the versions differ.
        let guid = StructLayout::new(Placement::Sequential, &[bytes(4); 4]).unwrap().whole;
        assert_eq!((guid.size, guid.alignment), (16, 4));
        assert_eq!(laid_out(Placement::Auto, &[guid, FieldLayout::reference()]), Some((vec![8, 0], 24, 8)));
        assert_eq!(laid_out(Placement::Auto, &[guid, bytes(4)]), None);
        // Of twelve bytes there are sixteen in old versions.
        let three = StructLayout::new(Placement::Sequential, &[bytes(4); 3]).unwrap().whole;
        assert_eq!(laid_out(Placement::Auto, &[three]), None);
        // A struct without order, such as `DateTime`: older versions place it last.
        let date = StructLayout::new(Placement::Auto, &[bytes(8)]).unwrap().whole;
        assert!(date.is_auto && !date.has_references);
        assert_eq!(laid_out(Placement::Sequential, &[date, bytes(1)]), None);
        let flagged = StructLayout::new(Placement::Sequential, &[bytes(1), date]).unwrap();
        assert_eq!((flagged.offsets, flagged.whole.size, flagged.whole.is_auto), (vec![0, 8], 16, true));
    }

    #[test]
    fn a_field_fills_its_room() {
        let pair = StructLayout::new(Placement::Auto, &[bytes(4), FieldLayout::reference()]).unwrap().whole;
        let room = |offset, end| Room::between(offset, [0, 8, 24, 40].into_iter(), end);
        assert!(room(8, 48).is_filled_by(pair));
        assert!(room(40, 56).is_filled_by(pair) && room(40, 63).is_filled_by(pair));
        for (offset, end) in [(0, 48), (40, 48), (40, 64), (12, 48), (60, 48)] {
            assert!(!room(offset, end).is_filled_by(pair), "{offset} {end}");
        }
    }

    #[test]
    fn refuses_what_no_struct_has() {
        let odd = FieldLayout { alignment: 3, ..bytes(4) };
        let wide = FieldLayout { alignment: 16, ..bytes(16) };
        let none = FieldLayout { alignment: 0, ..bytes(0) };
        for field in [odd, wide, none, bytes(usize::MAX), bytes(u32::MAX as usize)] {
            assert_eq!(StructLayout::new(Placement::Sequential, &[bytes(4), field]), None, "{field:?}");
            assert_eq!(StructLayout::new(Placement::Auto, &[field]), None, "{field:?}");
        }
        assert_eq!(StructLayout::new(Placement::Sequential, &[bytes(8); 33]), None);
    }
}
