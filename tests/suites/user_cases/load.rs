//! Shuffle between a slow task that is near and fast ones that are not.

use std::time::Instant;

use ringstorm_tests::journal::Note;

use crate::Case;

/// The spout's own process has a task of the bolt that takes 50 ms for a tuple; three others take 1 ms.
#[test]
fn a_slow_local_task_gets_less_than_remote_ones_that_are_fast() {
    let arguments = ["--count", "10000", "--executors", "4", "--here-ms", "50", "--elsewhere-ms", "1"];
    let started = Instant::now();
    let end = Case::sequence(Some(4), &arguments).finish().expect_code(0);
    let taken = end.all("taken");
    assert_eq!(taken.len(), 4, "{end:?}");
    let (here, elsewhere): (Vec<&Note>, Vec<&Note>) = taken.iter().partition(|note| note.number("here") == 1);
    assert_eq!((here.len(), elsewhere.len()), (1, 3), "{taken:?}");
    let share = here[0].number("taken") as f64 / 10_000.0;
    eprintln!("{:.1} % local after {:?}; {taken:?}", share * 100.0, started.elapsed());
    assert_eq!(end.spout_counts(), (10_000, 10_000, 0));
    assert!(share < 0.25, "{taken:?}");
}
