//! Signatures as values.

/// A type in a signature (ECMA-335 II.23.2.12), with what may stand before it in each place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the primitive ones name themselves
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
    /// A pointer to a method.
    FnPtr(Box<Method>),
    /// A custom modifier (`modreq`, `modopt`) before a type.
    Modified {
        required: bool,
        modifier: u32,
        inner: Box<Type>,
    },
    /// A local variable that the collector does not move.
    Pinned(Box<Type>),
}

/// How a method is called (the low four bits of a signature's first byte).
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
    /// Unmanaged; modifiers of the return type say how, else the platform's default.
    Unmanaged,
}

/// A method's signature: of a definition, a reference or a call site (ECMA-335 II.23.2.1 to II.23.2.3).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Method {
    /// How it is called.
    pub convention: Convention,
    /// There is a `this`, which is not in `params`…
    pub has_this: bool,
    /// …unless it is explicit, then it is the first of them.
    pub explicit_this: bool,
    /// Number of the method's own generic parameters.
    pub generic: u32,
    /// What it returns.
    pub result: Type,
    /// Its parameters.
    pub params: Vec<Type>,
    /// At a call with variable arguments: how many of `params` are fixed.
    pub fixed: Option<u32>,
}

impl Method {
    /// Values that a call takes from the stack: arguments and `this`, without the pointer of a `calli`.
    pub fn argument_count(&self) -> usize {
        self.params.len() + usize::from(self.has_this && !self.explicit_this)
    }

    /// Whether a call puts a result on the stack.
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
    /// Not static.
    pub has_this: bool,
    /// Its type.
    pub ty: Type,
    /// The parameters of an indexer.
    pub params: Vec<Type>,
}
