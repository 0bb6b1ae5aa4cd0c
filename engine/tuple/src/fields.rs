//! The names of a stream's fields, in order.

use std::fmt;
use std::sync::Arc;

/// Names in order, shared: a clone costs one counter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Fields(Arc<[Arc<str>]>);

impl Fields {
    /// These names, in this order.
    ///
    /// They should be unique; whoever declares a stream checks it with [`duplicate`](Self::duplicate).
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Fields(names.into_iter().map(|name| Arc::from(name.into())).collect())
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The name at that index, or `None` past the end.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&str> {
        self.0.get(index).map(|name| &**name)
    }

    /// The index of that name (of the first, if there are two), or `None` if it is not among them.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|field| &**field == name)
    }

    /// Whether that name is among them.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.index_of(name).is_some()
    }

    /// The first name that occurs twice. A stream that declares it must be refused.
    #[must_use]
    pub fn duplicate(&self) -> Option<&str> {
        self.iter().enumerate().find(|(index, name)| self.index_of(name) != Some(*index)).map(|(_, name)| name)
    }

    /// The names in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.0.iter().map(|name| &**name)
    }
}

impl<S: Into<String>> FromIterator<S> for Fields {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        Fields::new(names)
    }
}

/// As in Storm: `[word, count]`.
impl fmt::Display for Fields {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[")?;
        for (index, name) in self.iter().enumerate() {
            formatter.write_str(if index == 0 { "" } else { ", " })?;
            formatter.write_str(name)?;
        }
        formatter.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_names_and_duplicates() {
        let fields = Fields::new(["word", "count", "word"]);
        assert_eq!(fields.index_of("count"), Some(1));
        assert_eq!(fields.index_of("word"), Some(0));
        assert_eq!(fields.index_of("nothing"), None);
        assert_eq!(fields.duplicate(), Some("word"));
        assert_eq!(Fields::new(["a", "b"]).duplicate(), None);
        assert_eq!(fields.to_string(), "[word, count, word]");
        assert_eq!(Fields::default().to_string(), "[]");
    }
}
