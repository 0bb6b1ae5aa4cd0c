//! A new assignment on a core whose own executors stay: other tasks live elsewhere now.
//!
//! Links and outlets are only added, so that an index that somebody holds stays true; one that leads nowhere any more
//! stays as an empty place.
//!
//! Invariants: afterwards every task is where the blueprint says; what was for a worker that runs nothing any more is lost
//! as if it had died.
//!
//! Threading: belongs to one core. Errors: none of its own.

use std::collections::BTreeSet;

use crate::core::Core;
use crate::core::grouper::Grouper;
use crate::core::link::{Link, Way};
use crate::core::outlet::Outlet;
use crate::core::transfer::Destination;
use crate::worker::blueprint::{Blueprint, Place};

impl Core {
    /// Takes over where tasks of other workers live. `new_peers` are places to which this core had no connection.
    pub(super) fn rewire(&mut self, blueprint: &Blueprint, new_peers: &[Place]) {
        self.add_links(new_peers);
        if let Some(sockets) = &mut self.transfer.sockets {
            sockets.set_assignment_version(blueprint.assignment.version);
        }
        let moved = self.redirect(blueprint);
        let (gone_workers, gone_links) = self.gone(blueprint);
        self.forget_trees(&moved);
        gone_workers.iter().for_each(|worker| self.lose_pending(*worker));
        gone_links.into_iter().for_each(|link| self.abandon(link));
        self.forget_what_was_said(&moved);
        self.choose_anew();
        self.pause_links =
            self.bolts.iter().map(|bolt| pause_links(blueprint, &bolt.component, &self.transfer.links)).collect();
        for spout in &mut self.spouts {
            spout.touches = blueprint.touched_by(&spout.component);
        }
    }

    fn add_links(&mut self, places: &[Place]) {
        let Some(sockets) = &mut self.transfer.sockets else { return };
        for place in places {
            let peer = sockets.add_peer();
            self.transfer.links.push(Link::new(*place, Way::Socket(peer)));
            self.transfer.outlets.push(Outlet::default());
        }
    }

    /// Points every task of another worker to the link that leads there. Returns, by task, which have moved.
    fn redirect(&mut self, blueprint: &Blueprint) -> Vec<bool> {
        let transfer = &mut self.transfer;
        let mut moved = vec![false; transfer.destinations.len()];
        for (task, thread) in blueprint.thread_of_task.iter().enumerate().skip(1) {
            if blueprint.is_own(*thread) {
                continue;
            }
            let destination = Destination::behind(&transfer.links, blueprint.place(*thread));
            moved[task] = std::mem::replace(&mut transfer.destinations[task], destination) != destination;
        }
        moved
    }

    /// The workers that the assignment does not have, and the links to cores that it does not have.
    fn gone(&self, blueprint: &Blueprint) -> (BTreeSet<u64>, Vec<usize>) {
        let places: BTreeSet<Place> = (0..blueprint.threads.len()).map(|thread| blueprint.place(thread)).collect();
        let links = self.transfer.links.iter().enumerate();
        let gone = links.filter(|(_, link)| !places.contains(&link.place));
        let (links, workers): (Vec<usize>, BTreeSet<u64>) =
            gone.map(|(index, link)| (index, link.place.worker)).unzip();
        (workers, links)
    }

    /// Where a subscription has one task, its outlet is known to whoever emits.
    fn choose_anew(&mut self) {
        let transfer = &self.transfer;
        let bolts = self.bolts.iter_mut().flat_map(|bolt| bolt.tasks.iter_mut().map(|task| &mut task.output));
        let spouts = self.spouts.iter_mut().flat_map(|spout| spout.tasks.iter_mut().map(|task| &mut task.output));
        for route in bolts.chain(spouts).flat_map(|output| &mut output.streams).flat_map(|stream| &mut stream.routes) {
            if let Grouper::One { task, outlet } = &mut route.grouper
                && let Some(anew) = transfer.outlet_of(*task)
            {
                *outlet = anew;
            }
        }
    }
}

/// Links to the cores that an inbox of this component may pause.
pub(crate) fn pause_links(blueprint: &Blueprint, component: &str, links: &[Link]) -> Vec<u32> {
    let held: BTreeSet<Place> =
        blueprint.held_by(component).into_iter().map(|thread| blueprint.place(thread)).collect();
    let links = links.iter().enumerate();
    links.filter(|(_, link)| held.contains(&link.place)).map(|(index, _)| index as u32).collect()
}
