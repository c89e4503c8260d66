//! Reads the state of a host's connections: of TCP and SCTP from the kernel, of QUIC from memory that its stack shares.

use anyhow::Result;
use netwarp_core::addresses::Family;
use netwarp_core::connection_gauges::{Gauges, SharedGauges};
use netwarp_core::connection_sample::ConnectionSample;
use netwarp_path::netlink::sock_diag;
use netwarp_path::network::Network;
use netwarp_path::topology::Node;
use netwarp_transport::StateSource;

/// The source from which the state of a host's connections of one kind is read.
pub(super) struct Source {
    pub kind: StateSource,
    /// The address family of the connections.
    family: Family,
    /// The memory that a QUIC stack shares; `None` for kinds of connections whose state is read from the kernel.
    pub gauges: Option<SharedGauges>,
}

impl Source {
    /// Creates the source for connections of this kind and address family.
    pub(super) fn of(kind: StateSource, family: Family) -> Result<Self> {
        let gauges = (kind == StateSource::Gauges).then(SharedGauges::new).transpose()?;
        Ok(Self { kind, family, gauges })
    }

    /// Reads the state of a host's connections.
    pub(super) fn sample(&self, network: &mut Network, host: Node) -> Result<Vec<ConnectionSample>> {
        match self.kind {
            StateSource::Tcp => {
                network.sample_connections(host, |socket| sock_diag::tcp_connections(socket, self.family))
            }
            StateSource::Sctp => {
                network.sample_connections(host, |socket| sock_diag::sctp_associations(socket, self.family))
            }
            StateSource::Gauges => {
                Ok(self.gauges.iter().flat_map(SharedGauges::open_connections).map(Gauges::sample).collect())
            }
        }
    }
}
