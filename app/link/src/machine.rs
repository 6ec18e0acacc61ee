//! The name of this machine.
#![forbid(unsafe_code)]

use redial_protocol::peer_text::clean;

/// Returns the name that this machine has on its network, if the system tells it.
pub fn host_name() -> Option<String> {
    let name = match cfg!(windows) {
        true => std::env::var("COMPUTERNAME").ok(),
        false => std::fs::read_to_string("/proc/sys/kernel/hostname").ok(),
    };
    name.map(|name| clean(name.trim()).into_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(any(windows, target_os = "linux"))]
    fn this_machine_has_a_name() {
        assert!(host_name().is_some_and(|name| !name.contains(char::is_whitespace)));
    }
}
