//! Copies the counters of a core for whoever asks: all of them, or only what can be added up, which takes a core a moment
//! and not longer.

use crate::core::Core;
use crate::core::link::Way;
use crate::core::output::OutputStream;
use crate::core::spout_task::WhyIdle;
use crate::core::stats::{InputStats, LazyHistogram};
use crate::metrics::{
    CoreSnapshot, Counts, ExecutorFigures, ExecutorSnapshot, InputSnapshot, OutputSnapshot, PeerSnapshot, QueueSnapshot,
};

/// Whether latencies are copied as histograms.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Latencies {
    Copied,
    LeftOut,
}

impl Core {
    pub(crate) fn snapshot(&self) -> CoreSnapshot {
        let spouts = (0..self.spouts.len()).map(|index| self.spout_snapshot(index, Latencies::Copied));
        let bolts = (0..self.bolts.len()).map(|index| self.bolt_snapshot(index, Latencies::Copied));
        let ackers = self.acker_snapshots();
        let transfer = &self.transfer;
        CoreSnapshot {
            worker: self.worker,
            core: self.index,
            executors: spouts.chain(bolts).chain(ackers).collect(),
            frame_bytes: transfer.memory_bytes(),
            ring_bytes: transfer.links.iter().map(|link| link.ring_bytes(transfer.limits.frame_bytes)).sum(),
            ledger_bytes: self.ackers.iter().map(|acker| acker.ledger.memory_bytes()).sum::<usize>()
                + transfer.folder.memory_bytes(),
            pending_bytes: self
                .spouts
                .iter()
                .flat_map(|spout| &spout.tasks)
                .map(|task| task.tracker.pending.memory_bytes() + task.tracker.emit_times.memory_bytes())
                .sum(),
            open_roots: self.ackers.iter().map(|acker| acker.ledger.open_count()).sum(),
            ring_full_count: transfer.links.iter().map(|link| link.full_count).sum(),
            lost_with_workers: transfer.counters.lost_away,
            lost_unanchored: transfer.counters.refused_unanchored
                + transfer.links.iter().map(|link| link.undeliverable).sum::<u64>(),
            peers: self.peer_snapshots(),
        }
    }

    /// What each executor has counted, without histograms.
    pub(crate) fn figures(&self) -> Vec<ExecutorFigures> {
        let figures = |snapshot: ExecutorSnapshot| ExecutorFigures {
            counts: Counts::of(&snapshot),
            id: snapshot.id,
            component: snapshot.component,
            is_spout: snapshot.is_spout,
        };
        let spouts = self.spouts.iter().enumerate().map(|(index, spout)| {
            let mut figures = figures(self.spout_snapshot(index, Latencies::LeftOut));
            let counts = &mut figures.counts.spout;
            (counts.complete_ns, counts.complete_count) = spout.stats.complete_ns.total();
            figures
        });
        let bolts = (0..self.bolts.len()).map(|index| {
            let mut figures = figures(self.bolt_snapshot(index, Latencies::LeftOut));
            for (counts, (stats, ..)) in figures.counts.inputs.iter_mut().zip(self.inputs_of(index)) {
                (counts.execute_ns, counts.execute_count) = stats.execute_ns.total();
                (counts.process_ns, counts.process_count) = stats.process_ns.total();
            }
            figures
        });
        spouts.chain(bolts).chain(self.acker_snapshots().into_iter().map(figures)).collect()
    }

    /// Several tasks of one executor are one.
    fn acker_snapshots(&self) -> Vec<ExecutorSnapshot> {
        let mut snapshots: Vec<ExecutorSnapshot> = Vec::new();
        for acker in &self.ackers {
            if snapshots.last().is_none_or(|last| last.id != acker.id) {
                snapshots.push(ExecutorSnapshot {
                    inputs: vec![InputSnapshot {
                        component: "__acker".into(),
                        stream: "__ack_ack".into(),
                        executed: 0,
                        acked: 0,
                        failed: 0,
                        execute_ns: None,
                        process_ns: None,
                    }],
                    ..empty(acker.id, ringstorm_types::id::ACKER_COMPONENT, false)
                });
            }
            for input in snapshots.last_mut().into_iter().flat_map(|last| &mut last.inputs) {
                input.executed += acker.executed;
                input.acked += acker.executed;
                input.failed += acker.ignored;
            }
        }
        snapshots
    }

    /// The inputs of a bolt executor, with the component and the stream of each.
    fn inputs_of(&self, index: usize) -> impl Iterator<Item = (&InputStats, &str, &str)> {
        let bolt = &self.bolts[index];
        bolt.inputs.iter().zip(&bolt.input_keys).filter_map(|(stats, (component, stream))| {
            let source = self.sources.iter().enumerate().find_map(|(task, streams)| {
                let same = self.component_numbers[task] == *component;
                same.then(|| streams.get(usize::from(*stream))).flatten()
            })?;
            Some((stats, source.component.as_str(), source.stream.as_str()))
        })
    }

    fn peer_snapshots(&self) -> Vec<PeerSnapshot> {
        let Some(sockets) = &self.transfer.sockets else { return Vec::new() };
        let links = self.transfer.links.iter().filter_map(|link| match link.way {
            Way::Socket(peer) => Some((link, peer)),
            Way::Ring(_) => None,
        });
        let snapshots = links.map(|(link, peer)| PeerSnapshot {
            worker: link.place.worker,
            core: link.place.core,
            is_ready: sockets.is_connected(peer),
            is_away: link.is_away,
            pauses: self.pauses_by_peer.get(peer).copied().unwrap_or_default(),
            full_count: link.full_count,
            counts: sockets.counts(peer),
        });
        snapshots.collect()
    }

    fn spout_snapshot(&self, index: usize, latencies: Latencies) -> ExecutorSnapshot {
        let spout = &self.spouts[index];
        ExecutorSnapshot {
            outputs: outputs(spout.tasks.iter().map(|task| &task.output.streams)),
            acked: spout.stats.acked,
            failed: spout.stats.failed,
            timed_out: spout.stats.timed_out,
            pending: spout.pending_count(),
            complete_ns: histogram(&spout.stats.complete_ns, latencies),
            why_idle: self.why_idle(spout.why_idle),
            ..empty(spout.id, &spout.component, true)
        }
    }

    fn bolt_snapshot(&self, index: usize, latencies: Latencies) -> ExecutorSnapshot {
        let bolt = &self.bolts[index];
        let inputs = self.inputs_of(index).map(|(stats, component, stream)| InputSnapshot {
            component: component.to_owned(),
            stream: stream.to_owned(),
            executed: stats.executed,
            acked: stats.acked,
            failed: stats.failed,
            execute_ns: histogram(&stats.execute_ns, latencies),
            process_ns: histogram(&stats.process_ns, latencies),
        });
        let outlet = &self.transfer.outlets[index];
        let population = outlet.queued();
        ExecutorSnapshot {
            outputs: outputs(bolt.tasks.iter().map(|task| &task.output.streams)),
            inputs: inputs.collect(),
            busy_ns: bolt.inputs.iter().map(|stats| stats.busy_ns).sum(),
            receive_queue: QueueSnapshot {
                population,
                capacity_bytes: self.marks.high_bytes,
                bytes: outlet.bytes(),
                population_max: bolt.inbox.population_max,
                taken: bolt.taken,
                sojourn_time_ns: bolt.tuple_ns.saturating_mul(population as u64),
                pauses: bolt.inbox.pauses,
                overflow: if outlet.bytes() > self.marks.high_bytes { population } else { 0 },
            },
            ..empty(bolt.id, &bolt.component, false)
        }
    }

    fn why_idle(&self, why: WhyIdle) -> String {
        match why {
            WhyIdle::Running => String::new(),
            WhyIdle::Inactive => "nothing is asked of it: the topology is inactive, or the run ends".into(),
            WhyIdle::MaxPending => "topology.max.spout.pending is reached".into(),
            WhyIdle::HeldBy(task) => {
                let component = self.sources.get(task as usize).and_then(|streams| streams.first());
                match component {
                    Some(source) => format!("task {task} of {} has enough to do", source.component),
                    None => format!("task {task} has enough to do"),
                }
            }
            WhyIdle::NoData => "its source has nothing".into(),
            WhyIdle::Finished => "its input has ended".into(),
        }
    }
}

fn empty(id: ringstorm_types::ExecutorId, component: &str, is_spout: bool) -> ExecutorSnapshot {
    ExecutorSnapshot {
        id,
        component: component.to_owned(),
        is_spout,
        outputs: Vec::new(),
        inputs: Vec::new(),
        acked: 0,
        failed: 0,
        timed_out: 0,
        pending: 0,
        complete_ns: None,
        busy_ns: 0,
        receive_queue: QueueSnapshot::default(),
        why_idle: String::new(),
    }
}

/// Sums the streams of an executor's tasks, which all declare the same ones.
fn outputs<'a>(tasks: impl Iterator<Item = &'a Vec<OutputStream>>) -> Vec<OutputSnapshot> {
    let mut sums: Vec<OutputSnapshot> = Vec::new();
    for streams in tasks {
        for (index, stream) in streams.iter().filter(|stream| stream.declared).enumerate() {
            match sums.get_mut(index) {
                Some(sum) => {
                    sum.emitted += stream.emitted;
                    sum.transferred += stream.transferred;
                }
                None => sums.push(OutputSnapshot {
                    stream: stream.id.to_string(),
                    emitted: stream.emitted,
                    transferred: stream.transferred,
                }),
            }
        }
    }
    sums
}

fn histogram(lazy: &LazyHistogram, latencies: Latencies) -> Option<hdrhistogram::Histogram<u64>> {
    if latencies == Latencies::Copied { lazy.copy() } else { None }
}
