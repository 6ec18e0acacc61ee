//! Base classes, interfaces and explicit implementations of types, through `IMetaDataImport2` (ECMA-335 II.22.23,
//! II.22.27, II.22.37).

use super::metadata::{Import, MethodDef};

/// Row number within a token.
const ROW: u32 = 0x00FF_FFFF;
/// Most explicit implementations of a type that are read: more than the largest real types have.
const MAX_METHOD_IMPLS: usize = 16_384;
/// Explicit implementations fetched at a time.
const BATCH: usize = 64;

/// What the row of a TypeDef says besides its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeShape {
    /// TypeDef, TypeRef or TypeSpec token of its base class, if it has one.
    pub base: Option<u32>,
    /// Whether it is an interface.
    pub is_interface: bool,
}

impl Import<'_> {
    /// Returns the base class of a type, and whether it is an interface.
    pub fn type_shape(&self, type_def: u32) -> TypeShape {
        /// `tdInterface` (ECMA-335 II.23.1.15).
        const INTERFACE: u32 = 0x20;
        if self.check_loaded("GetTypeDefProps").is_err() {
            return TypeShape::default();
        }
        let (mut flags, mut extends, mut written) = (0u32, 0u32, 0u32);
        // SAFETY: a null name buffer of length 0 is allowed; out pointers are live locals.
        let hresult =
            unsafe { self.import.GetTypeDefProps(type_def, None, 0, &mut written, &mut flags, &mut extends) };
        if hresult.is_err() {
            return TypeShape::default();
        }
        TypeShape { base: Some(extends).filter(|base| base & ROW != 0), is_interface: flags & INTERFACE != 0 }
    }

    /// Returns the TypeDef, TypeRef or TypeSpec tokens of the interfaces that a type lists.
    pub fn interfaces(&self, type_def: u32) -> Vec<u32> {
        let rows = self.tokens(|handle, out, max, count| {
            // SAFETY: as in `type_defs`.
            unsafe { self.import.EnumInterfaceImpls(handle, type_def, out, max, count) }
        });
        rows.into_iter().filter_map(|row| self.interface(row)).collect()
    }

    fn interface(&self, row: u32) -> Option<u32> {
        let (mut class, mut interface) = (0u32, 0u32);
        // SAFETY: out pointers are live locals.
        let hresult = unsafe { self.import.GetInterfaceImplProps(row, &mut class, &mut interface) };
        (hresult.is_ok() && interface & ROW != 0).then_some(interface)
    }

    /// Returns the explicit implementations of a type: the MethodDef or MemberRef tokens of body and declaration.
    pub fn method_impls(&self, type_def: u32) -> Vec<(u32, u32)> {
        let mut all = Vec::new();
        let (mut bodies, mut declarations) = ([0u32; BATCH], [0u32; BATCH]);
        let mut handle = std::ptr::null_mut();
        while !self.module().is_gone() && all.len() < MAX_METHOD_IMPLS {
            let mut count = 0u32;
            // SAFETY: the handle is ours until CloseEnum; both buffers have room for `BATCH` tokens.
            let hresult = unsafe {
                self.import.EnumMethodImpls(
                    &mut handle,
                    type_def,
                    bodies.as_mut_ptr(),
                    declarations.as_mut_ptr(),
                    BATCH as u32,
                    &mut count,
                )
            };
            let got = bodies.iter().copied().zip(declarations).take(count as usize);
            all.extend(got);
            if hresult.is_err() || count == 0 {
                break;
            }
        }
        if !handle.is_null() {
            // SAFETY: the handle came from the enumeration above and is closed once.
            unsafe { self.import.CloseEnum(handle) };
        }
        all
    }
}

/// How a method takes part in virtual calls (`CorMethodAttr`, ECMA-335 II.23.1.10).
impl MethodDef {
    /// Whether a derived class may override it, or it implements a member of an interface by its name.
    pub fn is_virtual(&self) -> bool {
        const STATIC: u32 = 0x0010;
        const VIRTUAL: u32 = 0x0040;
        self.attributes & (STATIC | VIRTUAL) == VIRTUAL
    }

    /// Whether it overrides no method of a base class, even one with its name.
    pub fn is_new(&self) -> bool {
        const NEW_SLOT: u32 = 0x0100;
        self.attributes & NEW_SLOT != 0
    }

    /// Whether it has no body because derived classes have one.
    pub fn is_abstract(&self) -> bool {
        const ABSTRACT: u32 = 0x0400;
        self.attributes & ABSTRACT != 0
    }

    /// Whether everybody may call it.
    pub fn is_public(&self) -> bool {
        const ACCESS: u32 = 0x0007;
        const PUBLIC: u32 = 0x0006;
        self.attributes & ACCESS == PUBLIC
    }
}
