//! Recipes for a shell and systemd. This project's tests run both as printed.
#![forbid(unsafe_code)]

use super::recipe::{Recipe, names, variables};
use crate::library;

/// Returns lines for sh, bash, dash, zsh and fish.
pub fn shell(agent: String) -> Recipe {
    let export = |(name, value): (&str, String)| format!("export {name}={}", quoted(&value));
    Recipe {
        title: "Every .NET program started from this shell has the agent: eval \"$(redial env --for shell)\""
            .into(),
        lines: variables(&agent, false).into_iter().map(export).collect(),
        restart: vec![
            "restart running programs from this shell, or load the agent with `redial attach`".into(),
        ],
        undo: vec![format!("unset {}", names(false).collect::<Vec<_>>().join(" "))],
        notes: vec![],
        library: agent,
        windows: false,
        tested: true,
    }
}

/// Quotes a value in single quotes, where only a quote is special.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

/// Returns the content of a drop-in file.
pub fn systemd(agent: String) -> Recipe {
    let set = |(name, value): (&str, String)| format!("Environment={}", assignment(name, &value));
    let mut lines = vec!["[Service]".to_owned()];
    lines.extend(variables(&agent, false).into_iter().map(set));
    Recipe {
        title: "A drop-in for one service; replace UNIT with its name: \
                mkdir -p /etc/systemd/system/UNIT.service.d && \
                redial env --for systemd > /etc/systemd/system/UNIT.service.d/redial.conf"
            .into(),
        lines,
        restart: vec!["systemctl daemon-reload && systemctl restart UNIT".into()],
        undo: vec![
            "rm /etc/systemd/system/UNIT.service.d/redial.conf".into(),
            "systemctl daemon-reload && systemctl restart UNIT".into(),
        ],
        notes: vec![
            "The service's user must be able to read the library (check ProtectHome=, PrivateTmp= and RootDirectory=).".into(),
            "Afterwards, run redial ps as that user or root".into(),
        ],
        library: agent,
        windows: false,
        tested: true,
    }
}

/// Returns the file name of the library on Linux.
pub fn file() -> &'static str {
    if cfg!(windows) { "libredial_agent.so" } else { library::FILE }
}

/// Returns the place of the library on another Linux machine.
pub fn elsewhere() -> String {
    format!("{}/agents/linux-x64/{}", library::COPIES, file())
}

/// Returns an assignment in double quotes for systemd (systemd.exec(5), systemd.syntax(7)): `\` and `"` are escaped,
/// and `%` is doubled because it starts a specifier.
fn assignment(name: &str, value: &str) -> String {
    let escaped = value.replace('\\', r"\\").replace('"', "\\\"").replace('%', "%%");
    format!("\"{name}={escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_their_quotes() {
        assert_eq!(quoted("/opt/o'neil's $HOME"), r"'/opt/o'\''neil'\''s $HOME'");
        assert_eq!(assignment("A", r#"/opt/100%/"x"\y"#), r#""A=/opt/100%%/\"x\"\\y""#);
    }
}
