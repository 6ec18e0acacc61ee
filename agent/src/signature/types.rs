//! Signatures as values.

/// A type in a signature (ECMA-335 II.23.2.12), including the modifiers that may precede it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the primitive types are self-explanatory
pub enum Type {
    Void,
    Boolean,
    Char,
    I1,
    U1,
    I2,
    U2,
    I4,
    U4,
    I8,
    U8,
    R4,
    R8,
    String,
    Object,
    /// A native integer, `System.IntPtr`.
    I,
    /// An unsigned native integer, `System.UIntPtr`.
    U,
    /// `System.TypedReference`.
    TypedByRef,
    /// A reference type by its TypeDef, TypeRef or TypeSpec token.
    Class(u32),
    /// A value type by its token.
    ValueType(u32),
    /// A generic parameter of the type, by number.
    Var(u32),
    /// A generic parameter of the method, by number.
    MVar(u32),
    Ptr(Box<Type>),
    ByRef(Box<Type>),
    /// An array of one dimension that starts at 0.
    SzArray(Box<Type>),
    /// Any other array; sizes and lower bounds may be fewer than `rank`.
    Array {
        element: Box<Type>,
        rank: u32,
        sizes: Vec<u32>,
        lower_bounds: Vec<i32>,
    },
    /// An instantiation of the generic type with this token.
    Generic {
        value_type: bool,
        token: u32,
        arguments: Vec<Type>,
    },
    /// A function pointer.
    FnPtr(Box<Method>),
    /// A custom modifier (`modreq`, `modopt`) before a type.
    Modified {
        required: bool,
        modifier: u32,
        inner: Box<Type>,
    },
    /// A local variable whose referent the garbage collector does not move.
    Pinned(Box<Type>),
}

/// Calling convention (the low four bits of a signature's first byte).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Convention {
    /// Managed, a fixed number of arguments.
    Default,
    /// Unmanaged, C.
    Cdecl,
    /// Unmanaged, stdcall.
    StdCall,
    /// Unmanaged, C++ members.
    ThisCall,
    /// Unmanaged, fastcall.
    FastCall,
    /// Managed, a variable number of arguments.
    VarArg,
    /// Unmanaged; modifiers of the return type name the convention, otherwise it is the platform's default.
    Unmanaged,
}

/// A method's signature: of a definition, a reference or a call site (ECMA-335 II.23.2.1 to II.23.2.3).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Method {
    /// Calling convention.
    pub convention: Convention,
    /// Whether there is a `this`. It is not in `params`…
    pub has_this: bool,
    /// …unless it is explicit; then it is the first of them.
    pub explicit_this: bool,
    /// Number of the method's own generic parameters.
    pub generic: u32,
    /// Return type.
    pub result: Type,
    /// Parameters.
    pub params: Vec<Type>,
    /// At a call with variable arguments, the number of fixed `params`.
    pub fixed: Option<u32>,
}

impl Method {
    /// Returns the number of values that a call pops: arguments and `this`, without the pointer of a `calli`.
    pub fn argument_count(&self) -> usize {
        self.params.len() + usize::from(self.has_this && !self.explicit_this)
    }

    /// Returns whether a call pushes a result.
    pub fn returns_value(&self) -> bool {
        let mut result = &self.result;
        while let Type::Modified { inner, .. } = result {
            result = inner;
        }
        *result != Type::Void
    }
}

/// A property's signature (ECMA-335 II.23.2.5).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Property {
    /// Whether the property is an instance property.
    pub has_this: bool,
    /// Type of the property.
    pub ty: Type,
    /// Parameters of an indexer.
    pub params: Vec<Type>,
}
