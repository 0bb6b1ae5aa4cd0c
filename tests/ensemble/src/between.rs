//! What lies between members, so that they can be parted from each other.
//!
//! Each member is told other addresses of the others than they listen at: those of links, one for each ordered pair. One
//! that begins an election says where it listens itself, and a member with a higher number connects back to there; so
//! links replace that address too.
//! Threading and errors: as those of links.

use std::net::{Ipv4Addr, SocketAddr};

use crate::Link;

/// The links between members.
#[derive(Debug)]
pub(crate) struct Between {
    links: Vec<(usize, usize, Link)>,
}

impl Between {
    /// Links between members that listen at these ports, for the quorum and for elections.
    pub(crate) fn new(ports: &[[u16; 2]]) -> Self {
        let members = 0..ports.len();
        let pairs = members.clone().flat_map(|from| members.clone().map(move |to| (from, to)));
        let links = pairs.filter(|(from, to)| from != to).map(|(from, to)| (from, to, Link::to(&ports[to].map(local))));
        let between = Self { links: links.collect() };
        for (from, to, link) in &between.links {
            let [_, election] = between.ports(*to, *from, ports[*from]);
            link.replace(local(ports[*from][1]), local(election));
        }
        between
    }

    /// The ports at which a member is told to find another one, whose own are these; itself it finds at its own.
    pub(crate) fn ports(&self, from: usize, to: usize, own: [u16; 2]) -> [u16; 2] {
        let link = self.links.iter().find(|(near, far, _)| (*near, *far) == (from, to));
        link.map_or(own, |(_, _, link)| [link.addresses()[0].port(), link.addresses()[1].port()])
    }

    /// Lets nothing pass between members that are on different sides.
    pub(crate) fn part(&self, is_on_one_side: impl Fn(usize) -> bool) {
        for (from, to, link) in &self.links {
            if is_on_one_side(*from) != is_on_one_side(*to) {
                link.silence();
            }
        }
    }

    /// Lets everything pass. What was held back comes nowhere, as in a network that drops it: members have given such
    /// connections up.
    pub(crate) fn join(&self) {
        for (_, _, link) in &self.links {
            if link.is_silent() {
                link.cut();
                link.heal();
            }
        }
    }
}

fn local(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}
