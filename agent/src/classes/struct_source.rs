//! Answers about types in generic structs, from metadata and about classes that are loaded.

use super::enums::enum_type;
use super::generic_structs::{
    ClassArgument, Definition, DefinitionKind, Field, MAX_STRUCT_FIELDS, StructSource,
};
use super::shapes::ShapeReader;
use crate::capture::shape::Shape;
use crate::capture::struct_layout::Placement;
use crate::catalogue::Module;
use crate::catalogue::names::ModuleNames;
use crate::clr::members::Member;
use crate::clr::metadata::Import;
use crate::signature::Type;
use redial_protocol::trace::OmittedReason;
use std::sync::Arc;

impl ShapeReader<'_> {
    /// Returns the value type that a TypeDef defines.
    fn value_definition(&self, module: Arc<Module>, type_def: u32) -> Option<Definition<Arc<Module>>> {
        let core_name = match module.is_core_library() {
            true => Some(self.metadata_name(module.id(), type_def)?),
            false => None,
        };
        if core_name.as_deref().is_some_and(is_special) {
            return None;
        }
        let kind = module.with_metadata(self.info, |import| {
            if let Some(of) = enum_type(import, type_def) {
                return Some(DefinitionKind::Enum(of));
            }
            let definition = import.struct_definition(type_def, MAX_STRUCT_FIELDS)?;
            let placement = if definition.is_sequential { Placement::Sequential } else { Placement::Auto };
            let field = |member: Member| Field { name: member.name, signature: member.signature };
            Some(DefinitionKind::Struct(placement, definition.fields.into_iter().map(field).collect()))
        });
        Some(Definition { place: module, core_name, kind: kind.flatten()?, known_size: None })
    }
}

impl StructSource for ShapeReader<'_> {
    type Place = Arc<Module>;

    fn definition(
        &self,
        place: &Arc<Module>,
        token: u32,
        is_generic: bool,
    ) -> Option<Definition<Arc<Module>>> {
        let find = |import: &Import| self.definitions.find(import, token);
        let (module, type_def) = place.with_metadata(self.info, find).flatten()?;
        // Of several modules with this name another one may be meant.
        if !self.definitions.is_unique(&module) {
            return None;
        }
        let definition = self.value_definition(Arc::clone(&module), type_def)?;
        if is_generic || matches!(definition.kind, DefinitionKind::Enum(_)) {
            return Some(definition);
        }
        let class = self.class_of(&module, type_def)?;
        Some(Definition { known_size: Some(self.value_size(class)?), ..definition })
    }

    fn class(&self, class: usize) -> Option<ClassArgument<Arc<Module>>> {
        if self.array(class).is_some() || !self.info.is_value_class(class) {
            return Some(ClassArgument::Plain(self.reference_shape(class)));
        }
        if let Some(primitive) = self.primitive(class) {
            return Some(ClassArgument::Plain(Shape::Primitive(primitive)));
        }
        let info = self.info.class_info(class).ok()?;
        let definition = self.value_definition(self.module(info.module)?, info.token)?;
        let known_size = match definition.kind {
            DefinitionKind::Enum(_) => None,
            DefinitionKind::Struct(..) => Some(self.value_size(class)?),
        };
        Some(ClassArgument::Value(Definition { known_size, ..definition }, info.arguments))
    }

    fn class_name(&self, class: usize) -> String {
        ShapeReader::class_name(self, class)
    }

    fn type_name(&self, place: &Arc<Module>, ty: &Type, arguments: &[String]) -> String {
        let name =
            |import: &Import| ModuleNames::default().display_signature_type(import, ty, arguments, &[]);
        place.with_metadata(self.info, name).unwrap_or_else(|| "?".to_owned())
    }

    fn hidden(&self, name: &str, type_name: &str) -> Option<OmittedReason> {
        self.rules.redaction.reason(name, type_name)
    }
}

/// Whether the CLR lays out a type of the core library by other rules, or it stands for a primitive.
fn is_special(name: &str) -> bool {
    super::shapes::PRIMITIVES.iter().any(|(primitive, _)| *primitive == name)
        || matches!(
            name,
            "System.Int128" | "System.UInt128" | "System.TypedReference" | "System.Numerics.Vector`1"
        )
        || name.starts_with("System.Runtime.Intrinsics.")
}
