//! What users ask for.

use std::time::Duration;

use ringstorm_nimbus::interface::{Reply, Request, SUBMISSION_TOKEN, Submission, Upload};
use ringstorm_records::records::{
    KillOptions, RebalanceOptions, SubmitOptions, TopologyInitialStatus, TopologySummary,
};
use serde_json::{Map, Value, json};

use super::Stage;
use crate::actor::Verdict;
use crate::checks::Violation;
use crate::topology::{Counts, topology};

/// A topology that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// Of its spout.
    pub spout: Counts,
    /// Of its bolt.
    pub bolt: Counts,
    /// How many workers it asks for.
    pub workers: i32,
    /// How many executors its acker has.
    pub ackers: i32,
    /// What else stands in its configuration.
    pub conf: Map<String, Value>,
}

impl Wanted {
    /// One with a spout and so many bolts that there is an executor for each of its workers, and two at least.
    pub fn of(name: &str, workers: i32) -> Self {
        let (spout, bolt) = (Counts::plain(1), Counts::plain(1.max(workers - 1)));
        Self { name: name.to_owned(), spout, bolt, workers, ackers: 0, conf: Map::new() }
    }

    fn request(&self, token: &str) -> Request {
        let mut conf = self.conf.clone();
        let own = json!({
            "topology.workers": self.workers,
            "topology.acker.executors": self.ackers,
            "topology.eventlogger.executors": 0,
            SUBMISSION_TOKEN: token,
        });
        conf.extend(own.as_object().cloned().unwrap_or_default());
        Request::Submit(Box::new(Submission {
            name: self.name.clone(),
            topology: topology(self.spout, self.bolt),
            conf: Value::Object(conf).to_string(),
            options: SubmitOptions { initial_status: TopologyInitialStatus::Active, creds: None },
            upload: Upload { name: "topology".to_owned(), checksum: String::new() },
            worker_secret: "0123456789abcdef0123456789abcdef".to_owned(),
        }))
    }
}

impl Stage {
    /// A user asks for something, and goes on asking; the number is for [`Self::verdict`].
    ///
    /// # Errors
    /// The law that was broken.
    pub fn ask(&mut self, request: Request) -> Result<u64, Violation> {
        // At the very beginning it has yet to start.
        self.until("the client", Duration::from_secs(1), |stage| stage.is_up(stage.client))?;
        let wish = self.wishes;
        self.wishes += 1;
        self.world.wish(self.client, wish, request)?;
        Ok(wish)
    }

    /// What the user was told; `None` until then.
    pub fn verdict(&self, wish: u64) -> Option<&Verdict> {
        self.world.verdict(wish)
    }

    /// A user asks for something and waits for a verdict.
    ///
    /// # Errors
    /// The law that was broken, or there is none within the limit.
    pub fn answer(&mut self, request: Request, limit: Duration) -> Result<Verdict, Violation> {
        let wish = self.ask(request)?;
        self.until("a verdict", limit, |stage| stage.verdict(wish).is_some())?;
        let none = || Violation::new("a verdict stays", format!("wish {wish} has none any more"));
        self.verdict(wish).cloned().ok_or_else(none)
    }

    /// A user submits a topology and waits until it is accepted, or until it is said why it is not.
    ///
    /// # Errors
    /// As [`Self::answer`].
    pub fn submit(&mut self, wanted: &Wanted, limit: Duration) -> Result<Verdict, Violation> {
        let token = format!("token-{}", self.wishes);
        self.answer(wanted.request(&token), limit)
    }

    /// A user rebalances a topology, without a wait unless the options have one.
    ///
    /// # Errors
    /// As [`Self::answer`].
    pub fn rebalance(&mut self, name: &str, options: RebalanceOptions, limit: Duration) -> Result<Verdict, Violation> {
        let options = RebalanceOptions { wait_secs: options.wait_secs.or(Some(0)), ..options };
        self.answer(Request::Rebalance { name: name.to_owned(), options }, limit)
    }

    /// A user kills a topology, without a wait.
    ///
    /// # Errors
    /// As [`Self::answer`].
    pub fn kill_topology(&mut self, name: &str, limit: Duration) -> Result<Verdict, Violation> {
        let options = KillOptions { wait_secs: Some(0), ..KillOptions::default() };
        self.answer(Request::Kill { name: name.to_owned(), options }, limit)
    }

    /// A user lists the topologies.
    ///
    /// # Errors
    /// As [`Self::answer`]; or there is another answer.
    pub fn list(&mut self, limit: Duration) -> Result<Vec<TopologySummary>, Violation> {
        match self.answer(Request::Topologies, limit)? {
            Verdict::Done(Reply::Topologies(topologies)) => Ok(topologies),
            other => Err(Violation::new("a list is answered", format!("{other:?}"))),
        }
    }
}
