//! A conversation whose operation has an unknown outcome is begun again, and comes to the same tree.

use ringstorm_store::cluster::Trouble;
use ringstorm_store::outcome::{Doubt, Outcome};

use crate::scripts::{LEADERS, OTHERS, conversation, nodes, prepared, run, run_with};

#[test]
fn whatever_is_unknown_a_second_try_comes_to_the_same_tree() {
    for (script, is_full) in OTHERS.iter().chain(LEADERS).flat_map(|script| [(script, false), (script, true)]) {
        let expected = {
            let (mut ensemble, session, leader) = prepared(is_full);
            assert_eq!(run(&mut ensemble, session, conversation(script, session, &leader)), Ok(()), "{script}");
            nodes(&ensemble)
        };
        for is_done in [false, true] {
            let mut at = 0;
            loop {
                let (mut ensemble, session, leader) = prepared(is_full);
                let mut count = 0;
                let result = run_with(conversation(script, session, &leader), |operation| {
                    count += 1;
                    match (count - 1 == at, is_done) {
                        (true, false) => Outcome::Unknown(Doubt::ConnectionLost),
                        (true, true) => {
                            let _ = ensemble.perform(session, operation);
                            Outcome::Unknown(Doubt::ConnectionLost)
                        }
                        (false, _) => ensemble.perform(session, operation),
                    }
                });
                if count <= at {
                    assert!(at > 0, "{script} asks for nothing");
                    break;
                }
                assert!(matches!(result, Err(Trouble::Unknown { .. })), "{script}: {result:?}");
                assert_eq!(run(&mut ensemble, session, conversation(script, session, &leader)), Ok(()), "{script}");
                // A number that was given and not heard of is given up for the next.
                if *script != "number_blob" {
                    assert_eq!(nodes(&ensemble), expected, "{script}, interrupted at {at}, done: {is_done}");
                }
                at += 1;
            }
        }
    }
}
