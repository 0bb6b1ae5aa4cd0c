//! A leader that is deposed between any two operations writes nothing after that.

use ringstorm_store::cluster::Trouble;
use ringstorm_store::operation::Operation;
use ringstorm_store::outcome::Outcome;

use crate::scripts::{LEADERS, conversation, nodes, prepared, run_with};

#[test]
fn wherever_a_leader_is_deposed_it_writes_nothing_more() {
    for (script, is_full) in LEADERS.iter().flat_map(|script| [(script, false), (script, true)]) {
        let mut at = 0;
        loop {
            let (mut ensemble, session, leader) = prepared(is_full);
            let procedure = conversation(script, session, &leader);
            let (mut count, mut left) = (0, None);
            let result = run_with(procedure, |operation| {
                if count == at {
                    let deposed = ensemble.perform(session, &Operation::delete(leader.latch().clone()));
                    assert!(matches!(deposed, Outcome::Done(_)));
                    left = Some(nodes(&ensemble));
                }
                count += 1;
                ensemble.perform(session, operation)
            });
            let Some(left) = left else {
                assert_eq!(result, Ok(()), "{script} with nobody in its way");
                assert!(at > 0, "{script} asks for nothing");
                break;
            };
            assert_eq!(nodes(&ensemble), left, "{script}, deposed before operation {at}");
            // It hears of it, unless there was nothing left to write.
            assert!(matches!(result, Err(Trouble::Deposed) | Ok(())), "{script}: {result:?}");
            assert!(at > 0 || result.is_err() || *script == "change_storm_base", "{script} wrote without a check");
            at += 1;
        }
    }
}
