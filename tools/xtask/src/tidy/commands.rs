//! Commands in documents: whoever copies one must find what it names.

use super::Finding;
use super::files::File;
use crate::metadata::Workspace;

/// A command in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// Options of cargo that name a target, with the kind that they name.
const TARGETS: &[(&str, &str)] = &[("--example", "example"), ("--bin", "bin"), ("--test", "test")];

/// Everything that a document's commands name and that is not there.
pub(crate) fn check(file: &File, workspace: &Workspace, files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for command in commands_in(&file.text) {
        let words = words_of(&command.text);
        for what in missing(&words, workspace, files) {
            findings.push(file.finding(command.line, format!("`{}`: {what}", command.text)));
        }
    }
    findings
}

/// The commands of a document: lines of blocks marked as shell, and code in running text that starts as a command.
pub(crate) fn commands_in(text: &str) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    // Inside a block: whether it is one of the shell.
    let mut block: Option<bool> = None;
    let mut continues = false;
    for (index, line) in text.lines().enumerate() {
        if let Some(mark) = line.trim_start().strip_prefix("```") {
            block = if block.is_some() { None } else { Some(["sh", "bash"].contains(&mark.trim())) };
            continue;
        }
        match block {
            Some(true) => {
                let part = line.trim();
                let (part, goes_on) = part.strip_suffix('\\').map_or((part, false), |part| (part.trim_end(), true));
                let part = part.split(" # ").next().unwrap_or(part).trim_end();
                match commands.last_mut().filter(|_| continues) {
                    Some(command) => command.text = format!("{} {part}", command.text),
                    None if is_command(part) => commands.push(Command { line: index + 1, text: part.to_owned() }),
                    None => {}
                }
                continues = goes_on;
            }
            Some(false) => {}
            None => {
                let spans = line.split('`').skip(1).step_by(2).filter(|span| is_command(span));
                commands.extend(spans.map(|span| Command { line: index + 1, text: span.to_owned() }));
            }
        }
    }
    commands
}

/// The words of a command, without quotes and without the variables that are set for it.
pub(crate) fn words_of(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for character in command.chars() {
        match quote {
            Some(open) if open == character => quote = None,
            None if character == '"' || character == '\'' => quote = Some(character),
            None if character == ' ' => words.push(String::new()),
            _ => words.last_mut().expect("there is always a word").push(character),
        }
    }
    words.retain(|word| !word.is_empty());
    let is_variable = |word: &String| {
        word.split_once('=').is_some_and(|(name, _)| name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'))
    };
    words.into_iter().skip_while(is_variable).collect()
}

fn is_command(text: &str) -> bool {
    let words = words_of(text);
    match words.first().map(String::as_str) {
        Some("cargo") => words.len() > 1,
        Some(first) => first.starts_with(".ci/"),
        None => false,
    }
}

/// What a command names and what is not there, in words.
fn missing(words: &[String], workspace: &Workspace, files: &[File]) -> Vec<String> {
    if words[0] != "cargo" {
        let exists = files.iter().any(|file| file.path == words[0]);
        return if exists { Vec::new() } else { vec![format!("there is no file {}", words[0])] };
    }
    let mut faults = Vec::new();
    // What stands behind `--` belongs to the program.
    let own: Vec<&str> = words.iter().map(String::as_str).take_while(|word| *word != "--").collect();
    let subcommand = own[1..].iter().find(|word| !word.starts_with('+'));
    if subcommand == Some(&"xtask") {
        let task = own.iter().skip_while(|word| **word != "xtask").nth(1);
        if let Some(task) = task.filter(|task| !task.starts_with('-') && !is_placeholder(task))
            && !crate::subcommand_names().iter().any(|name| name == task)
        {
            faults.push(format!("xtask has no command {task}"));
        }
        return faults;
    }
    let value_of = |option: &str| own.iter().skip_while(|word| **word != option).nth(1).copied();
    let package = value_of("-p").filter(|package| !is_placeholder(package));
    if let Some(package) = package
        && workspace.member(package).is_none()
    {
        return vec![format!("there is no package {package}")];
    }
    for (option, kind) in TARGETS {
        let (Some(package), Some(target)) = (package, value_of(option).filter(|target| !is_placeholder(target))) else {
            continue;
        };
        let exists = workspace
            .targets(package, kind)
            .iter()
            .any(|name| target.strip_suffix('*').map_or(name == target, |start| name.starts_with(start)));
        if !exists {
            faults.push(format!("package {package} has no {kind} {target}"));
        }
    }
    faults
}

/// A word in capitals stands for something that the reader fills in.
fn is_placeholder(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::tests::workspace;
    use crate::tidy::files::tests::file;

    fn texts(document: &str) -> Vec<String> {
        commands_in(document).into_iter().map(|command| command.text).collect()
    }

    #[test]
    fn commands_stand_in_shell_blocks_and_in_running_text() {
        let document = "Run `cargo xtask ci` or `.ci/run`, not `Cargo.toml`.\n```sh\n# words\ncargo run -p a \\\n  --example b # words\n\
                        cd x\n```\n```rust\ncargo run -p z\n```\n";
        assert_eq!(texts(document), ["cargo xtask ci", ".ci/run", "cargo run -p a --example b"]);
    }

    #[test]
    fn words_lose_quotes_and_variables() {
        assert_eq!(
            words_of("RUSTFLAGS=\"--cfg loom\" cargo test --test 'loom_*'"),
            ["cargo", "test", "--test", "loom_*"]
        );
        assert!(words_of("").is_empty());
    }

    #[test]
    fn what_a_command_names_must_be_there() {
        let workspace = workspace(&[("ringstorm", &[])]);
        let files = [file(".ci/run", "")];
        let faults = |command: &str| {
            let document = file("README.md", &format!("```sh\n{command}\n```\n"));
            check(&document, &workspace, &files).len()
        };
        for fine in [
            "cargo run --release -p ringstorm --example word_count -- local -p x --example y",
            "cargo test -p ringstorm --test 'loom_*'",
            "cargo +nightly test -p PACKAGE --test NAME",
            "cargo xtask tidy",
            "cargo xtask STEP",
            "cargo fmt",
            ".ci/run",
        ] {
            assert_eq!(faults(fine), 0, "{fine}");
        }
        for bad in [
            "cargo run -p ringstrom --example x",
            "cargo run -p ringstorm --example word_counter",
            "cargo test -p ringstorm --test bell_*",
            "cargo xtask tidyy",
            ".ci/runs",
        ] {
            assert_eq!(faults(bad), 1, "{bad}");
        }
    }
}
