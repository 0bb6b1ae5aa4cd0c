//! Captures what a report must name about the binary: compiler, profile, optimisation level and commit.
//! A value that cannot be found is reported as `unknown`; the build never fails for it.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let profile = std::env::var("PROFILE").ok();
    // Only a build for measuring needs the commit; watching it would rebuild every test after every commit.
    let commit = (profile.as_deref() == Some("release")).then(commit_and_watch).flatten();
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    set("RINGSTORM_BENCHES_RUSTC", first_line(&compiler, &["--version"]));
    set("RINGSTORM_BENCHES_COMMIT", commit);
    set("RINGSTORM_BENCHES_PROFILE", profile);
    set("RINGSTORM_BENCHES_OPTIMISATION", std::env::var("OPT_LEVEL").ok());
}

fn commit_and_watch() -> Option<String> {
    // Cargo treats a missing file as changed at every build, so only existing ones are watched.
    for watched in ["../.git/HEAD", "../.git/logs/HEAD"] {
        if Path::new(watched).exists() {
            println!("cargo::rerun-if-changed={watched}");
        }
    }
    first_line("git", &["rev-parse", "--short=12", "HEAD"])
}

fn set(name: &str, value: Option<String>) {
    println!("cargo::rustc-env={name}={}", value.unwrap_or_else(|| "unknown".to_owned()));
}

fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next()?.trim();
    (output.status.success() && !line.is_empty()).then(|| line.to_owned())
}
