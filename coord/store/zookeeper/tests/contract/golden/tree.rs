//! A whole tree as it is compared: what a real Storm wrote at a stage, what is there, and how the two differ.
//!
//! Everything that a store decides is compared: which nodes are there, how they were made, what they hold, who may do what
//! with them, and how often they were written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use ringstorm_records::payload;
use ringstorm_records::render;
use ringstorm_records::thrift::Record;
use ringstorm_records::znode::{Node, NodeName, Root};
use ringstorm_store::control::Control;
use ringstorm_store::operation::{Answer, Operation};
use ringstorm_store::outcome::Outcome;
use ringstorm_store::path::ZnodePath;
use ringstorm_store::store::{SessionId, Store};
use serde_json::{Value, json};

/// Our version, as it stands in the tree.
pub(crate) const VERSION: &str = "2.8.2-ringstorm.0.1.0";

/// A node as it is compared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) holds: Value,
    pub(crate) is_ephemeral: bool,
    pub(crate) version: i32,
    pub(crate) acl: Vec<String>,
}

/// What Storm wrote at a stage.
pub(crate) struct Stage(pub(crate) Nodes);

/// Where Storm's tree was recorded.
pub(crate) fn root() -> Root {
    Root::new("/storm").unwrap()
}

impl Stage {
    /// Reads a file of those in a folder.
    pub(crate) fn read(folder: &Path, file: &str) -> Self {
        let text = std::fs::read_to_string(folder.join(format!("{file}.znodes.jsonl"))).unwrap();
        let nodes = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let hex = line["data_hex"].as_str().unwrap();
            let bytes: Vec<u8> =
                (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
            let node = root().node(line["path"].as_str().unwrap()).unwrap();
            let seen = Seen {
                holds: shown(&node, &bytes),
                is_ephemeral: line["ephemeral"].as_bool().unwrap(),
                version: i32::try_from(line["version"].as_i64().unwrap()).unwrap(),
                acl: serde_json::from_value(line["acl"].clone()).unwrap(),
            };
            (node, (bytes, seen))
        });
        Self(nodes.collect())
    }

    /// The record at a node, as Ringstorm has it.
    pub(crate) fn record<R: Record>(&self, node: &Node) -> R {
        payload::decode(&self.0[node].0).unwrap()
    }

    /// How often a node was written.
    pub(crate) fn version(&self, node: &Node) -> i32 {
        self.0[node].1.version
    }

    /// What is chosen of all nodes.
    pub(crate) fn find<T>(&self, choose: impl Fn(&Node) -> Option<T>) -> Vec<T> {
        self.0.keys().filter_map(choose).collect()
    }
}

/// What a node holds, and whether a folder has Storm's byte or nothing; of what cannot be read, why.
pub(crate) fn shown(node: &Node, bytes: &[u8]) -> Value {
    match render::node(node, bytes) {
        Err(why) => json!(why.to_string()),
        Ok(Value::Null) => json!(bytes),
        Ok(mut value) => {
            sort(&mut value);
            value
        }
    }
}

/// Storm's maps come in the order of Java's hashes, and so do lists that are made of them.
pub(crate) fn sort(value: &mut Value) {
    match value {
        Value::Array(elements) => {
            elements.iter_mut().for_each(sort);
            // The order of keys in objects is that of fields, and of maps where they are texts.
            elements.sort_by_cached_key(|element| {
                let mut text: Vec<char> = element.to_string().chars().collect();
                text.sort_unstable();
                (text, element.to_string())
            });
        }
        Value::Object(fields) => fields.values_mut().for_each(sort),
        _ => {}
    }
}

/// The differences from Storm that are declared; everything else is the same.
pub(crate) fn declared(node: &Node, seen: &mut Seen, assignment_version: i64) {
    match node {
        // Our versions say whose they are.
        Node::Nimbus { .. } | Node::Supervisor { .. } => seen.holds["version"] = json!(VERSION),
        // Which of two assignments is the newer one.
        Node::Assignment { .. } => seen.holds["assignment version"] = json!(assignment_version),
        // Errors outlive their writer.
        Node::Error { .. } => seen.is_ephemeral = false,
        _ => {}
    }
}

/// Writes that come by a timer: how many there were depends on when it was recorded.
pub(crate) fn is_on_a_timer(node: &Node) -> bool {
    matches!(node, Node::Supervisor { .. } | Node::LastError { .. })
}

/// Nodes, with the bytes that they hold.
pub(crate) type Nodes = BTreeMap<Node, (Vec<u8>, Seen)>;

/// Without the bytes.
pub(crate) fn seen(nodes: &Nodes) -> BTreeMap<Node, Seen> {
    nodes.iter().map(|(node, (_, seen))| (node.clone(), seen.clone())).collect()
}

/// Everything below the root, as clients see it; `None` when it changed meanwhile, or cannot be read now.
pub(crate) fn dump<S: Store>(
    control: &mut Control<S>,
    session: SessionId,
    root: &Root,
    limit: Duration,
) -> Option<Nodes> {
    let mut nodes = Nodes::new();
    let mut paths = vec![ZnodePath::new(root.as_str()).unwrap()];
    let mut done = |operation| match control.ask(session, operation, limit) {
        Ok(Outcome::Done(answer)) => Some(answer),
        _ => None,
    };
    done(Operation::Sync { path: paths[0].clone() })?;
    while let Some(path) = paths.pop() {
        let read = done(Operation::Get { path: path.clone(), watch: false })?;
        let Answer::Data { data, stat } = read else { panic!("{read:?}") };
        let read = done(Operation::Acl { path: path.clone() })?;
        let Answer::Acl { acl, .. } = read else { panic!("{read:?}") };
        let read = done(Operation::Children { path: path.clone(), watch: false })?;
        let Answer::Children { names, .. } = read else { panic!("{read:?}") };
        paths.extend(names.iter().map(|child| path.child(&NodeName::new(child).unwrap())));
        let node = root.node(path.as_str()).unwrap_or_else(|| panic!("{path} is no node of Storm"));
        let holds = shown(&node, &data);
        let acl = acl.iter().map(ToString::to_string).collect();
        let seen = Seen { holds, is_ephemeral: stat.owner.is_some(), version: stat.version, acl };
        nodes.insert(node, (data, seen));
    }
    Some(nodes)
}

/// Where two trees differ: the node, what is there in the first, what in the second.
pub(crate) fn differing(
    ours: &BTreeMap<Node, Seen>,
    storms: &BTreeMap<Node, Seen>,
) -> Vec<(Node, Option<Seen>, Option<Seen>)> {
    let all: BTreeSet<_> = ours.keys().chain(storms.keys()).collect();
    let differing = all.into_iter().filter(|node| ours.get(*node) != storms.get(*node));
    differing.map(|node| (node.clone(), ours.get(node).cloned(), storms.get(node).cloned())).collect()
}
