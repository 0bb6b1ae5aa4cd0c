//! What cargo knows of the workspace: members, their targets, and who depends on whom.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::command::{CommandError, Shell};

/// The packages of the workspace and everything that they depend on, apart from what only tests need.
#[derive(Debug, Clone, Default)]
pub(crate) struct Workspace {
    pub(crate) members: Vec<Package>,
    /// By package id: name and the ids of direct dependencies.
    graph: BTreeMap<String, Node>,
}

/// A member.
#[derive(Debug, Clone)]
pub(crate) struct Package {
    id: String,
    pub(crate) name: String,
    /// Path of its manifest.
    pub(crate) manifest: String,
    /// Kind (`lib`, `bin`, `example`, `test`) and name.
    targets: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
struct Node {
    name: String,
    dependencies: Vec<String>,
}

impl Workspace {
    /// Asks cargo, for this machine's platform only: others' packages need not be there.
    ///
    /// # Errors
    /// Cargo fails, or says what this does not understand.
    pub(crate) fn load(shell: &Shell) -> Result<Self, CommandError> {
        let version = shell.program("rustc", ["-vV"]).ask().unwrap_or_default();
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or("x86_64-unknown-linux-gnu");
        let run = shell.cargo(["metadata", "--format-version", "1", "--filter-platform", host]);
        let Some(text) = run.ask() else {
            return Err(CommandError::Found(format!("`{run}` failed; run it to see why")));
        };
        Self::parse(&text).ok_or_else(|| CommandError::Found(format!("`{run}` printed what is not understood here")))
    }

    fn parse(text: &str) -> Option<Self> {
        let metadata: Value = serde_json::from_str(text).ok()?;
        let packages: BTreeMap<&str, &Value> = metadata["packages"]
            .as_array()?
            .iter()
            .filter_map(|package| Some((package["id"].as_str()?, package)))
            .collect();
        let mut workspace = Self::default();
        for id in metadata["workspace_members"].as_array()? {
            workspace.members.push(member(packages.get(id.as_str()?)?)?);
        }
        for node in metadata["resolve"]["nodes"].as_array()? {
            let id = node["id"].as_str()?;
            let package = packages.get(id)?;
            let is_linked = |dependency: &&Value| {
                let needed = dependency["pkg"].as_str().and_then(|id| packages.get(id));
                is_for_more_than_tests(dependency) && needed.is_none_or(|needed| is_enabled(package, node, needed))
            };
            let dependencies = node["deps"].as_array()?.iter().filter(is_linked);
            let node = Node {
                name: package["name"].as_str()?.to_owned(),
                dependencies: dependencies
                    .filter_map(|dependency| Some(dependency["pkg"].as_str()?.to_owned()))
                    .collect(),
            };
            workspace.graph.insert(id.to_owned(), node);
        }
        Some(workspace)
    }

    /// The member of this name.
    pub(crate) fn member(&self, name: &str) -> Option<&Package> {
        self.members.iter().find(|package| package.name == name)
    }

    /// The names of a member's targets of one kind; none for an unknown member.
    pub(crate) fn targets(&self, package: &str, kind: &str) -> Vec<String> {
        let targets = self.member(package).into_iter().flat_map(|package| &package.targets);
        targets.filter(|(of, _)| of == kind).map(|(_, name)| name.clone()).collect()
    }

    /// The names of what a member depends on directly.
    pub(crate) fn direct(&self, package: &Package) -> BTreeSet<&str> {
        let Some(node) = self.graph.get(&package.id) else { return BTreeSet::new() };
        node.dependencies.iter().filter_map(|id| self.graph.get(id)).map(|node| node.name.as_str()).collect()
    }

    /// The names of everything that is linked with a member.
    pub(crate) fn all(&self, package: &Package) -> BTreeSet<&str> {
        let mut seen = BTreeSet::from([package.id.as_str()]);
        let mut open = vec![package.id.as_str()];
        while let Some(node) = open.pop().and_then(|id| self.graph.get(id)) {
            open.extend(node.dependencies.iter().map(String::as_str).filter(|id| seen.insert(id)));
        }
        seen.remove(package.id.as_str());
        seen.iter().filter_map(|id| self.graph.get(*id)).map(|node| node.name.as_str()).collect()
    }
}

fn member(package: &Value) -> Option<Package> {
    let targets = package["targets"].as_array()?.iter().filter_map(|target| {
        Some((target["kind"].as_array()?.first()?.as_str()?.to_owned(), target["name"].as_str()?.to_owned()))
    });
    Some(Package {
        id: package["id"].as_str()?.to_owned(),
        name: package["name"].as_str()?.to_owned(),
        manifest: package["manifest_path"].as_str()?.to_owned(),
        targets: targets.collect(),
    })
}

fn is_for_more_than_tests(dependency: &Value) -> bool {
    dependency["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"] != "dev"))
}

/// Whether a package needs another one with the features that it has. Cargo also lists what is optional and only named by
/// a weak feature (`other?/feature`), as soon as anybody else in the workspace needs it; that is not linked.
fn is_enabled(package: &Value, node: &Value, needed: &Value) -> bool {
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|text| Some(text.as_str()?.to_owned())).collect()
    };
    let enabled: Vec<String> =
        texts(&node["features"]).iter().flat_map(|feature| texts(&package["features"][feature])).collect();
    let declared = package["dependencies"].as_array().into_iter().flatten();
    let mut declared = declared.filter(|dependency| dependency["name"] == needed["name"]).peekable();
    declared.peek().is_none()
        || declared.any(|dependency| {
            let name = dependency["rename"].as_str().or(dependency["name"].as_str()).unwrap_or_default();
            let enables = |text: &String| {
                *text == format!("dep:{name}") || text.split_once('/').is_some_and(|(of, _)| of == name)
            };
            dependency["optional"] != true || enabled.iter().any(enables)
        })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A workspace of these members with these direct dependencies; names that are no members are foreign packages.
    pub(crate) fn workspace(dependencies: &[(&str, &[&str])]) -> Workspace {
        let names: BTreeSet<&str> =
            dependencies.iter().flat_map(|(name, needs)| std::iter::once(name).chain(*needs)).copied().collect();
        let mut workspace = Workspace::default();
        for name in names {
            let own = dependencies.iter().find(|(member, _)| *member == name);
            let needs = own.map_or(&[][..], |(_, needs)| needs);
            if own.is_some() {
                let manifest = format!("{name}/Cargo.toml");
                let targets =
                    vec![("test".to_owned(), "loom_bell".to_owned()), ("example".to_owned(), "word_count".to_owned())];
                workspace.members.push(Package { id: name.into(), name: name.into(), manifest, targets });
            }
            let dependencies = needs.iter().map(ToString::to_string).collect();
            workspace.graph.insert(name.into(), Node { name: name.into(), dependencies });
        }
        workspace
    }

    #[test]
    fn what_only_tests_need_does_not_count() {
        let text = r#"{
            "packages": [
                {"id": "a#1", "name": "a", "manifest_path": "/x/a/Cargo.toml", "targets": [{"kind": ["lib"], "name": "a"}]},
                {"id": "b#1", "name": "b", "manifest_path": "/y/b/Cargo.toml", "targets": []},
                {"id": "c#1", "name": "c", "manifest_path": "/y/c/Cargo.toml", "targets": []},
                {"id": "d#1", "name": "d", "manifest_path": "/y/d/Cargo.toml", "targets": []}
            ],
            "workspace_members": ["a#1"],
            "resolve": {"nodes": [
                {"id": "a#1", "deps": [
                    {"pkg": "b#1", "dep_kinds": [{"kind": null}, {"kind": "dev"}]},
                    {"pkg": "d#1", "dep_kinds": [{"kind": "dev"}]}
                ]},
                {"id": "b#1", "deps": [{"pkg": "c#1", "dep_kinds": [{"kind": "build"}]}]},
                {"id": "c#1", "deps": []},
                {"id": "d#1", "deps": []}
            ]}
        }"#;
        let workspace = Workspace::parse(text).unwrap();
        let member = workspace.member("a").unwrap();
        assert_eq!(workspace.direct(member), BTreeSet::from(["b"]));
        assert_eq!(workspace.all(member), BTreeSet::from(["b", "c"]));
        assert_eq!(workspace.targets("a", "lib"), ["a"]);
        assert!(Workspace::parse("{}").is_none());
    }
    #[test]
    fn what_is_optional_and_only_named_by_a_weak_feature_is_not_linked() {
        let of = |features: &str| {
            let text = r#"{
                "packages": [
                    {"id": "a#1", "name": "a", "manifest_path": "/x/a/Cargo.toml", "targets": [],
                     "features": {"std": ["bee?/std"], "bee": ["dep:bee"], "more": ["bee/more"]},
                     "dependencies": [{"name": "b", "rename": "bee", "optional": true}]},
                    {"id": "b#1", "name": "b", "manifest_path": "/y/b/Cargo.toml", "targets": []}
                ],
                "workspace_members": ["a#1"],
                "resolve": {"nodes": [
                    {"id": "a#1", "features": [FEATURES], "deps": [{"pkg": "b#1", "dep_kinds": [{"kind": null}]}]},
                    {"id": "b#1", "deps": []}
                ]}
            }"#;
            let workspace = Workspace::parse(&text.replace("FEATURES", features)).unwrap();
            !workspace.direct(workspace.member("a").unwrap()).is_empty()
        };
        assert_eq!([of(r#""std""#), of(r#""std", "bee""#), of(r#""more""#)], [false, true, true]);
    }
}
