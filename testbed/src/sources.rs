//! Generated C# source files.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::cache;

/// Writes a generated C# file into its own folder in the cache and returns its path.
///
/// # Errors
/// When it cannot be written.
pub fn source_file(name: &str, source: &str) -> Result<PathBuf> {
    let file = format!("{name}.cs");
    let folder = cache::ensure(&format!("generated/{name}"), source, |into| {
        let path = into.join(&file);
        fs::write(&path, source).with_context(|| format!("cannot write {}", path.display()))
    })?;
    Ok(folder.join(file))
}

/// Number of statements of [`long_body_source`], about 20 bytes of IL each.
const LONG_BODY: u32 = 5000;

/// Writes a C# file with the implementation of `Shapes.Big.Body`: far more than 64 KiB of IL, with branches and
/// exception clauses throughout.
///
/// # Errors
/// When it cannot be written.
pub fn long_body_source() -> Result<PathBuf> {
    let mut source = "namespace Shapes\n{\n    static partial class Big\n    {\n        static partial void Body(ref long \
                      number)\n        {\n            T.Hit(\"Big.Body(ref long)\");\n            int rounds = \
                      0;\n        again:\n            try\n            {\n"
        .to_owned();
    for n in 0..LONG_BODY {
        let _ = writeln!(
            source,
            "                number = unchecked(number * 31 + {n}); if (number % {} == 0) goto end;",
            1_000_003 + n
        );
    }
    source.push_str(
        "                throw new System.FormatException();\n            }\n            catch (System.FormatException) \
         when (rounds < 2)\n            {\n                if (rounds++ < 2) goto again;\n            }\n        \
         end:\n            number ^= rounds;\n        }\n    }\n}\n",
    );
    source_file("LongBody", &source)
}
