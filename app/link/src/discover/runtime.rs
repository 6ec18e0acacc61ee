//! Recognizes runtimes by the names of mapped files. Pure.
#![forbid(unsafe_code)]

/// The kind of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeKind {
    /// .NET Core and .NET 5+.
    CoreClr,
    /// .NET Framework.
    Framework,
    /// Compiled ahead of time, without a JIT.
    #[cfg_attr(windows, allow(dead_code, reason = "recognized only by symbols of ELF programs"))]
    NativeAot,
    /// Mono.
    Mono,
}

impl RuntimeKind {
    /// Returns the word for JSON.
    pub fn word(self) -> &'static str {
        match self {
            RuntimeKind::CoreClr => "coreclr",
            RuntimeKind::Framework => "framework",
            RuntimeKind::NativeAot => "nativeaot",
            RuntimeKind::Mono => "mono",
        }
    }

    /// Returns why this kind can never load the agent; `None` if it can.
    fn obstacle(self) -> Option<&'static str> {
        match self {
            RuntimeKind::CoreClr | RuntimeKind::Framework => None,
            RuntimeKind::NativeAot => {
                Some("it was compiled ahead of time and has no JIT to recompile methods")
            }
            RuntimeKind::Mono => Some("it runs on Mono, which has no ICorProfiler interface"),
        }
    }
}

/// The runtime of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// Its kind.
    pub kind: RuntimeKind,
    /// Its version, such as `8.0.31`, if visible from outside.
    pub version: Option<String>,
}

impl Runtime {
    /// Creates a runtime.
    pub fn new(kind: RuntimeKind, version: Option<&str>) -> Runtime {
        Runtime { kind, version: version.map(str::to_owned) }
    }

    /// Returns why it can never load the agent; `None` if it can.
    pub fn obstacle(&self) -> Option<String> {
        self.kind.obstacle().map(str::to_owned)
    }
}

/// Runtimes covered by this project's tests, as `major.minor`.
const TESTED: [&str; 4] = ["2.1", "3.1", "8.0", "10.0"];

/// Returns whether Redial is tested on a version (`8.0.31`) of a kind (its JSON word).
pub fn tested(kind: &str, version: &str) -> bool {
    let mut parts = version.splitn(3, '.');
    let major_minor = [parts.next().unwrap_or_default(), parts.next().unwrap_or_default()].join(".");
    kind == RuntimeKind::CoreClr.word() && TESTED.contains(&major_minor.as_str())
}

/// Lists the files mapped into a process, from its `/proc/PID/maps` (proc(5): six columns, the last is the
/// path and may contain blanks).
#[cfg(any(unix, test))]
pub fn mapped_files(maps: &str) -> impl Iterator<Item = &str> {
    maps.lines().filter_map(|line| {
        let path = line.get(line.find('/')?..)?;
        Some(path.strip_suffix(" (deleted)").unwrap_or(path))
    })
}

/// Returns the runtime that a set of mapped files indicates, and the file that indicates it.
pub fn recognise<'a>(files: impl Iterator<Item = &'a str>) -> Option<(Runtime, &'a str)> {
    let mut mono = None;
    for path in files {
        let (folder, file) = path.rsplit_once(['/', '\\']).unwrap_or(("", path));
        let last = folder.rsplit(['/', '\\']).next().unwrap_or_default();
        // Most files match nothing, so compare without copying.
        let is = |name: &str| file.eq_ignore_ascii_case(name);
        let begins =
            |name: &str| file.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
        if is("libcoreclr.so") || is("coreclr.dll") {
            return Some((Runtime::new(RuntimeKind::CoreClr, version_of(last)), path));
        }
        if is("clr.dll") || is("mscorwks.dll") {
            let version = last.strip_prefix(['v', 'V']).and_then(version_of);
            return Some((Runtime::new(RuntimeKind::Framework, version), path));
        }
        if begins("libmonosgen-") || begins("mono-2.0-") || is("mono-sgen") {
            mono = Some((Runtime::new(RuntimeKind::Mono, None), path));
        }
    }
    mono
}

/// Accepts a folder name that is a version: `8.0.31`, `10.0.0-rc.1.25451.107`.
fn version_of(folder: &str) -> Option<&str> {
    let numbers = folder.split(['-', '+']).next().unwrap_or_default();
    let mut parts = numbers.split('.');
    let whole =
        parts.clone().count() >= 2 && parts.all(|part| !part.is_empty() && part.parse::<u32>().is_ok());
    whole.then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0c0a00000-55d0c0a10000 r--p 00000000 08:01 1311 /usr/share/dotnet/dotnet
7f1d28000000-7f1d28021000 rw-p 00000000 00:00 0
7f1d30000000-7f1d30100000 r-xp 00001000 08:01 99 /usr/share/dot net/shared/Microsoft.NETCore.App/8.0.31/libcoreclr.so (deleted)
7ffd1c5e0000-7ffd1c601000 rw-p 00000000 00:00 0                          [stack]
";

    fn found(path: &str) -> Option<Runtime> {
        recognise([path].into_iter()).map(|(runtime, file)| {
            assert_eq!(file, path);
            runtime
        })
    }

    #[test]
    fn recognizes_coreclr_and_its_version_in_maps() {
        let (runtime, file) = recognise(mapped_files(MAPS)).expect("there is one");
        assert_eq!(runtime, Runtime::new(RuntimeKind::CoreClr, Some("8.0.31")));
        assert_eq!(file, "/usr/share/dot net/shared/Microsoft.NETCore.App/8.0.31/libcoreclr.so");
    }

    #[test]
    fn recognizes_other_runtimes_and_missing_versions() {
        let kind_and_version = |path| found(path).map(|runtime| (runtime.kind, runtime.version));
        assert_eq!(kind_and_version("/opt/shop/libcoreclr.so"), Some((RuntimeKind::CoreClr, None)));
        assert_eq!(
            kind_and_version(
                r"C:\Program Files\dotnet\shared\Microsoft.NETCore.App\10.0.0-rc.1.25451.107\CoreCLR.dll"
            ),
            Some((RuntimeKind::CoreClr, Some("10.0.0-rc.1.25451.107".into())))
        );
        assert_eq!(
            kind_and_version(r"C:\Windows\Microsoft.NET\Framework64\v4.0.30319\clr.dll"),
            Some((RuntimeKind::Framework, Some("4.0.30319".into())))
        );
        assert_eq!(kind_and_version("/usr/lib/libmonosgen-2.0.so.1"), Some((RuntimeKind::Mono, None)));
        assert_eq!(found("/usr/lib/x86_64-linux-gnu/libc.so.6"), None);
        assert_eq!(found("/tmp/libcoreclr.so.d/libother.so"), None);
    }

    #[test]
    fn versions_are_numbers_with_dots() {
        for word in ["", "8", "8.", "lib.so", "8.x", ".8"] {
            assert_eq!(version_of(word), None, "{word}");
        }
    }

    #[test]
    fn unsuitable_runtimes_have_reasons() {
        assert_eq!(Runtime::new(RuntimeKind::CoreClr, None).obstacle(), None);
        assert_eq!(Runtime::new(RuntimeKind::Framework, None).obstacle(), None);
        let aot = Runtime::new(RuntimeKind::NativeAot, None);
        assert!(aot.obstacle().is_some_and(|why| why.contains("ahead of time")));
    }

    #[test]
    fn knows_which_versions_are_tested() {
        assert!(tested("coreclr", "8.0.31") && tested("coreclr", "2.1.30") && tested("coreclr", "10.0.11"));
        assert!(!tested("coreclr", "9.0.1") && !tested("framework", "8.0.1") && !tested("coreclr", "1.0"));
    }
}
