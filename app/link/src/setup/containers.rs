//! Recipes for containers, which mount the library. Written from the documentation of docker and kubectl.
#![forbid(unsafe_code)]

use super::recipe::{Recipe, names, variables};
use super::unix;

/// The folder of the library inside a container.
const INSIDE: &str = "/opt/redial";

const REACH: &str = "Afterwards, run redial ps as root on the host, or inside the container";
const LIBC: &str = "The image must use glibc (Debian, Ubuntu, RHEL, …, not Alpine) and this machine's processor architecture.";

/// Returns options for `docker run` and `docker create`, and a note about compose files.
pub fn docker(agent: String) -> Recipe {
    let inside = unix::elsewhere();
    let mut lines = vec!["docker run \\".to_owned()];
    for (name, value) in variables(&inside, false) {
        lines.push(format!("  --env '{name}={value}' \\"));
    }
    lines.push(format!("  --volume '{}:{inside}:ro' \\", agent.replace('\'', r"'\''")));
    lines.push("  IMAGE".to_owned());
    Recipe {
        title: "Options for `docker run`; fill in IMAGE and your own options.".into(),
        lines,
        restart: vec![
            "docker stop CONTAINER, then start a new one: the variables of a container cannot change".into(),
        ],
        undo: vec!["start a new container without these options".into()],
        notes: vec![
            "In a compose file, put the same under `environment:` and `volumes:` of the service.".into(),
            LIBC.into(),
            REACH.into(),
        ],
        library: inside,
        windows: false,
        tested: false,
    }
}

/// Returns a strategic merge patch for a deployment.
pub fn kubernetes() -> Recipe {
    let inside = unix::elsewhere();
    let mut lines: Vec<String> =
        ["spec:", "  template:", "    spec:", "      containers:", "      - name: CONTAINER", "        env:"]
            .map(str::to_owned)
            .to_vec();
    for (name, value) in variables(&inside, false) {
        lines.push(format!("        - name: {name}"));
        lines.push(format!("          value: \"{value}\""));
    }
    lines.extend(
        [
            "        volumeMounts:",
            "        - name: redial-agent",
            &format!("          mountPath: {INSIDE}"),
            "          readOnly: true",
            "      volumes:",
            "      - name: redial-agent",
            "        hostPath:",
            &format!("          path: {INSIDE}"),
            "          type: Directory",
        ]
        .map(str::to_owned),
    );
    Recipe {
        title: "A patch for a deployment; replace CONTAINER with the container's name: redial env --for kubernetes > \
                redial.yaml"
            .into(),
        lines,
        restart: vec![
            "kubectl patch deployment NAME --patch-file redial.yaml".into(),
            "kubectl rollout status deployment NAME".into(),
        ],
        undo: vec![
            format!(
                "kubectl set env deployment/NAME --containers=CONTAINER {}",
                names(false).map(|name| format!("{name}-")).collect::<Vec<_>>().join(" ")
            ),
            "or, if nothing else was changed: kubectl rollout undo deployment/NAME".into(),
        ],
        notes: vec![
            format!("First copy the agent library to {INSIDE} on every node, or add that folder to the image."),
            LIBC.into(),
            REACH.into(),
        ],
        library: inside,
        windows: false,
        tested: false,
    }
}
