//! One round as text: what Storm is asked, what it answers, and both as a line of `tests/golden/`.
//!
//! Texts: an executor is `FIRST-LAST`, a slot `NODE:PORT`, an assignment `FIRST-LAST@NODE:PORT,...`. No id of a case holds
//! a character that divides them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ringstorm_scheduler::default_scheduler::schedule_preferring;
use ringstorm_scheduler::{
    Assignment, Cluster, DefaultScheduler, EvenScheduler, Scheduler, Supervisor, Topology, WorkerSlot,
};
use ringstorm_types::{ComponentId, ExecutorId, TaskId};
use serde_json::{Value, json};

/// Which scheduler makes the round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Even,
    Default,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::Even, Self::Default];

    fn name(self) -> &'static str {
        match self {
            Self::Even => "even",
            Self::Default => "default",
        }
    }
}

/// The state before a round.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) supervisors: Vec<Supervisor>,
    pub(crate) blacklisted: BTreeSet<String>,
    pub(crate) topologies: Vec<Topology>,
}

/// What Storm made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The ids of topologies in the order in which Storm went through them.
    order: Vec<String>,
    /// For a topology the slots that it had to give up.
    freed: BTreeMap<String, BTreeSet<WorkerSlot>>,
    /// Each topology's assignment; `None` when the round ended with an exception.
    result: Option<BTreeMap<String, Assignment>>,
}

/// As Storm is asked, since fields would fill pages.
impl fmt::Debug for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.request(Kind::Default).replace('\t', "\n"))
    }
}

impl Case {
    pub(crate) fn cluster(&self) -> Cluster {
        Cluster::new(self.supervisors.clone(), self.topologies.clone(), &self.blacklisted).unwrap()
    }

    /// The cluster after a round.
    pub(crate) fn scheduled(&self, kind: Kind) -> Cluster {
        let mut cluster = self.cluster();
        match kind {
            Kind::Even => EvenScheduler.schedule(&mut cluster),
            Kind::Default => DefaultScheduler.schedule(&mut cluster),
        }
        cluster
    }

    /// The case in which the next round begins, if nothing else happens.
    pub(crate) fn after(&self, cluster: &Cluster) -> Self {
        let topologies = cluster.topologies().map(|topology| cluster.topology(topology).clone()).collect();
        Self { topologies, ..self.clone() }
    }

    /// As Storm's nimbus prepares it: dead ports are none of the supervisor's.
    pub(crate) fn request(&self, kind: Kind) -> String {
        let mut words = vec![kind.name().to_owned()];
        for supervisor in &self.supervisors {
            let ports: Vec<_> = supervisor.ports.difference(&supervisor.dead_ports).map(u16::to_string).collect();
            words.push(format!("supervisor={};{};{}", supervisor.id, supervisor.host, ports.join(",")));
        }
        words.extend(self.blacklisted.iter().map(|host| format!("blacklisted={host}")));
        for of in &self.topologies {
            let executors: Vec<_> = of.executors.keys().map(executor_text).collect();
            let assignment = assignment_text(&of.assignment);
            words.push(format!("topology={};{};{};{assignment}", of.id, of.worker_count, executors.join(",")));
        }
        words.join("\t")
    }

    /// Makes the round with the choices that Storm's hash order made, and compares each executor's slot.
    ///
    /// # Panics
    /// When anything differs.
    pub(crate) fn compare(&self, kind: Kind, answer: &Answer) {
        let place = |of: &Topology| answer.order.iter().position(|id| *id == of.id).unwrap();
        let mut case = self.clone();
        case.topologies.sort_by_key(place);
        let Some(result) = &answer.result else { return case.check_exception(kind) };
        let mut cluster = case.cluster();
        match kind {
            Kind::Even => EvenScheduler.schedule(&mut cluster),
            Kind::Default => schedule_preferring(&mut cluster, |cluster, topology, slot| {
                answer.freed.get(&cluster.topology(topology).id).is_some_and(|freed| freed.contains(slot))
            }),
        }
        for topology in cluster.topologies().map(|topology| cluster.topology(topology)) {
            let context = || format!("{}, {}, topology {}", self.name, kind.name(), topology.id);
            assert_eq!(topology.assignment, result[&topology.id], "{}\n{}", context(), self.request(kind));
        }
    }

    /// The one reason why a round of Storm's ends with an exception, which ours does not.
    fn check_exception(&self, kind: Kind) {
        let before = self.cluster();
        let has_too_many = |topology| {
            let wanted = before.topology(topology).worker_count as usize;
            before.slots(topology).len() > wanted && before.unassigned_executor_count(topology) > 0
        };
        assert!(before.topologies().any(has_too_many), "{}\n{}", self.name, self.request(kind));
        self.scheduled(kind);
    }

    pub(crate) fn to_json(&self, kind: Kind, answer: &Answer) -> Value {
        let supervisors: Vec<Value> =
            self.supervisors.iter().map(|of| json!([of.id.as_str(), of.host, of.ports, of.dead_ports])).collect();
        let topologies: Vec<Value> = self
            .topologies
            .iter()
            .map(|of| {
                let executors: Vec<_> = of.executors.keys().map(executor_text).collect();
                json!([of.id, of.worker_count, executors.join(","), assignment_text(&of.assignment)])
            })
            .collect();
        let freed: BTreeMap<&String, String> = answer
            .freed
            .iter()
            .map(|(id, slots)| (id, slots.iter().map(WorkerSlot::to_string).collect::<Vec<_>>().join(",")))
            .collect();
        let result = answer.result.as_ref().map(|result| -> BTreeMap<&String, String> {
            result.iter().map(|(id, assignment)| (id, assignment_text(assignment))).collect()
        });
        json!({
            "name": self.name,
            "scheduler": kind.name(),
            "supervisors": supervisors,
            "blacklisted": self.blacklisted,
            "topologies": topologies,
            "order": answer.order,
            "freed": freed,
            "result": result,
        })
    }

    pub(crate) fn from_json(line: &Value) -> (Self, Kind, Answer) {
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == line["scheduler"]).unwrap();
        let ports = |of: &Value| of.as_array().unwrap().iter().map(|port| port.as_u64().unwrap() as u16).collect();
        let supervisor = |of: &Value| Supervisor {
            id: text(&of[0]).into(),
            host: text(&of[1]).to_owned(),
            ports: ports(&of[2]),
            dead_ports: ports(&of[3]),
        };
        let topology = |of: &Value| {
            let workers = u32::try_from(of[1].as_u64().unwrap()).unwrap();
            topology(text(&of[0]), workers, list(text(&of[2])).map(executor), assignment(text(&of[3])))
        };
        let texts =
            |of: &Value| -> Vec<String> { of.as_array().unwrap().iter().map(|of| text(of).to_owned()).collect() };
        let freed = line["freed"].as_object().unwrap().iter();
        let result = line["result"]
            .as_object()
            .map(|result| result.iter().map(|(id, of)| (id.clone(), assignment(text(of)))).collect());
        let case = Self {
            name: text(&line["name"]).to_owned(),
            supervisors: line["supervisors"].as_array().unwrap().iter().map(supervisor).collect(),
            blacklisted: texts(&line["blacklisted"]).into_iter().collect(),
            topologies: line["topologies"].as_array().unwrap().iter().map(topology).collect(),
        };
        let answer = Answer {
            order: texts(&line["order"]),
            freed: freed.map(|(id, slots)| (id.clone(), list(text(slots)).map(slot).collect())).collect(),
            result,
        };
        (case, kind, answer)
    }
}

impl Answer {
    /// From the oracle's line.
    pub(crate) fn read(line: &str) -> Self {
        let mut answer = Self { order: Vec::new(), freed: BTreeMap::new(), result: Some(BTreeMap::new()) };
        for (key, value) in line.split('\t').filter_map(|word| word.split_once('=')) {
            let (id, rest) = value.split_once(';').unwrap_or((value, ""));
            match (key, &mut answer.result) {
                ("order", _) => answer.order.push(id.to_owned()),
                ("freed", _) => drop(answer.freed.insert(id.to_owned(), list(rest).map(slot).collect())),
                ("result", Some(result)) => drop(result.insert(id.to_owned(), assignment(rest))),
                ("exception", result) => *result = None,
                _ => panic!("{line}"),
            }
        }
        answer
    }

    pub(crate) fn is_exception(&self) -> bool {
        self.result.is_none()
    }
}

pub(crate) fn topology(
    id: &str,
    worker_count: u32,
    executors: impl Iterator<Item = ExecutorId>,
    assignment: Assignment,
) -> Topology {
    let component = ComponentId::from_static("bolt");
    let executors = executors.map(|executor| (executor, component.clone())).collect();
    Topology { id: id.to_owned(), name: id.to_owned(), worker_count, executors, assignment }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|part| !part.is_empty())
}

pub(crate) fn executor(text: &str) -> ExecutorId {
    let (first, last) = text.split_once('-').unwrap();
    ExecutorId { first: TaskId(first.parse().unwrap()), last: TaskId(last.parse().unwrap()) }
}

fn executor_text(executor: &ExecutorId) -> String {
    format!("{}-{}", executor.first, executor.last)
}

pub(crate) fn slot(text: &str) -> WorkerSlot {
    let (node, port) = text.rsplit_once(':').unwrap();
    WorkerSlot { node_id: node.into(), port: port.parse().unwrap() }
}

pub(crate) fn assignment(text: &str) -> Assignment {
    let pair = |text: &str| text.split_once('@').map(|(of, at)| (executor(of), slot(at))).unwrap();
    list(text).map(pair).collect()
}

fn assignment_text(assignment: &Assignment) -> String {
    let pairs: Vec<String> =
        assignment.iter().map(|(executor, slot)| format!("{}@{slot}", executor_text(executor))).collect();
    pairs.join(",")
}
