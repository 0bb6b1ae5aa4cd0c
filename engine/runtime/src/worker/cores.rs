//! Starts the cores of this process.
//!
//! Threading: called once, from the thread that starts the worker. Errors: the system's; then what was started is stopped
//! again.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use ringstorm_net::{SocketsWay, UringFacts};
use ringstorm_ring::Doorbell;
use ringstorm_types::config::SocketsSetting;

use crate::core::events::EventSender;
use crate::core::host;
use crate::core::status::{Command, CommandBox, CoreStatus, Event};
use crate::debug::{DebugListener, DebugThread};
use crate::error::{BuildError, StartError};
use crate::worker::assemble::{Fittings, assemble, make_ends};
use crate::worker::blueprint::Blueprint;
use crate::worker::coordinator::Message;
use crate::worker::members::LocalCores;

/// The cores of this process, running.
pub(crate) struct StartedCores {
    pub(crate) cores: LocalCores,
    pub(crate) threads: Vec<JoinHandle<()>>,
    pub(crate) debug: Option<DebugThread>,
}

/// Starts the threads of the blueprint that are this worker's. What happens on them goes to `messages`.
pub(crate) fn start_cores(
    blueprint: &Arc<Blueprint>,
    messages: &Sender<Message>,
    on_debug: Option<DebugListener>,
) -> Result<StartedCores, StartError> {
    let system = |what: &str| {
        let what = what.to_owned();
        move |source| StartError::System { what, source }
    };
    let own = blueprint.own_threads();
    let doorbells: Vec<Doorbell> = own
        .clone()
        .map(|_| Doorbell::new())
        .collect::<Result<_, _>>()
        .map_err(system("making an eventfd for a core (limit: open files)"))?;
    let mut ends = make_ends(blueprint, &doorbells)
        .map_err(|error| StartError::System { what: "making a ring".into(), source: std::io::Error::other(error) })?;
    let statuses: Vec<Arc<CoreStatus>> = doorbells.iter().map(|_| Arc::default()).collect();
    let commands: Vec<Arc<CommandBox>> =
        doorbells.iter().map(|doorbell| Arc::new(CommandBox::new(doorbell.clone()))).collect();
    let shows_emits = blueprint.components.iter().any(|component| blueprint.shows_emits_of(component));
    let debug = shows_emits.then(|| DebugThread::start(on_debug)).transpose();
    let debug = debug.map_err(system("starting the thread that shows what is emitted (limit: processes)"))?;
    let events = EventSender::new(messages.clone());
    let wanted = match blueprint.config.worker_sockets().map_err(BuildError::from)? {
        // Without sockets there is nothing to want.
        _ if ends.iter().all(|ends| ends.peers.is_empty()) => None,
        SocketsSetting::Auto => None,
        SocketsSetting::Uring => Some(SocketsWay::Uring),
        SocketsSetting::Readiness => Some(SocketsWay::Readiness),
    };
    let chosen = SocketsWay::choose(wanted, &UringFacts::probe())?;
    if let Some(text) = chosen.remark {
        let _ = messages.send(Message::Core(Event::Noted { text }));
    }
    let mut threads = Vec::new();
    for (member, core) in own.enumerate() {
        let (blueprint_here, sender) = (Arc::clone(blueprint), messages.clone());
        let fittings = Fittings {
            index: core,
            ends: std::mem::take(&mut ends[member]),
            doorbell: doorbells[member].clone(),
            status: Arc::clone(&statuses[member]),
            commands: Arc::clone(&commands[member]),
            events: events.clone(),
            debug: debug.as_ref().map(DebugThread::log),
        };
        let ended = move |panic: Option<String>| {
            let panic = panic.map(|text| format!("core {core} ended: {text}"));
            let _ = sender.send(Message::Core(Event::Ended { core, panic }));
        };
        let build = move || assemble(&blueprint_here, fittings);
        let host = blueprint.threads[core].host;
        let thread =
            host::start(host, format!("ringstorm-{core}"), doorbells[member].clone(), chosen.way, build, ended)
                .inspect_err(|_| stop_at_once(&commands))
                .map_err(system("starting the thread of a core (limit: processes)"))?;
        threads.push(thread);
    }
    let cores = LocalCores { blueprint: Arc::clone(blueprint), statuses, commands };
    Ok(StartedCores { cores, threads, debug })
}

/// Ends the cores of a run that could not be started as a whole.
pub(crate) fn stop_at_once(commands: &[Arc<CommandBox>]) {
    commands.iter().for_each(|commands| commands.send(Command::Stop { orderly: false }));
}
