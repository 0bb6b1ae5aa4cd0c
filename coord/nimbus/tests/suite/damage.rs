//! Nodes that somebody damaged or deleted.

use ringstorm_nimbus::interface::{Reply, Request};

use crate::life::world;

#[test]
fn a_leader_sees_to_it_that_the_node_that_says_so_does() {
    let mut world = world(&["n1", "n2"]);
    let leader = world.leader().unwrap();
    let path = "/storm/storm/leader-info";
    let whole = world.data(path).unwrap();
    let others = String::from_utf8_lossy(&whole).replace(&format!("n{}", leader + 1), "n9").into_bytes();
    for damage in [Some(b"garbage".to_vec()), Some(Vec::new()), Some(others), None] {
        let noted = world.notes.len();
        world.damage(path, damage.clone());
        world.run_secs(25);
        assert!(matches!(world.answer(1 - leader, Request::Leader), Ok(Reply::Leader(_))), "{damage:?}");
        // All but the times of its writes is as it was.
        assert_eq!(world.data(path).as_ref(), Some(&whole), "{damage:?}");
        let said = world.notes[noted..].iter().filter(|note| note.contains("should say that this nimbus leads"));
        assert_eq!(said.count(), 1, "{damage:?}: {:#?}", world.notes);
    }
    assert_eq!(world.leader(), Some(leader));
}
