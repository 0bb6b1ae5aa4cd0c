//! A submission on its way to the machine.
//!
//! The machine decides on names, configurations and structures; before it sees a submission it is looked at whether the
//! topology can run here at all, which takes the file. What is wrong is told in Storm's order: whoever does not lead says
//! so, then a name that is taken or not allowed, then every reason against the topology at once.
//!
//! Threading: that of the port; files are read by the thread for files. Errors: [`Refusal`].

use ringstorm_caller::CODE_SHA256;
use ringstorm_file::open_regular;
use ringstorm_lifecycle as lifecycle;
use ringstorm_lifecycle::submission::accept;
use ringstorm_nimbus::interface::{Refusal, Reply, Request, Submission, Upload};
use ringstorm_records::nimbus::SubmitTopologyWithOpts;
use ringstorm_records::records::{StormTopology, TopologyInitialStatus};
use ringstorm_submission::executable::{Built, Unfit, topology_for};

use super::{Failure, Service, needed};
use crate::checks::reasons;
use crate::files::{UploadError, Uploaded};
use crate::random::random_secret;

impl Service {
    /// Submits a topology.
    pub(super) async fn submit(&self, call: SubmitTopologyWithOpts) -> Result<(), Failure> {
        let Some(name) = call.name.clone() else {
            self.check_that_it_leads().await?;
            return Err(Refusal::from(lifecycle::id::name_is_null()).into());
        };
        match self.check_submission(&name, call).await {
            Ok(submission) => self.done(Request::Submit(Box::new(submission))).await,
            Err(failure) => Err(self.rather(name, failure).await),
        }
    }

    async fn check_submission(&self, name: &str, call: SubmitTopologyWithOpts) -> Result<Submission, Failure> {
        let location = needed::<SubmitTopologyWithOpts, _>(call.uploaded_jar_location, "uploadedJarLocation")?;
        let topology = needed::<SubmitTopologyWithOpts, _>(call.topology, "topology")?;
        let options = needed::<SubmitTopologyWithOpts, _>(call.options, "options")?;
        let json_conf = call.json_conf.unwrap_or_default();
        let (uploaded, file) = self.uploaded(location).await?;
        let mut conf =
            lifecycle::conf::parse(&json_conf, "The configuration of the topology").map_err(Refusal::from)?;
        let mut reasons = reasons(&self.runnable, &file, &topology, &conf);
        if !reasons.is_empty() {
            reasons.extend(self.reasons_of_machine(name, &json_conf, &topology, options.initial_status));
            return Err(Refusal::InvalidTopology(reasons.join("\n")).into());
        }
        let given = conf.insert(CODE_SHA256.to_owned(), uploaded.sha256.as_str().into());
        if given.as_ref().is_some_and(|given| given.as_str() != Some(&uploaded.sha256)) {
            let why = format!("the uploaded file is not the one that was meant: its SHA-256 is {}", uploaded.sha256);
            return Err(Refusal::NoUpload(why).into());
        }
        Ok(Submission {
            name: name.to_owned(),
            topology,
            conf: lifecycle::conf::to_json(&conf),
            options,
            upload: Upload { name: uploaded.name, checksum: uploaded.sha256 },
            worker_secret: random_secret(),
        })
    }

    /// The file of a submission, and what it is.
    async fn uploaded(&self, location: String) -> Result<(Uploaded, Result<Built, Unfit>), Failure> {
        let machine = self.runnable.machine;
        let look = move |uploaded: &Uploaded| topology_for(machine, &mut open_regular(&uploaded.path)?);
        let read = self.files.ask(move |files| {
            let uploaded = files.find_upload(&location)?;
            match look(&uploaded) {
                // That is nothing against the topology.
                Err(Unfit::Unreadable(error)) => Err(UploadError::Disk { name: uploaded.name, done: "read", error }),
                built => Ok((uploaded, built)),
            }
        });
        Ok(read.await??)
    }

    /// What the machine would have against it besides.
    fn reasons_of_machine(
        &self,
        name: &str,
        json_conf: &str,
        topology: &StormTopology,
        initial_status: TopologyInitialStatus,
    ) -> Vec<String> {
        let submission = lifecycle::submission::Submission {
            name,
            json_conf,
            topology,
            initial_status,
            principal: None,
            nimbus_user: &self.accepting.user,
            number: 1,
            now_secs: 0,
            worker_secret: "",
        };
        match accept(&self.accepting.conf, &submission) {
            Ok(_) => Vec::new(),
            Err(lifecycle::Refusal::Invalid(reasons)) => reasons,
            Err(other) => vec![other.to_string()],
        }
    }

    /// What is said instead of a reason against a topology: that this nimbus does not lead, or that the name is none.
    async fn rather(&self, name: String, failure: Failure) -> Failure {
        if let Err(refusal) = self.check_that_it_leads().await {
            return refusal.into();
        }
        match self.requests.ask(Request::IsTopologyNameAllowed { name: name.clone() }).await {
            Ok(Reply::Allowed(false)) => Refusal::AlreadyAlive(format!("{name} is already alive")).into(),
            Err(refusal @ Refusal::InvalidTopology(_)) => refusal.into(),
            _ => failure,
        }
    }
}
