//! `IMetaDataImport2`: custom attributes (ECMA-335 II.22.10).

use super::metadata::Import;
use crate::signature::first_string;
use std::collections::HashMap;
use std::ffi::c_void;
use windows_core::{HRESULT, PCWSTR, w};

/// The one row of the Assembly table.
const ASSEMBLY: u32 = 0x2000_0001;
/// Table numbers (ECMA-335 II.22).
const TYPE_DEF: u32 = 0x02;
const METHOD_DEF: u32 = 0x06;
const MEMBER_REF: u32 = 0x0A;
const TYPE_REF: u32 = 0x01;

/// What compilers make of a method so that it can wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// An async method: a state machine whose `MoveNext` does its work.
    Async,
    /// An async iterator.
    Iterator,
}

impl Waits {
    /// By the full name of the attribute that the compiler puts on the method.
    fn by_attribute(name: &str) -> Option<Waits> {
        match name {
            "System.Runtime.CompilerServices.AsyncStateMachineAttribute" => Some(Waits::Async),
            "System.Runtime.CompilerServices.AsyncIteratorStateMachineAttribute" => Some(Waits::Iterator),
            _ => None,
        }
    }
}

impl Import {
    /// MethodDef tokens of the module's async methods, and the names of their state machines' types as the compiler wrote them
    /// (as `Type.FullName` has them).
    pub fn state_machines(&self) -> Vec<(u32, Waits, String)> {
        let all = self.tokens(|handle, out, max, count| {
            // SAFETY: as in `type_defs`.
            unsafe { self.import.EnumCustomAttributes(handle, 0, 0, out, max, count) }
        });
        let mut known: HashMap<u32, Option<Waits>> = HashMap::new();
        let of_one = |attribute| {
            let (owner, constructor, start, size) = self.attribute_row(attribute)?;
            if owner >> 24 != METHOD_DEF {
                return None;
            }
            let waits = *known.entry(constructor).or_insert_with(|| self.waits_by(constructor));
            // SAFETY: the address and the size are the CLR's, of this module.
            let value = waits.map(|_| unsafe { super::blob(start, size) })?;
            Some((owner, waits?, first_string(&value)?))
        };
        all.into_iter().filter_map(of_one).collect()
    }

    fn waits_by(&self, constructor: u32) -> Option<Waits> {
        let of = match constructor >> 24 {
            MEMBER_REF => self.member_ref(constructor).ok()?.parent,
            METHOD_DEF => self.method(constructor).ok()?.type_def,
            _ => return None,
        };
        let name = match of >> 24 {
            TYPE_REF => self.type_ref(of).ok()?.1,
            TYPE_DEF => self.type_def_name(of).ok()?,
            _ => return None,
        };
        Waits::by_attribute(&name)
    }

    /// TypeDef and MethodDef tokens, ascending, of the core library's types and methods whose calls may not be calls: the
    /// JIT may put in code of its own (`[Intrinsic]`, also of a type), or precompiled code of other modules holds its body
    /// and nobody tells (`[NonVersionable]`).
    pub fn expanded(&self) -> Box<[u32]> {
        let intrinsic = self.constructors_of("System.Runtime.CompilerServices.IntrinsicAttribute");
        let fixed = self.constructors_of("System.Runtime.Versioning.NonVersionableAttribute");
        // Asked for those of one constructor, and of any owner, the runtime tells of all as well.
        let all = self.tokens(|handle, out, max, count| {
            // SAFETY: as in `type_defs`.
            unsafe { self.import.EnumCustomAttributes(handle, 0, 0, out, max, count) }
        });
        let mut expanded: Vec<u32> = all
            .into_iter()
            .filter_map(|attribute| self.owner_and_constructor(attribute))
            .filter(|(owner, constructor)| match owner >> 24 {
                METHOD_DEF => intrinsic.contains(constructor) || fixed.contains(constructor),
                TYPE_DEF => intrinsic.contains(constructor),
                _ => false,
            })
            .map(|(owner, _)| owner)
            .collect();
        expanded.sort_unstable();
        expanded.dedup();
        expanded.into_boxed_slice()
    }

    /// MethodDef tokens by which attributes of a type that the module defines itself are known.
    fn constructors_of(&self, attribute: &str) -> Vec<u32> {
        self.find_type_def(attribute).map(|attribute| self.methods_of(attribute)).unwrap_or_default()
    }

    fn owner_and_constructor(&self, attribute: u32) -> Option<(u32, u32)> {
        self.attribute_row(attribute).map(|(owner, constructor, ..)| (owner, constructor))
    }

    /// Owner, constructor, and where the value lies in the metadata and its size.
    fn attribute_row(&self, attribute: u32) -> Option<(u32, u32, *const u8, u32)> {
        let (mut owner, mut constructor, mut size) = (0u32, 0u32, 0u32);
        let mut value: *const c_void = std::ptr::null();
        // SAFETY: out pointers are live locals; the value's is written to, though the binding has it const.
        let hresult = unsafe {
            self.import.GetCustomAttributeProps(
                attribute,
                &mut owner,
                &mut constructor,
                (&raw mut value).cast_const(),
                &mut size,
            )
        };
        hresult.is_ok().then_some((owner, constructor, value.cast(), size))
    }

    /// The value of the assembly's `DebuggableAttribute` (ECMA-335 II.23.3); None where it has none.
    pub fn debuggable(&self) -> Option<Vec<u8>> {
        let (start, size) = self.attribute(ASSEMBLY, w!("System.Diagnostics.DebuggableAttribute"))?;
        // SAFETY: the address and the size are the CLR's, of this module.
        Some(unsafe { super::blob(start, size) })
    }

    pub(super) fn has_attribute(&self, token: u32, name: PCWSTR) -> bool {
        self.attribute(token, name).is_some()
    }

    /// Where the value of an attribute of a type of that full name lies in the metadata, and its size; None where there is
    /// none. The name is a literal (`w!`): it ends in a zero.
    fn attribute(&self, token: u32, name: PCWSTR) -> Option<(*const u8, u32)> {
        let (mut data, mut length): (*const c_void, u32) = (std::ptr::null(), 0);
        // SAFETY: the name ends in a zero; out pointers are live locals; the value's is written to, though the binding has
        // it const.
        let hresult = unsafe {
            self.import.GetCustomAttributeByName(token, name, (&raw mut data).cast_const(), &mut length)
        };
        // S_FALSE: it has none.
        (hresult == HRESULT(0)).then_some((data.cast(), length))
    }
}
