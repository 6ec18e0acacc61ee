//! Recipes for PowerShell, application pools and services. Written from the documentation of IIS and Windows.
#![forbid(unsafe_code)]

use super::recipe::{Recipe, names, variables};

/// Returns the place of the library on a Windows machine, if this is not one.
pub fn elsewhere() -> String {
    r"C:\Program Files\Redial\redial_agent.dll".to_owned()
}

/// The note on .NET Framework.
const FRAMEWORK: &str = ".NET Framework reads the COR_ variables, only when a program starts, and does not support \
     attach. .NET Core and .NET 5 or later read the CORECLR_ variables.";

/// Quotes a value in single quotes, where only a quote is special.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

/// Returns lines for PowerShell, on Windows and elsewhere.
pub fn powershell(library: String, windows: bool) -> Recipe {
    let set = |(name, value): (&str, String)| format!("$env:{name} = {}", quoted(&value));
    let removed: Vec<String> = names(windows).map(|name| format!("Env:{name}")).collect();
    Recipe {
        title:
            "Every .NET program started from this PowerShell has the agent: redial env --for powershell | \
                Out-String | Invoke-Expression"
                .into(),
        lines: variables(&library, windows).into_iter().map(set).collect(),
        restart: vec!["restart running programs from here, or load the agent with `redial attach`".into()],
        undo: vec![format!("Remove-Item {}", removed.join(", "))],
        notes: windows.then(|| FRAMEWORK.to_owned()).into_iter().collect(),
        library,
        windows,
        tested: false,
    }
}

/// Returns appcmd commands that set the variables of one application pool (IIS 10 and later).
pub fn iis(pool: &str, library: String) -> Recipe {
    const APPCMD: &str = r#"& "$env:windir\System32\inetsrv\appcmd.exe""#;
    let change = |sign: char, what: String| {
        format!(
            "{APPCMD} set config -section:system.applicationHost/applicationPools \
             \"/{sign}[name='{pool}'].environmentVariables.[{what}]\" /commit:apphost"
        )
    };
    let recycle = format!("{APPCMD} recycle apppool /apppool.name:\"{pool}\"");
    let set = |(name, value): (&str, String)| change('+', format!("name='{name}',value='{value}'"));
    let mut lines = vec![format!("icacls {} /grant \"IIS AppPool\\{pool}:(RX)\"", quoted(&library))];
    lines.extend(variables(&library, true).into_iter().map(set));
    let mut undo: Vec<String> = names(true).map(|name| change('-', format!("name='{name}'"))).collect();
    undo.push(recycle.clone());
    Recipe {
        title: format!(
            "Worker processes of the application pool '{pool}' have the agent (IIS 10 or later). In an elevated \
             PowerShell:"
        ),
        lines,
        restart: vec![recycle, format!("redial ps, redial dial pool:{pool} …")],
        undo,
        notes: vec![
            FRAMEWORK.into(),
            "Only 64-bit pools: `enable 32-bit applications` must be off.".into(),
            "The first line lets the pool's identity read the library. If the pool runs under a custom account, name that \
             account instead."
                .into(),
        ],
        library,
        windows: true,
        tested: false,
    }
}

/// Returns commands that add the variables to the `Environment` value of a service's key. Other variables stay.
pub fn service(name: &str, library: String) -> Recipe {
    let key = format!(r"$key = 'HKLM:\SYSTEM\CurrentControlSet\Services\{name}'");
    let ours = names(true).collect::<Vec<_>>().join("|");
    let read = format!(
        "$old = @((Get-ItemProperty $key).Environment | Where-Object {{ $_ -and $_ -notmatch '^({ours})=' }})"
    );
    let values: Vec<String> = variables(&library, true)
        .into_iter()
        .map(|(name, value)| quoted(&format!("{name}={value}")))
        .collect();
    let restart = format!("Restart-Service '{name}'");
    let write = |values: &str| {
        format!("New-ItemProperty $key -Name Environment -PropertyType MultiString -Force -Value {values}")
    };
    Recipe {
        title: format!("The service '{name}' has the agent. In an elevated PowerShell:"),
        lines: vec![
            key.clone(),
            read.clone(),
            write(&format!("([string[]]($old + @({})))", values.join(", "))),
        ],
        restart: vec![restart.clone()],
        undo: vec![
            key,
            read,
            format!(
                "if ($old) {{ {} }} else {{ Remove-ItemProperty $key -Name Environment }}",
                write("([string[]]$old)")
            ),
            restart,
        ],
        notes: vec![
            FRAMEWORK.into(),
            "The service's account must be able to read the library. Other variables of the service stay, but those of \
             another profiler are replaced, so note them first."
                .into(),
        ],
        library,
        windows: true,
        tested: false,
    }
}
