//! The line that a terminal shows while a topology runs. Pure.

use std::time::Duration;

use ringstorm_runtime::metrics::{TopologyMetrics, Window, count_text, duration_text, rate_text};

/// How far things were when the line was last made.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Before {
    uptime: Duration,
    emitted: u64,
}

/// The line for now, with rates since `before`, which is moved on.
pub(super) fn line(metrics: &TopologyMetrics, before: &mut Before) -> String {
    let emitted = metrics.emitted_by_spouts(Window::AllTime);
    let step = metrics.uptime.saturating_sub(before.uptime).as_secs_f64();
    let rate = if step > 0.0 { emitted.saturating_sub(before.emitted) as f64 / step } else { 0.0 };
    *before = Before { uptime: metrics.uptime, emitted };

    let mut parts = vec![
        format!("{} s", metrics.uptime.as_secs()),
        format!("emitted {} ({})", count_text(emitted), rate_text(rate)),
    ];
    let complete = metrics.complete();
    let pending: usize = metrics.spouts().map(|spout| spout.pending).sum();
    let (acked, failed) = (metrics.acked(Window::AllTime), metrics.failed(Window::AllTime));
    if acked + failed + pending as u64 > 0 {
        parts.push(format!("acked {}", count_text(acked)));
        parts.push(format!("failed {}", count_text(failed)));
        parts.push(format!("pending {}", count_text(pending as u64)));
    }
    if complete.count() > 0 {
        let quantile = |share| duration_text(complete.quantile(share));
        parts.push(format!("complete p50 {} p99 {}", quantile(0.5), quantile(0.99)));
    }
    let bolts = metrics.components.iter().filter(|component| !component.is_spout && !component.is_system());
    if let Some(busiest) = bolts.max_by(|a, b| a.capacity.total_cmp(&b.capacity)) {
        parts.push(format!("busiest {} {:.0} %", busiest.id, 100.0 * busiest.capacity));
    }
    let waiting = metrics.spouts().find_map(|spout| {
        let executor = spout.executors.iter().find(|executor| !executor.why_idle.is_empty())?;
        Some(format!("{} {} waits: {}", spout.id, executor.id, executor.why_idle))
    });
    parts.extend(waiting);
    parts.join("  ")
}
