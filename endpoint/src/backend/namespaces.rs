//! Hosts in network namespaces of this kernel: one for each role, and a router between them for each path.

use std::path::Path;

use anyhow::{Context as _, Result};
use netwarp_core::addresses::server_address;
use netwarp_path::network::Network;
use netwarp_path::topology::{self, BuildStep, CLIENT, SERVER, Topology};
use netwarp_wire::job::{Contract, Job};
use netwarp_wire::record::{ClockKind, Side};

use super::role_process::{RoleProcess, RoleStart};
use crate::run::host::{Host, Shared};
use crate::run::running_role::Role;

/// What is done for a job before the first namespace is made.
type Preparation = Box<dyn Fn(&Job) -> Result<()>>;

/// Network namespaces of this kernel: one for each role, and a router between them for each path.
pub(super) struct Namespaces {
    clock: ClockKind,
    prepare: Preparation,
    network: Option<Network>,
}

impl Namespaces {
    /// Creates a host whose namespaces are not made yet.
    pub(super) fn new(clock: ClockKind, prepare: impl Fn(&Job) -> Result<()> + 'static) -> Self {
        Self { clock, prepare: Box::new(prepare), network: None }
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

    fn spawn(&mut self, side: Side, job: &Job, job_file: &Path, shared: Shared<'_>) -> Result<Box<dyn Role>> {
        let role = job.only().transport.stack.as_ref().filter(|stack| stack.contract == Contract::Roles);
        let program = role.map(|stack| stack.program.as_str());
        let node = match side {
            Side::Client => CLIENT,
            Side::Server => SERVER,
        };
        let is_virtual = self.clock == ClockKind::Virtual;
        let start = RoleStart {
            side,
            program,
            job: job_file,
            address: server_address(0).into(),
            port: job.only().port,
            shared,
        };
        let network = self.network.as_ref().context("the path is not built yet")?;
        let role = network.within(node, || RoleProcess::spawn(&start, is_virtual))?;
        Ok(Box::new(role))
    }
}

/// Returns the steps that build the path. In real time they leave out netem qdiscs without an impairment, which would
/// cost CPU and which a host may lack.
fn steps(job: &Job, clock: ClockKind) -> Vec<BuildStep> {
    let steps = Topology::of(job).steps(job);
    // The timeline needs the netem in order to change it.
    if clock == ClockKind::Real && job.timeline.is_empty() { topology::without_idle_netem(steps) } else { steps }
}
