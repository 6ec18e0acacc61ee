//! Containers: the library is shared into them, and its place there named. Written from the documentation of docker and
//! kubectl.
#![forbid(unsafe_code)]

use super::{Recipe, names, unix, variables};

/// The folder of the library inside.
const INSIDE: &str = "/opt/redial";

const REACH: &str =
    "Afterwards, as root of the machine it runs on: redial ps (or the same inside the container)";
const LIBC: &str =
    "The image must be built on glibc (Debian, Ubuntu, RHEL, …, not Alpine), for this processor.";

/// Options of `docker run` and `docker create`, and the same for a compose file.
pub fn docker(agent: String) -> Recipe {
    let inside = unix::elsewhere();
    let mut lines = vec!["docker run \\".to_owned()];
    for (name, value) in variables(&inside, false) {
        lines.push(format!("  --env '{name}={value}' \\"));
    }
    lines.push(format!("  --volume '{}:{inside}:ro' \\", agent.replace('\'', r"'\''")));
    lines.push("  IMAGE".to_owned());
    Recipe {
        title: "Options for `docker run`; IMAGE and what else it takes are yours.".into(),
        lines,
        restart: vec![
            "docker stop CONTAINER, and run it anew: variables of a container do not change".into(),
        ],
        undo: vec!["run it anew without these options".into()],
        notes: vec![
            "In a compose file: the same under `environment:` and `volumes:` of the service.".into(),
            LIBC.into(),
            REACH.into(),
        ],
        library: inside,
        windows: false,
        tested: false,
    }
}

/// A strategic merge patch of a deployment.
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
        title: "A patch for a deployment; CONTAINER is the container's name in it: redial env --for kubernetes > \
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
            "or, as long as nothing else was changed: kubectl rollout undo deployment/NAME".into(),
        ],
        notes: vec![
            format!("The agent library goes into {INSIDE} of every node first, or the folder into the image."),
            LIBC.into(),
            REACH.into(),
        ],
        library: inside,
        windows: false,
        tested: false,
    }
}
