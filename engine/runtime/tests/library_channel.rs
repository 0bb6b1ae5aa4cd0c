//! Messages in from threads and async code: order, fates, backpressure and every end.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use ringstorm_runtime::library::{ChannelSender, DeliveryError, RetryPolicy, TrySendError, channel, channel_with};
use ringstorm_runtime::{FailReason, Input, LocalCluster, LocalOptions, Outcome, RunningTopology, TopologyBuilder};
use ringstorm_tuple::Tuple;
use ringstorm_types::config::{Config, Origin};

#[derive(Tuple, Debug, PartialEq)]
#[tuple(crate = ringstorm_tuple)]
struct Number {
    value: u64,
}

fn number(value: u64) -> Number {
    Number { value }
}

/// A running topology that hands every number of the channel to a closure.
fn start(
    capacity: usize,
    policy: RetryPolicy,
    tasks: u32,
    mut check: impl FnMut(u64) -> ringstorm_runtime::Result + Clone + Send + Sync + 'static,
) -> (ChannelSender<Number>, RunningTopology) {
    let (sender, spout) = channel_with(capacity, policy);
    let mut config = Config::new();
    config.set("ringstorm.worker.cores", 1, Origin::TOPOLOGY);
    let mut topology = TopologyBuilder::new();
    topology.spout("numbers", spout).parallelism(tasks);
    let check = move |input: &Input<'_>| check(input.view::<Number>()?.value());
    topology.for_each_fn("check", check).shuffle_grouping("numbers");
    let topology = topology.build(&config).unwrap();
    (sender, LocalCluster::new().submit("channel", topology, LocalOptions::default()).unwrap())
}

/// Drives a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn many_threads_send_to_many_tasks() {
    let sum = Arc::new(AtomicU64::new(0));
    let shared = Arc::clone(&sum);
    let (sender, run) = start(16, RetryPolicy::none(), 3, move |value| {
        shared.fetch_add(value, Ordering::Relaxed);
        Ok(())
    });
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let sender = sender.clone();
            std::thread::spawn(move || (0..5000).for_each(|value| sender.send(number(5000 * thread + value)).unwrap()))
        })
        .collect();
    drop(sender);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let report = run.wait();
    assert_eq!((report.outcome, report.error_count), (Outcome::Completed, 0), "{:?}", report.errors);
    assert_eq!(sum.load(Ordering::Relaxed), 20_000 * 19_999 / 2);
}

#[test]
fn a_sender_hears_what_becomes_of_a_message() {
    let (sender, run) = start(16, RetryPolicy::none(), 1, |value| match value {
        13 => Err("unlucky".into()),
        _ => Ok(()),
    });
    assert_eq!(sender.send_tracked(number(1)).unwrap().wait(), Ok(()));
    let failed = sender.try_send_tracked(number(13)).unwrap().wait();
    assert!(matches!(failed, Err(DeliveryError::Failed(FailReason::FailedBy { .. }))), "{failed:?}");
    assert_eq!(block_on(async { sender.send_async(number(2)).await.unwrap().await }), Ok(()));
    let failed = block_on(async { sender.send_async(number(13)).await.unwrap().await });
    assert!(matches!(failed, Err(DeliveryError::Failed(_))), "{failed:?}");
    sender.send(number(13)).unwrap();
    drop(sender);
    let report = run.wait();
    assert_eq!(report.outcome, Outcome::Completed);
    let told: Vec<&str> =
        report.errors.iter().filter(|error| error.component == "numbers").map(|error| error.text.as_str()).collect();
    assert_eq!(told.len(), 1, "only what nobody listens for is reported: {told:?}");
    assert!(
        told[0].starts_with("a message was given up after 1 failures; the last reason: failed by task"),
        "{told:?}"
    );
}

#[test]
fn a_message_is_tried_again_before_it_fails() {
    let tries = Arc::new(AtomicU64::new(0));
    let shared = Arc::clone(&tries);
    let policy = RetryPolicy::at_most(2).with_delays(Duration::from_millis(2), Duration::from_millis(5));
    let (sender, run) = start(16, policy, 1, move |value| {
        let tries = shared.fetch_add(1, Ordering::Relaxed) + 1;
        if value == 1 && tries == 3 { Ok(()) } else { Err("not yet".into()) }
    });
    assert_eq!(sender.send_tracked(number(1)).unwrap().wait(), Ok(()));
    assert_eq!(tries.swap(0, Ordering::Relaxed), 3);
    let failed = sender.send_tracked(number(2)).unwrap().wait();
    assert!(matches!(failed, Err(DeliveryError::Failed(_))), "{failed:?}");
    assert_eq!(tries.load(Ordering::Relaxed), 3);
    drop(sender);
    assert_eq!(run.wait().outcome, Outcome::Completed);
}

#[test]
fn a_full_channel_holds_its_senders() {
    let (sender, spout) = channel(4);
    // Nobody takes anything before the run.
    (0..4).for_each(|value| sender.try_send(number(value)).unwrap());
    assert_eq!(sender.try_send(number(4)), Err(TrySendError::Full(number(4))));
    let mut future = Box::pin(sender.send_async(number(5)));
    assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let (blocked, sent) = (sender.clone(), Arc::new(AtomicU64::new(0)));
    let counter = Arc::clone(&sent);
    let thread = std::thread::spawn(move || {
        for value in 6..100 {
            blocked.send(number(value)).unwrap();
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(sent.load(Ordering::Relaxed), 0);
    let mut topology = TopologyBuilder::new();
    topology.spout("numbers", spout);
    topology.for_each_fn("check", |_| Ok(())).shuffle_grouping("numbers");
    let topology = topology.build(&Config::new()).unwrap();
    let run = LocalCluster::new().submit("channel", topology, LocalOptions::default()).unwrap();
    thread.join().unwrap();
    assert_eq!(block_on(future).unwrap().wait(), Ok(()));
    drop(sender);
    assert_eq!(run.wait().outcome, Outcome::Completed);
}

#[test]
fn a_slow_topology_slows_its_senders_down() {
    let (sender, spout) = channel(8);
    let mut config = Config::new();
    config.set("ringstorm.worker.cores", 1, Origin::TOPOLOGY);
    config.set("topology.max.spout.pending", 2, Origin::TOPOLOGY);
    let mut topology = TopologyBuilder::new();
    topology.spout("numbers", spout);
    let sleep = |_: &Input<'_>| {
        std::thread::sleep(Duration::from_millis(1));
        Ok(())
    };
    topology.for_each_fn("sleep", sleep).shuffle_grouping("numbers").blocking();
    let topology = topology.build(&config).unwrap();
    let run = LocalCluster::new().submit("channel", topology, LocalOptions::default()).unwrap();
    let begin = Instant::now();
    (0..110).for_each(|value| sender.send(number(value)).unwrap());
    assert!(begin.elapsed() >= Duration::from_millis(95), "at most 10 of them may wait: {:?}", begin.elapsed());
    drop(sender);
    assert_eq!(run.wait().outcome, Outcome::Completed);
}

#[test]
fn the_end_of_the_run_frees_everybody() {
    let (sender, spout) = channel(1);
    let mut topology = TopologyBuilder::new();
    topology.spout("numbers", spout);
    let topology = topology.build(&Config::new()).unwrap();
    // Nothing is ever asked for.
    let options = LocalOptions { inactive: true, ..LocalOptions::default() };
    let run = LocalCluster::new().submit("channel", topology, options).unwrap();
    let first = sender.send_tracked(number(1)).unwrap();
    let blocked = sender.clone();
    let thread = std::thread::spawn(move || blocked.send(number(2)));
    std::thread::sleep(Duration::from_millis(20));
    drop(run);
    assert_eq!(thread.join().unwrap().unwrap_err().0, number(2));
    assert_eq!(first.wait(), Err(DeliveryError::Abandoned));
    assert_eq!(sender.try_send(number(3)), Err(TrySendError::Closed(number(3))));
    assert!(block_on(sender.send_async(number(4))).is_err());
}

#[test]
fn a_topology_that_never_runs_frees_everybody() {
    let (sender, spout) = channel(1);
    let mut topology = TopologyBuilder::new();
    topology.spout("numbers", spout);
    let first = sender.send_tracked(number(1)).unwrap();
    drop(topology);
    assert_eq!(first.wait(), Err(DeliveryError::Abandoned));
    assert!(sender.send(number(2)).is_err());
}
