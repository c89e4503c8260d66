//! Where the state of a host's connections is read: of TCP and SCTP from the kernel, of QUIC from its gauges.

use anyhow::Result;
use netwarp_core::connection_sample::ConnectionSample;
use netwarp_core::gauges::{Gauges, SharedGauges};
use netwarp_path::netlink::sock_diag;
use netwarp_path::network::Network;
use netwarp_path::topology::Node;
use netwarp_transport::{StateSource, stack_of};
use netwarp_wire::job::{Job, Workload};

/// Where the state of a host's connections of one kind is read.
pub(super) struct Source {
    pub kind: StateSource,
    /// The memory that a stack shares, if its state is read there.
    pub gauges: Option<SharedGauges>,
}

impl Source {
    /// Returns where the state of a job's connections can be read. Programs that play the roles do not share theirs. Of
    /// other programs of the machine, TCP connections are sampled.
    pub(super) fn kinds(job: &Job) -> Vec<StateSource> {
        if matches!(job.only().workload, Workload::Command(_)) {
            return vec![StateSource::Tcp];
        }
        let first = netwarp_workload::of(&job.only().workload).first_reached_by(job);
        let transports =
            std::iter::once(&job.only().transport).chain(first.as_ref().map(|first| &first.only().transport));
        let kinds = transports.filter_map(|transport| {
            let kind = stack_of(transport.kind).state_source();
            kind.filter(|kind| *kind != StateSource::Gauges || transport.stack.is_none())
        });
        kinds.collect()
    }

    /// Creates the source for connections of a kind.
    ///
    /// # Errors
    /// The shared memory cannot be created.
    pub(super) fn of(kind: StateSource) -> Result<Self> {
        let gauges = (kind == StateSource::Gauges).then(SharedGauges::new).transpose()?;
        Ok(Self { kind, gauges })
    }

    /// Reads the state of a host's connections.
    ///
    /// # Errors
    /// A kernel that does not answer.
    pub(super) fn sample(&self, network: &mut Network, host: Node) -> Result<Vec<ConnectionSample>> {
        match self.kind {
            StateSource::Tcp => network.sample_connections(host, sock_diag::tcp_connections),
            StateSource::Sctp => network.sample_connections(host, sock_diag::sctp_associations),
            StateSource::Gauges => {
                Ok(self.gauges.iter().flat_map(SharedGauges::standing).map(Gauges::sample).collect())
            }
        }
    }
}
