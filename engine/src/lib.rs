//! Ringstorm: Apache Storm's model on a thread-per-core io_uring runtime.
//!
//! This is the one crate that a topology names. What follows is the life of a topology: [declare](#declare) it,
//! [run](#run) it, [test](#test) it, [observe](#observe) it. The words are Storm's: a *topology* is a graph of *spouts*
//! (sources) and *bolts* (everything else), which emit *tuples* on *streams*; a *grouping* says which *task* of a
//! subscriber gets a tuple.
//!
//! # Declare
//!
//! A tuple is a struct whose fields are the stream's fields. It may borrow: emitting it copies its bytes once and allocates
//! nothing.
//!
//! ```
//! use ringstorm::prelude::*;
//!
//! #[derive(Tuple)]
//! struct Word<'a> {
//!     word: &'a str,
//! }
//! ```
//!
//! A [`Spout`] is asked for tuples again and again. With a message id it hears exactly one [`ack`](Spout::ack) or
//! [`fail`](Spout::fail) for each, when the whole tree of tuples that came of it is done, or is not.
//!
//! ```
//! # use ringstorm::prelude::*;
//! # #[derive(Tuple)]
//! # struct Word<'a> { word: &'a str }
//! struct Words {
//!     words: std::slice::Iter<'static, &'static str>,
//! }
//!
//! impl Spout for Words {
//!     fn declare(&self, declarer: &mut Declarer) {
//!         declarer.emits::<Word>();
//!     }
//!     fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
//!         let Some(word) = self.words.next() else { return Ok(Next::Finished) };
//!         collector.emit_with_id(self.words.len() as u64, &Word { word });
//!         Ok(Next::Emitted)
//!     }
//! }
//! ```
//!
//! A [`SimpleBolt`] acks what it returns `Ok` for, fails what it returns an error for, and anchors what it emits. A
//! [`Bolt`] does all of that by hand, a [`FlatMap`] makes many tuples of one, an [`AsyncBolt`] awaits.
//!
//! ```
//! # use ringstorm::prelude::*;
//! # #[derive(Tuple)]
//! # struct Word<'a> { word: &'a str }
//! #[derive(Default)]
//! struct Count {
//!     counts: std::collections::BTreeMap<String, u64>,
//! }
//!
//! impl SimpleBolt for Count {
//!     fn declare(&self, declarer: &mut Declarer) {
//!         declarer.reads::<Word>();
//!     }
//!     fn execute(&mut self, input: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
//!         *self.counts.entry(input.view::<Word>()?.word().to_owned()).or_default() += 1;
//!         Ok(())
//!     }
//!     fn cleanup(&mut self) {
//!         println!("{:?}", self.counts);
//!     }
//! }
//! ```
//!
//! A [`TopologyBuilder`] puts them together. Components are given as functions that make one task's code, which is called
//! on the core where the task lives. [`TopologyBuilder::build`] names everything that is wrong at once: a field that does
//! not exist, a bolt that reads another type than its stream carries, a misspelled setting.
//!
//! # Run
//!
//! A topology is an executable: its `main` hands a name and a function that builds it to [`main()`], which reads the
//! command line. The topology's own options are a clap struct, `ringstorm::clap` is there for it.
//!
//! ```no_run
//! # use ringstorm::prelude::*;
//! # #[derive(Tuple)]
//! # struct Word<'a> { word: &'a str }
//! # struct Words { words: std::vec::IntoIter<String> }
//! # impl Spout for Words {
//! #     fn declare(&self, declarer: &mut Declarer) { declarer.emits::<Word>(); }
//! #     fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> { Ok(Next::Finished) }
//! # }
//! # #[derive(Default)]
//! # struct Count;
//! # impl SimpleBolt for Count {
//! #     fn execute(&mut self, _: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result { Ok(()) }
//! # }
//! #[derive(clap::Args)]
//! struct Options {
//!     /// Words to count
//!     words: Vec<String>,
//! }
//!
//! fn build(Options { words }: Options) -> Result<TopologyBuilder> {
//!     let mut topology = TopologyBuilder::new();
//!     topology.spout("words", move || Words { words: words.clone().into_iter() });
//!     topology.simple_bolt("count", Count::default).parallelism(2).fields_grouping("words", ["word"]);
//!     Ok(topology)
//! }
//!
//! fn main() -> ExitCode {
//!     ringstorm::main("word-count", build)
//! }
//! ```
//!
//! ```text
//! word-count local the cow jumped over the moon
//! word-count local --workers-cores 2 -c topology.max.spout.pending=1000 --metrics-json metrics.json the cow
//! word-count submit words -c topology.workers=2 the cow jumped over the moon
//! word-count describe the cow
//! ```
//!
//! `local` runs until every spout says [`Next::Finished`] and every message is acked or failed, or until Ctrl-C; then it
//! drains, and calls each bolt's `finish` and `cleanup` in the order in which tuples flow. Its exit code says whether all
//! of that came to a good end, see [`main()`].
//!
//! `submit` sends the executable to a cluster, whose workers build the topology again from the same options: what `build`
//! does it does in each of them, on another host, so that it should do nothing but build.
//!
//! # Test
//!
//! A [`LocalCluster`] runs a topology within a test and reports what came of it. Components share what they find out with
//! the test through an `Arc` or a channel.
//!
//! ```
//! use std::sync::mpsc::channel;
//!
//! use ringstorm::prelude::*;
//!
//! #[derive(Tuple)]
//! struct Number {
//!     value: u64,
//! }
//!
//! struct Numbers(std::ops::Range<u64>);
//!
//! impl Spout for Numbers {
//!     fn declare(&self, declarer: &mut Declarer) {
//!         declarer.emits::<Number>();
//!     }
//!     fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
//!         let Some(value) = self.0.next() else { return Ok(Next::Finished) };
//!         collector.emit_with_id(value, &Number { value });
//!         Ok(Next::Emitted)
//!     }
//! }
//!
//! struct Report(std::sync::mpsc::Sender<u64>);
//!
//! impl SimpleBolt for Report {
//!     fn execute(&mut self, input: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
//!         Ok(self.0.send(input.view::<Number>()?.value())?)
//!     }
//! }
//!
//! let (sender, numbers) = channel();
//! let mut topology = TopologyBuilder::new();
//! topology.spout("numbers", || Numbers(0..100));
//! topology.simple_bolt("report", move || Report(sender.clone())).shuffle_grouping("numbers");
//! let report = LocalCluster::new().run("test", topology.build(&Config::new())?)?;
//!
//! assert!(report.is_clean() && report.errors.is_empty(), "{report:?}");
//! assert_eq!(numbers.try_iter().sum::<u64>(), 4950);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Observe
//!
//! On a terminal `local` shows a line that is refreshed every second, and at the end tables of what each component did.
//! The same numbers are there for programs: in `--metrics-json`, in [`RunReport::metrics`], and while a topology runs
//! through [`RunningTopology::observer`], whose snapshots a [`metrics::MetricsHistory`] turns into
//! [`metrics::TopologyMetrics`]. Counts are exact; latencies are HdrHistograms; windows are Storm's.
//!
//! `-c topology.debug=true` shows a line on standard error for every tuple that is emitted: who emits it, to which stream,
//! its values, and the tree that it belongs to, by which a message can be followed through the topology. Where only one
//! component is of interest, set the key there. Lines that come too fast to be shown are counted instead, so that the
//! topology does not wait for them. In a test they go to [`LocalOptions::on_debug`].
//!
//! ```
//! use ringstorm::metrics::Window;
//! # use ringstorm::prelude::*;
//! # #[derive(Tuple)]
//! # struct Number { value: u64 }
//! # struct Numbers(std::ops::Range<u64>);
//! # impl Spout for Numbers {
//! #     fn declare(&self, declarer: &mut Declarer) { declarer.emits::<Number>(); }
//! #     fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
//! #         let Some(value) = self.0.next() else { return Ok(Next::Finished) };
//! #         collector.emit_with_id(value, &Number { value });
//! #         Ok(Next::Emitted)
//! #     }
//! # }
//! # struct Sink;
//! # impl SimpleBolt for Sink {
//! #     fn execute(&mut self, _: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result { Ok(()) }
//! # }
//! # let mut topology = TopologyBuilder::new();
//! # topology.spout("numbers", || Numbers(0..100));
//! # topology.simple_bolt("sink", || Sink).shuffle_grouping("numbers");
//! let report = LocalCluster::new().run("numbers", topology.build(&Config::new())?)?;
//! let metrics = report.metrics();
//! let sink = metrics.component("sink").expect("the topology has it");
//! assert_eq!(sink.counts(Window::AllTime).executed(), 100);
//! assert_eq!(metrics.complete().count(), 100);
//! println!("{metrics}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod entry;

/// What derived code refers to. Not part of the interface.
#[doc(hidden)]
pub mod __private {
    pub use ringstorm_tuple as tuple;
}

#[doc(no_inline)]
pub use clap;
pub use entry::{NoOptions, main};
/// What components say by its macros goes to the log of their worker in a cluster, as far as `ringstorm set_log_level` lets
/// it: by default from `INFO` on.
#[doc(no_inline)]
pub use log;
pub use ringstorm_runtime::*;
pub use ringstorm_tuple::{
    EncodeError, Field, FieldRef, Fields, Kind, LayoutHash, List, ListRef, ListView, MapRef, Schema, Tuple, TupleField,
    ValidateError, Value, Values, ValuesView, ViewError, values,
};
pub use ringstorm_types as types;
pub use ringstorm_types::config::Config;
pub use ringstorm_types::{ComponentId, MessageId, StreamId, TaskId};

/// What nearly every topology imports.
pub mod prelude {
    #[doc(no_inline)]
    pub use std::process::ExitCode;

    #[doc(no_inline)]
    pub use clap;

    pub use crate::{
        Bolt, BoltCollector, Config, Declarer, Emitter, FailReason, FlatMap, Input, LocalCluster, MessageId, Next,
        NoOptions, Result, SimpleBolt, Spout, SpoutCollector, TopologyBuilder, TopologyContext, Tuple, TupleRef,
        Values, values,
    };
}
