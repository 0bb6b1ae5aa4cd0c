//! Copies the counters of a core for whoever asks.

use crate::core::Core;
use crate::core::link::Way;
use crate::core::output::OutputStream;
use crate::core::spout_task::WhyIdle;
use crate::core::stats::LazyHistogram;
use crate::metrics::{CoreSnapshot, ExecutorSnapshot, InputSnapshot, OutputSnapshot, PeerSnapshot, QueueSnapshot};

impl Core {
    pub(crate) fn snapshot(&self) -> CoreSnapshot {
        let spouts = (0..self.spouts.len()).map(|index| self.spout_snapshot(index));
        let bolts = (0..self.bolts.len()).map(|index| self.bolt_snapshot(index));
        let ackers = self.ackers.iter().map(|acker| ExecutorSnapshot {
            inputs: vec![InputSnapshot {
                component: "__acker".into(),
                stream: "__ack_ack".into(),
                executed: acker.executed,
                acked: acker.executed,
                failed: acker.ignored,
                execute_ns: None,
                process_ns: None,
            }],
            ..empty(acker.id, ringstorm_types::id::ACKER_COMPONENT, false)
        });
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

    fn spout_snapshot(&self, index: usize) -> ExecutorSnapshot {
        let spout = &self.spouts[index];
        ExecutorSnapshot {
            outputs: outputs(spout.tasks.iter().map(|task| &task.output.streams)),
            acked: spout.stats.acked,
            failed: spout.stats.failed,
            timed_out: spout.stats.timed_out,
            pending: spout.pending_count(),
            complete_ns: histogram(&spout.stats.complete_ns),
            why_idle: self.why_idle(spout.why_idle),
            ..empty(spout.id, &spout.component, true)
        }
    }

    fn bolt_snapshot(&self, index: usize) -> ExecutorSnapshot {
        let bolt = &self.bolts[index];
        let inputs = bolt.inputs.iter().zip(&bolt.input_keys).filter_map(|(stats, (component, stream))| {
            let source = self.sources.iter().enumerate().find_map(|(task, streams)| {
                let same = self.component_numbers[task] == *component;
                same.then(|| streams.get(usize::from(*stream))).flatten()
            })?;
            Some(InputSnapshot {
                component: source.component.to_string(),
                stream: source.stream.to_string(),
                executed: stats.executed,
                acked: stats.acked,
                failed: stats.failed,
                execute_ns: histogram(&stats.execute_ns),
                process_ns: histogram(&stats.process_ns),
            })
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
            WhyIdle::Inactive => "the topology is inactive".into(),
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

fn histogram(lazy: &LazyHistogram) -> Option<hdrhistogram::Histogram<u64>> {
    lazy.0.as_deref().cloned()
}
