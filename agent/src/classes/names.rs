//! Names of classes in C# form.

use super::shapes::ShapeReader;
use crate::catalogue::names::ModuleNames;
use crate::clr::metadata::Import;
use crate::signature::{Type, display_type_name};

/// Deepest nesting of type arguments and arrays that is printed.
const MAX_NESTING: usize = 8;

impl ShapeReader<'_> {
    /// Returns the name of a class; `?` for one that cannot be read.
    pub(super) fn class_name(&self, class: usize) -> String {
        self.nested_name(class, MAX_NESTING)
    }

    fn nested_name(&self, class: usize, levels: usize) -> String {
        let Some(levels) = levels.checked_sub(1) else { return "…".to_owned() };
        if let Some(array) = self.array(class) {
            let commas = ",".repeat((array.rank as usize).saturating_sub(1).min(31));
            return format!("{}[{commas}]", self.nested_name(array.element, levels));
        }
        let read = || {
            let info = self.info.class_info(class).ok()?;
            let name = self.metadata_name(info.module, info.token)?;
            if let Some(keyword) = keyword(&name).filter(|_| self.is_core_library(info.module)) {
                return Some(keyword.to_owned());
            }
            let arguments: Vec<String> =
                info.arguments.iter().map(|argument| self.nested_name(*argument, levels)).collect();
            Some(match (name.as_str(), arguments.as_slice()) {
                ("System.Nullable`1", [of]) => format!("{of}?"),
                _ => display_type_name(&name, &arguments),
            })
        };
        read().unwrap_or_else(|| "?".to_owned())
    }

    /// Returns the name of a type of a signature; `arguments` are the names of its type's arguments.
    pub(super) fn type_name(&self, import: &Import, ty: &Type, arguments: &[String]) -> String {
        ModuleNames::default().display_signature_type(import, ty, arguments, &[])
    }
}

/// Returns the C# keyword of a type of the core library.
fn keyword(name: &str) -> Option<&'static str> {
    Some(match name {
        "System.Boolean" => "bool",
        "System.Char" => "char",
        "System.SByte" => "sbyte",
        "System.Byte" => "byte",
        "System.Int16" => "short",
        "System.UInt16" => "ushort",
        "System.Int32" => "int",
        "System.UInt32" => "uint",
        "System.Int64" => "long",
        "System.UInt64" => "ulong",
        "System.Single" => "float",
        "System.Double" => "double",
        "System.Decimal" => "decimal",
        "System.String" => "string",
        "System.Object" => "object",
        _ => return None,
    })
}
