//! `IMetaDataAssemblyImport`: which assemblies a module refers to, and what it forwards to others.

use super::bindings::{ASSEMBLYMETADATA, IMetaDataAssemblyImport};
use super::hresult::ClrError;
use super::metadata::Import;
use super::wide;
use windows_core::{Interface, PCWSTR};

impl Import {
    /// The simple name of an AssemblyRef (`0x23……`).
    pub fn assembly_ref(&self, token: u32) -> Result<String, ClrError> {
        let import = self.assemblies("GetAssemblyRefProps")?;
        let (mut key, mut hash) = (std::ptr::null(), std::ptr::null());
        let (mut key_length, mut hash_length, mut flags) = (0u32, 0u32, 0u32);
        // No buffers for culture, processors and systems: only numbers are filled in.
        let mut version = ASSEMBLYMETADATA::default();
        self.name("GetAssemblyRefProps", |name, units, written| {
            // SAFETY: the name's buffer has the length given (`name`); all out pointers are live locals; those of key and
            // hash are written to, though the binding has them const.
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

    /// Whether the module forwards the type of that full name to another one (an ExportedType).
    pub fn forwards(&self, name: &str) -> bool {
        let Ok(import) = self.assemblies("FindExportedTypeByName") else { return false };
        let name = wide(name);
        let mut token = 0u32;
        // SAFETY: the name is NUL-terminated and outlives the call; nil: it is not nested.
        let hresult = unsafe { import.FindExportedTypeByName(PCWSTR(name.as_ptr()), 0, &mut token) };
        hresult.is_ok()
    }

    fn assemblies(&self, call: &'static str) -> Result<IMetaDataAssemblyImport, ClrError> {
        self.import.cast().map_err(|error| ClrError { call, hresult: error.code() })
    }
}
