//! The words of a topology's own options: what stands in its configuration when it is submitted, and what its workers read
//! again.
//!
//! They are made of what was understood, not of what was typed: options as `--name=value`, positional values behind `--`,
//! and values of the environment as if they had been typed, since a worker has another environment. Defaults are left out.
//!
//! Invariant: what is read of the words is what was given. Threading: pure. Errors: for whoever typed the command.

use std::ffi::{OsStr, OsString};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, CommandFactory, FromArgMatches, Parser};

/// The topology's own options alone.
#[derive(Debug, Parser)]
#[command(name = "topology", no_binary_name = true, disable_help_flag = true)]
struct OwnLine<A: Args> {
    #[command(flatten)]
    own: A,
}

/// Reads the words again.
///
/// # Errors
/// They are those of another version of the topology.
pub(super) fn read<A: Args>(words: &[String]) -> Result<A, String> {
    let matches = OwnLine::<A>::command().try_get_matches_from(words.iter().map(OsString::from));
    let line = matches.and_then(|matches| OwnLine::<A>::from_arg_matches(&matches));
    line.map(|line| line.own).map_err(|error| {
        format!("the options {words:?} of the topology cannot be read: {}", ringstorm_types::screen::one_line(&error))
    })
}

/// The words of what was given.
///
/// # Errors
/// A value is not UTF-8, or what was given cannot be said in words.
pub(super) fn of<A: Args>(matches: &ArgMatches) -> Result<Vec<String>, String> {
    let words = said::<A>(matches)?;
    let again = OwnLine::<A>::command().try_get_matches_from(words.iter().map(OsString::from));
    let again = again.map_err(|error| ringstorm_types::screen::one_line(&error)).and_then(|again| said::<A>(&again));
    match again {
        Ok(again) if again == words => Ok(words),
        Ok(again) => {
            Err(format!("the options {words:?} would be read again as {again:?}; give options their long names"))
        }
        Err(error) => Err(format!("the options {words:?} could not be read again: {error}")),
    }
}

/// The words, unchecked.
fn said<A: Args>(matches: &ArgMatches) -> Result<Vec<String>, String> {
    let mut own = A::augment_args(clap::Command::new("own").disable_help_flag(true));
    own.build();
    let given = |argument: &&Arg| {
        let source = matches.value_source(argument.get_id().as_str());
        matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
    };
    let mut words = Vec::new();
    for argument in own.get_arguments().filter(|argument| !argument.is_positional()).filter(given) {
        words.extend(of_option(argument, matches)?);
    }
    let mut positionals: Vec<&Arg> = own.get_positionals().filter(given).collect();
    positionals.sort_by_key(|argument| argument.get_index());
    let is_last = |argument: &&Arg| argument.is_last_set();
    let has_last = positionals.iter().any(is_last);
    if !has_last && !positionals.is_empty() {
        words.push("--".to_owned());
    }
    for argument in positionals {
        if argument.is_last_set() {
            words.push("--".to_owned());
        }
        let values = matches.get_raw(argument.get_id().as_str()).into_iter().flatten();
        for value in values {
            words.push(text(argument, value)?);
        }
    }
    Ok(words)
}

fn of_option(argument: &Arg, matches: &ArgMatches) -> Result<Vec<String>, String> {
    let id = argument.get_id().as_str();
    let long = argument.get_long().map(|long| format!("--{long}"));
    let Some(name) = long.or_else(|| argument.get_short().map(|short| format!("-{short}"))) else {
        return Ok(Vec::new());
    };
    let with = |value: String| {
        if name.starts_with("--") { vec![format!("{name}={value}")] } else { vec![name.clone(), value] }
    };
    match argument.get_action() {
        ArgAction::SetTrue => Ok(matches.get_flag(id).then_some(name).into_iter().collect()),
        ArgAction::SetFalse => Ok((!matches.get_flag(id)).then_some(name).into_iter().collect()),
        ArgAction::Count => Ok(vec![name; usize::from(matches.get_count(id))]),
        ArgAction::Set | ArgAction::Append => {
            let mut words = Vec::new();
            for occurrence in matches.get_raw_occurrences(id).into_iter().flatten() {
                let values: Vec<String> = occurrence.map(|value| text(argument, value)).collect::<Result<_, _>>()?;
                match (argument.get_value_delimiter(), values.len()) {
                    (_, 0) => words.push(name.clone()),
                    (Some(delimiter), _) => words.extend(with(values.join(&delimiter.to_string()))),
                    (None, 1) => words.extend(values.into_iter().flat_map(with)),
                    (None, _) => words.extend([name.clone()].into_iter().chain(values)),
                }
            }
            Ok(words)
        }
        // Help and the like end the process before.
        _ => Ok(Vec::new()),
    }
}

fn text(argument: &Arg, value: &OsStr) -> Result<String, String> {
    value.to_str().map(str::to_owned).ok_or_else(|| {
        let id = argument.get_id();
        format!("the value {value:?} of {id} is not UTF-8, so that it cannot stand in the configuration of a topology")
    })
}

#[cfg(test)]
mod tests {
    //! Each way in which an option can be given.

    use super::*;

    #[derive(Debug, Args, PartialEq)]
    struct Own {
        #[arg(long, short)]
        input: Option<String>,
        #[arg(long, default_value_t = 10)]
        count: u64,
        #[arg(long)]
        loud: bool,
        #[arg(short, action = ArgAction::Count)]
        verbose: u8,
        #[arg(long, value_delimiter = ',')]
        list: Vec<String>,
        #[arg(long)]
        many: Vec<String>,
        #[arg(long, num_args = 2)]
        pair: Vec<i64>,
        #[arg(long, num_args = 0..=1, default_missing_value = "always")]
        color: Option<String>,
        #[arg(short = 'x')]
        only_short: Option<String>,
        #[arg(allow_hyphen_values = true)]
        rest: Vec<String>,
    }

    fn given(line: &[&str]) -> (Own, Result<Vec<String>, String>) {
        let matches = OwnLine::<Own>::command().try_get_matches_from(line).unwrap();
        let words = of::<Own>(&matches);
        (OwnLine::<Own>::from_arg_matches(&matches).unwrap().own, words)
    }

    #[test]
    fn what_was_given_is_read_again_whatever_way_it_was_given() {
        for line in [
            &[][..],
            &["--input", "a b", "--loud", "-vvv"],
            &["-i", "--", "-i"],
            &["--input=--count", "--count", "3"],
            &["--list", "a,b", "--list=c", "--many", "x", "--many", "y z"],
            &["--pair", "1", "2", "--color", "-x", "-7", "one", "two"],
            &["--color=never", "--", "--loud", "", "-c", "{\"k\": [1, \"x y\"]}"],
        ] {
            let line: Vec<&str> = if line == ["-i", "--", "-i"] { vec!["-ix", "--", "-i"] } else { line.to_vec() };
            let (own, words) = given(&line);
            let words = words.unwrap();
            assert_eq!(read::<Own>(&words).unwrap(), own, "{line:?}: {words:?}");
        }
    }

    #[test]
    fn defaults_are_not_written_down_and_what_is_no_text_is_refused() {
        assert!(given(&[]).1.unwrap().is_empty());
        assert_eq!(given(&["--count", "7"]).1.unwrap(), ["--count=7"]);
        #[derive(Debug, Args)]
        struct Path {
            #[arg(long)]
            path: std::path::PathBuf,
        }
        use std::os::unix::ffi::OsStringExt;
        let line = ["--path".into(), OsString::from_vec(vec![0xff])];
        let matches = OwnLine::<Path>::command().try_get_matches_from(line).unwrap();
        assert!(of::<Path>(&matches).unwrap_err().contains("is not UTF-8"));
        assert!(read::<Path>(&[]).unwrap_err().contains("cannot be read"));
    }
}
