//! Where the roles of a run work, and how the path between them is reached. All that a run needs of the machines that carry it
//! out is behind [`Host`]: another one may have its roles elsewhere, or programs that are not ours, or a path that is there
//! already.

use std::os::fd::AsFd;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::control::{Message, Order};
use crate::job::{Contract, Job};
use crate::network::Network;
use crate::record::{ClockKind, Side};
use crate::request_prefix::RequestPrefix;
use crate::role_process::{RoleProcess, RoleStart, Shared};
use crate::topology::{self, BuildStep, Namespace};

/// The machines or namespaces that carry a run out.
pub(crate) trait Host {
    /// The clock of the roles and of the path.
    fn clock(&self) -> ClockKind;

    /// What every request of the run begins with, where strangers could reach the server.
    fn token(&self) -> Option<RequestPrefix> {
        None
    }

    /// Prepares for a job, before its first record is written.
    ///
    /// # Errors
    /// What the job asks for is not to be had here.
    fn prepare(&mut self, job: &Job) -> Result<()>;

    /// Builds the job's path.
    ///
    /// # Errors
    /// Whatever keeps it from being built.
    fn build(&mut self, job: &Job) -> Result<()>;

    /// The path, when it was built: to be changed, counted, captured and probed. None if that is not for the run to do.
    fn network(&mut self) -> Option<&mut Network>;

    /// Looks after what the roles have left, however the run went. They are gone.
    ///
    /// # Errors
    /// It cannot be kept.
    fn finish(&mut self, job: &Job) -> Result<()>;

    /// Starts a role, which reads the job from `job_file` and shares memory with this process.
    ///
    /// # Errors
    /// It cannot be started.
    fn spawn(&mut self, side: Side, job: &Job, job_file: &Path, shared: Shared<'_>) -> Result<Box<dyn Role>>;
}

/// A role at work. Its descriptor is readable when it has something to say. Dropped, it ends.
pub(crate) trait Role: AsFd {
    /// Whether the role may still send a message.
    fn is_running(&self) -> bool;

    /// Sends the role an order. One that is gone cannot take it; [`Self::receive`] tells how it ended.
    ///
    /// # Errors
    /// The order cannot be given.
    fn order(&mut self, order: &Order) -> Result<()>;

    /// Receives the role's next message, and waits if there is none yet.
    ///
    /// # Errors
    /// It cannot be read from, or sends what is no message.
    fn receive(&mut self) -> Result<Vec<Event>>;
}

/// What was received from a role: a message, or its end.
#[expect(clippy::large_enum_variant, reason = "it is moved once, from the pipe to the file of records")]
#[derive(Debug)]
pub(crate) enum Event {
    /// The role sent a message.
    Said(Message),
    /// The role's process ended: none if successfully, else how.
    Gone(Option<String>),
}

/// What is done for a job before or after its roles work.
type Step = Box<dyn Fn(&Job) -> Result<()>>;

/// Network namespaces of this kernel: a role in each, and a router for each path in between.
pub(crate) struct Namespaces {
    clock: ClockKind,
    prepare: Step,
    finish: Step,
    network: Option<Network>,
}

impl Namespaces {
    /// A host whose namespaces are not made yet.
    ///
    /// # Arguments
    /// * `prepare` - what is to be done before the first is made.
    /// * `finish` - what is to be done when the roles are gone.
    pub(crate) fn new(
        clock: ClockKind,
        prepare: impl Fn(&Job) -> Result<()> + 'static,
        finish: impl Fn(&Job) -> Result<()> + 'static,
    ) -> Self {
        Self { clock, prepare: Box::new(prepare), finish: Box::new(finish), network: None }
    }
}

impl Host for Namespaces {
    fn clock(&self) -> ClockKind {
        self.clock
    }

    fn prepare(&mut self, job: &Job) -> Result<()> {
        (self.prepare)(job)
    }

    fn build(&mut self, job: &Job) -> Result<()> {
        self.network = Some(Network::build(&steps(job, self.clock))?);
        Ok(())
    }

    fn network(&mut self) -> Option<&mut Network> {
        self.network.as_mut()
    }

    fn finish(&mut self, job: &Job) -> Result<()> {
        (self.finish)(job)
    }

    fn spawn(&mut self, side: Side, job: &Job, job_file: &Path, shared: Shared<'_>) -> Result<Box<dyn Role>> {
        let role = job.transport.stack.as_ref().filter(|stack| stack.contract == Contract::Roles);
        let program = role.map(|stack| stack.program.as_str());
        let namespace = match side {
            Side::Client => Namespace::Client,
            Side::Server => Namespace::Server,
        };
        let is_virtual = self.clock == ClockKind::Virtual;
        let start = RoleStart {
            side,
            program,
            job: job_file,
            address: topology::server_address(0).into(),
            port: job.port,
            shared,
        };
        let network = self.network.as_ref().context("the path is not built yet")?;
        let role = network.within(namespace, || RoleProcess::spawn(&start, is_virtual))?;
        Ok(Box::new(role))
    }
}

/// The steps that build the path: in real time without idle netems, which would cost CPU and which a host may not have.
fn steps(job: &Job, clock: ClockKind) -> Vec<BuildStep> {
    let steps = topology::steps(job);
    // A timeline changes the netem that is there.
    if clock == ClockKind::Real && job.timeline.is_empty() { topology::without_idle_netem(steps) } else { steps }
}
