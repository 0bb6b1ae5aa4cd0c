//! `zk tree`, `zk get`: the tree in ZooKeeper, with what nodes hold as JSON.
//!
//! Nothing is written. Threading: one thread, which waits, and the store's own. Errors: [`Failure`]s; a node that cannot be
//! decoded is shown as bytes, with the reason.

use std::fmt::Write as _;
use std::time::Duration;

use ringstorm_conf::Conf;
use ringstorm_records::render;
use ringstorm_records::znode::{Node, Root};
use ringstorm_store::control::Control;
use ringstorm_store::operation::{Answer, Operation};
use ringstorm_store::outcome::{Condition, Outcome};
use ringstorm_store::path::ZnodePath;
use ringstorm_store::store::{Event, SessionEvent, SessionId};
use ringstorm_zookeeper::ZooKeeperStore;
use serde_json::{Map, Value, json};

use crate::asking::patiently;
use crate::command_line::Zk;
use crate::failure::{Failure, Status};
use crate::output;
use crate::table::one_line;

/// How long a session may take to open.
const OPEN_LIMIT: Duration = Duration::from_secs(15);
/// How long an answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);
/// The most nodes that are shown.
const NODES_MAX: usize = 1_000_000;

/// `zk tree` and `zk get`.
pub(crate) fn zk(conf: &Conf, command: &Zk, json: bool) -> Result<Status, Failure> {
    let root = conf.zookeeper_root();
    let path = match command {
        Zk::Tree { path } => whole_path(&root, path.as_deref())?,
        Zk::Get { path, .. } => whole_path(&root, Some(path))?,
    };
    let mut tree = Tree::open(conf)?;
    match command {
        Zk::Tree { .. } => show_tree(&mut tree, &root, &path, json)?,
        Zk::Get { secrets, .. } => {
            let (data, version) = tree.get(&path)?.ok_or_else(|| no_node(&root, &path))?;
            let shown = decoded(&root, &path, &data, *secrets);
            if json {
                output::print_json(
                    &json!({ "path": path.as_str(), "version": version, "value": shown.value, "note": shown.remark }),
                )?;
            } else {
                shown.remark.iter().for_each(|remark| output::say(&format!("note: {remark}")));
                output::print(&shown.text())?;
            }
        }
    }
    Ok(Status::Done)
}

/// A path that is given whole, or below the root; the root itself where none is given.
pub(crate) fn whole_path(root: &Root, path: Option<&str>) -> Result<ZnodePath, Failure> {
    let own = root.as_str();
    let wrong = |path: &str, why: &str| Err(Failure::usage(format!("{path:?} is no path of a node: {why}")));
    let whole = match path {
        None => own.to_owned(),
        Some("") => return wrong("", &format!("it is empty; write {own} for the tree of this cluster, or / for all")),
        Some("/") => "/".to_owned(),
        Some(path) if path.ends_with('/') => {
            let meant = match path.trim_end_matches('/') {
                "" => "/",
                meant => meant,
            };
            return wrong(path, &format!("it ends with a slash; write {meant:?}"));
        }
        Some(path) if path.starts_with('/') => path.to_owned(),
        Some(path) => format!("{own}/{path}"),
    };
    ZnodePath::new(&whole).or_else(|_| {
        let why = "names stand between single slashes, and . and .. and control characters are none; `ringstorm zk tree` \
                   shows those that there are";
        wrong(path.unwrap_or_default(), why)
    })
}

/// What to say of a node that is not there.
fn no_node(root: &Root, path: &ZnodePath) -> Failure {
    let (own, path) = (root.as_str(), path.as_str());
    let is_below = path.strip_prefix(own).is_some_and(|below| below.starts_with('/'));
    Failure::new(match () {
        () if path == own => format!("there is no node {path}; has a nimbus run with this storm.zookeeper.root?"),
        () if is_below => format!("there is no node {path}; `ringstorm zk tree` shows those that there are"),
        () => format!(
            "there is no node {path}; `ringstorm zk tree /` shows those that there are, and a path that does not begin with \
             a slash is one below {own}"
        ),
    })
}

/// A session, for as long as a command takes.
struct Tree {
    control: Control<ZooKeeperStore>,
    session: SessionId,
}

impl Tree {
    fn open(conf: &Conf) -> Result<Self, Failure> {
        let settings = conf.zookeeper_settings();
        let servers = settings.servers.join(", ");
        let store = ZooKeeperStore::open(settings, || {})
            .map_err(|error| Failure::new(format!("no thread can be started for ZooKeeper: {error}")))?;
        let mut control = Control::new(store);
        let unreachable = |why: &str| {
            Failure::new(format!(
                "ZooKeeper cannot be reached at {servers}: {why}; look whether it runs, and at storm.zookeeper.servers and \
                 storm.zookeeper.port"
            ))
        };
        let tried = format!("no session yet with ZooKeeper at {servers}, which is waited for up to {OPEN_LIMIT:?}");
        match patiently(tried, || control.opened(OPEN_LIMIT)) {
            Ok(session) => Ok(Self { control, session }),
            Err(stuck) => {
                let mut why = stuck.to_string();
                while let Some(event) = control.next_event(Duration::ZERO) {
                    if let Event::Session(SessionEvent::Unreachable { why: said }) = event {
                        why = said;
                    }
                }
                Err(unreachable(&why))
            }
        }
    }

    fn ask(&mut self, path: &ZnodePath, operation: Operation) -> Result<Option<Answer>, Failure> {
        let failure = |why: String| Failure::new(format!("{} cannot be read: {why}", path.as_str()));
        match self.control.ask(self.session, operation, ANSWER_LIMIT) {
            Ok(Outcome::Done(answer)) => Ok(Some(answer)),
            Ok(Outcome::Failed(failed)) if failed.condition == Condition::NoNode => Ok(None),
            Ok(Outcome::Failed(failed)) => Err(failure(failed.to_string())),
            Ok(Outcome::Unknown(doubt)) => Err(failure(doubt.to_string())),
            Err(stuck) => Err(failure(stuck.to_string())),
        }
    }

    /// What a node holds, and its version; `None` if there is no such node.
    fn get(&mut self, path: &ZnodePath) -> Result<Option<(Vec<u8>, i32)>, Failure> {
        match self.ask(path, Operation::Get { path: path.clone(), watch: false })? {
            Some(Answer::Data { data, stat }) => Ok(Some((data, stat.version))),
            _ => Ok(None),
        }
    }

    /// The names of a node's children in their order; `None` if there is no such node.
    fn children(&mut self, path: &ZnodePath) -> Result<Option<Vec<String>>, Failure> {
        match self.ask(path, Operation::Children { path: path.clone(), watch: false })? {
            Some(Answer::Children { mut names, .. }) => {
                names.sort_unstable();
                Ok(Some(names))
            }
            _ => Ok(None),
        }
    }
}

fn show_tree(tree: &mut Tree, root: &Root, top: &ZnodePath, json: bool) -> Result<(), Failure> {
    let names = tree.children(top)?.ok_or_else(|| no_node(root, top))?;
    let mut lines = vec![(0, top.as_str().to_owned(), top.as_str().to_owned())];
    let mut left: Vec<(usize, String, String)> = below(top.as_str(), names, 1);
    while let Some((depth, path, name)) = left.pop() {
        if lines.len() >= NODES_MAX {
            return Err(Failure::new(format!(
                "there are more than {NODES_MAX} nodes; give a path below {}",
                top.as_str()
            )));
        }
        let at = ZnodePath::new(&path).map_err(|error| Failure::new(format!("{path:?} is no path: {error}")))?;
        // One that went meanwhile is not there.
        if let Some(names) = tree.children(&at)? {
            left.extend(below(&path, names, depth + 1));
            lines.push((depth, path, name));
        }
    }
    if json {
        let paths: Vec<&str> = lines.iter().map(|(_, path, _)| path.as_str()).collect();
        return output::print_json(&json!({ "nodes": paths }));
    }
    let mut text = String::new();
    for (depth, _, name) in &lines {
        let _ = writeln!(text, "{:indent$}{}", "", one_line(name), indent = 2 * depth);
    }
    output::print(&text)
}

/// Children, the first of them last, since they are taken from the end.
fn below(path: &str, names: Vec<String>, depth: usize) -> Vec<(usize, String, String)> {
    let above = path.trim_end_matches('/');
    names.into_iter().rev().map(|name| (depth, format!("{above}/{name}"), name)).collect()
}

/// What a node holds, for whoever looks.
#[derive(Debug, PartialEq)]
pub(crate) struct Decoded {
    value: Value,
    /// What is special about it.
    remark: Option<String>,
}

impl Decoded {
    /// For people; nothing where there is nothing, which the remark says.
    fn text(&self) -> String {
        if self.value.is_null() { String::new() } else { format!("{:#}\n", self.value) }
    }
}

/// Decodes what a node holds. Secrets are shown only to who asks for them.
pub(crate) fn decoded(root: &Root, path: &ZnodePath, data: &[u8], secrets: bool) -> Decoded {
    let nothing = || Decoded {
        value: Value::Null,
        remark: Some("it holds no data; `ringstorm zk tree` shows what lies below it".into()),
    };
    if data.is_empty() {
        return nothing();
    }
    let Some(node) = root.node(path.as_str()) else {
        return Decoded { value: raw(data), remark: Some("this is none of Storm's nodes; its bytes are shown".into()) };
    };
    if is_secret(&node) && !secrets {
        return Decoded { value: json!("(hidden)"), remark: Some("it holds secrets; --secrets shows them".into()) };
    }
    match render::node(&node, data) {
        // Storm's folders hold a byte that says nothing.
        Ok(Value::Null) => nothing(),
        Ok(value) => Decoded { value, remark: None },
        Err(error) => Decoded {
            value: raw(data),
            remark: Some(format!("it is not what lies there: {error}; its bytes are shown")),
        },
    }
}

fn is_secret(node: &Node) -> bool {
    matches!(node, Node::Credentials { .. } | Node::SecretKey { .. })
}

/// Bytes as text if they are one, else as hexadecimal digits.
fn raw(data: &[u8]) -> Value {
    match std::str::from_utf8(data) {
        Ok(text) => json!({ "text": text }),
        Err(_) => {
            let mut hex = String::with_capacity(2 * data.len());
            for byte in data {
                let _ = write!(hex, "{byte:02x}");
            }
            Value::Object(Map::from_iter([("hex".to_owned(), Value::String(hex))]))
        }
    }
}

#[cfg(test)]
mod tests;
