//! What each transport can do, and what it needs of the kernel: all that the rest of the endpoint asks of a kind.

use std::ops::RangeInclusive;

use crate::job::{Reconnect, Resume, Transport, TransportKind};

impl TransportKind {
    /// Whether its connections are TCP's, or made of TCP's: with TCP's options, header and segment size.
    pub fn uses_tcp(self) -> bool {
        match self {
            Self::Tcp | Self::Tls | Self::Mptcp => true,
            Self::Sctp | Self::Quic => false,
        }
    }

    /// Whether a connection is made of subflows that the kernel's path manager opens and closes.
    pub fn has_subflows(self) -> bool {
        self == Self::Mptcp
    }

    /// Whether it sends data with the SYN (RFC 7413) when asked to resume.
    pub fn has_fast_open(self) -> bool {
        self == Self::Tcp
    }

    /// Whether a connection tells its peer of new addresses by messages of the kernel's (RFC 5061).
    pub fn reconfigures_addresses(self) -> bool {
        self == Self::Sctp
    }

    /// The sysctl that bounds the memory of all its sockets together, where those of TCP and UDP do not.
    pub fn memory_sysctl(self) -> Option<&'static str> {
        (self == Self::Sctp).then_some("net/sctp/sctp_mem")
    }

    /// How many paths a connection can use at once, of at most this many.
    pub fn paths(self, options: &Transport, most: usize) -> RangeInclusive<usize> {
        match self {
            Self::Mptcp => 1..=most,
            Self::Sctp if options.sctp.multihomed => 2..=most,
            _ => 1..=1,
        }
    }

    /// The most streams a connection has at once. Of transports with one, a workload opens several connections.
    pub fn most_streams(self, options: &Transport) -> u32 {
        match self {
            Self::Tcp | Self::Tls | Self::Mptcp => 1,
            Self::Sctp => options.sctp.streams.into(),
            Self::Quic => u32::MAX,
        }
    }

    /// Why it cannot use what an earlier connection left, if it cannot.
    pub fn resume_refusal(self, resume: Resume) -> Option<&'static str> {
        match (self, resume) {
            (Self::Tcp | Self::Tls | Self::Quic, Resume::ZeroRtt)
            | (Self::Tls | Self::Quic, Resume::OneRtt)
            | (_, Resume::None) => None,
            (Self::Tcp, Resume::OneRtt) => Some("TCP has no session tickets; 0rtt is TCP Fast Open"),
            (Self::Sctp, _) => Some("SCTP has nothing that a later association could resume"),
            (Self::Mptcp, _) => Some("MPTCP connections are opened without Fast Open here"),
        }
    }

    /// Why its connections cannot do this when the client moves, if they cannot.
    pub fn reconnect_refusal(self, reconnect: Reconnect) -> Option<&'static str> {
        match (self, reconnect) {
            (Self::Tcp | Self::Tls, Reconnect::Migrate) => {
                Some("is migrate, but a TCP connection is between two addresses for good: choose new")
            }
            (Self::Mptcp, Reconnect::New) => {
                Some("is new, but MPTCP connections go on when the client moves: choose migrate")
            }
            _ => None,
        }
    }
}
