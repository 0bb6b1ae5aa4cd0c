//! The root, its folders, and that this nimbus lives.
//!
//! In each session: look whose root it is, make what is missing, say that one lives. Then the queue for leadership and the
//! code begin. A root that a live Apache Storm uses ends the process before anything is written.
//!
//! Invariant: nothing is written in a session before its root was looked at. Errors: troubles are tried again.

use ringstorm_control::time::{Moment, Now};
use ringstorm_records::records::NimbusSummary;
use ringstorm_records::znode::NodeName;
use ringstorm_store::cluster::{Announced, Listing, Reading, RootUse, Trouble};
use ringstorm_store::store::SessionId;

use super::Nimbus;
use super::said::Said;
use crate::interface::NimbusEffect;

/// What is known of the root in this session.
#[derive(Debug)]
pub(super) struct Presence {
    /// The second since 1970 at which the process started.
    started_secs: i32,
    /// The session, and the one before it.
    session: Option<SessionId>,
    earlier: Option<SessionId>,
    state: State,
    /// The name of the node, once it is there.
    name: Option<NodeName>,
    troubles: u32,
    at: Option<Moment>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum State {
    /// Nobody has looked at the root yet.
    #[default]
    Unknown,
    /// It is ours.
    Ours,
    /// Its folders are there.
    Prepared,
    /// The node of this nimbus is there.
    There,
}

/// What a conversation has come to.
#[derive(Debug)]
pub(super) enum PresenceSaid {
    Root(Result<RootUse, Trouble>),
    Prepared(Result<(), Trouble>),
    Announced { name: NodeName, result: Result<Box<Announced<NimbusSummary>>, Trouble> },
    Listed(Result<Listing<(NodeName, NimbusSummary)>, Trouble>),
}

impl Presence {
    pub(super) fn new(now: Now) -> Self {
        Self {
            started_secs: now.wall_secs(),
            session: None,
            earlier: None,
            state: State::Unknown,
            name: None,
            troubles: 0,
            at: None,
        }
    }

    /// Whether this nimbus has said that it lives.
    pub(super) fn is_there(&self) -> bool {
        self.state == State::There
    }

    pub(super) fn begin_session(&mut self, session: SessionId) {
        self.earlier = self.session.replace(session);
        self.state = State::Unknown;
        self.troubles = 0;
        self.at = None;
    }

    pub(super) fn due(&self) -> Option<Moment> {
        self.at
    }
}

impl Nimbus {
    pub(super) fn look_at_root(&mut self) {
        self.say(|tree| async move { Said::Presence(PresenceSaid::Root(tree.root_use().await)) });
    }

    /// Goes on in the same session after an interruption.
    pub(super) fn resume_presence(&mut self) {
        self.go_on_with_presence();
        if self.presence.is_there() {
            self.begin_to_serve();
        }
    }

    pub(super) fn wake_presence(&mut self) {
        if self.presence.at.is_some_and(|at| at <= self.now.moment) {
            self.go_on_with_presence();
        }
    }

    fn go_on_with_presence(&mut self) {
        self.presence.at = None;
        match self.presence.state {
            State::Unknown => self.look_at_root(),
            State::Ours => self.say(|tree| async move { Said::Presence(PresenceSaid::Prepared(tree.prepare().await)) }),
            State::Prepared => self.announce(self.host_name(), self.presence.earlier),
            State::There => {
                self.say(|tree| async move { Said::Presence(PresenceSaid::Listed(tree.nimbuses(false).await)) });
            }
        }
    }

    /// By which a nimbus is known: its host, as in Storm. A second one of the host goes by host and port.
    fn host_name(&self) -> NodeName {
        NodeName::new(self.address().host()).expect("the host of an address may be the name of a node")
    }

    fn announce(&mut self, name: NodeName, replaces: Option<SessionId>) {
        let Some(session) = self.usable() else { return };
        let address = self.address();
        let summary = NimbusSummary {
            host: address.host().to_owned(),
            port: address.port().into(),
            uptime_secs: self.presence.started_secs,
            is_leader: false,
            version: self.identity.version.clone(),
            tls_port: Some(address.tls_port().into()),
        };
        self.say(|tree| async move {
            let result = tree.announce_nimbus(session, &name, &summary, replaces).await.map(Box::new);
            Said::Presence(PresenceSaid::Announced { name, result })
        });
    }

    pub(super) fn hear_presence(&mut self, said: PresenceSaid) {
        match said {
            PresenceSaid::Root(Ok(RootUse::ApacheStorm { path, sign })) => {
                self.is_stopped = true;
                self.effects.push(NimbusEffect::Stop(format!(
                    "a live Apache Storm uses {}: {path} is there, and {sign}. Nothing was written. Give Ringstorm another \
                     storm.zookeeper.root, or stop that Storm first",
                    self.cluster.root().as_str()
                )));
            }
            PresenceSaid::Root(Ok(RootUse::Ours { skipped })) => {
                self.note_skipped(skipped);
                self.advance_presence(State::Ours);
            }
            PresenceSaid::Prepared(Ok(())) => self.advance_presence(State::Prepared),
            PresenceSaid::Announced { name, result: Ok(announced) } => self.take_announced(name, *announced),
            PresenceSaid::Listed(Ok(listing)) => {
                let name = self.presence.name.as_ref();
                let is_listed = listing.found.iter().any(|(found, _)| Some(found) == name);
                let is_skipped = listing
                    .skipped
                    .iter()
                    .any(|skipped| name.is_some_and(|name| skipped.path.as_str().ends_with(name.as_str())));
                self.note_skipped(listing.skipped);
                if is_listed || is_skipped {
                    self.presence.at = Some(self.now.moment + self.settings.monitor_period);
                } else {
                    self.note("the node of this nimbus was deleted; it is made anew");
                    self.advance_presence(State::Ours);
                }
            }
            PresenceSaid::Root(Err(trouble))
            | PresenceSaid::Prepared(Err(trouble))
            | PresenceSaid::Announced { result: Err(trouble), .. }
            | PresenceSaid::Listed(Err(trouble)) => {
                self.presence.troubles += 1;
                self.presence.at = Some(self.now.moment + self.settings.pause(self.presence.troubles));
                self.note(format_args!("this nimbus cannot say yet that it lives: {trouble}"));
            }
        }
    }

    fn take_announced(&mut self, name: NodeName, announced: Announced<NimbusSummary>) {
        match announced {
            Announced::Ours => {
                self.note(format_args!("this nimbus lives as nimbuses/{name}"));
                self.presence.name = Some(name);
                self.presence.state = State::There;
                self.presence.troubles = 0;
                self.presence.at = Some(self.now.moment + self.settings.monitor_period);
                self.begin_to_serve();
            }
            Announced::Held { record, stat } => self.go_beside(&name, record, stat.owner),
        }
    }

    fn advance_presence(&mut self, state: State) {
        self.presence.state = state;
        self.presence.troubles = 0;
        self.go_on_with_presence();
    }

    /// Another session holds the node: an earlier one of this nimbus, or another nimbus of this host.
    fn go_beside(&mut self, name: &NodeName, record: Reading<NimbusSummary>, owner: Option<SessionId>) {
        let address = self.address();
        let is_own =
            record.value().is_some_and(|found| found.host == address.host() && found.port == i32::from(address.port()));
        let beside = NodeName::new(&format!("{}:{}", address.host(), address.port()))
            .expect("a host and a port may be the name of a node");
        match owner {
            // Nobody else can be reached there: it is what this nimbus was before its process started anew.
            Some(owner) if is_own => self.announce(name.clone(), Some(owner)),
            _ if *name != beside => self.announce(beside, self.presence.earlier),
            _ => {
                self.presence.troubles += 1;
                self.presence.at = Some(self.now.moment + self.settings.pause(self.presence.troubles));
                self.note(format_args!("nimbuses/{name} is somebody else's; delete it if nobody lives there"));
            }
        }
    }

    /// What a nimbus does once it is there, and again after an interruption.
    fn begin_to_serve(&mut self) {
        self.look_at_standing();
        self.code.keys_are_stale(self.now.moment);
    }
}
