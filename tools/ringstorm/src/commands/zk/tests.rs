//! Paths and what nodes hold.

use super::*;

fn root() -> Root {
    Root::new("/storm").unwrap()
}

#[test]
fn a_path_may_be_whole_or_below_the_root() {
    let whole = |path: Option<&str>| whole_path(&root(), path).unwrap().as_str().to_owned();
    assert_eq!(
        [None, Some("storms"), Some("/storm/storms"), Some("/"), Some("/other")].map(whole),
        ["/storm", "/storm/storms", "/storm/storms", "/", "/other"]
    );
}

#[test]
fn what_is_no_path_is_refused_with_what_may_be_meant() {
    for (path, wanted) in [
        ("", "it is empty; write /storm for the tree of this cluster, or / for all"),
        ("//", "it ends with a slash; write \"/\""),
        ("storms/", "it ends with a slash; write \"storms\""),
        ("/storm//", "it ends with a slash; write \"/storm\""),
        ("a//b", "names stand between single slashes"),
        ("//a", "names stand between single slashes"),
        ("a/../b", "names stand between single slashes"),
        (".", "names stand between single slashes"),
        ("a\nb", "names stand between single slashes"),
    ] {
        let failure = whole_path(&root(), Some(path)).unwrap_err();
        assert!(failure.text.contains(wanted) && failure.status == Status::Usage, "{path:?}: {failure:?}");
        assert_eq!(failure.text.lines().count(), 1, "{failure:?}");
    }
}

#[test]
fn a_node_that_is_not_there_is_named_with_where_to_look() {
    let said = |path: &str| no_node(&root(), &ZnodePath::new(path).unwrap()).text;
    assert!(said("/storm").ends_with("has a nimbus run with this storm.zookeeper.root?"));
    assert!(said("/storm/a").ends_with("; `ringstorm zk tree` shows those that there are"));
    for outside in ["/a", "/storms", "/"] {
        assert!(said(outside).ends_with("a path that does not begin with a slash is one below /storm"), "{outside}");
    }
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
