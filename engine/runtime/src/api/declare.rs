//! What a component says of itself: the streams it emits and the tuples it reads.

use std::collections::BTreeMap;

use ringstorm_tuple::{Schema, Tuple};
use ringstorm_types::topology::{Output, Reads};
use ringstorm_types::{ComponentId, DEFAULT_STREAM, StreamId};

/// Collects the declarations of one component.
#[derive(Debug, Default)]
pub struct Declarer {
    pub(crate) outputs: BTreeMap<StreamId, DeclaredStream>,
    pub(crate) reads: Vec<Reads>,
    /// What was wrong with a declaration, in words.
    pub(crate) faults: Vec<String>,
}

/// A declared stream and how its tuples are laid out.
#[derive(Debug, Clone)]
pub(crate) struct DeclaredStream {
    pub(crate) output: Output,
    pub(crate) schema: Schema,
}

impl Declarer {
    /// The default stream carries tuples of this type.
    pub fn emits<T: Tuple>(&mut self) -> &mut Self {
        self.emits_to::<T>(DEFAULT_STREAM)
    }

    /// A named stream carries tuples of this type.
    pub fn emits_to<T: Tuple>(&mut self, stream: &str) -> &mut Self {
        self.add_typed::<T>(stream, false)
    }

    /// A named stream carries tuples of this type, each to a task that the emitter names.
    pub fn emits_direct<T: Tuple>(&mut self, stream: &str) -> &mut Self {
        self.add_typed::<T>(stream, true)
    }

    /// The default stream carries dynamic tuples ([`Values`](ringstorm_tuple::Values)) with these fields.
    pub fn fields<F: Into<String>>(&mut self, fields: impl IntoIterator<Item = F>) -> &mut Self {
        self.fields_to(DEFAULT_STREAM, fields)
    }

    /// A named stream carries dynamic tuples with these fields.
    pub fn fields_to<F: Into<String>>(&mut self, stream: &str, fields: impl IntoIterator<Item = F>) -> &mut Self {
        self.add_dynamic(stream, fields, false)
    }

    /// A named stream carries dynamic tuples with these fields, each to a task that the emitter names.
    pub fn fields_direct<F: Into<String>>(&mut self, stream: &str, fields: impl IntoIterator<Item = F>) -> &mut Self {
        self.add_dynamic(stream, fields, true)
    }

    /// Every input is read as this type: a typed stream with another layout, and a dynamic one whose fields have not the
    /// same names in the same order, are refused when the topology is built.
    pub fn reads<T: Tuple>(&mut self) -> &mut Self {
        self.reads.push(Reads { component: None, stream: None, ..read_of::<T>() });
        self
    }

    /// One input is read as this type.
    pub fn reads_from<T: Tuple>(&mut self, component: &str, stream: &str) -> &mut Self {
        match (ComponentId::new(component), StreamId::new(stream)) {
            (Ok(component), Ok(stream)) => {
                self.reads.push(Reads { component: Some(component), stream: Some(stream), ..read_of::<T>() });
            }
            (Err(error), _) | (_, Err(error)) => self.faults.push(error.to_string()),
        }
        self
    }

    fn add_typed<T: Tuple>(&mut self, stream: &str, direct: bool) -> &mut Self {
        let schema = Schema::typed::<T>();
        let output = Output {
            fields: schema.fields().iter().map(|name| name.to_string()).collect(),
            direct,
            layout: schema.layout().0,
            layout_name: short_type_name::<T>(),
            kinds: schema.kinds().iter().map(ToString::to_string).collect(),
        };
        self.add(stream, DeclaredStream { output, schema })
    }

    fn add_dynamic<F: Into<String>>(
        &mut self,
        stream: &str,
        fields: impl IntoIterator<Item = F>,
        direct: bool,
    ) -> &mut Self {
        let fields: Vec<String> = fields.into_iter().map(Into::into).collect();
        let schema = Schema::dynamic(fields.iter().cloned());
        let output = Output { direct, ..Output::dynamic(fields) };
        self.add(stream, DeclaredStream { output, schema })
    }

    fn add(&mut self, stream: &str, declared: DeclaredStream) -> &mut Self {
        match StreamId::new(stream) {
            Ok(id) => {
                if self.outputs.insert(id, declared).is_some() {
                    self.faults.push(format!("stream {stream:?} is declared twice; declare it once"));
                }
            }
            Err(error) => self.faults.push(error.to_string()),
        }
        self
    }
}

fn read_of<T: Tuple>() -> Reads {
    let fields = T::FIELDS.iter().zip(T::KINDS).map(|(name, kind)| ((*name).to_owned(), kind.to_string())).collect();
    Reads { component: None, stream: None, layout: T::LAYOUT.0, fields, type_name: short_type_name::<T>() }
}

/// The type's name without its module path, for messages.
fn short_type_name<T: ?Sized>() -> String {
    let full = std::any::type_name::<T>();
    let base = full.split('<').next().unwrap_or(full);
    base.rsplit("::").next().unwrap_or(base).to_owned()
}
