//! Order between one task and another in another process.

use crate::{Case, soak_secs};

/// From 0 without a gap, a repetition or a step back, whichever of the two workers is there first.
#[test]
fn what_one_task_sends_another_in_another_process_comes_in_order() {
    let (count, runs) = if soak_secs().is_some() { (5_000_000, 20) } else { (500_000, 2) };
    let numbers = count.to_string();
    let late = r#"["sh","-c","sleep 0.3; exec \"$0\" \"$@\""]"#;
    for run in 0..runs {
        let launch = if run % 2 == 0 { format!("[{late},[]]") } else { format!("[[],{late}]") };
        let launch = format!("ringstorm.worker.launch={launch}");
        let case = Case::sequence(Some(2), &["--quiet", "--count", &numbers, "-c", &launch]);
        let end = case.finish().expect_code(0);
        let taken = end.only("taken");
        assert_ne!(taken.process, end.only("closed").process);
        assert_eq!((taken.number("taken"), taken.number("out_of_order")), (count, 0), "{end:?}");
        assert_eq!(end.spout_counts(), (count, count, 0));
    }
}
