//! YAML as JSON: one document, a map, within bounds.
//!
//! Plain words mean what they mean to Storm, whose reader follows YAML 1.1: `yes` and `off` are true and false, `10_000` is a
//! number (see `scalar`). What JSON cannot say, and what is more likely a slip than meant, is refused with its line: a key
//! twice in one map, a key that is no text, several documents, tags of other programs, merges by `<<`.
//!
//! Invariants: aliases cost what they stand for, so that a small file that means a large one is refused; nesting is bounded,
//! and nothing here calls itself more deeply than that. Threading: pure functions. Errors: one, with line and column.

use saphyr_parser::{Event, Marker, Parser, Span};
use serde_json::{Map, Value};

mod scalar;
#[cfg(test)]
mod tests;

/// The largest text, in bytes.
pub const TEXT_BYTES_MAX: usize = 1 << 20;
/// The deepest nesting of lists and maps.
pub const DEPTH_MAX: usize = 64;
/// The most that a document may come to with its aliases written out: a unit for each value, and one for each byte of text.
pub const SIZE_MAX: usize = 4 << 20;

/// Why a text is not used, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
pub struct YamlError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong, and what to do.
    pub reason: String,
}

/// A member of the map.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// The line of its key, from 1.
    pub line: usize,
}

/// The members of the map that a document is, in their order; none if it is empty.
///
/// # Errors
/// The text is too long, is no YAML, or holds something else than one map that JSON can say.
pub fn mapping(text: &str) -> Result<Vec<Entry>, YamlError> {
    if text.len() > TEXT_BYTES_MAX {
        let reason = format!("the text has {} bytes, and {TEXT_BYTES_MAX} are the most; shorten it", text.len());
        return Err(YamlError { line: 1, column: 1, reason });
    }
    let mut builder = Builder::default();
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| at(*error.marker(), error.info()))?;
        builder.take(event, span)?;
    }
    match builder.root.unwrap_or(Value::Null) {
        Value::Null => Ok(Vec::new()),
        Value::Object(members) => {
            Ok(members.into_iter().zip(builder.lines).map(|((key, value), line)| Entry { key, value, line }).collect())
        }
        _ => Err(YamlError {
            line: 1,
            column: 1,
            reason: "this is no map of keys and values; write lines such as nimbus.thrift.port: 6627".into(),
        }),
    }
}

/// A list or map that is not closed yet.
struct Open {
    filling: Filling,
    /// The parser's number of its anchor, or 0.
    anchor: usize,
}

enum Filling {
    List(Vec<Value>),
    Map { members: Map<String, Value>, key: Option<String> },
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Value>,
    /// The lines of the keys of the outermost map, in their order.
    lines: Vec<usize>,
    /// What each anchor stands for, by number.
    anchors: Vec<Option<Value>>,
    size: usize,
    documents: usize,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlError> {
        let here = span.start;
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(at(here, "a second document begins here; keep one, without a further ---"));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.charge(1 + text.len(), here)?;
                if self.wants_key() {
                    return self.key(&text, style, here);
                }
                let value = scalar::value(&text, style, tag.as_deref()).map_err(|reason| at(here, &reason))?;
                self.value(value, anchor, here)?;
            }
            Event::SequenceStart(anchor, tag) => {
                scalar::collection(tag.as_deref(), "seq").map_err(|reason| at(here, &reason))?;
                self.begin(Filling::List(Vec::new()), anchor, here)?;
            }
            Event::MappingStart(anchor, tag) => {
                scalar::collection(tag.as_deref(), "map").map_err(|reason| at(here, &reason))?;
                self.begin(Filling::Map { members: Map::new(), key: None }, anchor, here)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Open { filling, anchor }) = self.open.pop() else {
                    return Err(at(here, "something ends here that did not begin"));
                };
                let value = match filling {
                    Filling::List(values) => Value::Array(values),
                    Filling::Map { members, .. } => Value::Object(members),
                };
                self.value(value, anchor, here)?;
            }
            Event::Alias(anchor) => {
                if self.wants_key() {
                    return Err(at(here, "an alias cannot be a key; write the key out"));
                }
                let Some(value) = self.anchors.get(anchor).cloned().flatten() else {
                    return Err(at(here, "this alias stands inside of what it stands for; write the value out"));
                };
                self.charge(size(&value), here)?;
                self.value(value, 0, here)?;
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn wants_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { filling: Filling::Map { key: None, .. }, .. }))
    }

    fn key(&mut self, text: &str, style: saphyr_parser::ScalarStyle, here: Marker) -> Result<(), YamlError> {
        if text == "<<" && style == saphyr_parser::ScalarStyle::Plain {
            return Err(at(here, "maps are not merged by <<; write the keys out"));
        }
        let is_outermost = self.open.len() == 1;
        if let Some(Open { filling: Filling::Map { members, key }, .. }) = self.open.last_mut() {
            if members.contains_key(text) {
                return Err(at(here, &format!("{text:?} is set a second time here; keep one of the two")));
            }
            *key = Some(text.to_owned());
        }
        if is_outermost {
            self.lines.push(here.line());
        }
        Ok(())
    }

    fn begin(&mut self, filling: Filling, anchor: usize, here: Marker) -> Result<(), YamlError> {
        self.charge(1, here)?;
        if self.wants_key() {
            return Err(at(here, "a key must be a text, and this is a list or a map"));
        }
        if self.open.len() >= DEPTH_MAX {
            return Err(at(here, &format!("lists and maps are nested more than {DEPTH_MAX} deep here")));
        }
        self.open.push(Open { filling, anchor });
        Ok(())
    }

    /// A value is complete.
    fn value(&mut self, value: Value, anchor: usize, here: Marker) -> Result<(), YamlError> {
        if anchor > 0 {
            // What is kept costs again, or anchors within anchors would multiply.
            self.charge(size(&value), here)?;
            if self.anchors.len() <= anchor {
                self.anchors.resize(anchor + 1, None);
            }
            self.anchors[anchor] = Some(value.clone());
        }
        match self.open.last_mut().map(|open| &mut open.filling) {
            None => self.root = Some(value),
            Some(Filling::List(values)) => values.push(value),
            Some(Filling::Map { members, key }) => {
                if let Some(key) = key.take() {
                    members.insert(key, value);
                }
            }
        }
        Ok(())
    }

    fn charge(&mut self, units: usize, here: Marker) -> Result<(), YamlError> {
        self.size = self.size.saturating_add(units);
        if self.size > SIZE_MAX {
            let reason =
                "the document comes to more than is taken by here, with its aliases written out; use fewer aliases";
            return Err(at(here, reason));
        }
        Ok(())
    }
}

/// What a value costs. Values are nested to [`DEPTH_MAX`] at most.
fn size(value: &Value) -> usize {
    1 + match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(size).sum(),
        Value::Object(members) => members.iter().map(|(key, value)| 1 + key.len() + size(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn at(place: Marker, reason: &str) -> YamlError {
    YamlError { line: place.line().max(1), column: place.col() + 1, reason: reason.to_owned() }
}
