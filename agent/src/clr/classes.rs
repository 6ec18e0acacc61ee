//! Classes, as the CLR has them in memory: ClassIDs with their layouts.
//!
//! A ClassID is an address inside the CLR. Every method here needs one whose class stays loaded during the call, and is
//! called on threads that run no managed code: the CLR allows that for what is loaded already.

use super::ProfilerInfo;
use super::bindings::COR_FIELD_OFFSET;
use super::hresult::{ClrError, check};
use super::loaded_module::LoadedModule;

/// Type arguments and fields that are read of one class.
const MAX_ARGUMENTS: usize = 32;
const MAX_FIELDS: usize = 512;

/// What the CLR says about a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassInfo {
    /// ModuleID of its definition.
    pub module: usize,
    /// TypeDef token.
    pub token: u32,
    /// ClassID of its base class; 0 for none.
    pub parent: usize,
    /// ClassIDs of its type arguments.
    pub arguments: Vec<usize>,
}

/// Offsets of a class's own instance fields, and bytes of an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassLayout {
    /// FieldDef tokens with their offsets: in a class from the beginning of the object, in a value type from that of
    /// the value.
    pub fields: Vec<(u32, u32)>,
    /// Bytes of a value of a value type.
    pub size: u32,
}

/// Type of an array's items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayClass {
    /// `CorElementType`.
    pub element_type: u8,
    /// ClassID of an item; 0 if the CLR does not say.
    pub element: usize,
    /// Number of dimensions.
    pub rank: u32,
}

impl ProfilerInfo {
    /// `GetClassIDInfo2`.
    ///
    /// # Errors
    /// For arrays, and if the runtime refuses.
    pub fn class_info(&self, class: usize) -> Result<ClassInfo, ClrError> {
        let (mut module, mut token, mut parent, mut count) = (0usize, 0u32, 0usize, 0u32);
        let mut arguments = [0usize; MAX_ARGUMENTS];
        // SAFETY: the array has room for as many arguments as the call may write; out pointers are live locals. The
        // class stays loaded (module's contract).
        check("GetClassIDInfo2", unsafe {
            self.rejit.GetClassIDInfo2(
                class,
                &mut module,
                &mut token,
                &mut parent,
                MAX_ARGUMENTS as u32,
                &mut count,
                arguments.as_mut_ptr(),
            )
        })?;
        let arguments = arguments.get(..count as usize).unwrap_or_default().to_vec();
        Ok(ClassInfo { module, token, parent, arguments })
    }

    /// `GetClassLayout`: the class's own fields, without those of its base classes.
    ///
    /// # Errors
    /// For arrays and strings, and if the runtime refuses.
    pub fn class_layout(&self, class: usize) -> Result<ClassLayout, ClrError> {
        let (mut count, mut size) = (0u32, 0u32);
        let mut fields = vec![COR_FIELD_OFFSET::default(); MAX_FIELDS];
        // SAFETY: the array has room for as many fields as the call may write; out pointers are live locals. The class
        // stays loaded (module's contract).
        check("GetClassLayout", unsafe {
            self.rejit.GetClassLayout(class, fields.as_mut_ptr(), MAX_FIELDS as u32, &mut count, &mut size)
        })?;
        let fields = fields.iter().take(count as usize).map(|field| (field.ridOfField, field.ulOffset));
        Ok(ClassLayout { fields: fields.collect(), size })
    }

    /// Whether a class is a value type (`GetBoxClassLayout`).
    pub fn is_value_class(&self, class: usize) -> bool {
        // SAFETY: the class stays loaded (module's contract).
        unsafe { self.rejit.GetBoxClassLayout(class) }.is_ok()
    }

    /// `IsArrayClass`; None if it is none.
    pub fn array_class(&self, class: usize) -> Option<ArrayClass> {
        let (mut element_type, mut element, mut rank) = (0u8, 0usize, 0u32);
        // SAFETY: out pointers are live locals. The class stays loaded (module's contract).
        let hresult = unsafe { self.rejit.IsArrayClass(class, &mut element_type, &mut element, &mut rank) };
        let found = ArrayClass { element_type, element, rank };
        // It succeeds with S_FALSE for other classes.
        (hresult.0 == 0).then_some(found)
    }

    /// `GetClassFromToken`: a class without type arguments that is loaded. The call would load any other, which is not
    /// allowed here.
    ///
    /// # Errors
    /// For generic classes, and if the runtime refuses.
    pub fn loaded_class(&self, module: &LoadedModule, type_def: u32) -> Result<usize, ClrError> {
        // SAFETY: the module is loaded.
        unsafe { self.rejit.GetClassFromToken(module.id(), type_def) }
            .map_err(|error| ClrError { call: "GetClassFromToken", hresult: error.code() })
    }
}
