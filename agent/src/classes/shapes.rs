//! Reads the shape of a class: its layout from the CLR, its fields from metadata.

use super::enums::enum_type;
use super::generic_structs::{Arguments, GenericStructs, Measured, Scope};
use super::known_classes::KnownClass;
use crate::capture::shape::{ClassForm, ClassShape, FieldShape, MAX_FIELDS, Shape, StructShape, shown_name};
use crate::capture::struct_layout::Room;
use crate::capture::{CaptureLevel, CaptureRules, Primitive, TextForm};
use crate::catalogue::names::ModuleNames;
use crate::catalogue::type_definitions::TypeDefinitions;
use crate::catalogue::{Module, Modules};
use crate::clr::ProfilerInfo;
use crate::clr::classes::{ArrayClass, ClassInfo};
use crate::clr::metadata::Import;
use crate::planted_fault;
use crate::probes::exception_chain::ExceptionFields;
use crate::probes::trace::objects;
use crate::signature::{Type, parse_field};
use redial_protocol::trace::OmittedReason;
use std::sync::Arc;

/// Base classes of a class that are read.
const MAX_PARENTS: usize = 16;
/// Structs within structs that are read.
const MAX_NESTING: usize = 4;
/// Largest value of a value type that is captured.
const MAX_SIZE: u32 = 256;

/// The primitives, as classes of the core library.
pub(super) const PRIMITIVES: [(&str, Primitive); 14] = [
    ("System.Boolean", Primitive::Boolean),
    ("System.Char", Primitive::Char),
    ("System.SByte", Primitive::I1),
    ("System.Byte", Primitive::U1),
    ("System.Int16", Primitive::I2),
    ("System.UInt16", Primitive::U2),
    ("System.Int32", Primitive::I4),
    ("System.UInt32", Primitive::U4),
    ("System.Int64", Primitive::I8),
    ("System.UInt64", Primitive::U8),
    ("System.Single", Primitive::R4),
    ("System.Double", Primitive::R8),
    ("System.IntPtr", Primitive::I),
    ("System.UIntPtr", Primitive::U),
];

/// Reads shapes. Lives for a moment, since it remembers the loaded modules.
pub(super) struct ShapeReader<'a> {
    pub(super) info: &'a ProfilerInfo,
    modules: &'a Modules,
    pub(super) rules: &'a CaptureRules,
    pub(super) definitions: TypeDefinitions<'a>,
}

impl<'a> ShapeReader<'a> {
    pub(super) fn new(
        info: &'a ProfilerInfo,
        modules: &'a Modules,
        rules: &'a CaptureRules,
    ) -> ShapeReader<'a> {
        ShapeReader { info, modules, rules, definitions: TypeDefinitions::new(info, modules) }
    }

    /// Adds common classes of the core library, which are loaded from the beginning.
    pub(super) fn expect_common_classes(&self) {
        let names = PRIMITIVES.iter().map(|(name, _)| *name).chain(["System.String", "System.Object"]);
        for name in names {
            if let Some(class) = self.core_class(name) {
                objects::expect(class);
            }
        }
    }

    /// Returns the offsets of an exception's fields; of messages none if the host allows no strings.
    pub(super) fn exception_fields(&self) -> Option<ExceptionFields> {
        let class = self.core_class("System.Exception")?;
        let offsets = self.own_offsets(class, &self.info.class_info(class).ok()?)?;
        let offset = |field: &str| {
            let found = offsets.iter().find(|(name, _)| name == field);
            found.map(|(_, offset)| *offset).unwrap_or_default()
        };
        let may_read = self.rules.highest >= CaptureLevel::Strings;
        Some(ExceptionFields {
            message: if may_read { offset("_message") } else { 0 },
            inner: offset("_innerException"),
            stack_trace: offset("_stackTrace"),
        })
    }

    /// Returns a class of the core library that is loaded from the beginning.
    fn core_class(&self, name: &str) -> Option<usize> {
        let core = self.modules.all().into_iter().find(|module| module.is_core_library())?;
        let token = core.with_metadata(self.info, |import| import.find_type_def(name)).flatten()?;
        core.while_loaded(|loaded| self.info.loaded_class(loaded, token).ok()).flatten()
    }

    /// Reads a class. One that cannot be read is not captured.
    pub(super) fn read(&self, class: usize) -> KnownClass {
        let type_name = self.class_name(class);
        let mut modules = Vec::new();
        self.add_modules(class, &mut modules);
        let redacted = self.rules.redaction.reason("", &type_name);
        let form = match redacted {
            Some(reason) => Some(ClassForm::Omitted { reason, is_value: self.info.is_value_class(class) }),
            None => self.form(class, &type_name),
        };
        let unreadable = || ClassForm::Omitted {
            reason: OmittedReason::Unreadable,
            is_value: self.info.is_value_class(class),
        };
        let form = form.unwrap_or_else(unreadable);
        KnownClass { shape: Arc::new(ClassShape { type_name, form }), modules }
    }

    /// Adds the modules of a class and of its type arguments.
    fn add_modules(&self, class: usize, modules: &mut Vec<usize>) {
        if modules.len() > MAX_FIELDS {
            return;
        }
        match self.array(class) {
            Some(array) => self.add_modules(array.element, modules),
            None => {
                let Ok(info) = self.info.class_info(class) else { return };
                modules.push(info.module);
                info.arguments.iter().for_each(|argument| self.add_modules(*argument, modules));
            }
        }
    }

    /// Returns an array's items; None for other classes.
    pub(super) fn array(&self, class: usize) -> Option<ArrayClass> {
        self.info.array_class(class).filter(|array| array.element != 0)
    }

    pub(super) fn is_core_library(&self, module: usize) -> bool {
        self.modules.get(module).is_some_and(|module| module.is_core_library())
    }

    pub(super) fn module(&self, module: usize) -> Option<Arc<Module>> {
        self.modules.get(module)
    }

    fn with_metadata<T>(&self, module: usize, read: impl FnOnce(&Import) -> T) -> Option<T> {
        self.modules.get(module)?.with_metadata(self.info, read)
    }

    pub(super) fn metadata_name(&self, module: usize, token: u32) -> Option<String> {
        let name = |import: &Import| ModuleNames::default().type_name(import, token);
        self.with_metadata(module, name).flatten().map(|name| name.to_string())
    }

    fn form(&self, class: usize, type_name: &str) -> Option<ClassForm> {
        if let Some(array) = self.array(class) {
            let (item, stride) = self.item(array.element)?;
            return Some(ClassForm::Array { item, stride, rank: array.rank });
        }
        let info = self.info.class_info(class).ok()?;
        let is_value = self.info.is_value_class(class);
        if self.is_core_library(info.module)
            && let Some(form) = self.core_form(class, &info)
        {
            return Some(form);
        }
        if is_value {
            let size = self.value_size(class)?;
            let shape = self.value_shape(class, type_name, MAX_NESTING)?;
            return Some(if size <= MAX_SIZE {
                ClassForm::Value { shape, size }
            } else {
                ClassForm::Omitted { reason: OmittedReason::Bytes, is_value }
            });
        }
        Some(ClassForm::Object(self.object_shape(class, type_name)?))
    }

    /// Returns how a class of the core library is captured that has a form of its own.
    fn core_form(&self, class: usize, info: &ClassInfo) -> Option<ClassForm> {
        let name = self.metadata_name(info.module, info.token)?;
        if name == "System.String" {
            return Some(ClassForm::String);
        }
        let offsets = self.own_offsets(class, info)?;
        let offset =
            |wanted: &str| offsets.iter().find(|(name, _)| name == wanted).map(|(_, offset)| *offset);
        match name.as_str() {
            "System.Collections.Generic.List`1" => {
                Some(ClassForm::List { items: offset("_items")?, size: offset("_size")? })
            }
            "System.Collections.Generic.Dictionary`2" => Some(ClassForm::Dictionary {
                entries: offset("_entries")?,
                count: offset("_count")?,
                free: offset("_freeCount")?,
            }),
            "System.Span`1" | "System.ReadOnlySpan`1" => {
                let (item, stride) = self.item(*info.arguments.first()?)?;
                let address = offset("_reference").or_else(|| offset("_pointer"))?;
                Some(ClassForm::Span { item, stride, address, length: offset("_length")? })
            }
            _ => None,
        }
    }

    /// Returns the offsets of a class's own fields by name.
    fn own_offsets(&self, class: usize, info: &ClassInfo) -> Option<Vec<(String, u32)>> {
        let layout = self.info.class_layout(class).ok()?;
        self.with_metadata(info.module, |import| {
            let named = |(token, offset): &(u32, u32)| Some((import.field(*token).ok()?.name, *offset));
            layout.fields.iter().filter_map(named).collect()
        })
    }

    pub(super) fn value_size(&self, class: usize) -> Option<u32> {
        match self.primitive(class) {
            Some(primitive) => Some(primitive.size() as u32),
            None => self.info.class_layout(class).ok().map(|layout| layout.size),
        }
    }

    /// Returns the shape of an array's items, and the bytes from one to the next.
    fn item(&self, element: usize) -> Option<(Shape, u32)> {
        if self.array(element).is_none() && self.info.is_value_class(element) {
            let shape = self.value_shape(element, &self.class_name(element), MAX_NESTING)?;
            return Some((shape, self.value_size(element)?));
        }
        Some((self.reference_shape(element), size_of::<usize>() as u32))
    }

    pub(super) fn reference_shape(&self, class: usize) -> Shape {
        let is_string = || {
            let info = self.info.class_info(class).ok()?;
            let name = self.metadata_name(info.module, info.token)?;
            Some(name == "System.String" && self.is_core_library(info.module))
        };
        if self.array(class).is_none() && is_string() == Some(true) {
            Shape::String
        } else {
            Shape::Reference
        }
    }

    /// Returns the primitive that a class of the core library is.
    pub(super) fn primitive(&self, class: usize) -> Option<Primitive> {
        let info = self.info.class_info(class).ok()?;
        if !self.is_core_library(info.module) {
            return None;
        }
        let name = self.metadata_name(info.module, info.token)?;
        PRIMITIVES.iter().find(|(of, _)| *of == name).map(|(_, primitive)| *primitive)
    }

    /// Returns the shape of a value of a value type.
    fn value_shape(&self, class: usize, type_name: &str, levels: usize) -> Option<Shape> {
        let Some(levels) = levels.checked_sub(1) else { return Some(Shape::Omitted(OmittedReason::Depth)) };
        if let Some(primitive) = self.primitive(class) {
            return Some(Shape::Primitive(primitive));
        }
        let info = self.info.class_info(class).ok()?;
        let of_enum = self.with_metadata(info.module, |import| enum_type(import, info.token)).flatten();
        if let Some(of) = of_enum {
            return Some(Shape::Enum(Arc::new(of), type_name.to_owned()));
        }
        if self.is_core_library(info.module) {
            let name = self.metadata_name(info.module, info.token)?;
            let offsets = self.own_offsets(class, &info)?;
            let offset =
                |wanted: &str| offsets.iter().find(|(name, _)| name == wanted).map(|(_, offset)| *offset);
            if let Some(form) = TextForm::of_type(&name, offset) {
                return Some(Shape::Text(form, type_name.to_owned()));
            }
            if name == "System.Nullable`1" {
                let flag = offset("hasValue").or_else(|| offset("_hasValue"))?;
                let value = offset("value").or_else(|| offset("_value"))?;
                let of = *info.arguments.first()?;
                let shape = self.value_shape(of, &self.class_name(of), levels)?;
                return Some(Shape::Nullable(flag, value, Box::new(shape)));
            }
        }
        let arguments: Vec<String> =
            info.arguments.iter().map(|argument| self.class_name(*argument)).collect();
        let mut shape = StructShape { type_name: type_name.to_owned(), fields: Vec::new(), missing: None };
        self.add_fields(class, &info, &arguments, levels, &mut shape)?;
        Some(Shape::Struct(shape))
    }

    /// Returns the shape of an object: the fields of its class, then those of its base classes.
    fn object_shape(&self, class: usize, type_name: &str) -> Option<StructShape> {
        let mut shape = StructShape { type_name: type_name.to_owned(), fields: Vec::new(), missing: None };
        let mut at = class;
        for _ in 0..MAX_PARENTS {
            let Ok(info) = self.info.class_info(at) else { break };
            let name = self.metadata_name(info.module, info.token);
            let arguments: Vec<String> =
                info.arguments.iter().map(|argument| self.class_name(*argument)).collect();
            self.add_fields(at, &info, &arguments, MAX_NESTING, &mut shape)?;
            let is_last = self.is_core_library(info.module)
                && matches!(name.as_deref(), Some("System.Threading.Tasks.Task" | "System.Delegate"));
            if info.parent == 0 || is_last {
                break;
            }
            at = info.parent;
        }
        Some(shape)
    }

    /// Adds a class's own fields to a shape. `arguments` are the names of its type arguments.
    fn add_fields(
        &self,
        class: usize,
        info: &ClassInfo,
        arguments: &[String],
        levels: usize,
        shape: &mut StructShape,
    ) -> Option<()> {
        let layout = self.info.class_layout(class).ok()?;
        let is_core = self.is_core_library(info.module);
        let first = shape.fields.len();
        // An object's size includes the header before it.
        let header = if self.info.is_value_class(class) { 0 } else { size_of::<usize>() as u32 };
        let end = layout.size.saturating_sub(header);
        let room = |offset: u32| Room::between(offset, layout.fields.iter().map(|(_, other)| *other), end);
        self.with_metadata(info.module, |import| {
            let own_name = ModuleNames::default().type_name(import, info.token);
            for (token, offset) in &layout.fields {
                let (token, offset) = (*token, *offset);
                let leaves: usize = shape.fields.iter().map(|field| field.shape.leaves()).sum();
                if leaves >= MAX_FIELDS {
                    shape.missing = Some(OmittedReason::Fields);
                    return;
                }
                let Ok(field) = import.field(token) else { continue };
                let kind = match own_name.as_deref() {
                    Some(own_name) if is_core => inner_field(own_name, &field.name),
                    _ => InnerField::Shown,
                };
                let field_shape = match kind {
                    InnerField::Hidden => continue,
                    InnerField::TaskState => Shape::TaskState,
                    InnerField::Shown => {
                        let ty = parse_field(&field.signature).unwrap_or(Type::Void);
                        let of =
                            FieldType { ty: &ty, name: &field.name, arguments, info, room: room(offset) };
                        self.field_shape(import, of, levels)
                    }
                };
                let name = match kind {
                    InnerField::TaskState => "Status",
                    _ => shown_name(&field.name),
                };
                shape.fields.push(FieldShape { name: name.to_owned(), offset, shape: field_shape });
            }
        })?;
        planted_fault::exchange(
            shape.fields.get_mut(first..).unwrap_or_default(),
            |one, other| one.shape == other.shape,
            |one, other| std::mem::swap(&mut one.offset, &mut other.offset),
        );
        Some(())
    }

    fn field_shape(&self, import: &Import, field: FieldType<'_>, levels: usize) -> Shape {
        let type_name = self.type_name(import, field.ty, field.arguments);
        if let Some(reason) = self.rules.redaction.reason(field.name, &type_name) {
            return Shape::Omitted(reason);
        }
        let shape = self.type_shape(import, field, levels);
        shape.unwrap_or(Shape::Omitted(OmittedReason::Unreadable))
    }

    fn type_shape(&self, import: &Import, field: FieldType<'_>, levels: usize) -> Option<Shape> {
        if let Some(primitive) = Primitive::of(field.ty) {
            return Some(Shape::Primitive(primitive));
        }
        match field.ty {
            Type::String => Some(Shape::String),
            Type::Object
            | Type::Class(_)
            | Type::SzArray(_)
            | Type::Array { .. }
            | Type::Generic { value_type: false, .. } => Some(Shape::Reference),
            Type::Modified { inner, .. } => self.type_shape(import, FieldType { ty: inner, ..field }, levels),
            Type::Var(number) => {
                let class = *field.info.arguments.get(*number as usize)?;
                if self.array(class).is_none() && self.info.is_value_class(class) {
                    return self.value_shape(class, &self.class_name(class), levels);
                }
                Some(self.reference_shape(class))
            }
            Type::ValueType(token) => {
                let (module, type_def) = self.definitions.find(import, *token)?;
                let of_enum = module.with_metadata(self.info, |import| enum_type(import, type_def));
                let type_name = self.type_name(import, field.ty, field.arguments);
                if let Some(of) = of_enum.flatten() {
                    return Some(Shape::Enum(Arc::new(of), type_name));
                }
                let class = self.class_of(&module, type_def)?;
                self.value_shape(class, &type_name, levels)
            }
            Type::Generic { value_type: true, .. } => self.generic_struct(import, field),
            _ => None,
        }
    }

    /// Returns the shape of a field whose type is a generic struct, if it fills its place exactly. To ask the CLR for an
    /// instance might load it, which is not allowed on this thread.
    fn generic_struct(&self, import: &Import, field: FieldType<'_>) -> Option<Shape> {
        let place = self.module(import.module().id())?;
        let arguments = Arguments::Classes(&field.info.arguments);
        let scope = Scope { arguments, names: field.arguments };
        let Measured { shape, layout } = GenericStructs::new(self).measure(&place, field.ty, &scope)?;
        field.room.is_filled_by(layout).then_some(shape)
    }

    /// Returns the ClassID of a value type that a field of a loaded class has, so that it is loaded. None if there are
    /// several modules with that name: it may be loaded in another one.
    pub(super) fn class_of(&self, module: &Module, type_def: u32) -> Option<usize> {
        if !self.definitions.is_unique(module) {
            return None;
        }
        module.while_loaded(|loaded| self.info.loaded_class(loaded, type_def))?.ok()
    }
}

/// The type of a field.
#[derive(Clone, Copy)]
struct FieldType<'a> {
    ty: &'a Type,
    /// The field's name in metadata.
    name: &'a str,
    /// Names of the type arguments of the field's class.
    arguments: &'a [String],
    /// The field's class.
    info: &'a ClassInfo,
    /// Where the field is.
    room: Room,
}

/// What is shown of a field of the core library.
enum InnerField {
    Shown,
    Hidden,
    TaskState,
}

/// Hides what only the core library itself understands.
fn inner_field(class: &str, field: &str) -> InnerField {
    match (class, field) {
        ("System.Threading.Tasks.Task", "m_stateFlags") => InnerField::TaskState,
        ("System.Threading.Tasks.Task", _) => InnerField::Hidden,
        ("System.Delegate", "_target") => InnerField::Shown,
        ("System.Delegate" | "System.MulticastDelegate", _) => InnerField::Hidden,
        _ => InnerField::Shown,
    }
}
