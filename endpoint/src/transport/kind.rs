//! What each transport can do, and what it needs of the kernel: all that the rest of the endpoint asks of a kind.

use crate::job::{Transport, TransportKind};

impl TransportKind {
    /// Whether its connections are TCP's, or made of TCP's: with TCP's options, header and segment size.
    pub(crate) fn uses_tcp(self) -> bool {
        match self {
            Self::Tcp | Self::Tls | Self::Mptcp => true,
            Self::Sctp | Self::Quic => false,
        }
    }

    /// Whether a connection is made of subflows that the kernel's path manager opens and closes.
    pub(crate) fn has_subflows(self) -> bool {
        self == Self::Mptcp
    }

    /// Whether it sends data with the SYN (RFC 7413) when asked to resume.
    pub(crate) fn has_fast_open(self) -> bool {
        self == Self::Tcp
    }

    /// Whether a connection tells its peer of new addresses by messages of the kernel's (RFC 5061).
    pub(crate) fn reconfigures_addresses(self) -> bool {
        self == Self::Sctp
    }

    /// The sysctl that bounds the memory of all its sockets together, where those of TCP and UDP do not.
    pub(crate) fn memory_sysctl(self) -> Option<&'static str> {
        (self == Self::Sctp).then_some("net/sctp/sctp_mem")
    }

    /// The most streams a connection has at once. Of transports with one, a workload opens several connections.
    pub(crate) fn most_streams(self, options: &Transport) -> u32 {
        match self {
            Self::Tcp | Self::Tls | Self::Mptcp => 1,
            Self::Sctp => options.sctp.streams.into(),
            Self::Quic => u32::MAX,
        }
    }
}
