//! Where the roles of a run work, and how the path between them is reached. All that a run needs of the machines that carry it
//! out is behind [`Host`]: another one may have its roles elsewhere, or programs that are not ours, or a path that is there
//! already.

use std::os::fd::AsFd;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::control::{Message, Order};
use crate::job::Job;
use crate::network::Network;
use crate::record::{ClockKind, Side};
use crate::role_process::RoleProcess;
use crate::topology::{self, BuildStep, Namespace};

/// The machines or namespaces that carry a run out.
pub(crate) trait Host {
    /// The clock of the roles and of the path.
    fn clock(&self) -> ClockKind;

    /// Makes ready for a job, before anything is recorded of it.
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

    /// Starts a role, which reads the job from `job_file`.
    ///
    /// # Errors
    /// It cannot be started.
    fn spawn(&mut self, side: Side, job_file: &Path) -> Result<Box<dyn Role>>;
}

/// A role at work. Its descriptor is readable when it has something to say. Dropped, it ends.
pub(crate) trait Role: AsFd {
    /// Whether there is anything more to come from it.
    fn is_running(&self) -> bool;

    /// Gives an order. A role that is gone cannot take it; its end is told by [`Self::receive`].
    ///
    /// # Errors
    /// The order cannot be given.
    fn order(&mut self, order: &Order) -> Result<()>;

    /// What it said, waiting if there is nothing.
    ///
    /// # Errors
    /// It cannot be read from, or sends what is no message.
    fn receive(&mut self) -> Result<Vec<Event>>;
}

/// What a role did.
#[derive(Debug)]
pub(crate) enum Event {
    /// It said something.
    Said(Message),
    /// It is gone: none if by itself and successfully, else how.
    Gone(Option<String>),
}

/// Network namespaces of this kernel: a role in each, and a router for each path in between.
pub(crate) struct Namespaces {
    clock: ClockKind,
    prepare: fn(&Job) -> Result<()>,
    network: Option<Network>,
}

impl Namespaces {
    /// None made yet.
    ///
    /// # Arguments
    /// * `prepare` - what is to be done before the first is made.
    pub(crate) fn new(clock: ClockKind, prepare: fn(&Job) -> Result<()>) -> Self {
        Self { clock, prepare, network: None }
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

    fn spawn(&mut self, side: Side, job_file: &Path) -> Result<Box<dyn Role>> {
        let namespace = match side {
            Side::Client => Namespace::Client,
            Side::Server => Namespace::Server,
        };
        let (address, is_virtual) = (topology::server_address(0), self.clock == ClockKind::Virtual);
        let network = self.network.as_ref().context("the path is not built yet")?;
        let role = network.within(namespace, || RoleProcess::spawn(side, job_file, address, is_virtual))?;
        Ok(Box::new(role))
    }
}

/// In virtual time an idle netem costs nothing; in real time it would, and a host may have none.
fn steps(job: &Job, clock: ClockKind) -> Vec<BuildStep> {
    let steps = topology::steps(job);
    // A timeline changes the netem that is there.
    if clock == ClockKind::Real && job.timeline.is_empty() { topology::without_idle_netem(steps) } else { steps }
}
