//! Components from closures, where a type of one's own would be ceremony.
//!
//! ```
//! use ringstorm_runtime::TopologyBuilder;
//! use ringstorm_tuple::Tuple;
//! use ringstorm_types::config::Config;
//!
//! #[derive(Tuple)]
//! #[tuple(crate = ringstorm_tuple)]
//! struct Number {
//!     value: u64,
//! }
//!
//! let mut topology = TopologyBuilder::new();
//! topology.spout_fn("numbers", || (0..1000).map(|value| Number { value }));
//! topology.filter_fn::<Number, _>("odd", |number| Ok(number.value() % 2 == 1)).shuffle_grouping("numbers");
//! topology
//!     .map_fn("squares", |input| {
//!         let value = input.view::<Number>()?.value();
//!         Ok(Some(Number { value: value * value }))
//!     })
//!     .shuffle_grouping("odd");
//! topology
//!     .for_each_fn("print", |input| {
//!         println!("{}", input.get(0)?);
//!         Ok(())
//!     })
//!     .shuffle_grouping("squares");
//! topology.build(&Config::new())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The tuples are typed: their type says the fields of the stream. `Values` have none of their own, so a component that
//! emits them declares them itself, as a [`Spout`](crate::Spout) or [`SimpleBolt`].
//!
//! A closure is cloned for each task, with what it captured; what it changes of that is the task's own. An error fails
//! the tuple, as for a [`SimpleBolt`].

use std::marker::PhantomData;

use ringstorm_tuple::Tuple;

use crate::api::bolt::SimpleBolt;
use crate::api::builder::{BoltDeclarer, SpoutDeclarer, TopologyBuilder};
use crate::api::collector::Emitter;
use crate::api::context::TopologyContext;
use crate::api::declare::Declarer;
use crate::api::flat_map::FlatMap;
use crate::api::input::{Input, TupleRef};
use crate::error::Result;
use crate::library::replay::{Emission, Fetched, ReplayingSpout, Source};

impl TopologyBuilder {
    /// Adds a spout that emits what an iterator yields, and emits again what fails (see [`ReplayingSpout`]). It must not
    /// wait for its next item, unless the spout is declared blocking. Several tasks share the items: each makes an
    /// iterator of its own and, of `n` tasks, takes every `n`th item of it.
    pub fn spout_fn<I>(&mut self, id: &str, make: impl Fn() -> I + Send + Sync + 'static) -> SpoutDeclarer<'_>
    where
        I: IntoIterator<Item: Tuple + 'static, IntoIter: 'static>,
    {
        self.spout(id, move || ReplayingSpout::new(Items { items: make().into_iter(), skip: 0, step: 1 }))
    }

    /// Adds a bolt that emits any number of tuples of one type for each tuple.
    pub fn bolt_fn<T, F>(&mut self, id: &str, function: F) -> BoltDeclarer<'_>
    where
        T: Tuple + 'static,
        F: FnMut(&Input<'_>, &mut Emitter<'_, '_, '_>) -> Result + Clone + Send + Sync + 'static,
    {
        self.simple_bolt(id, move || Function::<T, F>(function.clone(), PhantomData))
    }

    /// Adds a bolt that emits a tuple, or none, for each tuple.
    pub fn map_fn<T, F>(&mut self, id: &str, mut function: F) -> BoltDeclarer<'_>
    where
        T: Tuple + 'static,
        F: FnMut(&Input<'_>) -> Result<Option<T>> + Clone + Send + Sync + 'static,
    {
        self.bolt_fn::<T, _>(id, move |input, emitter| {
            if let Some(tuple) = function(input)? {
                emitter.emit(&tuple);
            }
            Ok(())
        })
    }

    /// Adds a bolt that turns each tuple into an iterator of tuples, which is pulled while there is room: a [`FlatMap`]
    /// without state. The items may borrow from the tuple, which only a function can say, and not a closure.
    ///
    /// ```
    /// # use ringstorm_runtime::{Result, TopologyBuilder, TupleRef};
    /// # use ringstorm_runtime::library::{Line, LineSpout};
    /// fn words(input: TupleRef<'_>) -> Result<impl Iterator<Item = Line<'_>>> {
    ///     Ok(input.view::<Line>()?.line().split_whitespace().map(|line| Line { line }))
    /// }
    ///
    /// let mut topology = TopologyBuilder::new();
    /// topology.spout("lines", || LineSpout::new("input.txt"));
    /// topology.flat_map_fn("words", words).shuffle_grouping("lines");
    /// ```
    pub fn flat_map_fn<F>(&mut self, id: &str, function: F) -> BoltDeclarer<'_>
    where
        F: for<'a> FlatMapFn<'a> + Copy + Send + Sync + 'static,
    {
        self.flat_map(id, move || FlatFunction(function))
    }

    /// Adds a bolt that hands on the tuples for which the closure says `true`, as they are. Every input must have the
    /// layout of `T`.
    pub fn filter_fn<T, F>(&mut self, id: &str, function: F) -> BoltDeclarer<'_>
    where
        T: Tuple + 'static,
        F: for<'v> FnMut(T::View<'v>) -> Result<bool> + Clone + Send + Sync + 'static,
    {
        self.simple_bolt(id, move || Filter::<T, F>(function.clone(), PhantomData))
    }

    /// Adds a bolt that emits nothing.
    pub fn for_each_fn<F>(&mut self, id: &str, function: F) -> BoltDeclarer<'_>
    where
        F: FnMut(&Input<'_>) -> Result + Clone + Send + Sync + 'static,
    {
        self.simple_bolt(id, move || ForEach(function.clone()))
    }
}

/// A bolt of [`TopologyBuilder::bolt_fn`].
struct Function<T, F>(F, PhantomData<fn() -> T>);

impl<T, F> SimpleBolt for Function<T, F>
where
    T: Tuple + 'static,
    F: FnMut(&Input<'_>, &mut Emitter<'_, '_, '_>) -> Result + 'static,
{
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<T>();
    }

    #[inline]
    fn execute(&mut self, input: &Input<'_>, emitter: &mut Emitter<'_, '_, '_>) -> Result {
        (self.0)(input, emitter)
    }
}

/// What [`TopologyBuilder::flat_map_fn`] takes: `fn(TupleRef<'a>) -> Result<impl Iterator<Item = T>>` with tuples `T`
/// that live as long as `'a`.
pub trait FlatMapFn<'a>: Fn(TupleRef<'a>) -> Result<Self::Items> {
    /// The tuples that are emitted.
    type Item: Tuple + 'a;
    /// The tuples that come of one tuple.
    type Items: Iterator<Item = Self::Item> + 'a;
}

impl<'a, T, I, F> FlatMapFn<'a> for F
where
    T: Tuple + 'a,
    I: Iterator<Item = T> + 'a,
    F: Fn(TupleRef<'a>) -> Result<I>,
{
    type Item = T;
    type Items = I;
}

/// A bolt of [`TopologyBuilder::flat_map_fn`].
struct FlatFunction<F>(F);

impl<F: for<'a> FlatMapFn<'a> + 'static> FlatMap for FlatFunction<F> {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<<F as FlatMapFn<'static>>::Item>();
    }

    fn flat_map<'a>(&'a mut self, input: TupleRef<'a>) -> Result<impl Iterator<Item = impl Tuple + 'a> + 'a> {
        (self.0)(input)
    }
}

/// A bolt of [`TopologyBuilder::filter_fn`].
struct Filter<T, F>(F, PhantomData<fn() -> T>);

impl<T, F> SimpleBolt for Filter<T, F>
where
    T: Tuple + 'static,
    F: for<'v> FnMut(T::View<'v>) -> Result<bool> + 'static,
{
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<T>().reads::<T>();
    }

    #[inline]
    fn execute(&mut self, input: &Input<'_>, emitter: &mut Emitter<'_, '_, '_>) -> Result {
        if (self.0)(input.view::<T>()?)? {
            emitter.forward();
        }
        Ok(())
    }
}

/// A bolt of [`TopologyBuilder::for_each_fn`].
struct ForEach<F>(F);

impl<F: FnMut(&Input<'_>) -> Result + 'static> SimpleBolt for ForEach<F> {
    #[inline]
    fn execute(&mut self, input: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
        (self.0)(input)
    }
}

/// The share of one task in an iterator's items.
struct Items<I> {
    items: I,
    /// Items of other tasks before the next of this one.
    skip: usize,
    /// The number of tasks.
    step: usize,
}

impl<I: Iterator<Item: Tuple + 'static> + 'static> Source for Items<I> {
    type Message = I::Item;

    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<I::Item>();
    }

    fn open(&mut self, context: &TopologyContext) -> Result {
        self.skip = context.task_index();
        self.step = context.task_count().max(1);
        Ok(())
    }

    fn fetch(&mut self) -> Result<Fetched<I::Item>> {
        let item = self.items.nth(self.skip);
        self.skip = self.step - 1;
        Ok(item.map_or(Fetched::Ended, Fetched::Message))
    }

    fn emit(&mut self, item: &I::Item, emission: Emission<'_, '_>) {
        emission.emit(item);
    }
}
