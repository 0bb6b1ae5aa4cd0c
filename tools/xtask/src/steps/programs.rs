//! Steps that run the project's programs as their users would.

use std::fs;
use std::time::Duration;

use crate::command::{CommandError, Shell};
use crate::metadata::Workspace;
use crate::step::Outcome;
use crate::tidy::commands::{commands_in, words_of};

/// Time for a program that should take seconds.
const LIMIT: Duration = Duration::from_secs(5 * 60);

/// All examples build, as the tests do, and the README's first command does as it says.
///
/// # Errors
/// An example does not build, the command fails, or it writes nothing.
pub(crate) fn examples(shell: &Shell) -> Result<Outcome, CommandError> {
    shell.cargo(["build", "--workspace", "--examples", "--locked"]).run()?;
    let readme = shell.root.join("README.md");
    let text = fs::read_to_string(&readme)
        .map_err(|error| CommandError::Found(format!("{} cannot be read: {error}", readme.display())))?;
    let Some(words) = commands_in(&text)
        .iter()
        .map(|command| words_of(&command.text))
        .find(|words| words.contains(&"--example".into()))
    else {
        return Err(CommandError::Found("README.md shows no command that runs an example".into()));
    };
    let output = words.iter().skip_while(|word| *word != "--output").nth(1).map(|path| shell.root.join(path));
    let Some(output) = output else {
        return Err(CommandError::Found(format!("the README's command `{}` has no --output", words.join(" "))));
    };
    if !shell.dry_run && output.exists() {
        fs::remove_file(&output)
            .map_err(|error| CommandError::Found(format!("{} cannot be removed: {error}", output.display())))?;
    }
    shell.program(&words[0], words[1..].iter().cloned()).run()?;
    if shell.dry_run {
        return Ok(Outcome::Passed(String::new()));
    }
    let lines = fs::read_to_string(&output).map_or(0, |text| text.lines().count());
    if lines == 0 {
        return Err(CommandError::Found(format!("the README's command wrote nothing to {}", output.display())));
    }
    Ok(Outcome::Passed(format!("the README's command wrote {lines} lines")))
}

/// Each benchmark program runs and prints a report. No figure is judged: two seconds on a busy machine say nothing.
///
/// # Errors
/// One fails, or its last line is no JSON object.
pub(crate) fn benches(shell: &Shell) -> Result<Outcome, CommandError> {
    shell.cargo(["build", "--release", "-p", "ringstorm-benches", "--bins", "--locked"]).run()?;
    let workspace = Workspace::load(shell)?;
    let programs = workspace.targets("ringstorm-benches", "bin");
    for program in &programs {
        let arguments = ["run", "--release", "--locked", "-p", "ringstorm-benches", "--bin", program];
        let run = shell.cargo(arguments.iter().copied().chain(["--", "--seconds", "2", "--json"])).limit(LIMIT);
        let output = run.run_and_keep()?;
        if !shell.dry_run {
            check_report(&output).map_err(|what| CommandError::Found(format!("`{run}` {what}")))?;
        }
    }
    Ok(Outcome::Passed(format!("{} programs", programs.len())))
}

/// The last line of a report is one JSON object that holds something.
fn check_report(output: &str) -> Result<(), String> {
    let last = output.lines().rfind(|line| !line.trim().is_empty()).ok_or("printed nothing")?;
    let report: serde_json::Value =
        serde_json::from_str(last).map_err(|error| format!("printed a last line that is no JSON: {error}"))?;
    match report.as_object() {
        Some(object) if !object.is_empty() => Ok(()),
        _ => Err("printed a last line that is no JSON object with something in it".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_one_object_on_the_last_line() {
        check_report("clock: tsc\n{\"ratio\": 0.4}\n\n").unwrap();
        for bad in ["", "{}", "[1]", "{\"ratio\": 0.4}\nthe end", "{\"ratio\":"] {
            assert!(check_report(bad).is_err(), "{bad:?}");
        }
    }
}
