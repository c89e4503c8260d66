//! Hosts in network namespaces of this kernel: one for each role, and a router between them for each path.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use anyhow::{Context as _, Result};
use netwarp_path::network::Network;
use netwarp_path::topology::{self, BuildStep, Node, Topology, host_of};
use netwarp_wire::job::{Contract, Job};
use netwarp_wire::record::{ClockKind, Side};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::role_process::{RoleProcess, RoleStart};
use crate::run::host::{Host, Part, Shared};
use crate::run::running_role::Role;

/// The number of open files that suffices for a thousand namespaces and what runs in them.
const OPEN_FILES: u64 = 1 << 14;

/// A function that prepares this machine for a job, before the first namespace is created.
type Preparation = Box<dyn Fn(&Job) -> Result<()>>;

/// Network namespaces of this kernel: one for each role, and a router between them for each path.
pub(super) struct Namespaces {
    clock: ClockKind,
    prepare: Preparation,
    network: Option<Network>,
    /// The hosts by their names, each with its address.
    hosts: BTreeMap<String, (Node, IpAddr)>,
}

impl Namespaces {
    /// Creates the backend; its namespaces are created later.
    pub(super) fn new(clock: ClockKind, prepare: impl Fn(&Job) -> Result<()> + 'static) -> Self {
        Self { clock, prepare: Box::new(prepare), network: None, hosts: BTreeMap::new() }
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
        let topology = Topology::of(job);
        if job.network.is_some() {
            allow_open_files()?;
        }
        self.network = Some(Network::build(&steps(&topology, job, self.clock))?);
        self.hosts = topology.hosts().into_iter().map(|(name, host)| (name.to_owned(), host)).collect();
        Ok(())
    }

    fn network(&mut self) -> Option<&mut Network> {
        self.network.as_mut()
    }

    fn spawn(&mut self, part: Part<'_>, job: &Job, job_file: &Path, shared: Shared<'_>) -> Result<Box<dyn Role>> {
        let role = job.only().transport.stack_of(part.side).filter(|stack| stack.contract == Contract::Roles);
        let program = role.map(|stack| stack.program.as_str());
        let host = |name| self.hosts.get(name).copied().with_context(|| format!("there is no host {name}"));
        let own = part.further.unwrap_or_else(|| host_of(job.only(), part.side));
        let (node, (_, address)) = (host(own)?.0, host(host_of(job.only(), Side::Server))?);
        let is_virtual = self.clock == ClockKind::Virtual;
        let start = RoleStart { part, program, job: job_file, address, port: job.only().port, shared };
        let network = self.network.as_ref().context("the path is not built yet")?;
        let role = network.within(node, || RoleProcess::spawn(&start, is_virtual))?;
        Ok(Box::new(role))
    }
}

/// Raises the limit of open files of this process to the most that is allowed: each namespace takes three.
fn allow_open_files() -> Result<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).context("ask for the most open files (RLIMIT_NOFILE)")?;
    let wanted = OPEN_FILES.max(most);
    setrlimit(Resource::RLIMIT_NOFILE, wanted, wanted)
        .or_else(|_| setrlimit(Resource::RLIMIT_NOFILE, most, most))
        .context("have more open files (RLIMIT_NOFILE)")
}

/// Returns the steps that build the path. In real time they leave out netem qdiscs without an impairment, which would
/// cost CPU and which a host may lack.
fn steps(topology: &Topology<'_>, job: &Job, clock: ClockKind) -> Vec<BuildStep> {
    let steps = topology.steps(job);
    // A timeline needs the netems in order to change them.
    if clock == ClockKind::Real && job.timeline.is_empty() { topology::without_idle_netem(steps) } else { steps }
}
