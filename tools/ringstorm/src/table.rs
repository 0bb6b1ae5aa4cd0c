//! Tables for people: columns as wide as what stands in them, numbers to the right.
//!
//! Invariants: what comes from a cluster cannot send codes to a terminal, nor break a row. Threading: pure functions.
//! Errors: none.

use std::fmt::Write as _;

pub(crate) use ringstorm_types::one_line;

/// How a column is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// Rows under a head.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    head: Vec<(&'static str, Side)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[(&'static str, Side)]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    /// Appends a row, which has a text for each column.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| one_line(&cell)).collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table, one line for the head and each row.
    pub(crate) fn text(&self) -> String {
        let mut widths: Vec<usize> = self.head.iter().map(|(name, _)| name.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let head: Vec<String> = self.head.iter().map(|(name, _)| (*name).to_owned()).collect();
        let mut text = String::new();
        for row in std::iter::once(&head).chain(&self.rows) {
            let mut line = String::new();
            for ((cell, width), (_, side)) in row.iter().zip(&widths).zip(&self.head) {
                let width = *width;
                let _ = match side {
                    Side::Left => write!(line, "{cell:<width$}  "),
                    Side::Right => write!(line, "{cell:>width$}  "),
                };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// A span of time as people say it: `45s`, `3m 20s`, `5h 2m`, `3d 4h`.
pub(crate) fn span(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m {}s", seconds % 60),
        (0, _, _) => format!("{hours}h {}m", minutes % 60),
        _ => format!("{days}d {}h", hours % 24),
    }
}

/// A mean time in milliseconds, with three digits behind the point, or a dash where there is none.
pub(crate) fn milliseconds(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}

/// A number, or a dash where there is none.
pub(crate) fn number(value: Option<i64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_stands_in_them() {
        let mut table = Table::new(&[("NAME", Side::Left), ("TASKS", Side::Right)]);
        assert!(table.is_empty());
        table.row(["words".into(), "5".into()]);
        table.row(["a longer name".into(), "1000000".into()]);
        let wanted = "NAME             TASKS\nwords                5\na longer name  1000000\n";
        assert_eq!(table.text(), wanted);
    }

    #[test]
    fn a_cell_neither_breaks_a_row_nor_talks_to_the_terminal() {
        let mut table = Table::new(&[("A", Side::Left)]);
        table.row(["one\ntwo\x1b[31m\tthree\n".into()]);
        assert_eq!(table.text(), "A\none\\ntwo\\u{1b}[31m three\n");
    }

    #[test]
    fn spans_are_said_in_two_units() {
        let said = [-5, 0, 59, 60, 3599, 3600, 86_399, 86_400, 1_000_000].map(span);
        assert_eq!(said, ["0s", "0s", "59s", "1m 0s", "59m 59s", "1h 0m", "23h 59m", "1d 0h", "11d 13h"]);
    }

    #[test]
    fn what_is_not_known_is_a_dash() {
        assert_eq!(
            [milliseconds(Some(0.12345)), milliseconds(None), milliseconds(Some(f64::NAN))],
            ["0.123", "-", "-"]
        );
        assert_eq!([number(Some(3)), number(None)], ["3", "-"]);
    }
}
