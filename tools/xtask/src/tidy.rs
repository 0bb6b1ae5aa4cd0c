//! The rules of the project that no other tool knows.
//!
//! - [`sources`]: size, opening words and leftovers of source files, and paths of somebody's machine in any file.
//! - [`documents`]: links, named tests and configuration keys in Markdown files.
//! - [`commands`]: commands in Markdown files name packages, programs and subcommands that exist.
//! - [`dependencies`]: who may depend on whom.
//!
//! All rules are tried and all findings printed. Each is a pure function of texts, so that it can be tested with a text
//! that breaks it.

pub(crate) mod commands;
pub(crate) mod dependencies;
pub(crate) mod documents;
pub(crate) mod files;
pub(crate) mod sources;

use crate::command::{CommandError, Shell};
use crate::metadata::Workspace;
use crate::step::Outcome;

/// Something that breaks a rule, as a line that says where, what and what to do.
pub(crate) type Finding = String;

/// Tries every rule.
///
/// # Errors
/// [`CommandError::Found`] when any is broken.
pub(crate) fn run(shell: &Shell) -> Result<Outcome, CommandError> {
    println!("(checked by this program)");
    if shell.dry_run {
        return Ok(Outcome::Passed(String::new()));
    }
    let files = files::all(&shell.root);
    let workspace = Workspace::load(shell)?;
    let mut findings = Vec::new();
    for file in &files {
        findings.extend(sources::check(file));
        if file.has_extension("md") {
            findings.extend(documents::check(file, &files));
            findings.extend(commands::check(file, &workspace, &files));
        }
        if file.has_extension("toml") {
            findings.extend(dependencies::check_manifest(file));
        }
    }
    findings.extend(files::unreplayed_fuzz_folders(&shell.root));
    findings.extend(dependencies::check(&workspace));
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        Ok(Outcome::Passed(format!("{} files", files.len())))
    } else {
        Err(CommandError::Found(format!("{} findings", findings.len())))
    }
}
