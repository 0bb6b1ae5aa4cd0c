//! The metrics as tables for people.

use std::fmt::{Display, Formatter, Result};
use std::time::Duration;

use super::units::{bytes_text, count_text, duration_text, rate_text};
use super::{ComponentMetrics, Latency, TopologyMetrics, Window};

/// How the cells of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alignment {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Lines of cells as columns, two spaces apart: the first line is the heading. Columns without an alignment stand right.
pub fn align(rows: &[Vec<String>], alignments: &[Alignment]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            if column > 0 {
                line.push_str("  ");
            }
            let width = widths[column];
            match alignments.get(column) {
                Some(Alignment::Left) => line.push_str(&format!("{cell:<width$}")),
                _ => line.push_str(&format!("{cell:>width$}")),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

impl Display for TopologyMetrics {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        use Alignment::Left;
        formatter.write_str(&align(&self.component_rows(), &[Left, Left]))?;
        for (rows, alignments) in [
            (self.latency_rows(), &[Left, Left][..]),
            (self.stream_rows(), &[Left, Left, Left]),
            (self.queue_rows(), &[Left]),
            (self.connection_rows(), &[Left, Left]),
        ] {
            if rows.len() > 1 {
                write!(formatter, "\n{}", align(&rows, alignments))?;
            }
        }
        self.write_rest(formatter)
    }
}

fn cells<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).into()
}

impl TopologyMetrics {
    /// As in Storm's tools the system's own components are left out; they are in the JSON.
    fn shown(&self) -> impl Iterator<Item = &ComponentMetrics> {
        self.components.iter().filter(|component| !component.is_system())
    }

    fn component_rows(&self) -> Vec<Vec<String>> {
        let mut rows = vec![cells([
            "component",
            "type",
            "tasks",
            "emitted",
            "transferred",
            "executed",
            "acked",
            "failed",
            "pending",
            "capacity",
        ])];
        for component in self.shown() {
            let counts = component.counts(Window::AllTime);
            let of_bolts = |text: String| if component.is_spout { String::new() } else { text };
            let of_spouts = |text: String| if component.is_spout { text } else { String::new() };
            rows.push(vec![
                component.id.clone(),
                if component.is_spout { "spout" } else { "bolt" }.to_owned(),
                component.tasks.to_string(),
                count_text(counts.emitted()),
                count_text(counts.transferred()),
                of_bolts(count_text(counts.executed())),
                count_text(counts.acked()),
                count_text(counts.failed()),
                of_spouts(count_text(component.pending as u64)),
                of_bolts(format!("{:.3}", component.capacity)),
            ]);
        }
        rows
    }

    fn latency_rows(&self) -> Vec<Vec<String>> {
        let mut rows = vec![cells(["component", "latency", "count", "mean", "p50", "p90", "p99", "p99.9", "max"])];
        for component in self.shown() {
            let ComponentMetrics { id, complete, execute, process, .. } = component;
            for (name, latency) in [("complete", complete), ("execute", execute), ("process", process)] {
                if latency.count() > 0 {
                    let mut row = vec![id.clone(), name.to_owned(), count_text(latency.count())];
                    row.extend(columns_of(latency).map(duration_text));
                    rows.push(row);
                }
            }
        }
        rows
    }

    fn stream_rows(&self) -> Vec<Vec<String>> {
        let mut rows =
            vec![cells(["from", "stream", "to", "executed", "acked", "failed", "execute mean", "process mean"])];
        for component in self.shown() {
            for input in component.counts(Window::AllTime).inputs.iter().filter(|input| input.executed > 0) {
                let mean = |ms: f64| duration_text(Duration::from_secs_f64(ms / 1e3));
                rows.push(vec![
                    input.component.clone(),
                    input.stream.clone(),
                    component.id.clone(),
                    count_text(input.executed),
                    count_text(input.acked),
                    count_text(input.failed),
                    mean(input.execute_ms_avg()),
                    mean(input.process_ms_avg()),
                ]);
            }
        }
        rows
    }

    fn queue_rows(&self) -> Vec<Vec<String>> {
        let mut rows = vec![cells([
            "receive queue",
            "population",
            "at most",
            "full",
            "capacity",
            "arrivals",
            "waiting",
            "overflow",
            "pauses",
        ])];
        for component in self.shown().filter(|component| !component.is_spout) {
            let queue = &component.receive_queue;
            rows.push(vec![
                component.id.clone(),
                count_text(queue.population as u64),
                count_text(queue.population_max as u64),
                format!("{:.1} %", queue.pct_full),
                bytes_text(queue.capacity_bytes),
                rate_text(queue.arrival_rate_secs),
                duration_text(Duration::from_secs_f64(queue.sojourn_time_ms / 1e3)),
                count_text(queue.overflow as u64),
                count_text(queue.pauses),
            ]);
        }
        rows
    }

    fn connection_rows(&self) -> Vec<Vec<String>> {
        let mut rows = vec![cells([
            "from worker",
            "to",
            "tuples",
            "frames",
            "sent",
            "received",
            "reconnects",
            "pauses",
            "full",
            "unconfirmed",
            "oldest",
            "buffers",
            "kernel",
        ])];
        for connection in &self.connections {
            let counts = &connection.counts;
            rows.push(vec![
                connection.from.to_string(),
                connection.to.to_string(),
                count_text(counts.sent_tuples),
                count_text(counts.sent_frames),
                bytes_text(usize::try_from(counts.sent_bytes).unwrap_or(usize::MAX)),
                bytes_text(usize::try_from(counts.received_bytes).unwrap_or(usize::MAX)),
                count_text(counts.reconnects),
                count_text(connection.pauses),
                count_text(connection.full_count),
                bytes_text(counts.unconfirmed_bytes),
                duration_text(Duration::from_nanos(counts.oldest_unconfirmed_ns)),
                bytes_text(counts.receive_buffer_bytes),
                bytes_text(counts.kernel_bytes),
            ]);
        }
        rows
    }

    fn write_rest(&self, formatter: &mut Formatter<'_>) -> Result {
        let memory = &self.memory;
        writeln!(
            formatter,
            "\nmemory: rings {}, frames {}, ledgers {}, pending {}; {} open roots; rings were full {} times",
            bytes_text(memory.ring_bytes),
            bytes_text(memory.frame_bytes),
            bytes_text(memory.ledger_bytes),
            bytes_text(memory.pending_bytes),
            count_text(self.open_roots as u64),
            count_text(self.ring_full_count),
        )?;
        for (spout, executor) in self.spouts().flat_map(|spout| spout.executors.iter().map(move |one| (spout, one))) {
            if !executor.why_idle.is_empty() {
                writeln!(formatter, "{} {} waits: {}", spout.id, executor.id, executor.why_idle)?;
            }
        }
        if self.lost_unanchored > 0 {
            writeln!(formatter, "{} un-anchored tuples were lost", count_text(self.lost_unanchored))?;
        }
        if self.lost_with_workers > 0 {
            let lost = count_text(self.lost_with_workers);
            writeln!(formatter, "{lost} tuples were lost on their way to workers that died or were away")?;
        }
        match self.worker_deaths {
            0 => {}
            1 => writeln!(formatter, "a worker died: what it had counted is not in these figures")?,
            deaths => {
                let deaths = count_text(deaths);
                writeln!(formatter, "workers died {deaths} times: what they had counted is not in these figures")?;
            }
        }
        Ok(())
    }
}

fn columns_of(latency: &Latency) -> [Duration; 6] {
    let quantile = |share| latency.quantile(share);
    [latency.mean(), quantile(0.5), quantile(0.9), quantile(0.99), quantile(0.999), latency.max()]
}
