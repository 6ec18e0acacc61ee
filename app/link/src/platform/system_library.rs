//! The system library that programs and libraries link to, recognized by file names.
#![forbid(unsafe_code)]

/// A C library, or Windows itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemLibrary {
    /// GNU's C library on Linux.
    Glibc,
    /// The C library of Alpine and others.
    Musl,
    /// Windows.
    Windows,
}

impl SystemLibrary {
    /// Returns the C library to which a file belongs.
    #[cfg(unix)]
    pub fn of_file_name(name: &str) -> Option<SystemLibrary> {
        if name.starts_with("ld-musl-") || name.starts_with("libc.musl-") || name == "libc.so" {
            Some(SystemLibrary::Musl)
        } else if name.starts_with("ld-linux") || name == "libc.so.6" {
            Some(SystemLibrary::Glibc)
        } else {
            None
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn recognizes_c_libraries_by_file_name() {
        for (name, library) in [
            ("ld-musl-x86_64.so.1", Some(SystemLibrary::Musl)),
            ("libc.musl-x86_64.so.1", Some(SystemLibrary::Musl)),
            ("libc.so", Some(SystemLibrary::Musl)),
            ("libc.so.6", Some(SystemLibrary::Glibc)),
            ("ld-linux-aarch64.so.1", Some(SystemLibrary::Glibc)),
            ("ld-linux-x86-64.so.2", Some(SystemLibrary::Glibc)),
            ("libcoreclr.so", None),
        ] {
            assert_eq!(SystemLibrary::of_file_name(name), library, "{name}");
        }
    }
}
