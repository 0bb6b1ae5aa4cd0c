//! Lines cost no allocation each, neither those of a file nor those of a pipe: four times the lines, hardly more
//! allocations. Alone in its program, since it counts those of all threads.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use ringstorm_runtime::library::{Line, LineSpout};
use ringstorm_runtime::{LocalCluster, Outcome, TopologyBuilder};
use ringstorm_types::config::{Config, Origin};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The allocations of a run over all lines of a path.
fn allocations(path: &Path) -> u64 {
    let path = path.to_owned();
    let mut config = Config::new();
    config.set("ringstorm.worker.cores", 1, Origin::TOPOLOGY);
    config.set("topology.max.spout.pending", 10_000, Origin::TOPOLOGY);
    let mut topology = TopologyBuilder::new();
    topology.spout("lines", move || LineSpout::new(&path));
    topology
        .for_each_fn("read", |input| {
            assert_eq!(input.view::<Line<'_>>()?.line().len(), 29);
            Ok(())
        })
        .shuffle_grouping("lines");
    let topology = topology.build(&config).unwrap();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let report = LocalCluster::new().run("lines", topology).unwrap();
    assert_eq!((report.outcome, report.error_count), (Outcome::Completed, 0), "{:?}", report.errors);
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

#[test]
fn a_line_costs_no_allocation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input");
    let [few, many] = [100_000_u64, 400_000].map(|count| {
        let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
        (0..count).for_each(|number| writeln!(file, "this is line number {number:09}").unwrap());
        file.into_inner().unwrap();
        let of_file = allocations(&path);
        let (output, mut input) = std::io::pipe().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let writer = std::thread::spawn(move || input.write_all(&bytes).unwrap());
        let of_pipe = allocations(Path::new(&format!("/dev/fd/{}", output.as_raw_fd())));
        writer.join().unwrap();
        [of_file, of_pipe]
    });
    for (few, many) in few.into_iter().zip(many) {
        assert!(many < few + 3000, "{few} allocations became {many} with 300,000 lines more");
    }
}
