//! Texts of others on their way to a terminal: names, messages and whatever else somebody else has chosen could move the
//! cursor, set a title, or pass for a line that the program says itself.
//!
//! Invariants: what comes out has no control character but the line ends and tabs that [`lines`] leaves alone; a text without
//! any comes out as it was. Threading: pure functions. Errors: none.

use std::fmt::Display;

/// A text on one line: control characters, line ends included, are escaped. Tabs become spaces, white space at the end goes.
#[must_use]
pub fn one_line(text: &(impl Display + ?Sized)) -> String {
    let text = text.to_string();
    let shown = text.trim_end().chars().map(|character| if character == '\t' { ' ' } else { character });
    escaped(shown, |_| false)
}

/// A text of several lines: control characters are escaped, but for line ends and tabs.
#[must_use]
pub fn lines(text: &str) -> String {
    escaped(text.chars(), |character| matches!(character, '\n' | '\t'))
}

fn escaped(text: impl Iterator<Item = char>, is_left_alone: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.size_hint().0);
    for character in text {
        if character.is_control() && !is_left_alone(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_talks_to_the_terminal() {
        assert_eq!(one_line("a\r\n\x1b[2Jb\u{9b}1m\x07\tü\n"), r"a\r\n\u{1b}[2Jb\u{9b}1m\u{7} ü");
        assert_eq!(one_line(&12), "12");
        assert_eq!(lines("a\n\x1b[31mb\tc\r\n\n"), "a\n\\u{1b}[31mb\tc\\r\n\n");
        let every: String = ('\0'..='\u{ff}').collect();
        assert!(!one_line(&every).contains(char::is_control));
        assert!(lines(&every).chars().all(|it| "\n\t".contains(it) || !it.is_control()));
    }

    #[test]
    fn what_is_plain_stays_as_it_is() {
        for plain in ["", "plain", "wörter – 語", r"C:\n"] {
            assert_eq!((one_line(plain).as_str(), lines(plain).as_str()), (plain, plain));
        }
    }
}
