//! Structs as metadata defines them (ECMA-335 II.10.1.2, II.22.8).

use super::bindings::COR_FIELD_OFFSET;
use super::hresult::CLDB_E_RECORD_NOTFOUND;
use super::members::Member;
use super::metadata::Import;
use windows_core::w;

/// Full name of the base class of structs.
const BASE: &str = "System.ValueType";
/// `tdLayoutMask` with `tdSequentialLayout`; automatic placement is 0 (`CorTypeAttr`).
const LAYOUT_MASK: u32 = 0x18;
const SEQUENTIAL: u32 = 0x08;

/// A struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructDefinition {
    /// Whether its fields keep their order; otherwise the CLR places them as it likes.
    pub is_sequential: bool,
    /// Its instance fields in order of declaration.
    pub fields: Vec<Member>,
}

impl Import<'_> {
    /// Returns the struct that a TypeDef defines. None if it is another type, has more than `most` fields, or asks for
    /// offsets, a size, a packing, or repetition of its field.
    pub fn struct_definition(&self, type_def: u32, most: usize) -> Option<StructDefinition> {
        if self.base_class_name(type_def).as_deref() != Some(BASE) {
            return None;
        }
        let layout = self.type_attributes(type_def)? & LAYOUT_MASK;
        let repeats =
            self.has_attribute(type_def, w!("System.Runtime.CompilerServices.InlineArrayAttribute"));
        if !matches!(layout, 0 | SEQUENTIAL) || repeats || self.has_layout_row(type_def)? {
            return None;
        }
        let mut fields = Vec::new();
        for row in self.field_rows(type_def) {
            let row = row.ok()?;
            if !row.is_static {
                fields.push(row.member);
            }
            if fields.len() > most {
                return None;
            }
        }
        Some(StructDefinition { is_sequential: layout == SEQUENTIAL, fields })
    }

    fn type_attributes(&self, type_def: u32) -> Option<u32> {
        self.check_loaded("GetTypeDefProps").ok()?;
        let (mut attributes, mut extends, mut written) = (0u32, 0u32, 0u32);
        // SAFETY: a null name buffer of length 0 is allowed; out pointers are live locals.
        let hresult = unsafe {
            self.import.GetTypeDefProps(type_def, None, 0, &mut written, &mut attributes, &mut extends)
        };
        hresult.is_ok().then_some(attributes)
    }

    /// Whether a type has a ClassLayout row that asks for a packing or a size; None if that cannot be read.
    fn has_layout_row(&self, type_def: u32) -> Option<bool> {
        self.check_loaded("GetClassLayout").ok()?;
        let (mut packing, mut count, mut size) = (0u32, 0u32, 0u32);
        let mut offset = COR_FIELD_OFFSET::default();
        // SAFETY: the capacity for offsets is 0; out pointers are live locals.
        let hresult = unsafe {
            self.import.GetClassLayout(type_def, &mut packing, &mut offset, 0, &mut count, &mut size)
        };
        if hresult == CLDB_E_RECORD_NOTFOUND {
            return Some(false);
        }
        hresult.is_ok().then_some(packing != 0 || size != 0)
    }
}
