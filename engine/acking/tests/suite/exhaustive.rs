//! Every tree of up to four edges, its messages in every order: as they are, with one of them twice, with one tuple
//! failed instead of acked, with a fail and with a reset besides.

use ringstorm_acking::{AckMessage, EdgeKey, FailReason, Lane, Ledger, Outcome, RootId};

const KEY: EdgeKey = EdgeKey::new(77);
const ROOT: RootId = RootId::new(Lane(9), 1234);

/// A tree: `parents[e]` is the edge whose tuple was the anchor of edge `e`, or `None` if the spout emitted it.
type Parents = Vec<Option<usize>>;

/// All trees with up to `edges` edges; an edge comes after its parent.
fn trees(edges: usize) -> Vec<Parents> {
    let mut all = vec![Vec::new()];
    let mut begin = 0;
    for _ in 0..edges {
        let end = all.len();
        for tree in begin..end {
            for parent in std::iter::once(None).chain((0..all[tree].len()).map(Some)) {
                let mut larger: Parents = all[tree].clone();
                larger.push(parent);
                all.push(larger);
            }
        }
        begin = end;
    }
    all
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Event {
    Init,
    Ack(usize),
    Fail,
    Reset,
}

struct Tree {
    parents: Parents,
    /// Whether what can be derived from root and position is sent so.
    derived: bool,
}

impl Tree {
    /// The spout's edges are numbered by their order.
    fn position(&self, edge: usize) -> Option<u16> {
        let position = self.parents[..edge].iter().filter(|parent| parent.is_none()).count() as u16;
        self.parents[edge].is_none().then_some(position)
    }

    fn edge(&self, edge: usize) -> u64 {
        match self.position(edge) {
            Some(position) => KEY.edge(ROOT, position),
            None => KEY.edge(RootId(!ROOT.0), edge as u16),
        }
    }

    fn children(&self, parent: Option<usize>) -> impl Iterator<Item = usize> {
        (0..self.parents.len()).filter(move |&edge| self.parents[edge] == parent)
    }

    fn message(&self, event: Event) -> AckMessage {
        let sum = |parent| self.children(parent).fold(0, |sum, child| sum ^ self.edge(child));
        match event {
            Event::Init if self.derived => {
                let positions = self.children(None).count() as u16;
                AckMessage::InitRange { first: ROOT, stride: 1, count: 1, positions }
            }
            Event::Init => AckMessage::Init { root: ROOT, value: sum(None) },
            Event::Ack(edge) => match self.position(edge) {
                Some(position) if self.derived && self.children(Some(edge)).next().is_none() => {
                    AckMessage::AckRange { first: ROOT, stride: 1, count: 1, position }
                }
                _ => AckMessage::Ack { root: ROOT, value: self.edge(edge) ^ sum(Some(edge)) },
            },
            Event::Fail => AckMessage::Fail { root: ROOT, by: 5 },
            Event::Reset => AckMessage::ResetTimeout { root: ROOT },
        }
    }

    /// Applies the events in this order and compares each outcome with the rules.
    fn check(&self, events: &[Event]) {
        let mut ledger = Ledger::new(KEY);
        let mut odd = vec![false; self.parents.len()];
        let (mut initialised, mut failed, mut closed) = (false, false, false);
        for (index, &event) in events.iter().enumerate() {
            let mut outcomes = Vec::new();
            ledger.apply(&self.message(event), &mut outcomes).expect("ranges are within the limits");
            let mut expected = None;
            if !closed {
                match event {
                    Event::Init => initialised = true,
                    Event::Ack(edge) => odd[edge] ^= true,
                    Event::Fail => failed = true,
                    Event::Reset => {}
                }
                if initialised && odd.iter().all(|&odd| odd) {
                    expected = Some(Outcome::Acked { root: ROOT });
                } else if initialised && failed {
                    expected = Some(Outcome::Failed { root: ROOT, reason: FailReason::FailedBy { task: 5 } });
                } else if initialised && event == Event::Reset {
                    expected = Some(Outcome::ResetTimeout { root: ROOT });
                }
                closed = matches!(expected, Some(Outcome::Acked { .. } | Outcome::Failed { .. }));
            }
            let parents = &self.parents;
            assert_eq!(outcomes, Vec::from_iter(expected), "at {index} of {events:?}, tree {parents:?}");
            assert_eq!(ledger.open_count(), usize::from(!closed), "at {index} of {events:?}, tree {parents:?}");
        }
    }
}

/// Calls `check` with every order of the events.
fn every_order(events: &mut [Event], from: usize, check: &mut impl FnMut(&[Event])) {
    if from == events.len() {
        return check(events);
    }
    for at in from..events.len() {
        // Equal events need to come in one order only.
        if events[from..at].contains(&events[at]) {
            continue;
        }
        events.swap(from, at);
        every_order(events, from + 1, check);
        events.swap(from, at);
    }
}

fn every_tree(mut variants: impl FnMut(&[Event]) -> Vec<Vec<Event>>) {
    for parents in trees(4) {
        for derived in [false, true] {
            let tree = Tree { parents: parents.clone(), derived };
            let mut events = vec![Event::Init];
            events.extend((0..parents.len()).map(Event::Ack));
            for mut variant in variants(&events) {
                every_order(&mut variant, 0, &mut |events| tree.check(events));
            }
        }
    }
}

#[test]
fn trees_are_complete() {
    assert_eq!(trees(4).len(), 1 + 1 + 2 + 6 + 24);
}

#[test]
fn in_every_order() {
    every_tree(|events| vec![events.to_vec()]);
}

#[test]
fn with_any_message_twice() {
    every_tree(|events| events.iter().map(|&twice| [events, &[twice]].concat()).collect());
}

#[test]
fn with_any_tuple_failed_instead_of_acked() {
    every_tree(|events| {
        let mut variants = Vec::new();
        for failed in 1..events.len() {
            let mut variant = events.to_vec();
            variant[failed] = Event::Fail;
            variants.push(variant);
        }
        variants
    });
}

#[test]
fn with_a_fail_or_a_reset_besides() {
    every_tree(|events| vec![[events, &[Event::Fail]].concat(), [events, &[Event::Reset]].concat()]);
}

#[test]
fn with_a_fail_and_a_duplicate() {
    every_tree(|events| {
        let small = if events.len() <= 4 { events } else { &[] };
        small.iter().map(|&twice| [small, &[twice, Event::Fail]].concat()).collect()
    });
}
