//! Computes the shapes of generic structs within objects from metadata.
//!
//! To ask the CLR for an instance of a generic type may load it, which is not allowed on the thread that makes shapes. So
//! the fields' types are followed through signatures, and placed by the CLR's rules ([`crate::capture::struct_layout`]).
//! Signatures and metadata may be ill-formed: depth, fields and visited types are bounded.

use crate::capture::shape::{FieldShape, MAX_FIELDS, Shape, StructShape, shown_name};
use crate::capture::struct_layout::{FieldLayout, Placement, StructLayout};
use crate::capture::{EnumType, Primitive, TextForm};
use crate::signature::{Type, parse_field};
use redial_protocol::trace::OmittedReason;
use std::cell::Cell;
use std::sync::Arc;

/// Structs within structs that are followed.
const MAX_DEPTH: usize = 6;
/// Fields of one struct.
pub(super) const MAX_STRUCT_FIELDS: usize = 32;
/// Types that are looked at for one field of an object.
const MAX_TYPES: u32 = 256;

/// A value type as metadata defines it.
pub(super) struct Definition<P> {
    /// Where its signatures have a meaning.
    pub(super) place: P,
    /// Its full name if the core library defines it.
    pub(super) core_name: Option<String>,
    /// Its kind.
    pub(super) kind: DefinitionKind,
    /// Bytes of a value, if the CLR can be asked: only for types without type parameters.
    pub(super) known_size: Option<u32>,
}

pub(super) enum DefinitionKind {
    Enum(EnumType),
    Struct(Placement, Vec<Field>),
}

/// An instance field.
pub(super) struct Field {
    pub(super) name: String,
    pub(super) signature: Vec<u8>,
}

/// A type argument of the class that contains the field.
pub(super) enum ClassArgument<P> {
    /// A primitive or a reference.
    Plain(Shape),
    /// A value type with the ClassIDs of its own arguments.
    Value(Definition<P>, Vec<usize>),
}

/// Source of facts about types.
pub(super) trait StructSource {
    /// A module, in which tokens have a meaning.
    type Place;
    /// Returns the value type that a TypeDef or TypeRef token names. A type with parameters must not be looked up in the CLR.
    fn definition(
        &self,
        place: &Self::Place,
        token: u32,
        is_generic: bool,
    ) -> Option<Definition<Self::Place>>;
    /// Returns the kind of class with this ClassID.
    fn class(&self, class: usize) -> Option<ClassArgument<Self::Place>>;
    /// Returns the name of a class in C# form.
    fn class_name(&self, class: usize) -> String;
    /// Returns the name of a type in C# form; `arguments` are the names of type arguments.
    fn type_name(&self, place: &Self::Place, ty: &Type, arguments: &[String]) -> String;
    /// Returns why a field with these names of itself and its type is not read, if it is not.
    fn hidden(&self, name: &str, type_name: &str) -> Option<OmittedReason>;
}

/// The type arguments that a signature refers to by number.
#[derive(Clone, Copy)]
pub(super) enum Arguments<'a, P> {
    /// ClassIDs.
    Classes(&'a [usize]),
    /// Types of a signature, in which other arguments may occur.
    Types(&'a [Type], &'a P, &'a Scope<'a, P>),
}

/// Type arguments with their names.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a, P> {
    pub(super) arguments: Arguments<'a, P>,
    pub(super) names: &'a [String],
}

/// How a value is captured, and how it lies in a struct.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Measured {
    pub(super) shape: Shape,
    pub(super) layout: FieldLayout,
}

/// Computes the shape and layout of fields.
pub(super) struct GenericStructs<'a, S> {
    source: &'a S,
    /// Types that may still be looked at.
    left: Cell<u32>,
}

impl<'a, S: StructSource> GenericStructs<'a, S> {
    pub(super) fn new(source: &'a S) -> GenericStructs<'a, S> {
        GenericStructs { source, left: Cell::new(MAX_TYPES) }
    }

    /// Returns the shape of a value of this type, and how it lies in what contains it. None if that cannot be told.
    pub(super) fn measure(&self, place: &S::Place, ty: &Type, scope: &Scope<S::Place>) -> Option<Measured> {
        self.measured(place, ty, scope, MAX_DEPTH)
    }

    fn measured(
        &self,
        place: &S::Place,
        ty: &Type,
        scope: &Scope<S::Place>,
        depth: usize,
    ) -> Option<Measured> {
        let depth = depth.checked_sub(1)?;
        self.left.set(self.left.get().checked_sub(1)?);
        if let Some(primitive) = Primitive::of(ty) {
            return Some(plain(Shape::Primitive(primitive)));
        }
        match ty {
            Type::String => Some(plain(Shape::String)),
            Type::Object
            | Type::Class(_)
            | Type::SzArray(_)
            | Type::Array { .. }
            | Type::Generic { value_type: false, .. } => Some(plain(Shape::Reference)),
            Type::Modified { inner, .. } => self.measured(place, inner, scope, depth),
            Type::Var(number) => match scope.arguments {
                Arguments::Classes(classes) => self.class(*classes.get(*number as usize)?, depth),
                Arguments::Types(types, place, outer) => {
                    self.measured(place, types.get(*number as usize)?, outer, depth)
                }
            },
            Type::ValueType(token) => {
                let definition = self.source.definition(place, *token, false)?;
                let name = self.source.type_name(place, ty, scope.names);
                let none = Scope { arguments: Arguments::Classes(&[]), names: &[] };
                self.value(definition, &name, &none, depth)
            }
            Type::Generic { value_type: true, token, arguments } => {
                let definition = self.source.definition(place, *token, true)?;
                let name = |ty: &Type| self.source.type_name(place, ty, scope.names);
                let names: Vec<String> = arguments.iter().map(name).collect();
                let inner = Scope { arguments: Arguments::Types(arguments, place, scope), names: &names };
                self.value(definition, &name(ty), &inner, depth)
            }
            _ => None,
        }
    }

    /// Measures a value of a class.
    fn class(&self, class: usize, depth: usize) -> Option<Measured> {
        match self.source.class(class)? {
            ClassArgument::Plain(shape) => Some(plain(shape)),
            ClassArgument::Value(definition, classes) => {
                let names: Vec<String> = classes.iter().map(|class| self.source.class_name(*class)).collect();
                let scope = Scope { arguments: Arguments::Classes(&classes), names: &names };
                self.value(definition, &self.source.class_name(class), &scope, depth)
            }
        }
    }

    /// Measures a value of a value type.
    fn value(
        &self,
        definition: Definition<S::Place>,
        type_name: &str,
        scope: &Scope<S::Place>,
        depth: usize,
    ) -> Option<Measured> {
        let (placement, fields) = match definition.kind {
            DefinitionKind::Enum(of) => {
                let layout = FieldLayout::primitive(of.underlying.size());
                return Some(Measured { shape: Shape::Enum(Arc::new(of), type_name.to_owned()), layout });
            }
            DefinitionKind::Struct(placement, fields) => (placement, fields),
        };
        if fields.len() > MAX_STRUCT_FIELDS {
            return None;
        }
        let mut shapes = Vec::new();
        let mut layouts = Vec::new();
        for field in &fields {
            let ty = parse_field(&field.signature).ok()?;
            let Measured { shape, layout } = self.measured(&definition.place, &ty, scope, depth)?;
            let field_type = self.source.type_name(&definition.place, &ty, scope.names);
            let hidden = self.source.hidden(&field.name, &field_type);
            shapes.push(hidden.map_or(shape, Shape::Omitted));
            layouts.push(layout);
        }
        let StructLayout { offsets, whole } = StructLayout::new(placement, &layouts)?;
        if definition.known_size.is_some_and(|size| size != whole.size) {
            return None;
        }
        let placed = fields.into_iter().zip(offsets).zip(shapes);
        let fields: Vec<FieldShape> =
            placed.map(|((field, offset), shape)| FieldShape { name: field.name, offset, shape }).collect();
        let shape = shape_of(definition.core_name.as_deref(), fields, type_name)?;
        Some(Measured { shape, layout: whole })
    }
}

/// Returns the shape of a value with these fields.
fn shape_of(core_name: Option<&str>, mut fields: Vec<FieldShape>, type_name: &str) -> Option<Shape> {
    let offset = |name: &str| fields.iter().find(|field| field.name == name).map(|field| field.offset);
    if let Some(form) = core_name.and_then(|name| TextForm::of_type(name, offset)) {
        return Some(Shape::Text(form, type_name.to_owned()));
    }
    if core_name == Some("System.Nullable`1") {
        let flag = offset("hasValue").or_else(|| offset("_hasValue"))?;
        let value = fields.into_iter().find(|field| matches!(&*field.name, "value" | "_value"))?;
        return Some(Shape::Nullable(flag, value.offset, Box::new(value.shape)));
    }
    let mut missing = None;
    while fields.iter().map(|field| field.shape.leaves()).sum::<usize>() > MAX_FIELDS {
        fields.pop();
        missing = Some(OmittedReason::Fields);
    }
    for field in &mut fields {
        let name = shown_name(&field.name);
        field.name = name.to_owned();
    }
    Some(Shape::Struct(StructShape { type_name: type_name.to_owned(), fields, missing }))
}

fn plain(shape: Shape) -> Measured {
    let layout = match &shape {
        Shape::Primitive(primitive) => FieldLayout::primitive(primitive.size()),
        _ => FieldLayout::reference(),
    };
    Measured { shape, layout }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::write_type;
    use std::collections::BTreeMap;

    /// A type's name, if it has one, its layout, and the names and signatures of its fields.
    type TypeFacts = (Option<&'static str>, Placement, Vec<(&'static str, Vec<u8>)>);

    /// Types by row of the TypeDef table.
    #[derive(Default)]
    struct Types(BTreeMap<u32, TypeFacts>);

    const LIST: u32 = 0x0200_0001;

    fn generic(row: u32, arguments: Vec<Type>) -> Type {
        Type::Generic { value_type: true, token: 0x0200_0000 | row, arguments }
    }

    fn signature(ty: &Type) -> Vec<u8> {
        let mut blob = vec![6];
        write_type(ty, &mut blob).unwrap();
        blob
    }

    impl Types {
        fn with(mut self, row: u32, placement: Placement, fields: &[(&'static str, Type)]) -> Types {
            let fields = fields.iter().map(|(name, ty)| (*name, signature(ty))).collect();
            self.0.insert(row, (None, placement, fields));
            self
        }

        fn measure(&self, ty: &Type) -> Option<Measured> {
            let scope = Scope { arguments: Arguments::Classes(&[1, 2]), names: &[] };
            GenericStructs::new(self).measure(&(), ty, &scope)
        }
    }

    impl StructSource for Types {
        type Place = ();

        fn definition(&self, (): &(), token: u32, _: bool) -> Option<Definition<()>> {
            let (core_name, placement, fields) = self.0.get(&(token & 0x00FF_FFFF))?;
            let field = |(name, signature): &(&str, Vec<u8>)| Field {
                name: (*name).to_owned(),
                signature: signature.clone(),
            };
            let kind = DefinitionKind::Struct(*placement, fields.iter().map(field).collect());
            Some(Definition { place: (), core_name: core_name.map(str::to_owned), kind, known_size: None })
        }

        fn class(&self, class: usize) -> Option<ClassArgument<()>> {
            match class {
                1 => Some(ClassArgument::Plain(Shape::Primitive(Primitive::I4))),
                2 => Some(ClassArgument::Plain(Shape::String)),
                _ => None,
            }
        }

        fn class_name(&self, class: usize) -> String {
            format!("class {class}")
        }

        fn type_name(&self, (): &(), ty: &Type, _: &[String]) -> String {
            format!("{ty:?}")
        }

        fn hidden(&self, name: &str, _: &str) -> Option<OmittedReason> {
            (name == "password").then_some(OmittedReason::RedactedName)
        }
    }

    /// `struct Pair<A, B> { A first; B second; }` is row 2.
    fn pair() -> Types {
        Types::default().with(2, Placement::Auto, &[("first", Type::Var(0)), ("second", Type::Var(1))])
    }

    fn offsets(measured: &Measured) -> Vec<(&str, u32)> {
        let Shape::Struct(shape) = &measured.shape else { panic!("{measured:?}") };
        shape.fields.iter().map(|field| (&*field.name, field.offset)).collect()
    }

    #[test]
    fn type_arguments_reach_the_fields() {
        let plain = pair().measure(&generic(2, vec![Type::I4, Type::String])).unwrap();
        assert_eq!(offsets(&plain), [("first", 8), ("second", 0)]);
        // The class's own arguments: `Pair<T, U>` in a class `<int, string>`.
        let of_class = pair().measure(&generic(2, vec![Type::Var(0), Type::Var(1)])).unwrap();
        assert_eq!((offsets(&of_class), of_class.layout), (offsets(&plain), plain.layout));
        // The inner `!0` is the outer pair's argument, not that of the inner one.
        let types = pair().with(
            3,
            Placement::Auto,
            &[("swapped", generic(2, vec![Type::Var(1), Type::Var(0)])), ("password", Type::Var(0))],
        );
        let nested = types.measure(&generic(3, vec![Type::I8, Type::U1])).unwrap();
        assert_eq!(offsets(&nested), [("swapped", 8), ("password", 0)]);
        let Shape::Struct(shape) = &nested.shape else { panic!() };
        let [swapped, password] = &shape.fields[..] else { panic!() };
        assert_eq!(password.shape, Shape::Omitted(OmittedReason::RedactedName));
        let Shape::Struct(inner) = &swapped.shape else { panic!() };
        let shapes: Vec<_> = inner.fields.iter().map(|field| (field.offset, &field.shape)).collect();
        assert_eq!(shapes, [(8, &Shape::Primitive(Primitive::U1)), (0, &Shape::Primitive(Primitive::I8))]);
    }

    #[test]
    fn unused_arguments_are_not_looked_at() {
        let types = Types::default().with(2, Placement::Sequential, &[("only", Type::Var(0))]);
        let unknown = Type::ValueType(0x0200_0099);
        assert!(types.measure(&generic(2, vec![Type::I4, unknown.clone()])).is_some());
        assert_eq!(types.measure(&generic(2, vec![unknown, Type::I4])), None);
        let list = Type::Generic { value_type: false, token: LIST, arguments: vec![Type::Var(9)] };
        assert!(types.measure(&generic(2, vec![list])).is_some());
    }

    #[test]
    fn depth_and_cycles_are_bounded() {
        let deep =
            |levels: usize| (0..levels).fold(Type::I4, |inner, _| generic(2, vec![inner, Type::String]));
        assert!(pair().measure(&deep(2)).is_some());
        assert_eq!(pair().measure(&deep(MAX_DEPTH)), None);
        // No class loads like that.
        let itself = Types::default().with(2, Placement::Auto, &[("self", generic(2, vec![Type::Var(0)]))]);
        assert_eq!(itself.measure(&generic(2, vec![Type::I4])), None);
        let growing = generic(2, vec![generic(2, vec![Type::Var(0)])]);
        let growing = Types::default().with(2, Placement::Auto, &[("more", growing)]);
        assert_eq!(growing.measure(&generic(2, vec![Type::I4])), None);
        let argument = Types::default().with(2, Placement::Auto, &[("first", Type::Var(0))]);
        assert_eq!(argument.measure(&generic(2, vec![Type::Var(7)])), None);
    }

    #[test]
    fn fields_and_visited_types_are_bounded() {
        let many = |count: usize| {
            let fields = vec![("field", Type::Var(0)); count];
            Types::default().with(2, Placement::Sequential, &fields)
        };
        let of_bytes = generic(2, vec![Type::U1]);
        let shown = many(MAX_STRUCT_FIELDS).measure(&of_bytes).unwrap();
        let Shape::Struct(shape) = &shown.shape else { panic!("{shown:?}") };
        assert_eq!((shape.fields.len(), shape.missing), (MAX_FIELDS, Some(OmittedReason::Fields)));
        assert_eq!(shown.layout.size, MAX_STRUCT_FIELDS as u32);
        assert_eq!(many(MAX_STRUCT_FIELDS + 1).measure(&of_bytes), None);
        // 32 times 32 fields of nothing.
        let wide = many(MAX_STRUCT_FIELDS).measure(&generic(2, vec![of_bytes]));
        assert_eq!(wide, None);
    }

    #[test]
    fn ill_formed_signatures_are_unreadable() {
        for blob in [&[][..], &[6], &[6, 0x15], &[7, 8], &[6, 0x13], &[6, 0x15, 0x11, 0xFF], &[6, 0x45]] {
            let mut types = pair();
            types.0.insert(2, (None, Placement::Auto, vec![("odd", blob.to_vec())]));
            assert_eq!(types.measure(&generic(2, vec![Type::I4])), None, "{blob:?}");
        }
        for ty in [Type::Void, Type::TypedByRef, Type::ByRef(Box::new(Type::I4)), Type::MVar(0)] {
            assert_eq!(pair().measure(&generic(2, vec![ty, Type::I4])), None);
        }
        // Fewer arguments than the fields need.
        assert_eq!(pair().measure(&generic(2, vec![Type::I4])), None);
    }

    #[test]
    fn structs_of_the_core_library_have_their_forms() {
        let mut types = Types::default().with(
            2,
            Placement::Sequential,
            &[("hasValue", Type::Boolean), ("value", Type::Var(0))],
        );
        types.0.get_mut(&2).unwrap().0 = Some("System.Nullable`1");
        let of_long = types.measure(&generic(2, vec![Type::I8])).unwrap();
        let long = Box::new(Shape::Primitive(Primitive::I8));
        assert_eq!((of_long.shape, of_long.layout.size), (Shape::Nullable(0, 8, long), 16));
    }
}
