//! Runs steps one after another and says what came of them.
//!
//! The last line is always `N passed, N failed`, with the skipped ones behind it if there are any.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::command::{CommandError, Shell};
use crate::step::{Outcome, Step};

/// What came of one step.
struct Row {
    step: Step,
    result: Result<Outcome, CommandError>,
    took: Duration,
}

/// Runs every step, whatever became of those before it, and prints the summary.
pub(crate) fn run(shell: &Shell, steps: &[Step]) -> ExitCode {
    let start = Instant::now();
    let mut rows = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        println!("\n== [{}/{}] {} ({} so far)", index + 1, steps.len(), step.name(), minutes(start.elapsed()));
        let step_start = Instant::now();
        let result = step.run(shell);
        if let Err(error) = &result {
            println!("{}: {error}", step.name());
        }
        rows.push(Row { step: *step, result, took: step_start.elapsed() });
    }
    if shell.dry_run {
        return exit(rows.into_iter().try_for_each(|row| row.result.map(drop)));
    }
    println!("\n{}", summary(&rows, start.elapsed()));
    if rows.iter().any(|row| row.result.is_err()) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The exit status of a command that is no step.
pub(crate) fn exit(result: Result<(), CommandError>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn summary(rows: &[Row], took: Duration) -> String {
    let mut text = String::new();
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for row in rows {
        let (word, remark) = match &row.result {
            Ok(Outcome::Passed(remark)) => {
                passed += 1;
                ("passed", remark.clone())
            }
            Ok(Outcome::Skipped(why)) => {
                skipped += 1;
                ("SKIPPED", why.clone())
            }
            Err(error) => {
                failed += 1;
                ("FAILED", format!("{error}; run it alone: cargo xtask {}", row.step.name()))
            }
        };
        let line = format!("{:<12} {:<8} {:>8}  {remark}", row.step.name(), word, minutes(row.took));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str(&format!("all steps took {}\n\n{passed} passed, {failed} failed", minutes(took)));
    if skipped > 0 {
        text.push_str(&format!(", {skipped} skipped"));
    }
    text
}

fn minutes(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 60.0 {
        format!("{seconds:.1}s")
    } else {
        format!("{:.0}m{:02.0}s", (seconds / 60.0).floor(), seconds % 60.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(step: Step, result: Result<Outcome, CommandError>) -> Row {
        Row { step, result, took: Duration::from_millis(61_500) }
    }

    #[test]
    fn a_failure_names_the_command_to_run_alone_and_the_last_line_counts() {
        let rows = [
            row(Step::Fmt, Ok(Outcome::Passed(String::new()))),
            row(Step::Clippy, Err(CommandError::Found("2 faults".into()))),
            row(Step::Miri, Ok(Outcome::Skipped("no nightly".into()))),
        ];
        let text = summary(&rows, Duration::from_secs(5));
        assert!(
            text.contains("clippy       FAILED      1m02s  2 faults; run it alone: cargo xtask clippy\n"),
            "{text}"
        );
        assert!(text.contains("SKIPPED     1m02s  no nightly\n"), "{text}");
        assert!(text.ends_with("\n1 passed, 1 failed, 1 skipped"), "{text}");
        assert!(summary(&rows[..1], Duration::from_secs(5)).ends_with("\n1 passed, 0 failed"));
    }
}
