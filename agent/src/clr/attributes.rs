//! Custom attributes, through `IMetaDataImport2` (ECMA-335 II.22.10).

use super::metadata::Import;
use crate::signature::first_string;
use std::collections::HashMap;
use std::ffi::c_void;
use windows_core::{HRESULT, PCWSTR, w};

/// The only row of the Assembly table.
const ASSEMBLY: u32 = 0x2000_0001;
/// Table numbers (ECMA-335 II.22).
const TYPE_DEF: u32 = 0x02;
const METHOD_DEF: u32 = 0x06;
const MEMBER_REF: u32 = 0x0A;
const TYPE_REF: u32 = 0x01;

/// How a method suspends, according to its compiler-generated state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsyncKind {
    /// An async method: the `MoveNext` of its state machine does its work.
    Async,
    /// An async iterator.
    Iterator,
}

impl AsyncKind {
    /// Maps the full name of the attribute that the compiler puts on the method.
    fn by_attribute(name: &str) -> Option<AsyncKind> {
        match name {
            "System.Runtime.CompilerServices.AsyncStateMachineAttribute" => Some(AsyncKind::Async),
            "System.Runtime.CompilerServices.AsyncIteratorStateMachineAttribute" => Some(AsyncKind::Iterator),
            _ => None,
        }
    }
}

impl Import<'_> {
    /// Returns the MethodDef tokens of the module's async methods, with the names of their state machine types as
    /// the compiler wrote them (in the form of `Type.FullName`).
    pub fn state_machines(&self) -> Vec<(u32, AsyncKind, String)> {
        let all = self.all_attributes();
        let mut known: HashMap<u32, Option<AsyncKind>> = HashMap::new();
        let of_one = |attribute| {
            let (owner, constructor, start, size) = self.attribute_row(attribute)?;
            if owner >> 24 != METHOD_DEF {
                return None;
            }
            let kind = *known.entry(constructor).or_insert_with(|| self.kind_by_constructor(constructor));
            // SAFETY: the CLR returned the address and the size, for this module.
            let value = kind.map(|_| unsafe { super::buffers::blob(start, size) })?;
            Some((owner, kind?, first_string(&value)?))
        };
        all.into_iter().filter_map(of_one).collect()
    }

    fn kind_by_constructor(&self, constructor: u32) -> Option<AsyncKind> {
        let of = self.type_of_constructor(constructor)?;
        let name = match of >> 24 {
            TYPE_REF => self.type_ref(of).ok()?.1,
            TYPE_DEF => self.type_def_name(of).ok()?,
            _ => return None,
        };
        AsyncKind::by_attribute(&name)
    }

    /// Returns the TypeDef and MethodDef tokens, in ascending order, of the core library's types and methods whose
    /// calls may not be calls. The JIT may replace `[Intrinsic]` methods, and all methods of `[Intrinsic]` types,
    /// by code of its own. Precompiled code of other modules may contain `[NonVersionable]` bodies without the
    /// runtime reporting it.
    pub fn expanded(&self) -> Box<[u32]> {
        let intrinsic = self.constructors_of("System.Runtime.CompilerServices.IntrinsicAttribute");
        let fixed = self.constructors_of("System.Runtime.Versioning.NonVersionableAttribute");
        // Asked for one constructor and any owner, the runtime returns all attributes, so filter here.
        let all = self.all_attributes();
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

    /// Calls `visit` for each attribute of a type or method, with the TypeDef or MethodDef token of its owner and the
    /// MethodDef or MemberRef token of its constructor.
    pub fn each_attribute(&self, mut visit: impl FnMut(u32, u32)) {
        for attribute in self.all_attributes() {
            if let Some((owner, constructor)) = self.owner_and_constructor(attribute)
                && matches!(owner >> 24, TYPE_DEF | METHOD_DEF)
            {
                visit(owner, constructor);
            }
        }
    }

    /// Returns the TypeDef, TypeRef or TypeSpec token of the type that a constructor belongs to.
    pub fn type_of_constructor(&self, constructor: u32) -> Option<u32> {
        match constructor >> 24 {
            MEMBER_REF => Some(self.member_ref(constructor).ok()?.parent),
            METHOD_DEF => Some(self.method(constructor).ok()?.type_def),
            _ => None,
        }
    }

    /// Returns all attributes of the module, of whatever.
    fn all_attributes(&self) -> Vec<u32> {
        self.tokens(|handle, out, max, count| {
            // SAFETY: as in `type_defs`.
            unsafe { self.import.EnumCustomAttributes(handle, 0, 0, out, max, count) }
        })
    }

    /// Returns the constructors of an attribute type that this module defines.
    fn constructors_of(&self, attribute: &str) -> Vec<u32> {
        self.find_type_def(attribute).map(|attribute| self.methods_of(attribute)).unwrap_or_default()
    }

    fn owner_and_constructor(&self, attribute: u32) -> Option<(u32, u32)> {
        self.attribute_row(attribute).map(|(owner, constructor, ..)| (owner, constructor))
    }

    /// Returns the owner, the constructor, and the address and size of the value in the metadata.
    fn attribute_row(&self, attribute: u32) -> Option<(u32, u32, *const u8, u32)> {
        self.check_loaded("GetCustomAttributeProps").ok()?;
        let (mut owner, mut constructor, mut size) = (0u32, 0u32, 0u32);
        let mut value: *const c_void = std::ptr::null();
        // SAFETY: out pointers are live locals; the call writes to the value's pointer, although the binding
        // declares it const.
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

    /// Returns the value of the assembly's `DebuggableAttribute` (ECMA-335 II.23.3), if it has one.
    pub fn debuggable(&self) -> Option<Vec<u8>> {
        let (start, size) = self.attribute(ASSEMBLY, w!("System.Diagnostics.DebuggableAttribute"))?;
        // SAFETY: the CLR returned the address and the size, for this module.
        Some(unsafe { super::buffers::blob(start, size) })
    }

    pub(super) fn has_attribute(&self, token: u32, name: PCWSTR) -> bool {
        self.attribute(token, name).is_some()
    }

    /// Returns the address and size of the value of the attribute with this full type name, if there is one. The
    /// name must be a literal (`w!`), so that it ends in a zero.
    fn attribute(&self, token: u32, name: PCWSTR) -> Option<(*const u8, u32)> {
        let (mut data, mut length): (*const c_void, u32) = (std::ptr::null(), 0);
        // SAFETY: the name ends in a zero; out pointers are live locals; the call writes to the value's pointer,
        // although the binding declares it const.
        let hresult = unsafe {
            self.import.GetCustomAttributeByName(token, name, (&raw mut data).cast_const(), &mut length)
        };
        // S_FALSE: the token has no such attribute.
        (hresult == HRESULT(0)).then_some((data.cast(), length))
    }
}
