//! Help for messages: the nearest existing name to a missing one, short lists of names, and texts of others on one line.

use std::fmt::{Display, Write};

/// How many names a message lists before it says how many more there are.
const LISTED: usize = 20;

/// Names longer than this are not compared edit by edit: the time grows with the square of the length.
const COMPARED_BYTES: usize = 256;

/// No more names than this are compared edit by edit, so that a large topology that is wrong throughout is still
/// refused in a moment.
const COMPARED_NAMES: usize = 256;

/// The candidate that a mistyped name most likely stands for, if one is near: equal but for case and separators, or
/// at most one edit for every three characters away, three at most.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut best: Option<(usize, &str)> = None;
    let mut compared = 0;
    for candidate in candidates {
        if is_same_folded(name, candidate) {
            return Some(candidate);
        }
        let allowed = (candidate.len() / 3).min(3);
        let comparable = candidate.len() <= COMPARED_BYTES && candidate.len().abs_diff(name.len()) <= allowed;
        if !comparable || compared == COMPARED_NAMES {
            continue;
        }
        compared += 1;
        let distance = strsim::osa_distance(name, candidate);
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// A name without what people mix up: case and separators.
pub(crate) fn fold(name: &str) -> String {
    folded(name).collect()
}

fn folded(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase)
}

fn is_same_folded(left: &str, right: &str) -> bool {
    folded(left).next().is_some() && folded(left).eq(folded(right))
}

/// `Did you mean "x"? ` when something is near, and what exists: the tail of every "does not exist" message.
pub(crate) fn hint<'a>(name: &str, what: &str, existing: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let mut text = String::new();
    if let Some(near) = nearest(name, existing.clone()) {
        let _ = write!(text, "Did you mean {near:?}? ");
    }
    let listed = list(existing);
    if listed.is_empty() {
        let _ = write!(text, "There are no {what}.");
    } else {
        let _ = write!(text, "Existing {what}: {listed}.");
    }
    text
}

/// Names in quotes, separated by commas; after twenty only how many more there are.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::new();
    let mut count = 0_usize;
    for name in names {
        if count < LISTED {
            let separator = if count == 0 { "" } else { ", " };
            let _ = write!(text, "{separator}{name:?}");
        }
        count += 1;
    }
    if count > LISTED {
        let _ = write!(text, " and {} more", count - LISTED);
    }
    text
}

/// A text whose control characters are escaped, so that it stays on its line and sends no codes to a terminal.
pub(crate) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            printable.extend(character.escape_default());
        } else {
            printable.push(character);
        }
    }
    printable
}

/// What is shown on one line, whoever wrote it: line ends and other control characters are escaped, tabs are spaces, and
/// there is no white space at the end.
pub fn one_line(text: &(impl Display + ?Sized)) -> String {
    printable(&text.to_string().trim_end().replace('\t', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        let existing = ["words", "count", "report"];
        assert_eq!(nearest("wrods", existing), Some("words"));
        assert_eq!(nearest("Count", existing), Some("count"));
        assert_eq!(nearest("ghost", existing), None);
        assert_eq!(nearest("word_count", ["wordCount"]), Some("wordCount"));
        assert_eq!(nearest(&"x".repeat(100_000), existing), None);
        assert_eq!(nearest("--", ["__"]), None);
    }

    #[test]
    fn a_text_stays_on_its_line() {
        assert_eq!(one_line("bad\r\n\x1b[2Jinput\tü\u{9b}5m \n"), "bad\\r\\n\\u{1b}[2Jinput ü\\u{9b}5m");
        assert_eq!(one_line(&12), "12");
    }

    #[test]
    fn lists_are_short() {
        assert_eq!(list(["a", "b"]), "\"a\", \"b\"");
        let names: Vec<String> = (0..30).map(|number| number.to_string()).collect();
        assert!(list(names.iter().map(String::as_str)).ends_with("\"19\" and 10 more"));
        assert_eq!(hint("a", "streams", []), "There are no streams.");
    }
}
