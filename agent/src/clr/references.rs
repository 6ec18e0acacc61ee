//! `IMetaDataAssemblyImport`: the assemblies that a module refers to, and the types it forwards to others.

use super::bindings::{ASSEMBLYMETADATA, IMetaDataAssemblyImport};
use super::buffers::wide;
use super::hresult::ClrError;
use super::metadata::Import;
use windows_core::{Interface, PCWSTR};

/// Table number of AssemblyRef (ECMA-335 II.22.5).
const ASSEMBLY_REF: u32 = 0x23;

impl Import<'_> {
    /// Returns the simple name of an AssemblyRef (`0x23……`).
    pub fn assembly_ref(&self, token: u32) -> Result<String, ClrError> {
        let import = self.assemblies("GetAssemblyRefProps")?;
        let (mut key, mut hash) = (std::ptr::null(), std::ptr::null());
        let (mut key_length, mut hash_length, mut flags) = (0u32, 0u32, 0u32);
        // Without buffers for culture, processors and systems, the call fills in numbers only.
        let mut version = ASSEMBLYMETADATA::default();
        self.name("GetAssemblyRefProps", |name, units, written| {
            // SAFETY: the name's buffer has the length given (`name`); all out pointers are live locals; the call
            // writes to those of key and hash, although the binding declares them const.
            unsafe {
                import.GetAssemblyRefProps(
                    token,
                    &raw mut key,
                    &mut key_length,
                    name,
                    units,
                    written,
                    &mut version,
                    &raw mut hash,
                    &mut hash_length,
                    &mut flags,
                )
            }
        })
    }

    /// Whether the module forwards the type with this full name to another module (an ExportedType).
    pub fn forwards(&self, name: &str) -> bool {
        self.exported_type(name).is_some()
    }

    /// Returns the simple name of the assembly to which the module forwards the type with this full name.
    pub fn forwarded_to(&self, name: &str) -> Option<String> {
        let exported = self.exported_type(name)?;
        let import = self.assemblies("GetExportedTypeProps").ok()?;
        let (mut length, mut implementation, mut definition, mut flags) = (0u32, 0u32, 0u32, 0u32);
        // SAFETY: a null name buffer of length 0 is allowed; out pointers are live locals.
        let hresult = unsafe {
            import.GetExportedTypeProps(
                exported,
                None,
                0,
                &mut length,
                &mut implementation,
                &mut definition,
                &mut flags,
            )
        };
        (hresult.is_ok() && implementation >> 24 == ASSEMBLY_REF).then_some(())?;
        self.assembly_ref(implementation).ok()
    }

    fn exported_type(&self, name: &str) -> Option<u32> {
        let import = self.assemblies("FindExportedTypeByName").ok()?;
        let name = wide(name);
        let mut token = 0u32;
        // SAFETY: the name is NUL-terminated and outlives the call; nil means that the type is not nested.
        let hresult = unsafe { import.FindExportedTypeByName(PCWSTR(name.as_ptr()), 0, &mut token) };
        hresult.is_ok().then_some(token)
    }

    fn assemblies(&self, call: &'static str) -> Result<IMetaDataAssemblyImport, ClrError> {
        self.import.cast().map_err(|error| ClrError { call, hresult: error.code() })
    }
}
