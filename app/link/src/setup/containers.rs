//! Recipes for containers, which mount the library. Written from the documentation of docker and kubectl.
#![forbid(unsafe_code)]

use super::recipe::{Recipe, names, variables};
use super::unix;
use crate::library;

/// The folder inside a container that holds the folder of agents. `redial attach` looks there, too.
const INSIDE: &str = library::COPIES;

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

/// Returns the lines of a strategic merge patch that let a container use the library from a volume.
fn patch(inside: &str, init: &[&str], volume: &[&str]) -> Vec<String> {
    let mut lines: Vec<String> = ["spec:", "  template:", "    spec:"].map(str::to_owned).to_vec();
    lines.extend(init.iter().map(|line| (*line).to_owned()));
    lines.extend(["      containers:", "      - name: CONTAINER", "        env:"].map(str::to_owned));
    for (name, value) in variables(inside, false) {
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
        ]
        .map(str::to_owned),
    );
    lines.extend(volume.iter().map(|line| (*line).to_owned()));
    lines
}

/// Returns the steps that undo a patch.
fn undo_patch() -> Vec<String> {
    let names = names(false).map(|name| format!("{name}-")).collect::<Vec<_>>().join(" ");
    vec![
        format!("kubectl set env deployment/NAME --containers=CONTAINER {names}"),
        "or, if nothing else was changed, also without volumes and init container: kubectl rollout undo deployment/NAME"
            .into(),
    ]
}

fn apply_patch() -> Vec<String> {
    vec![
        "kubectl patch deployment NAME --patch-file redial.yaml".into(),
        "kubectl rollout status deployment NAME".into(),
    ]
}

/// Returns a patch for a deployment, with the library from a folder of the node.
pub fn kubernetes() -> Recipe {
    let inside = unix::elsewhere();
    let volume = ["        hostPath:", &format!("          path: {INSIDE}"), "          type: Directory"];
    Recipe {
        title: "A patch for a deployment; replace CONTAINER with the container's name: redial env --for kubernetes > \
                redial.yaml"
            .into(),
        lines: patch(&inside, &[], &volume),
        restart: apply_patch(),
        undo: undo_patch(),
        notes: vec![
            format!("First copy the folder agents of a package to {INSIDE} on every node, or add it to the image."),
            LIBC.into(),
            REACH.into(),
        ],
        library: inside,
        windows: false,
        tested: false,
    }
}

/// Returns a patch for a deployment, with the library from an image that an init container copies.
pub fn init_container() -> Recipe {
    // The image has one folder per platform; see assets/package/image.
    let inside = unix::elsewhere();
    let init = [
        "      initContainers:",
        "      - name: redial-agent",
        "        image: IMAGE",
        &format!("        command: [cp, -r, /agents, {INSIDE}/]"),
        "        volumeMounts:",
        "        - name: redial-agent",
        &format!("          mountPath: {INSIDE}"),
    ];
    Recipe {
        title: "A patch for a deployment; replace IMAGE with the agent's image and CONTAINER with the container's name: \
                redial env --for init-container > redial.yaml"
            .into(),
        lines: patch(&inside, &init, &["        emptyDir: {}"]),
        restart: apply_patch(),
        undo: undo_patch(),
        notes: vec![
            "First build the image from redial-VERSION-agent-image.tar.gz: docker build --tag IMAGE FOLDER".into(),
            "The folder below agents is the platform's: linux-x64 for glibc on x64, the only one so far.".into(),
            REACH.into(),
        ],
        library: inside,
        windows: false,
        tested: false,
    }
}

/// Returns the variables for a program that the NuGet package Redial.Agent is part of.
pub fn nuget() -> Recipe {
    let inside = format!("/app/{}", unix::file());
    Recipe {
        title: "Variables for a program published with the NuGet package Redial.Agent; replace /app with its folder."
            .into(),
        lines: variables(&inside, false).into_iter().map(|(name, value)| format!("{name}={value}")).collect(),
        restart: vec!["restart the program with these variables".into()],
        undo: vec!["start it without them".into()],
        notes: vec![
            "dotnet nuget add source FOLDER --name redial (that of the .nupkg); dotnet add package Redial.Agent; dotnet publish \
             --runtime linux-x64 --self-contained false".into(),
            "Without --runtime the file is in runtimes/linux-x64/native below the program's folder.".into(),
            "On Windows the file is redial_agent.dll, and the platform win-x64.".into(),
            REACH.into(),
        ],
        library: inside,
        windows: false,
        tested: false,
    }
}
