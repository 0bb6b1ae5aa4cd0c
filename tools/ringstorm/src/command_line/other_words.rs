//! What is said of a wrong command line where clap's own words would lead nowhere.
//!
//! Threading: pure. Errors: it is about those of whoever typed.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// What Storm has and Ringstorm has not, with the reason or what takes its place.
pub(super) const NOT_HERE: &[(&str, &str)] = &[
    ("ui", "there is no web interface; look with `ringstorm cluster` and `ringstorm status NAME`"),
    ("logviewer", "there is no log viewer; look with `ringstorm logs NAME` on the host of a worker"),
    ("drpc", "there is no DRPC"),
    ("drpc-client", "there is no DRPC"),
    ("sql", "there is no SQL"),
    ("shell", "topologies in other languages are not run"),
    ("repl", "there is no Java to type into"),
    ("pacemaker", "there is no Pacemaker; workers beat in ZooKeeper"),
    ("heartbeats", "workers beat in ZooKeeper; look with `ringstorm zk tree workerbeats`"),
    ("blobstore", "code is the only blob; look with `ringstorm zk tree blobstore`"),
    ("upload-credentials", "credentials cannot be replaced from here"),
    ("node-health-check", "look with `ringstorm check`"),
    ("admin", "look with `ringstorm zk tree`; what nobody uses is removed by nimbus itself"),
    ("dev-zookeeper", "`ringstorm dev` brings up a whole cluster, ZooKeeper included"),
    ("monitor", "look with `ringstorm status NAME`"),
    ("classpath", "there is no class path"),
    ("server_classpath", "there is no class path"),
];

/// What to say in place of clap's words, where those would lead nowhere.
pub(crate) fn in_other_words(error: &clap::Error) -> Option<String> {
    let said = |kind: ContextKind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::StyledStr(text) => Some(text.to_string()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let verb = said(ContextKind::InvalidSubcommand)?;
            let (_, why) = NOT_HERE.iter().find(|(name, _)| *name == verb)?;
            Some(format!("Storm's command {verb} is not here: {why}"))
        }
        ErrorKind::MissingSubcommand => {
            let usage = said(ContextKind::Usage).unwrap_or_default();
            Some(format!("a command is missing; `ringstorm --help` shows which there are\n\n{usage}"))
        }
        ErrorKind::UnknownArgument => {
            let usage = said(ContextKind::Usage)?;
            let verb = ["submit", "local"].into_iter().find(|verb| usage.contains(&format!("ringstorm {verb} ")))?;
            let option = said(ContextKind::InvalidArg)?;
            let place = if verb == "submit" { "PATH NAME" } else { "PATH" };
            Some(format!(
                "{option} is no option of ringstorm {verb}; options of the topology stand behind {place}: ringstorm {verb} \
                 {place} {option}"
            ))
        }
        _ => None,
    }
}
