//! Who may depend on whom.
//!
//! What loom, Miri and fuzzers must reach may not be linked with what does I/O, and the crates of the data path meet
//! only in the runtime. Dependencies that only tests need are free.

use std::collections::BTreeSet;

use super::Finding;
use super::files::File;
use crate::metadata::{Package, Workspace};

/// For each member: the members that it may depend on directly. `None` stands for all.
const ALLOWED: &[(&str, Option<&[&str]>)] = &[
    ("ringstorm-types", Some(&[])),
    ("ringstorm-file", Some(&[])),
    ("ringstorm-tuple-derive", Some(&[])),
    ("ringstorm-tuple", Some(&["ringstorm-tuple-derive"])),
    ("ringstorm-frame", Some(&[])),
    ("ringstorm-acking", Some(&[])),
    ("ringstorm-ring", Some(&[])),
    ("ringstorm-protocol", Some(&[])),
    ("ringstorm-net", Some(&["ringstorm-protocol"])),
    ("ringstorm-records", Some(&[])),
    ("ringstorm-scheduler", Some(&["ringstorm-types"])),
    ("ringstorm-lifecycle", Some(&["ringstorm-records", "ringstorm-types"])),
    ("ringstorm-store", Some(&["ringstorm-records"])),
    ("ringstorm-zookeeper", Some(&["ringstorm-records", "ringstorm-store", "ringstorm-types"])),
    ("ringstorm-control", Some(&["ringstorm-store"])),
    ("ringstorm-supervisor", Some(&["ringstorm-control", "ringstorm-records", "ringstorm-store"])),
    ("ringstorm-launch", Some(&[])),
    (
        "ringstorm-supervisor-daemon",
        Some(&[
            "ringstorm-caller",
            "ringstorm-conf",
            "ringstorm-control",
            "ringstorm-daemon",
            "ringstorm-file",
            "ringstorm-launch",
            "ringstorm-lifecycle",
            "ringstorm-records",
            "ringstorm-store",
            "ringstorm-supervisor",
            "ringstorm-types",
            "ringstorm-zookeeper",
        ]),
    ),
    ("ringstorm-worker", Some(&["ringstorm-control", "ringstorm-records", "ringstorm-store", "ringstorm-types"])),
    (
        "ringstorm-worker-daemon",
        Some(&[
            "ringstorm-control",
            "ringstorm-launch",
            "ringstorm-records",
            "ringstorm-runtime",
            "ringstorm-store",
            "ringstorm-types",
            "ringstorm-worker",
            "ringstorm-zookeeper",
        ]),
    ),
    ("ringstorm-submission", Some(&["ringstorm-lifecycle", "ringstorm-records", "ringstorm-types"])),
    ("ringstorm-client", Some(&["ringstorm-control", "ringstorm-nimbus", "ringstorm-records"])),
    (
        "ringstorm-caller",
        Some(&[
            "ringstorm-client",
            "ringstorm-control",
            "ringstorm-lifecycle",
            "ringstorm-nimbus",
            "ringstorm-records",
        ]),
    ),
    ("ringstorm-daemon", Some(&["ringstorm-control", "ringstorm-file", "ringstorm-store"])),
    (
        "ringstorm-conf",
        Some(&[
            "ringstorm-client",
            "ringstorm-file",
            "ringstorm-nimbus",
            "ringstorm-records",
            "ringstorm-round",
            "ringstorm-supervisor",
            "ringstorm-types",
            "ringstorm-zookeeper",
        ]),
    ),
    (
        "ringstorm-nimbus",
        Some(&[
            "ringstorm-control",
            "ringstorm-lifecycle",
            "ringstorm-records",
            "ringstorm-round",
            "ringstorm-scheduler",
            "ringstorm-store",
        ]),
    ),
    (
        "ringstorm-nimbus-daemon",
        Some(&[
            "ringstorm-caller",
            "ringstorm-conf",
            "ringstorm-control",
            "ringstorm-daemon",
            "ringstorm-file",
            "ringstorm-lifecycle",
            "ringstorm-nimbus",
            "ringstorm-records",
            "ringstorm-store",
            "ringstorm-submission",
            "ringstorm-types",
            "ringstorm-views",
            "ringstorm-zookeeper",
        ]),
    ),
    ("ringstorm-simulator", None),
    ("ringstorm-round", Some(&["ringstorm-control", "ringstorm-records", "ringstorm-scheduler", "ringstorm-types"])),
    (
        "ringstorm-views",
        Some(&["ringstorm-lifecycle", "ringstorm-records", "ringstorm-round", "ringstorm-store", "ringstorm-types"]),
    ),
    ("ringstorm-ensemble", Some(&[])),
    (
        "ringstorm-runtime",
        Some(&[
            "ringstorm-types",
            "ringstorm-file",
            "ringstorm-tuple",
            "ringstorm-frame",
            "ringstorm-acking",
            "ringstorm-ring",
            "ringstorm-net",
            "ringstorm-protocol",
        ]),
    ),
    ("ringstorm-note", Some(&["ringstorm-submission"])),
    (
        "ringstorm",
        Some(&[
            "ringstorm-caller",
            "ringstorm-conf",
            "ringstorm-file",
            "ringstorm-launch",
            "ringstorm-nimbus",
            "ringstorm-note",
            "ringstorm-records",
            "ringstorm-runtime",
            "ringstorm-submission",
            "ringstorm-tuple",
            "ringstorm-types",
            "ringstorm-worker-daemon",
        ]),
    ),
    ("ringstorm-benches", None),
    ("ringstorm-tests", None),
    ("ringstorm-tools", None),
    ("xtask", Some(&[])),
];

/// Members without any I/O.
const PURE: &[&str] = &[
    "ringstorm-types",
    "ringstorm-tuple",
    "ringstorm-frame",
    "ringstorm-acking",
    "ringstorm-protocol",
    "ringstorm-records",
    "ringstorm-scheduler",
    "ringstorm-lifecycle",
    "ringstorm-store",
    "ringstorm-control",
    "ringstorm-nimbus",
    "ringstorm-supervisor",
    "ringstorm-launch",
    "ringstorm-worker",
    "ringstorm-client",
    "ringstorm-submission",
    "ringstorm-round",
    "ringstorm-views",
];

/// Packages that do I/O or lead to it.
const IO: &[&str] = &[
    "glommio",
    "glommio-ng",
    "io-uring",
    "libc",
    "linux-raw-sys",
    "mio",
    "nix",
    "polling",
    "rustix",
    "socket2",
    "tokio",
];

/// The runtime under the cores, and the members that may depend on it: the runtime, and the benchmarks, which compare with
/// its sockets.
const GLOMMIO: [&str; 2] = ["glommio", "glommio-ng"];
const GLOMMIO_USERS: [&str; 2] = ["ringstorm-runtime", "ringstorm-benches"];

/// The client of ZooKeeper, and the one member that may depend on it.
const ZOOKEEPER: &str = "zookeeper-client";
const ZOOKEEPER_USER: &str = "ringstorm-zookeeper";

/// Every rule for the whole workspace.
pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    workspace.members.iter().flat_map(|package| check_member(package, workspace)).collect()
}

fn check_member(package: &Package, workspace: &Workspace) -> Vec<Finding> {
    let place = |what: String| format!("{}: {what}", package.manifest);
    let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == package.name) else {
        return vec![place(format!(
            "package {} has no rule of what it may depend on; add it to `ALLOWED`",
            package.name
        ))];
    };
    let direct = workspace.direct(package);
    let mut findings = Vec::new();
    if let Some(allowed) = allowed {
        let ours = direct.iter().filter(|name| workspace.member(name).is_some());
        for name in ours.filter(|name| !allowed.contains(name)) {
            findings.push(place(format!("{} may not depend on {name}", package.name)));
        }
    }
    for name in GLOMMIO.iter().filter(|name| direct.contains(*name) && !GLOMMIO_USERS.contains(&package.name.as_str()))
    {
        findings.push(place(format!("{} depends on {name}; only {} may", package.name, GLOMMIO_USERS.join(" and "))));
    }
    if direct.contains(ZOOKEEPER) && package.name != ZOOKEEPER_USER {
        findings.push(place(format!("{} depends on {ZOOKEEPER}; only {ZOOKEEPER_USER} may", package.name)));
    }
    if PURE.contains(&package.name.as_str()) {
        let all: BTreeSet<&str> = workspace.all(package);
        for name in IO.iter().filter(|name| all.contains(*name)) {
            findings.push(place(format!("{} is linked with {name}, but must do no I/O", package.name)));
        }
    }
    findings
}

/// Every member of the workspace takes its lints.
pub(crate) fn check_manifest(file: &File) -> Option<Finding> {
    let is_member =
        file.path.ends_with("/Cargo.toml") && !file.path.contains("/fuzz/") && file.text.contains("[package]");
    let takes_lints = file.text.replace(' ', "").contains("[lints]\nworkspace=true");
    (is_member && !takes_lints)
        .then(|| file.finding(0, "does not take the lints of the workspace; add `[lints]` with `workspace = true`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::tests::workspace;
    use crate::tidy::files::tests::file;

    #[test]
    fn each_rule_finds_what_breaks_it() {
        let fine: &[(&str, &[&str])] = &[
            ("ringstorm-types", &["serde"]),
            ("ringstorm-ring", &["rustix"]),
            ("ringstorm-runtime", &["ringstorm-types", "ringstorm-ring", "glommio-ng"]),
            ("ringstorm-benches", &["ringstorm-runtime"]),
        ];
        assert_eq!(check(&workspace(fine)), Vec::<Finding>::new());
        let bad: &[(&str, &[&str], &str)] = &[
            ("ringstorm-acking", &["ringstorm-types"], "may not depend on ringstorm-types"),
            ("ringstorm-types", &["rustix"], "linked with rustix"),
            ("ringstorm-ring", &["glommio"], "only ringstorm-runtime and ringstorm-benches may"),
            ("ringstorm-store", &["zookeeper-client"], "only ringstorm-zookeeper may"),
            ("ringstorm-new", &[], "has no rule"),
        ];
        for (name, needs, words) in bad {
            let neighbour: (&str, &[&str]) = ("ringstorm-types", &[]);
            let members = if *name == neighbour.0 { vec![(*name, *needs)] } else { vec![neighbour, (*name, *needs)] };
            let findings = check(&workspace(&members));
            assert!(findings.len() == 1 && findings[0].contains(words), "{name}: {findings:?}");
        }
    }

    #[test]
    fn a_member_takes_the_lints() {
        assert!(check_manifest(&file("a/Cargo.toml", "[package]\n")).is_some());
        assert!(check_manifest(&file("a/Cargo.toml", "[package]\n[lints]\nworkspace = true\n")).is_none());
        assert!(check_manifest(&file("Cargo.toml", "[workspace]\n")).is_none());
        assert!(check_manifest(&file("a/fuzz/Cargo.toml", "[package]\n")).is_none());
    }
}
