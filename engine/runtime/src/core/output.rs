//! What one task emits: its declared streams, their subscribers, and the counters of both.
//!
//! Invariants: a tuple leaves only on a declared stream whose layout it has; `emitted` counts emits but for those that were
//! refused, `transferred` copies, those that a refused emit had made before included. A refused emit is remembered and
//! fails the call that made it, so that user code need not check each emit.
//!
//! Where emits are shown (`topology.debug`), a stream pretends to have a layout that no tuple has. Each emit then takes
//! the way of those that are refused, and is shown there; where nothing is shown, nothing is asked.
//!
//! Threading: belongs to the core of its task.

use ringstorm_acking::{EdgeGenerator, RootId};
use ringstorm_frame::Anchors;
use ringstorm_tuple::{LayoutHash, Schema};
use ringstorm_types::{StreamId, TaskId};

use crate::api::anchor::Anchoring;
use crate::api::emittable::{Emittable, counted, schema_shape};
use crate::core::failure::drop_safely;
use crate::core::grouper::Grouper;
use crate::core::reports::{Reports, encode_text};
use crate::core::transfer::{SendError, Transfer};
use crate::debug::DebugLog;

/// No tuple has it.
const NO_LAYOUT: LayoutHash = LayoutHash(u64::MAX);

/// One subscription to a stream.
pub(crate) struct Route {
    pub(crate) grouper: Grouper,
    /// The subscriber is in a cycle with the emitter.
    pub(crate) in_cycle: bool,
    /// The cycle in words, for the report; empty when there is none.
    pub(crate) cycle_name: String,
}

/// A stream's position among those that its component declares, as frames number it.
pub(crate) fn number_of_stream(position: usize) -> u16 {
    u16::try_from(position).expect("validation refuses components with more streams than 16 bits can number")
}

/// One declared stream of a task.
pub(crate) struct OutputStream {
    /// False for the stand-in of a default stream that the component does not declare.
    pub(crate) declared: bool,
    pub(crate) id: StreamId,
    pub(crate) number: u16,
    /// What a tuple must have that leaves without further ado: the layout of the schema, or [`NO_LAYOUT`].
    layout: LayoutHash,
    pub(crate) schema: Schema,
    pub(crate) direct: bool,
    pub(crate) routes: Vec<Route>,
    /// Where every tuple goes, when there is one subscription and it has one task to choose.
    only: Option<Only>,
    pub(crate) emitted: u64,
    pub(crate) transferred: u64,
}

/// The only target of a stream.
#[derive(Clone, Copy)]
struct Only {
    outlet: u32,
    task: u32,
    in_cycle: bool,
}

/// Everything that a task writes to.
pub(crate) struct TaskOutput {
    pub(crate) task: u32,
    pub(crate) component: String,
    /// The default stream first; when the component declares none, a stand-in that refuses every tuple.
    pub(crate) streams: Vec<OutputStream>,
    pub(crate) edges: EdgeGenerator,
    /// Why an emit of the running call was refused.
    pub(crate) refused: Option<String>,
    /// Emits that were refused so far.
    pub(crate) refused_count: u64,
    /// What user code reported and has yet to be handed on.
    pub(crate) reported: Reports,
    pub(crate) scratch: Vec<u8>,
    /// Where emits are shown, if they are.
    pub(crate) debug: Option<DebugLog>,
}

/// Gives the anchors of each copy of one emit.
pub(crate) trait Copies {
    fn next<'s>(&mut self, edges: &mut EdgeGenerator, scratch: &'s mut Vec<u8>) -> Anchors<'s>;
    /// Whether a loss would fail something.
    fn tracked(&self) -> bool;
    /// The trees that the copies belong to, for people.
    fn roots(&self) -> Vec<u64>;
}

/// Copies of a spout's tuple: edges derived from the root and the copy's position.
pub(crate) struct SpoutCopies {
    pub(crate) root: RootId,
    /// How many there are so far. More than 65,535 cannot be told apart by their positions: whoever emits them must not
    /// have the root tracked.
    pub(crate) count: u32,
}

impl Copies for SpoutCopies {
    #[inline]
    fn next<'s>(&mut self, _: &mut EdgeGenerator, _: &'s mut Vec<u8>) -> Anchors<'s> {
        let position = u16::try_from(self.count).unwrap_or(u16::MAX);
        self.count = self.count.saturating_add(1);
        Anchors::Derived { root: self.root.0, position }
    }
    fn tracked(&self) -> bool {
        true
    }
    fn roots(&self) -> Vec<u64> {
        vec![self.root.0]
    }
}

/// Copies of a bolt's tuple.
pub(crate) struct BoltCopies<A> {
    anchors: A,
    tracked: bool,
}

impl<A> BoltCopies<A> {
    #[inline]
    pub(crate) fn new(anchors: A) -> Self {
        Self { anchors, tracked: false }
    }
}

impl<A: Anchoring> Copies for BoltCopies<A> {
    #[inline]
    fn next<'s>(&mut self, edges: &mut EdgeGenerator, scratch: &'s mut Vec<u8>) -> Anchors<'s> {
        let anchors = self.anchors.next_copy(edges, scratch);
        self.tracked = !matches!(anchors, Anchors::None);
        anchors
    }
    fn tracked(&self) -> bool {
        self.tracked
    }
    fn roots(&self) -> Vec<u64> {
        self.anchors.roots()
    }
}

/// Copies that nobody tracks.
pub(crate) struct Untracked;

impl Copies for Untracked {
    #[inline]
    fn next<'s>(&mut self, _: &mut EdgeGenerator, _: &'s mut Vec<u8>) -> Anchors<'s> {
        Anchors::None
    }
    fn tracked(&self) -> bool {
        false
    }
    fn roots(&self) -> Vec<u64> {
        Vec::new()
    }
}

impl TaskOutput {
    /// The index of a declared stream. An unknown one refuses the emit and gives `None`.
    pub(crate) fn stream_index(&mut self, name: &str) -> Option<usize> {
        let found = self.streams.iter().position(|stream| stream.declared && stream.id.as_str() == name);
        if found.is_none() {
            let declared = self.streams.iter().filter(|stream| stream.declared);
            let declared: Vec<&str> = declared.map(|stream| stream.id.as_str()).collect();
            self.refuse(format!(
                "component {} emitted to stream {name:?}, which it does not declare; it declares {declared:?}",
                self.component
            ));
        }
        found
    }

    /// Emits to every subscriber of a stream; `stream_index` is one of `streams`.
    ///
    /// Inlined into user code, with what is seldom needed left outside: a spout's call then costs little more than the
    /// bytes that it writes.
    #[inline(always)]
    pub(crate) fn emit<E: Emittable>(
        &mut self,
        transfer: &mut Transfer,
        stream_index: usize,
        tuple: &E,
        copies: &mut impl Copies,
    ) {
        let stream = &mut self.streams[stream_index];
        let Some(only) = stream.only.filter(|_| tuple.layout() == stream.layout && !tuple.layout().is_dynamic()) else {
            return self.emit_to_routes(transfer, stream_index, tuple, copies);
        };
        stream.emitted += 1;
        stream.transferred += 1;
        let anchors = copies.next(&mut self.edges, &mut self.scratch);
        let sent = transfer.send(only.outlet, self.task, stream.number, only.task, anchors, tuple, only.in_cycle);
        if let Err(error) = sent {
            self.streams[stream_index].transferred -= 1;
            self.refuse_route(transfer, stream_index, 0, &error, copies.tracked(), tuple);
        }
    }

    /// [`TaskOutput::emit`] for any number of subscribers, any grouping and any layout.
    #[inline(never)]
    fn emit_to_routes<E: Emittable>(
        &mut self,
        transfer: &mut Transfer,
        stream_index: usize,
        tuple: &E,
        copies: &mut impl Copies,
    ) {
        let stream = &self.streams[stream_index];
        let is_plain = stream.accepts(tuple) && !stream.direct;
        if !is_plain && !self.shows(stream_index, None, tuple, copies) {
            return self.refuse_shape(stream_index, tuple);
        }
        let stream = &mut self.streams[stream_index];
        stream.emitted += 1;
        let (source, number) = (self.task, stream.number);
        let (edges, scratch) = (&mut self.edges, &mut self.scratch);
        let mut failure = None;
        for (position, route) in stream.routes.iter_mut().enumerate() {
            let in_cycle = route.in_cycle;
            let mut sent = 0;
            let result = route.grouper.choose(tuple, transfer, |transfer, outlet, target| {
                let anchors = copies.next(edges, scratch);
                transfer.send(outlet, source, number, target, anchors, tuple, in_cycle)?;
                sent += 1;
                Ok::<(), SendError>(())
            });
            stream.transferred += sent;
            if let Err(error) = result {
                failure = Some((position, error));
                break;
            }
        }
        if let Some((position, error)) = failure {
            self.refuse_route(transfer, stream_index, position, &error, copies.tracked(), tuple);
        }
    }

    #[cold]
    #[inline(never)]
    fn refuse_route<E: Emittable>(
        &mut self,
        transfer: &mut Transfer,
        stream_index: usize,
        position: usize,
        error: &SendError,
        tracked: bool,
        tuple: &E,
    ) {
        let cycle = self.streams[stream_index].routes[position].cycle_name.clone();
        self.refuse_send(transfer, stream_index, error, &cycle, tracked, tuple);
    }

    /// Emits to one task of a direct stream.
    pub(crate) fn emit_direct<E: Emittable>(
        &mut self,
        transfer: &mut Transfer,
        target: TaskId,
        stream_index: usize,
        tuple: &E,
        copies: &mut impl Copies,
    ) {
        if !self.streams[stream_index].accepts(tuple) && !self.shows(stream_index, Some(target), tuple, copies) {
            return self.refuse_shape(stream_index, tuple);
        }
        let stream = &mut self.streams[stream_index];
        let target = u32::try_from(target.0).unwrap_or(0);
        let route = stream.routes.iter().find(|route| route.grouper.allows_direct(target));
        let Some((in_cycle, cycle)) = route.map(|route| (route.in_cycle, route.cycle_name.clone())) else {
            let text = format!(
                "component {} emitted to task {target} on stream {}, which no task of that id reads by direct grouping; \
                 name a task of a subscriber of this direct stream",
                self.component, stream.id
            );
            return self.refuse(text);
        };
        stream.emitted += 1;
        let anchors = copies.next(&mut self.edges, &mut self.scratch);
        let result = match transfer.outlet_of(target) {
            Some(outlet) => transfer.send(outlet, self.task, stream.number, target, anchors, tuple, in_cycle),
            None => Err(SendError::Nowhere(target)),
        };
        match result {
            Ok(()) => stream.transferred += 1,
            Err(error) => self.refuse_send(transfer, stream_index, &error, &cycle, copies.tracked(), tuple),
        }
    }

    /// Shows a tuple that has the shape of its stream after all, if emits are shown here. Returns false for others.
    #[cold]
    #[inline(never)]
    fn shows<E: Emittable>(
        &self,
        stream_index: usize,
        target: Option<TaskId>,
        tuple: &E,
        copies: &impl Copies,
    ) -> bool {
        let stream = &self.streams[stream_index];
        let Some(debug) = self.debug.as_ref().filter(|_| stream.declared) else { return false };
        if tuple.layout() != stream.schema.layout() || !stream.has_count_of(tuple) {
            return false;
        }
        let Self { task, component, .. } = self;
        let (name, fields, roots) = (&stream.id, stream.schema.fields().len(), copies.roots());
        match target {
            None if stream.direct => return false,
            None => {
                let place = format_args!("{component}, task {task}, emits to stream {name}");
                debug.emitted(place, tuple, fields, &roots);
            }
            Some(target) => {
                let place = format_args!("{component}, task {task}, emits to task {target} on stream {name}");
                debug.emitted(place, tuple, fields, &roots);
            }
        }
        true
    }

    #[cold]
    fn refuse_missing_default(&mut self) {
        let text = format!(
            "component {} emitted to the default stream, which it does not declare; declare it or emit to a named stream",
            self.component
        );
        self.refuse(text);
    }

    #[cold]
    #[inline(never)]
    fn refuse_shape<E: Emittable>(&mut self, stream_index: usize, tuple: &E) {
        let stream = &self.streams[stream_index];
        if !stream.declared {
            return self.refuse_missing_default();
        }
        let text = if stream.direct && tuple.layout() == stream.schema.layout() {
            format!(
                "component {} emitted to the direct stream {} without naming a task; use emit_direct",
                self.component, stream.id
            )
        } else if stream.schema.layout().is_dynamic() && tuple.layout().is_dynamic() {
            format!(
                "component {} emitted {} to stream {}, which declares {}: {}; emit one value for each",
                self.component,
                counted(tuple.field_count(), "value"),
                stream.id,
                counted(stream.schema.fields().len(), "field"),
                stream.schema.fields()
            )
        } else {
            format!(
                "component {} emitted {} to stream {}, which declares {}; declare what is emitted, or emit what is \
                 declared",
                self.component,
                tuple.shape(),
                stream.id,
                schema_shape(&stream.schema)
            )
        };
        self.refuse(text);
    }

    /// Refuses an emit that was counted and could not be sent, or not to everybody.
    #[cold]
    #[inline(never)]
    fn refuse_send<E: Emittable>(
        &mut self,
        transfer: &mut Transfer,
        stream_index: usize,
        error: &SendError,
        cycle: &str,
        tracked: bool,
        tuple: &E,
    ) {
        self.streams[stream_index].emitted -= 1;
        let OutputStream { id: stream, schema, .. } = &self.streams[stream_index];
        if let SendError::CycleFull { max_bytes } = error {
            transfer.counters.refused_unanchored += u64::from(!tracked);
            let component = &self.component;
            let text = || {
                format!(
                    "cycle {cycle} emits more than it consumes: it holds more than ringstorm.cycle.limit.bytes \
                     ({max_bytes} bytes), so an emit of {component} to stream {stream} was refused"
                )
            };
            if tracked {
                let text = text();
                self.refuse(text);
            } else {
                self.refused_count += 1;
                self.reported.push(text);
            }
            return;
        }
        let error = match error {
            SendError::Encode(error) => encode_text(error, tuple, schema.fields()),
            error => error.to_string(),
        };
        self.refuse(format!("component {} could not emit to stream {stream}: {error}", self.component));
    }

    /// Refuses an emit with a message id, of which more copies were made than can be told apart.
    #[cold]
    pub(crate) fn refuse_copies(&mut self, stream_index: usize, count: u32) {
        self.streams[stream_index].emitted -= 1;
        self.refuse(format!(
            "component {} emitted a message to stream {} in {count} copies, of which a tree can have at most {}; have its \
             groupings choose fewer tasks, or emit it without a message id",
            self.component,
            self.streams[stream_index].id,
            u16::MAX
        ));
    }

    /// Drops users' groupings, at the end, and says what went wrong with that.
    pub(crate) fn drop_groupings(&mut self) -> Vec<String> {
        let mut texts = Vec::new();
        for OutputStream { id, routes, .. } in &mut self.streams {
            for route in routes.iter_mut().filter(|route| matches!(route.grouper, Grouper::Custom { .. })) {
                let gone = std::mem::replace(&mut route.grouper, Grouper::Direct { tasks: Box::default() });
                texts.extend(drop_safely(gone).map(|text| format!("the drop of a grouping of its stream {id} {text}")));
            }
        }
        texts
    }

    pub(crate) fn refuse(&mut self, text: String) {
        self.refused_count += 1;
        self.refused.get_or_insert(text);
    }
}

impl OutputStream {
    /// A declared stream and its subscriptions.
    pub(crate) fn new(id: StreamId, number: u16, schema: Schema, direct: bool, routes: Vec<Route>) -> Self {
        let only = match routes[..] {
            [Route { grouper: Grouper::One { task, outlet }, in_cycle, .. }] if !direct => {
                Some(Only { outlet, task, in_cycle })
            }
            _ => None,
        };
        let layout = schema.layout();
        Self { declared: true, id, number, layout, schema, direct, routes, only, emitted: 0, transferred: 0 }
    }

    /// Has every emit looked at, so that it can be shown.
    pub(crate) fn show_emits(&mut self) {
        self.layout = NO_LAYOUT;
    }

    /// Whether a tuple may leave without further ado.
    #[inline]
    fn accepts<E: Emittable>(&self, tuple: &E) -> bool {
        tuple.layout() == self.layout && self.has_count_of(tuple)
    }

    /// Whether a dynamic tuple has as many values as the stream has fields.
    #[inline]
    fn has_count_of<E: Emittable>(&self, tuple: &E) -> bool {
        !tuple.layout().is_dynamic() || tuple.field_count() == self.schema.fields().len()
    }

    /// Stands at the place of the default stream when there is none: no tuple has its layout.
    pub(crate) fn stand_in() -> Self {
        Self {
            declared: false,
            id: StreamId::from_static(ringstorm_types::DEFAULT_STREAM),
            number: 0,
            layout: NO_LAYOUT,
            schema: Schema::dynamic(std::iter::empty::<String>()),
            direct: true,
            routes: Vec::new(),
            only: None,
            emitted: 0,
            transferred: 0,
        }
    }
}
