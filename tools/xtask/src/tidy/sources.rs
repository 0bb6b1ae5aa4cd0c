//! Rules for source files: not too long, opened by a sentence, nothing left over; and for all files: no path of
//! somebody's machine.

use super::Finding;
use super::files::File;

/// A file with more lines than this above its tests holds more than one idea.
const LINES_MAX: usize = 500;

/// What may not be left in code. Put together here so that this file does not break the rule itself.
const LEFTOVERS: &[&str] = &[concat!("todo", "!("), concat!("unimplemented", "!("), concat!("#[", "ignore")];

/// Folders that only exist on somebody's machine.
const FOREIGN: &[&str] = &[concat!("/ro", "ot"), concat!("/ho", "me"), concat!("/Us", "ers"), concat!("/wo", "rk")];

/// Every rule for one file.
pub(crate) fn check(file: &File) -> Vec<Finding> {
    let mut findings = foreign_paths(file);
    if file.has_extension("rs") {
        findings.extend(length(file));
        findings.extend(opening(file));
        findings.extend(leftovers(file));
    }
    findings
}

fn length(file: &File) -> Option<Finding> {
    let lines = file.text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count();
    (lines > LINES_MAX).then(|| {
        file.finding(0, format!("{lines} lines above its tests, more than {LINES_MAX}; split it, one idea each"))
    })
}

/// The first line says what the module is for; inputs of the compile tests say what they show.
fn opening(file: &File) -> Option<Finding> {
    let opened = file.text.starts_with("//! ");
    (!opened).then(|| file.finding(1, "does not open with `//! ` and what the module is for"))
}

fn leftovers(file: &File) -> Vec<Finding> {
    let lines = file.text.lines().enumerate();
    let found =
        lines.filter_map(|(index, line)| Some((index, LEFTOVERS.iter().find(|leftover| line.contains(**leftover))?)));
    found
        .map(|(index, leftover)| file.finding(index + 1, format!("`{leftover}` is left over; finish it or remove it")))
        .collect()
}

fn foreign_paths(file: &File) -> Vec<Finding> {
    let lines = file.text.lines().enumerate();
    let found =
        lines.filter_map(|(index, line)| Some((index, FOREIGN.iter().find(|folder| names_folder(line, folder))?)));
    found.map(|(index, folder)| file.finding(index + 1, format!("names `{folder}`, a path of one machine"))).collect()
}

/// Whether the folder stands there as the start of an absolute path.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + folder.len()..].chars().next();
        !before.is_some_and(|before| before.is_alphanumeric() || "._-*})]~/".contains(before)) && after == Some('/')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::files::tests::file;

    fn findings_of(path: &str, text: &str) -> Vec<Finding> {
        check(&file(path, text))
    }

    #[test]
    fn a_long_file_is_measured_above_its_tests() {
        let head = "//! Words.\n";
        let long = format!("{head}{}", "let x;\n".repeat(LINES_MAX));
        assert_eq!(findings_of("a.rs", &long).len(), 1);
        let tested = format!("{head}#[cfg(test)]\n{}", "let x;\n".repeat(LINES_MAX));
        assert_eq!(findings_of("a.rs", &tested), Vec::<Finding>::new());
    }

    #[test]
    fn a_module_says_what_it_is_for() {
        assert_eq!(findings_of("a.rs", "use x;\n"), ["a.rs:1: does not open with `//! ` and what the module is for"]);
        assert_eq!(findings_of("engine/tuple/tests/ui/fail/a.rs", "use x;\n").len(), 1);
        assert!(findings_of("a.toml", "x = 1\n").is_empty());
    }

    #[test]
    fn leftovers_are_named_with_their_line() {
        for leftover in LEFTOVERS {
            let findings = findings_of("a.rs", &format!("//! Words.\n{leftover}\n"));
            assert!(findings.len() == 1 && findings[0].starts_with("a.rs:2: "), "{findings:?}");
        }
    }

    #[test]
    fn paths_of_a_machine_are_found_and_parts_of_other_paths_are_not() {
        for folder in FOREIGN {
            assert_eq!(findings_of("a.md", &format!("see `{folder}/me/notes`")).len(), 1, "{folder}");
            for fine in
                [format!("engine{folder}/x"), format!("{folder}.rs"), format!("$X{folder}/y"), format!("..{folder}/")]
            {
                assert!(findings_of("a.md", &fine).is_empty() || fine.starts_with('$'), "{fine}");
            }
        }
    }
}
