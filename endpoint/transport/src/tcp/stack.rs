//! TCP as a transport of the endpoint, and the options that all transports over the kernel's TCP refuse.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;

use netwarp_wire::job::{Job, Recovery, Resume, Transport};
use netwarp_wire::problems::Problems;

use super::Tcp;
use crate::error::Result;
use crate::kernel;
use crate::{Dialer, Listener, Place, Stack};

/// The range of `TCP_MAXSEG` (`TCP_MIN_MSS`, `MAX_TCP_WINDOW`).
const MSS_BYTES: RangeInclusive<u32> = 88..=32_767;

/// The tick in which a guest's kernel counts time-outs (HZ is 100), in nanoseconds.
const TICK_NS: u64 = 10_000_000;

/// The longest retransmission time-out (`TCP_RTO_MAX`), in nanoseconds.
const LONGEST_RTO_NS: u64 = 120_000_000_000;

/// `tcp`: the kernel's TCP.
pub(crate) struct TcpStack;

impl Stack for TcpStack {
    fn uses_tcp(&self) -> bool {
        true
    }

    fn has_fast_open(&self) -> bool {
        true
    }

    fn resumes(&self) -> &'static [Resume] {
        &[Resume::ZeroRtt]
    }

    fn dialer(&self, job: &Job, _server: IpAddr, _certificate: Option<&[u8]>) -> Result<Arc<dyn Dialer>> {
        Ok(Arc::new(kernel::Dialer::new(Tcp::new(job), job)))
    }

    fn listen(&self, job: &Job, place: Place) -> Result<Box<dyn Listener>> {
        Ok(Box::new(kernel::Listener::bind(Tcp::new(job), place)?))
    }
}

/// Adds to `problems` the options that the kernel's TCP would silently change or refuse.
pub(crate) fn check(options: &Transport, problems: &mut Problems) {
    problems.require(options.mss_bytes.is_none_or(|mss| MSS_BYTES.contains(&mss)), "transport.mss_bytes", || {
        format!("must lie between {} and {} for TCP", MSS_BYTES.start(), MSS_BYTES.end())
    });
    // net/ipv4/tcp_input.c, tcp_identify_packet_loss.
    let possible = options.tcp.recovery != Recovery::Classic || !options.tcp.sack;
    problems.require(possible, "transport.tcp.recovery", || {
        "is classic with SACK, and since Linux 6.17 a TCP with SACK finds its losses by RACK and nothing else: \
         switch SACK off too"
            .to_owned()
    });
    let bursts = 1..1 << 16;
    problems.require(
        options.tcp.tso_packets.is_none_or(|most| bursts.contains(&most)),
        "transport.tcp.tso_packets",
        || "must lie between 1 and 65535".to_owned(),
    );
    problems.require(options.tcp.hystart.is_none() || options.congestion == "cubic", "transport.tcp.hystart", || {
        format!("is of CUBIC, and the congestion control is {}", options.congestion)
    });
    let is_kept = |least_ns: u64| least_ns > 0 && least_ns.is_multiple_of(TICK_NS) && least_ns <= LONGEST_RTO_NS;
    problems.require(options.tcp.tcp_rto_min_ns.is_none_or(is_kept), "transport.tcp.tcp_rto_min_ns", || {
        "must be a multiple of 10 ms, in which a guest's kernel counts it, up to 120 s, the longest time-out".to_owned()
    });
}
