//! What a round changes of a topology's placement, in one line for operators. Threading: plain data. Errors: none.

use std::collections::BTreeMap;

use ringstorm_records::records::{Assignment, NodeInfo};

/// Of how many slots it is said what becomes of them, and of how many executors of each.
const SLOTS_MAX: usize = 20;
const EXECUTORS_MAX: usize = 20;

/// Why a placement is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It had none.
    First,
    /// Somebody asked for it.
    Rebalance,
    /// It lost slots; of each it is said why.
    SlotsGivenUp,
    /// There are other slots, hosts or numbers than before.
    Otherwise,
}

impl Why {
    fn words(self) -> &'static str {
        match self {
            Self::First => "it had none",
            Self::Rebalance => "it is rebalanced",
            Self::SlotsGivenUp => "slots of it were given up",
            Self::Otherwise => "what it wants, or what supervisors offer, has changed",
        }
    }
}

/// What each slot runs.
type Slots<'a> = BTreeMap<(&'a str, i64), Vec<&'a [i64]>>;

/// The line.
pub(super) fn words(topology: &str, before: Option<&Assignment>, after: &Assignment, why: Why) -> String {
    let (old, new) = (before.map(slots).unwrap_or_default(), slots(after));
    let host = |node: &str| {
        let known = before.and_then(|before| before.node_host.get(node));
        after.node_host.get(node).or(known).map_or(node, String::as_str).to_owned()
    };
    let is_as_before =
        |slot: &(&str, i64), executors: &Vec<&[i64]>| why != Why::Rebalance && old.get(slot) == Some(executors);
    let (same, other): (Slots<'_>, Slots<'_>) =
        new.iter().map(|(slot, of)| (*slot, of.clone())).partition(|(slot, of)| is_as_before(slot, of));
    let runs = other.iter().map(|((node, port), of)| format!("{}:{port} runs {}", host(node), ranges(of)));
    let left = old.keys().filter(|slot| !new.contains_key(slot));
    let left = left.map(|(node, port)| format!("{}:{port} runs nothing of it any more", host(node)));
    let all: Vec<String> = runs.chain(left).collect();
    let mut text = format!(
        "topology {topology} is placed by assignment {}, since {}: {}",
        after.version.unwrap_or(0),
        why.words(),
        all[..all.len().min(SLOTS_MAX)].join("; ")
    );
    if all.len() > SLOTS_MAX {
        text.push_str(&format!("; and so on for {} more slots", all.len() - SLOTS_MAX));
    }
    if !same.is_empty() {
        text.push_str(&format!("; {} slots run what they ran", same.len()));
    }
    text
}

fn slots(assignment: &Assignment) -> Slots<'_> {
    let mut slots = Slots::new();
    for (executor, NodeInfo { node, port }) in &assignment.executor_node_port {
        for port in port {
            slots.entry((node.as_str(), *port)).or_default().push(executor.as_slice());
        }
    }
    slots
}

/// Executors, by their first and last task.
fn ranges(executors: &[&[i64]]) -> String {
    let range = |executor: &&[i64]| match executor {
        [first, last] if first == last => first.to_string(),
        [first, last] => format!("{first}-{last}"),
        other => format!("{other:?}"),
    };
    let shown: Vec<String> = executors.iter().take(EXECUTORS_MAX).map(range).collect();
    let more = executors.len().saturating_sub(EXECUTORS_MAX);
    let kind = if executors.len() == 1 { "executor" } else { "executors" };
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{kind} {}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assignment(version: i64, slots: &[(&str, i64, &[[i64; 2]])]) -> Assignment {
        let executors = slots.iter().flat_map(|(node, port, executors)| {
            let info = NodeInfo { node: (*node).to_owned(), port: [*port].into() };
            executors.iter().map(move |executor| (executor.to_vec(), info.clone()))
        });
        Assignment {
            executor_node_port: executors.collect(),
            node_host: [("a".to_owned(), "host-a".to_owned())].into(),
            version: Some(version),
            ..Assignment::default()
        }
    }

    #[test]
    fn it_is_said_which_slot_runs_what_from_now_on() {
        let first = assignment(7, &[("a", 6700, &[[1, 1], [2, 3]]), ("b", 6700, &[[4, 4]])]);
        assert_eq!(
            words("words-1-1", None, &first, Why::First),
            "topology words-1-1 is placed by assignment 7, since it had none: host-a:6700 runs executors 1, 2-3; b:6700 runs \
             executor 4"
        );
        let moved = assignment(8, &[("a", 6700, &[[1, 1], [2, 3]]), ("a", 6701, &[[4, 4]])]);
        assert_eq!(
            words("words-1-1", Some(&first), &moved, Why::SlotsGivenUp),
            "topology words-1-1 is placed by assignment 8, since slots of it were given up: host-a:6701 runs executor 4; \
             b:6700 runs nothing of it any more; 1 slots run what they ran"
        );
    }

    #[test]
    fn a_large_placement_is_one_line_that_can_be_read() {
        let executors: Vec<[i64; 2]> = (1..=1000).map(|task| [task, task]).collect();
        let parts: Vec<(i64, &[[i64; 2]])> = (6700..).zip(executors.chunks(25)).collect();
        let slots: Vec<_> = parts.iter().map(|(port, part)| ("a", *port, *part)).collect();
        let text = words("words-1-1", None, &assignment(1, &slots), Why::Rebalance);
        assert!(text.contains(" and 5 more") && text.ends_with("and so on for 20 more slots"), "{text}");
        assert!(text.len() < 4000, "{}", text.len());
    }
}
