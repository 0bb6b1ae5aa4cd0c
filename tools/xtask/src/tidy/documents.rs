//! Documents: links lead somewhere, what they promise is there, and configuration keys exist.

use super::Finding;
use super::files::File;

/// The file that lists every configuration key, the first word of each line.
const KNOWN_KEYS: &str = "engine/types/src/config/known_keys.txt";
/// What Ringstorm's keys and those of topologies start with.
const KEY_STARTS: &[&str] = &["topology.", "ringstorm."];

/// A link of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Link {
    line: usize,
    text: String,
    target: String,
}

/// Every rule for one document.
pub(crate) fn check(file: &File, files: &[File]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = links_in(&file.text)
        .iter()
        .filter_map(|link| Some(file.finding(link.line, fault_of(link, file, files)?)))
        .collect();
    findings.extend(unknown_keys(file, files));
    findings
}

/// What is wrong with a link. One whose text is a name in backticks promises that its file contains that name: this is
/// how documents name tests.
fn fault_of(link: &Link, file: &File, files: &[File]) -> Option<String> {
    let target = link.target.split('#').next().unwrap_or("");
    if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let path = resolve(&file.path, target);
    let folder = format!("{}/", path.trim_end_matches('/'));
    let Some(found) = files.iter().find(|file| file.path == path) else {
        let is_folder = files.iter().any(|file| file.path.starts_with(&folder));
        return (!is_folder).then(|| format!("the link to {} leads nowhere", link.target));
    };
    let name = link.text.strip_prefix('`')?.strip_suffix('`')?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_name && found.has_extension("rs") && !found.text.contains(name))
        .then(|| format!("{path} has no `{name}`, which the link promises"))
}

/// A target as a path from the root.
fn resolve(document: &str, target: &str) -> String {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn links_in(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    let mut in_block = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        for (at, _) in line.match_indices("](") {
            let text = line[..at].rsplit('[').next().unwrap_or("");
            if let Some((target, _)) = line[at + 2..].split_once(')') {
                links.push(Link { line: index + 1, text: text.to_owned(), target: target.to_owned() });
            }
        }
    }
    links
}

/// Keys in backticks that nobody reads or knows.
fn unknown_keys(file: &File, files: &[File]) -> Vec<Finding> {
    let Some(known) = files.iter().find(|file| file.path == KNOWN_KEYS) else {
        return vec![file.finding(0, format!("{KNOWN_KEYS} is not there, so that keys cannot be checked"))];
    };
    let is_known = |key: &str| known.text.lines().any(|line| line.split_whitespace().next() == Some(key));
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for span in line.split('`').skip(1).step_by(2) {
            let key = span.split([' ', '=', ':']).next().unwrap_or("");
            let is_key = KEY_STARTS.iter().any(|start| key.starts_with(start)) && !key.contains('*');
            if is_key && !is_known(key) {
                findings.push(file.finding(index + 1, format!("there is no configuration key `{key}`")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::files::tests::file;

    fn findings_of(path: &str, text: &str) -> Vec<Finding> {
        let files = [
            file(KNOWN_KEYS, "topology.workers\nringstorm.ring.cells  since 0.1\n"),
            file("engine/acking/tests/suite/trees.rs", "fn in_every_order() {}\n"),
            file("README.md", ""),
        ];
        check(&file(path, text), &files)
    }

    #[test]
    fn links_lead_to_files_folders_and_names() {
        for fine in [
            "[a](README.md)",
            "[a](engine/acking) and [b](engine/acking/)",
            "[a](#here) [b](https://example.org/x) [c](README.md#there)",
            "[`in_every_order`](engine/acking/tests/suite/trees.rs)",
            "[`two words`](engine/acking/tests/suite/trees.rs)",
            "```\n[a](nowhere)\n```",
        ] {
            assert!(findings_of("A.md", fine).is_empty(), "{fine}");
        }
        assert!(findings_of("engine/A.md", "[a](../README.md) [b](acking/)").is_empty());
        for bad in ["[a](nowhere.md)", "[a](engine/ack)", "[`in_any_order`](engine/acking/tests/suite/trees.rs)"] {
            assert_eq!(findings_of("A.md", bad).len(), 1, "{bad}");
        }
    }

    #[test]
    fn keys_are_known() {
        assert!(
            findings_of("A.md", "`topology.workers` and `ringstorm.ring.cells: 8`, `ringstorm.*`, `ringstorm`")
                .is_empty()
        );
        assert_eq!(findings_of("A.md", "`topology.worker`").len(), 1);
    }
}
