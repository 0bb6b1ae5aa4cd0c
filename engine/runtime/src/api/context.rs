//! What a task may know about itself, its peers and the run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

use ringstorm_ring::Doorbell;
use ringstorm_types::config::Config;
use ringstorm_types::{ComponentId, ExecutorId, TaskId};

use crate::core::events::EventSender;
use crate::core::failure::TaskFailure;
use crate::core::reports::Reports;
use crate::core::status::Event;

/// Facts about a running task, given to `open` and `prepare`.
#[derive(Clone, Debug)]
pub struct TopologyContext {
    pub(crate) topology: Arc<TopologyFacts>,
    pub(crate) component: ComponentId,
    pub(crate) task: TaskId,
    pub(crate) task_index: usize,
    pub(crate) executor: ExecutorId,
    pub(crate) config: Arc<Config>,
    pub(crate) wake: Arc<TaskWaker>,
    pub(crate) events: EventSender,
}

/// What is the same for all tasks.
#[derive(Debug)]
pub(crate) struct TopologyFacts {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) tasks: BTreeMap<ComponentId, Vec<TaskId>>,
}

impl TopologyContext {
    /// The topology's id: its name, a number, and when it was started.
    pub fn topology_id(&self) -> &str {
        &self.topology.id
    }

    /// The topology's name.
    pub fn topology_name(&self) -> &str {
        &self.topology.name
    }

    /// This task's component.
    pub fn component(&self) -> &ComponentId {
        &self.component
    }

    /// This task's id.
    pub fn task(&self) -> TaskId {
        self.task
    }

    /// Position among the tasks of the component, from 0.
    pub fn task_index(&self) -> usize {
        self.task_index
    }

    /// How many tasks the component has.
    pub fn task_count(&self) -> usize {
        self.tasks_of(&self.component).len()
    }

    /// The executor that runs this task.
    pub fn executor(&self) -> ExecutorId {
        self.executor
    }

    /// The task ids of a component in ascending order; empty when there is no such component.
    pub fn tasks_of(&self, component: &str) -> &[TaskId] {
        self.topology.tasks.get(component).map_or(&[], Vec::as_slice)
    }

    /// The configuration: the topology's, with this component's own settings over it.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Wakes this task from any thread: a spout that said [`Next::Waiting`](crate::Next::Waiting) is called again.
    pub fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.wake))
    }

    /// Asks this process to take nothing new, drain and stop, as when its user asks for it. Returns at once, and may be
    /// called from any thread. For a component after which there is no need to go on, such as one whose reader has left.
    pub fn stop_run(&self) {
        self.events.request_stop();
    }

    /// Reports errors of this task where there is no collector to do so, as in `close`. Nothing fails.
    pub(crate) fn report_errors(&self, texts: impl IntoIterator<Item = String>) {
        let mut reports = Reports::default();
        texts.into_iter().for_each(|text| reports.push(|| text));
        let task = u32::try_from(self.task.0).unwrap_or(0);
        for text in reports.texts {
            self.events.send(Event::Reported { component: self.component.to_string(), task, text });
        }
        if reports.more > 0 {
            self.events.send(Event::MoreReported { count: reports.more });
        }
    }

    /// Ends this process's run with an error of this task, which begins with what could not be done. Returns at once,
    /// and may be called from any thread. For what a rebuilt task could not mend, such as a full disk; in a cluster the
    /// supervisor starts the worker again after a while.
    pub fn fail_run(&self, error: impl std::fmt::Display) {
        let (component, text) = (self.component.clone(), error.to_string());
        self.events.send(Event::Failed { failure: TaskFailure { component, task: self.task, text, fatal: true } });
    }
}

/// Marks a task as woken and wakes its core.
#[derive(Debug)]
pub(crate) struct TaskWaker {
    woken: AtomicBool,
    doorbell: Doorbell,
}

impl TaskWaker {
    pub(crate) fn new(doorbell: Doorbell) -> Self {
        Self { woken: AtomicBool::new(true), doorbell }
    }

    /// Whether it was woken since the last time this was asked.
    #[inline]
    pub(crate) fn take(&self) -> bool {
        // The plain load keeps a core that polls many waiting tasks from owning all their lines.
        self.woken.load(Ordering::Acquire) && self.woken.swap(false, Ordering::AcqRel)
    }

    #[inline]
    pub(crate) fn is_woken(&self) -> bool {
        self.woken.load(Ordering::Acquire)
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }
    fn wake_by_ref(self: &Arc<Self>) {
        // Release: what the waker did before is visible to the task; the doorbell's fence keeps this from being missed
        // by a core that is about to park.
        self.woken.store(true, Ordering::Release);
        self.doorbell.ring();
    }
}
