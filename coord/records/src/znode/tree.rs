//! The definition of the tree.

use super::Mode::{self, Ephemeral, EphemeralSequential, Persistent};
use super::root::Root;
use super::segment::{
    BlobHolder, Candidate, ComponentName, ErrorNumber, LastError, NodeName, ProfileTarget, Segment, Slot,
};
use crate::payload::PayloadKind::{self, Address, Container, Empty, NimbusInfo, Number, Timestamp};
use crate::records::{
    Assignment, ClusterWorkerHeartbeat, Credentials, ErrorInfo, LogConfig, NimbusSummary, PrivateWorkerKey,
    ProfileRequest, StormBase, SupervisorInfo, WorkerTokenServiceType,
};
use crate::thrift::{Record, RecordType};

const fn record<R: Record>() -> PayloadKind {
    PayloadKind::Record(RecordType::of::<R>())
}

/// Each row: the node, its path below the root as texts and fields, how it is made, what it holds. `ROOT` stands for
/// the root's own path once more. The first row that fits a path counts.
macro_rules! tree {
    ($(
        $(#[$attribute:meta])*
        $name:ident { $($field:ident: $holds:ty),* } at [$($segment:tt)/ *] => $mode:expr, $payload:expr;
    )*) => {
        /// A node of the tree.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "the fields are the variable parts of the path, by their types")]
        pub enum Node {
            $($(#[$attribute])* $name { $($field: $holds),* },)*
        }

        impl Node {
            /// Every kind of node, by name.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// The name of the kind.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$name { .. } => stringify!($name),)*
                }
            }

            /// How Storm makes the node.
            pub fn mode(&self) -> Mode {
                match self {
                    $(Self::$name { .. } => $mode,)*
                }
            }

            /// What the node holds.
            pub fn payload(&self) -> PayloadKind {
                match self {
                    $(Self::$name { .. } => $payload,)*
                }
            }

            /// Appends the part of the path below the root.
            pub(super) fn write(&self, root: &Root, path: &mut String) {
                let _ = (root, &path);
                match self {
                    $(Self::$name { $($field),* } => {
                        $(tree!(@write $segment, root, path);)*
                    })*
                }
            }

            /// The node with these parts, if there is one.
            pub(super) fn read(root: &Root, segments: &[&str]) -> Option<Self> {
                let _ = root;
                None$(.or_else(|| {
                    // Before anything is made of the parts of another node.
                    if segments.len() != 0 $(+ tree!(@count $segment, root))* {
                        return None;
                    }
                    #[allow(unused_mut, unused_variables, reason = "the root itself has no parts")]
                    let mut rest = segments.iter().copied();
                    $(tree!(@read $segment, root, rest);)*
                    Some(Self::$name { $($field),* })
                }))*
            }
        }
    };

    (@write ROOT, $root:ident, $path:ident) => { $path.push_str($root.as_str()) };
    (@write $text:literal, $root:ident, $path:ident) => { $path.push_str(concat!("/", $text)) };
    (@write $field:ident, $root:ident, $path:ident) => {{
        $path.push('/');
        $path.push_str(&$field.to_segment());
    }};

    (@count ROOT, $root:ident) => { $root.segments().count() };
    (@count $segment:tt, $root:ident) => { 1 };

    (@read ROOT, $root:ident, $rest:ident) => {
        for segment in $root.segments() {
            if $rest.next() != Some(segment) {
                return None;
            }
        }
    };
    (@read $text:literal, $root:ident, $rest:ident) => {
        if $rest.next() != Some($text) {
            return None;
        }
    };
    (@read $field:ident, $root:ident, $rest:ident) => { let $field = Segment::from_segment($rest.next()?)?; };
}

tree! {
    /// Who leads, for show: nobody reads it. Storm puts the root in front twice.
    LeaderInfo {} at [ROOT / "leader-info"] => Persistent, NimbusInfo;

    /// The root.
    Root {} at [] => Persistent, Container;
    /// All topologies.
    Storms {} at ["storms"] => Persistent, Container;
    /// What nimbus knows of a topology. Its existence is the topology's.
    Storm { topology: NodeName } at ["storms" / topology] => Persistent, record::<StormBase>();
    /// All assignments.
    Assignments {} at ["assignments"] => Persistent, Container;
    /// Which executor of a topology runs where.
    Assignment { topology: NodeName } at ["assignments" / topology] => Persistent, record::<Assignment>();
    /// All supervisors.
    Supervisors {} at ["supervisors"] => Persistent, Container;
    /// A supervisor that lives.
    Supervisor { supervisor: NodeName } at ["supervisors" / supervisor] => Ephemeral, record::<SupervisorInfo>();
    /// The heartbeats of all workers.
    WorkerBeats {} at ["workerbeats"] => Persistent, Container;
    /// The heartbeats of a topology's workers.
    TopologyWorkerBeats { topology: NodeName } at ["workerbeats" / topology] => Persistent, Container;
    /// The heartbeat of a worker.
    WorkerBeat { topology: NodeName, slot: Slot } at ["workerbeats" / topology / slot]
        => Persistent, record::<ClusterWorkerHeartbeat>();
    /// All errors.
    Errors {} at ["errors"] => Persistent, Container;
    /// The errors of a topology.
    TopologyErrors { topology: NodeName } at ["errors" / topology] => Persistent, Container;
    /// The newest error of a component, which stays.
    LastError { topology: NodeName, last_error: LastError } at ["errors" / topology / last_error]
        => Persistent, record::<ErrorInfo>();
    /// The newest errors of a component.
    ComponentErrors { topology: NodeName, component: ComponentName } at ["errors" / topology / component]
        => Persistent, Container;
    /// One of the newest errors of a component.
    Error { topology: NodeName, component: ComponentName, number: ErrorNumber }
        at ["errors" / topology / component / number] => EphemeralSequential, record::<ErrorInfo>();
    /// All nimbuses.
    Nimbuses {} at ["nimbuses"] => Persistent, Container;
    /// A nimbus that lives, by its host; a second one of a host by host and port.
    Nimbus { name: NodeName } at ["nimbuses" / name] => Ephemeral, record::<NimbusSummary>();
    /// The candidates for leadership.
    LeaderLock {} at ["leader-lock"] => Persistent, Empty;
    /// A candidate for leadership; the one with the lowest number leads.
    LeaderCandidate { candidate: Candidate } at ["leader-lock" / candidate] => EphemeralSequential, Address;
    /// All blobs.
    Blobs {} at ["blobstore"] => Persistent, Container;
    /// A blob.
    Blob { key: NodeName } at ["blobstore" / key] => Persistent, Container;
    /// A nimbus that holds a blob, and which content of it.
    BlobHolder { key: NodeName, holder: BlobHolder } at ["blobstore" / key / holder] => Ephemeral, Empty;
    /// The numbers of the newest contents of all blobs.
    BlobSequences {} at ["blobstoremaxkeysequencenumber"] => Persistent, Empty;
    /// The number of a blob's newest content.
    BlobSequence { key: NodeName } at ["blobstoremaxkeysequencenumber" / key] => Persistent, Number;
    /// All credentials.
    AllCredentials {} at ["credentials"] => Persistent, Container;
    /// The credentials of a topology.
    Credentials { topology: NodeName } at ["credentials" / topology] => Persistent, record::<Credentials>();
    /// Levels of loggers, of all topologies.
    LogConfigs {} at ["logconfigs"] => Persistent, Container;
    /// Levels of loggers of a topology.
    LogConfig { topology: NodeName } at ["logconfigs" / topology] => Persistent, record::<LogConfig>();
    /// Requests to profile workers.
    ProfilerConfigs {} at ["profilerconfigs"] => Persistent, Empty;
    /// Requests to profile workers of a topology.
    TopologyProfilerConfigs { topology: NodeName } at ["profilerconfigs" / topology] => Persistent, Container;
    /// A request to profile a worker.
    ProfilerConfig { topology: NodeName, target: ProfileTarget } at ["profilerconfigs" / topology / target]
        => Persistent, record::<ProfileRequest>();
    /// Keys that sign the tokens of workers.
    SecretKeys {} at ["secretkeys"] => Persistent, Empty;
    /// Keys for tokens that one kind of daemon takes.
    ServiceSecretKeys { service: WorkerTokenServiceType } at ["secretkeys" / service] => Persistent, Empty;
    /// Keys for tokens of a topology's workers.
    TopologySecretKeys { service: WorkerTokenServiceType, topology: NodeName } at ["secretkeys" / service / topology]
        => Persistent, Container;
    /// A key for tokens of a topology's workers.
    SecretKey { service: WorkerTokenServiceType, topology: NodeName, version: i64 }
        at ["secretkeys" / service / topology / version] => Persistent, record::<PrivateWorkerKey>();
    /// Workers that ask for less, of all topologies. Only Storm 1.x used it.
    Backpressure {} at ["backpressure"] => Persistent, Container;
    /// Workers of a topology that ask for less. Only Storm 1.x used it.
    TopologyBackpressure { topology: NodeName } at ["backpressure" / topology] => Persistent, Container;
    /// A worker that asks for less. Only Storm 1.x used it.
    WorkerBackpressure { topology: NodeName, slot: Slot } at ["backpressure" / topology / slot] => Ephemeral, Timestamp;
    /// The parent of [`Node::LeaderInfo`].
    LeaderInfoFolder {} at [ROOT] => Persistent, Empty;
}
