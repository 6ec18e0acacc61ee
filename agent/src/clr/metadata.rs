//! Reads the types, methods and names of one module, through `IMetaDataImport2`.
//!
//! Reuses its buffers for enumerations and names, since a catalogue reads a hundred thousand of them.

use super::bindings::{IMetaDataImport2, IMetaDataTables};
use super::buffers::{text, wide};
use super::hresult::{ClrError, E_FAIL, check};
use super::loaded_module::LoadedModule;
use crate::signature::Passing;
use std::cell::RefCell;
use windows_core::{GUID, HRESULT, Interface, PCWSTR, PWSTR, w};

/// Longest type or method name we read, UTF-16 units (ECMA-335 caps them at 1,023 UTF-8 bytes in practice).
const NAME_UNITS: usize = 2048;
/// Tokens fetched at a time.
const BATCH: usize = 512;

/// Read access to a module's metadata, while it is loaded. Once the module begins to unload, lists end and names
/// cannot be read, so that every reader leaves at once, and what it has read may be incomplete.
pub struct Import<'m> {
    module: &'m LoadedModule<'m>,
    pub(super) import: IMetaDataImport2,
    pub(super) buffer: RefCell<Vec<u16>>,
}

/// `<Module>`, the type of global functions; `EnumTypeDefs` omits it.
pub const GLOBAL_TYPE: u32 = 0x0200_0001;

/// A MethodDef row. The signature points into the module's metadata.
#[derive(Clone, Debug)]
pub struct MethodDef {
    /// TypeDef token of its type; `<Module>` for a global function.
    pub type_def: u32,
    /// Metadata name.
    pub name: String,
    /// `CorMethodAttr`.
    pub attributes: u32,
    /// `CorMethodImpl`.
    pub impl_flags: u32,
    /// Relative virtual address of the body; 0: none.
    pub rva: u32,
    /// The signature blob (ECMA-335 II.23.2.1).
    pub signature: Vec<u8>,
}

/// Table numbers (ECMA-335 II.22).
const TYPE_REF: u32 = 0x01;
const STAND_ALONE_SIG: u32 = 0x11;
/// Bytes of these tables' rows once all columns that refer to a heap or a table have four bytes.
const WIDE_ROWS: [(u32, u32); 2] = [(TYPE_REF, 12), (STAND_ALONE_SIG, 4)];

impl<'m> Import<'m> {
    pub(super) fn new(module: &'m LoadedModule<'m>, import: IMetaDataImport2) -> Import<'m> {
        Import { module, import, buffer: RefCell::new(vec![0; NAME_UNITS]) }
    }

    /// Its module.
    pub fn module(&self) -> &'m LoadedModule<'m> {
        self.module
    }

    /// Fails once the module begins to unload. Every look-up that readers repeat asks this first.
    pub(super) fn check_loaded(&self, call: &'static str) -> Result<(), ClrError> {
        if self.module.is_gone() { Err(ClrError { call, hresult: E_FAIL }) } else { Ok(()) }
    }
}

impl Import<'_> {
    /// Returns the module version id (MVID).
    pub fn mvid(&self) -> Result<GUID, ClrError> {
        let mut mvid = GUID::zeroed();
        let mut written = 0u32;
        // SAFETY: a null name buffer of length 0 is allowed; out pointers are live locals.
        check("GetScopeProps", unsafe { self.import.GetScopeProps(None, 0, &mut written, &mut mvid) })?;
        Ok(mvid)
    }

    /// Returns whether the columns that refer to heaps and tables have four bytes, through `IMetaDataTables`.
    pub fn has_wide_tables(&self) -> Result<bool, ClrError> {
        let tables: IMetaDataTables =
            self.import.cast().map_err(|e| ClrError { call: "IMetaDataTables", hresult: e.code() })?;
        let row_bytes = |table| {
            let (mut row_bytes, mut rows, mut columns, mut key) = (0, 0, 0, 0);
            let mut name: *const i8 = std::ptr::null();
            // SAFETY: out pointers are live locals; the call writes to the name's pointer, although the binding
            // declares it const.
            let hresult = unsafe {
                tables.GetTableInfo(table, &mut row_bytes, &mut rows, &mut columns, &mut key, &raw mut name)
            };
            check("GetTableInfo", hresult).map(|()| row_bytes)
        };
        for (table, wide) in WIDE_ROWS {
            if row_bytes(table)? != wide {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns every TypeDef token except `<Module>`.
    pub fn type_defs(&self) -> Vec<u32> {
        self.tokens(|handle, out, max, count| {
            // SAFETY: the handle is ours until CloseEnum; `out` has room for `max` tokens.
            unsafe { self.import.EnumTypeDefs(handle, out, max, count) }
        })
    }

    /// Returns the MethodDef tokens of a type (`0x02000001` is `<Module>`, which holds global functions).
    pub fn methods_of(&self, type_def: u32) -> Vec<u32> {
        self.tokens(|handle, out, max, count| {
            // SAFETY: as in `type_defs`.
            unsafe { self.import.EnumMethods(handle, type_def, out, max, count) }
        })
    }

    /// Returns the TypeRef tokens.
    pub fn type_refs(&self) -> Vec<u32> {
        self.tokens(|handle, out, max, count| {
            // SAFETY: as in `type_defs`.
            unsafe { self.import.EnumTypeRefs(handle, out, max, count) }
        })
    }

    pub(super) fn tokens(
        &self,
        next: impl Fn(*mut *mut core::ffi::c_void, *mut u32, u32, *mut u32) -> HRESULT,
    ) -> Vec<u32> {
        let mut all = Vec::new();
        let mut batch = [0u32; BATCH];
        let mut handle = std::ptr::null_mut();
        while !self.module.is_gone() {
            let mut count = 0u32;
            let hresult = next(&mut handle, batch.as_mut_ptr(), BATCH as u32, &mut count);
            let got = batch.get(..count as usize).unwrap_or(&[]);
            all.extend_from_slice(got);
            if hresult.is_err() || got.is_empty() {
                break;
            }
        }
        if !handle.is_null() {
            // SAFETY: the handle came from the enumeration above and is closed once.
            unsafe { self.import.CloseEnum(handle) };
        }
        all
    }

    /// Returns the name that a metadata call writes. `read` makes the call: it gets a buffer, the buffer's length
    /// in UTF-16 units, and the place for the name's length. `call` names the call in errors.
    pub(super) fn name(
        &self,
        call: &'static str,
        read: impl FnOnce(Option<PWSTR>, u32, *mut u32) -> HRESULT,
    ) -> Result<String, ClrError> {
        self.check_loaded(call)?;
        let mut buffer = self.buffer.borrow_mut();
        let mut written = 0u32;
        let name = PWSTR(buffer.as_mut_ptr());
        check(call, read(Some(name), buffer.len() as u32, &mut written))?;
        Ok(text(&buffer, written))
    }

    /// Returns a TypeDef's name with its namespace, without the enclosing type.
    pub fn type_def_name(&self, token: u32) -> Result<String, ClrError> {
        let (mut flags, mut extends) = (0u32, 0u32);
        self.name("GetTypeDefProps", |name, units, written| {
            // SAFETY: the name's buffer has the length given (`name`); out pointers are live locals.
            unsafe { self.import.GetTypeDefProps(token, name, units, written, &mut flags, &mut extends) }
        })
    }

    /// Returns the type that encloses a nested TypeDef; None for a top-level one.
    pub fn enclosing(&self, token: u32) -> Option<u32> {
        let mut enclosing = 0u32;
        // SAFETY: the out pointer is a live local.
        let hresult = unsafe { self.import.GetNestedClassProps(token, &mut enclosing) };
        (hresult.is_ok() && enclosing & 0x00FF_FFFF != 0).then_some(enclosing)
    }

    /// Returns the full name of the class that a TypeDef extends, unless it is generic.
    pub fn base_class_name(&self, type_def: u32) -> Option<String> {
        let (mut flags, mut extends, mut written) = (0u32, 0u32, 0u32);
        // SAFETY: a null name buffer of length 0 is allowed; out pointers are live locals.
        let hresult =
            unsafe { self.import.GetTypeDefProps(type_def, None, 0, &mut written, &mut flags, &mut extends) };
        if hresult.is_err() {
            return None;
        }
        match extends >> 24 {
            0x01 => self.type_ref(extends).ok().map(|(_, name)| name),
            0x02 if extends & 0x00FF_FFFF != 0 => self.type_def_name(extends).ok(),
            _ => None,
        }
    }

    /// Whether a TypeDef defines a value type (ECMA-335 II.13).
    pub fn is_value_type(&self, type_def: u32) -> bool {
        matches!(self.base_class_name(type_def).as_deref(), Some("System.ValueType" | "System.Enum"))
    }

    /// Returns a TypeRef's resolution scope and name.
    pub fn type_ref(&self, token: u32) -> Result<(u32, String), ClrError> {
        let mut scope = 0u32;
        let name = self.name("GetTypeRefProps", |name, units, written| {
            // SAFETY: as in `type_def_name`.
            unsafe { self.import.GetTypeRefProps(token, &mut scope, name, units, written) }
        })?;
        Ok((scope, name))
    }

    /// `GetSigFromToken`: returns a copy of a StandAloneSig's blob.
    pub fn stand_alone_sig(&self, token: u32) -> Result<Vec<u8>, ClrError> {
        self.check_loaded("GetSigFromToken")?;
        let (mut blob, mut size) = (std::ptr::null_mut(), 0u32);
        // SAFETY: out pointers are live locals.
        check("GetSigFromToken", unsafe { self.import.GetSigFromToken(token, &mut blob, &mut size) })?;
        // SAFETY: the call above returned both.
        Ok(unsafe { super::buffers::blob(blob, size) })
    }

    /// Reads a MethodDef row.
    pub fn method(&self, token: u32) -> Result<MethodDef, ClrError> {
        let (mut class, mut attributes, mut rva, mut impl_flags, mut size) = (0, 0, 0, 0, 0u32);
        let mut blob = std::ptr::null_mut();
        let name = self.name("GetMethodProps", |name, units, written| {
            // SAFETY: as in `type_def_name` (a null length with a non-null buffer coincided with crashes on 8 and 9).
            unsafe {
                self.import.GetMethodProps(
                    token,
                    &mut class,
                    name,
                    units,
                    written,
                    &mut attributes,
                    &mut blob,
                    &mut size,
                    &mut rva,
                    &mut impl_flags,
                )
            }
        })?;
        // SAFETY: the call above returned both.
        let signature = unsafe { super::buffers::blob(blob, size) };
        // The nil token stands for `<Module>`, the first type.
        let type_def = if class & 0x00FF_FFFF == 0 { 0x0200_0001 } else { class };
        Ok(MethodDef { type_def, name, attributes, impl_flags, rva, signature })
    }

    /// Returns how the method passes its by-reference parameters, by parameter number from 1, unordered. Omits
    /// parameters without a row of their own.
    pub fn passing(&self, method: u32) -> Vec<(u32, Passing)> {
        let tokens = self.tokens(|handle, out, max, count| {
            // SAFETY: as in `type_defs`.
            unsafe { self.import.EnumParams(handle, method, out, max, count) }
        });
        tokens.into_iter().filter_map(|token| self.parameter(token)).collect()
    }

    /// Returns the names of a method's parameters, by parameter number from 1, unordered. Omits parameters without a
    /// row of their own.
    pub fn parameter_names(&self, method: u32) -> Vec<(u32, String)> {
        let tokens = self.tokens(|handle, out, max, count| {
            // SAFETY: as in `type_defs`.
            unsafe { self.import.EnumParams(handle, method, out, max, count) }
        });
        tokens.into_iter().filter_map(|token| self.parameter_name(token)).collect()
    }

    fn parameter_name(&self, token: u32) -> Option<(u32, String)> {
        let mut number = 0;
        let nothing = std::ptr::null_mut();
        let name = self.name("GetParamProps", |name, units, written| {
            // SAFETY: the name's buffer has the length given (`name`); out pointers are live locals or null, which the
            // API allows.
            unsafe {
                self.import.GetParamProps(
                    token,
                    std::ptr::null_mut(),
                    &mut number,
                    name,
                    units,
                    written,
                    std::ptr::null_mut(),
                    std::ptr::null_mut(),
                    nothing,
                    std::ptr::null_mut(),
                )
            }
        });
        name.ok().map(|name| (number, name))
    }

    fn parameter(&self, token: u32) -> Option<(u32, Passing)> {
        let (mut number, mut flags) = (0, 0);
        // The call needs neither the parameter's method nor its name nor its default value.
        let nothing = std::ptr::null_mut();
        // SAFETY: the name's buffer is null with a length of 0; out pointers are live locals or null, which the API
        // allows.
        let hresult = unsafe {
            self.import.GetParamProps(
                token,
                std::ptr::null_mut(),
                &mut number,
                None,
                0,
                std::ptr::null_mut(),
                &mut flags,
                std::ptr::null_mut(),
                nothing,
                std::ptr::null_mut(),
            )
        };
        let passing = || match Passing::of_flags(flags) {
            Passing::In => self.classify_in_parameter(token),
            other => other,
        };
        hresult.is_ok().then(|| (number, passing()))
    }

    /// Classifies a parameter that has only `pdIn`: the C# compiler marks `in` and `ref readonly` with an attribute
    /// each; without either it is `[In] ref`.
    fn classify_in_parameter(&self, parameter: u32) -> Passing {
        let has = |attribute| self.has_attribute(parameter, attribute);
        if has(w!("System.Runtime.CompilerServices.IsReadOnlyAttribute")) {
            Passing::In
        } else if has(w!("System.Runtime.CompilerServices.RequiresLocationAttribute")) {
            Passing::RefReadonly
        } else {
            Passing::Ref
        }
    }

    /// Returns the names of the generic parameters of a type or method, in order.
    pub fn generic_parameters(&self, owner: u32) -> Vec<String> {
        let tokens = self.tokens(|handle, out, max, count| {
            // SAFETY: as in `type_defs`.
            unsafe { self.import.EnumGenericParams(handle, owner, out, max, count) }
        });
        let mut names: Vec<(u32, String)> =
            tokens.into_iter().filter_map(|t| self.generic_parameter(t)).collect();
        names.sort_by_key(|(sequence, _)| *sequence);
        names.into_iter().map(|(_, name)| name).collect()
    }

    fn generic_parameter(&self, token: u32) -> Option<(u32, String)> {
        let (mut sequence, mut flags, mut owner, mut reserved) = (0, 0, 0, 0);
        let name = self.name("GetGenericParamProps", |name, units, written| {
            // SAFETY: as in `type_def_name`.
            unsafe {
                self.import.GetGenericParamProps(
                    token,
                    &mut sequence,
                    &mut flags,
                    &mut owner,
                    &mut reserved,
                    name,
                    units,
                    written,
                )
            }
        });
        Some((sequence, name.ok()?))
    }

    /// Finds the TypeDef with this full name, if the module defines it.
    pub fn find_type_def(&self, name: &str) -> Option<u32> {
        self.find_nested_type_def(name, 0)
    }

    /// As [`Import::find_type_def`], for a type nested in a TypeDef; 0 for none.
    pub fn find_nested_type_def(&self, name: &str, enclosing: u32) -> Option<u32> {
        let name = wide(name);
        let mut token = 0u32;
        // SAFETY: the name is NUL-terminated and outlives the call.
        let hresult = unsafe { self.import.FindTypeDefByName(PCWSTR(name.as_ptr()), enclosing, &mut token) };
        hresult.is_ok().then_some(token)
    }
}
