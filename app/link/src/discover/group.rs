//! Names the group of a process: a systemd unit, a container or an application pool. Pure.
#![forbid(unsafe_code)]

/// Returns the innermost container or service in the text of `/proc/PID/cgroup` (cgroups(7)).
#[cfg(any(unix, test))]
pub fn from_cgroup(text: &str) -> Option<String> {
    // Version 2 has one line `0::/path`; under version 1 systemd's own hierarchy is `N:name=systemd:/path`.
    let path = text
        .lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, ':');
            Some((fields.next()?, fields.next()?, fields.next()?))
        })
        .find(|(id, controllers, _)| {
            (*id == "0" && controllers.is_empty()) || *controllers == "name=systemd"
        })?
        .2;
    path.rsplit('/').find_map(|part| container(part).or_else(|| service(part)))
}

/// Recognizes `docker-<64 hex>.scope`, `cri-containerd-<64 hex>.scope` and `<64 hex>`. Returns the first 12
/// digits, as other tools show them.
#[cfg(any(unix, test))]
fn container(part: &str) -> Option<String> {
    let part = part.strip_suffix(".scope").unwrap_or(part);
    let id = part.rsplit(['-', ':']).next()?;
    (id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .then(|| format!("container:{}", &id[..12]))
}

#[cfg(any(unix, test))]
fn service(part: &str) -> Option<String> {
    let name = part.strip_suffix(".service")?;
    // The manager of a login session says nothing about the program.
    (!name.is_empty() && !name.starts_with("user@")).then(|| part.to_owned())
}

/// Returns the application pool of an IIS worker from its command line: `w3wp.exe -ap "Shop" -v "v4.0" …`.
#[cfg(any(windows, test))]
pub fn from_worker_command(name: &str, arguments: &[String]) -> Option<String> {
    if !name.eq_ignore_ascii_case("w3wp.exe") {
        return None;
    }
    let pool =
        arguments.iter().position(|argument| argument == "-ap").and_then(|at| arguments.get(at + 1))?;
    Some(format!("pool:{}", pool.trim_matches('"')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_and_containers_are_named() {
        let id = "4f5a7c0e9b1d".to_owned() + &"0".repeat(52);
        let cases = [
            ("0::/system.slice/shop.service\n".to_owned(), Some("shop.service")),
            (format!("0::/system.slice/docker-{id}.scope\n"), Some("container:4f5a7c0e9b1d")),
            (format!("12:cpu:/x\n1:name=systemd:/docker/{id}\n"), Some("container:4f5a7c0e9b1d")),
            (
                format!("0::/kubepods.slice/pod1.slice/cri-containerd-{id}.scope"),
                Some("container:4f5a7c0e9b1d"),
            ),
            (
                "0::/user.slice/user-1000.slice/user@1000.service/app.slice/shop.service".into(),
                Some("shop.service"),
            ),
            ("0::/user.slice/user-1000.slice/session-3.scope\n".into(), None),
            ("0::/user.slice/user@1000.service/init.scope\n".into(), None),
            ("0::/\n".into(), None),
            ("".into(), None),
            ("nonsense".into(), None),
        ];
        for (text, group) in cases {
            assert_eq!(from_cgroup(&text).as_deref(), group, "{text}");
        }
    }

    #[test]
    fn a_worker_belongs_to_its_pool() {
        let arguments: Vec<String> = ["w3wp.exe", "-ap", "\"Shop\"", "-v", "v4.0"].map(String::from).to_vec();
        assert_eq!(from_worker_command("W3WP.exe", &arguments).as_deref(), Some("pool:Shop"));
        assert_eq!(from_worker_command("shop.exe", &arguments), None);
        assert_eq!(from_worker_command("w3wp.exe", &arguments[..2]), None);
    }
}
