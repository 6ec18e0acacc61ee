//! Recognizes modules of the runtime and its libraries, so that they can be hidden.

/// Folders that contain only frameworks, as parts of a path with `/` as separator.
const FOLDERS: [&str; 7] = [
    "/shared/microsoft.netcore.app/",
    "/shared/microsoft.aspnetcore.app/",
    "/shared/microsoft.aspnetcore.all/",
    "/shared/microsoft.windowsdesktop.app/",
    "/windows/microsoft.net/",
    "/windows/assembly/",
    "/lib/mono/",
];

/// Assemblies that are frameworks wherever they lie (published with the program, or in a single file).
const NAMES: [&str; 9] = [
    "mscorlib",
    "netstandard",
    "system",
    "windowsbase",
    "presentationcore",
    "presentationframework",
    "accessibility",
    "uiautomationtypes",
    "uiautomationprovider",
];
const BEGINNINGS: [&str; 6] = [
    "system.",
    "microsoft.aspnetcore.",
    "microsoft.extensions.",
    "microsoft.win32.",
    "microsoft.visualbasic",
    "microsoft.csharp",
];

/// Returns whether a module with this simple name and path belongs to a framework.
pub fn is_framework(name: &str, path: &str) -> bool {
    let path = path.to_ascii_lowercase().replace('\\', "/");
    let name = name.to_ascii_lowercase();
    FOLDERS.iter().any(|folder| path.contains(folder))
        || NAMES.contains(&name.as_str())
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_frameworks_by_folder_or_name() {
        for (name, path) in [
            ("System.Private.CoreLib", "/usr/share/dotnet/shared/Microsoft.NETCore.App/8.0.31/x.dll"),
            ("Anything", r"C:\Program Files\dotnet\shared\Microsoft.AspNetCore.App\8.0.0\Anything.dll"),
            ("mscorlib", r"C:\Windows\Microsoft.NET\Framework64\v4.0.30319\mscorlib.dll"),
            ("System.Text.Json", "/opt/shop/System.Text.Json.dll"),
            ("System.Private.CoreLib", ""),
            ("Microsoft.Extensions.Logging", "/opt/shop/Microsoft.Extensions.Logging.dll"),
        ] {
            assert!(is_framework(name, path), "{name} {path}");
        }
        for (name, path) in [
            ("Shop", "/opt/shop/Shop.dll"),
            ("Systemic", "/opt/Systemic.dll"),
            ("Microsoft.Contoso", "/opt/x.dll"),
        ] {
            assert!(!is_framework(name, path), "{name} {path}");
        }
    }
}
