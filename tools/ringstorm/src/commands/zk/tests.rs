//! Paths and what nodes hold.

use super::*;

fn root() -> Root {
    Root::new("/storm").unwrap()
}

#[test]
fn a_path_may_be_whole_or_below_the_root() {
    let whole = |path: &str| whole_path(&root(), path).unwrap().as_str().to_owned();
    assert_eq!(
        ["", "storms", "/storm/storms/", "/", "/other"].map(whole),
        ["/storm", "/storm/storms", "/storm/storms", "/", "/other"]
    );
    assert!(whole_path(&root(), "a//b").unwrap_err().text.contains("is no path"));
}

#[test]
fn what_a_node_holds_is_decoded_and_secrets_are_hidden() {
    let at = |path: &str, data: &[u8], secrets| decoded(&root(), &ZnodePath::new(path).unwrap(), data, secrets);
    let supervisor = at("/storm/supervisors/a", b"no record", false);
    assert_eq!(supervisor.value, json!({ "text": "no record" }));
    assert!(supervisor.remark.unwrap().contains("it is not what lies there"));
    let other = at("/zookeeper", b"\xff", false);
    assert_eq!((other.value, other.remark.is_some()), (json!({ "hex": "ff" }), true));
    for (empty, data) in [("/storm/supervisors", &b""[..]), ("/zookeeper", b""), ("/storm/storms", b"\x07")] {
        let shown = at(empty, data, false);
        assert_eq!(shown.value, Value::Null);
        assert!(shown.remark.unwrap().starts_with("it holds no data"), "{empty}");
    }
    assert_eq!(at("/storm/credentials/a-1-1", b"x", false).value, json!("(hidden)"));
    assert_ne!(at("/storm/credentials/a-1-1", b"x", true).value, json!("(hidden)"));
}
