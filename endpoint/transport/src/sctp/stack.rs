//! SCTP as a transport of the endpoint.

use std::net::IpAddr;
use std::sync::Arc;

use netwarp_wire::job::{Job, Reconnect, Transport};
use netwarp_wire::problems::Problems;

use super::protocol::Sctp;
use crate::error::Result;
use crate::stack::StateSource;
use crate::{Dialer, Listener, Place, Stack, kernel};

/// The smallest `SCTP_MAXSEG`: 512 bytes (`SCTP_DEFAULT_MINSEGMENT`) minus the headers of IPv4, SCTP and the DATA
/// chunk.
const MSS_MIN_BYTES: u32 = 512 - 20 - 12 - 16;

/// The smallest message, in bytes: an unordered one needs eight bytes for its offset.
const MESSAGE_MIN_BYTES: u32 = 9;

/// The unit of `SCTP_RTOINFO`, a millisecond.
const RTO_UNIT_NS: u64 = 1_000_000;

/// `sctp`: the kernel's SCTP.
pub(crate) struct SctpStack;

impl Stack for SctpStack {
    fn reconfigures_addresses(&self) -> bool {
        true
    }

    fn state_source(&self) -> Option<StateSource> {
        Some(StateSource::Sctp)
    }

    fn memory_sysctl(&self) -> Option<&'static str> {
        Some("net/sctp/sctp_mem")
    }

    fn most_streams(&self, options: &Transport) -> u32 {
        options.sctp.streams.into()
    }

    fn reconnects(&self) -> &'static [Reconnect] {
        &[Reconnect::New, Reconnect::Migrate]
    }

    fn check(&self, options: &Transport, problems: &mut Problems) {
        let sctp = &options.sctp;
        problems.require(options.mss_bytes.is_none_or(|mss| mss >= MSS_MIN_BYTES), "transport.mss_bytes", || {
            format!("must be at least {MSS_MIN_BYTES} for SCTP; for small chunks, bound the messages")
        });
        problems.require(sctp.streams >= 1, "transport.sctp.streams", || "is 0".to_owned());
        // The send buffer accepts only whole messages.
        let fits = u64::from(sctp.max_message_bytes) <= options.send_buffer_bytes;
        let is_sound = fits && sctp.max_message_bytes >= MESSAGE_MIN_BYTES;
        problems.require(is_sound, "transport.sctp.max_message_bytes", || {
            let (given, most) = (sctp.max_message_bytes, options.send_buffer_bytes);
            format!("is {given}, must lie between {MESSAGE_MIN_BYTES} and {most}, the send buffer")
        });
        let policies = [sctp.message_lifetime_ns.is_some(), sctp.max_retransmissions.is_some()];
        problems.require(policies != [true, true], "transport.sctp.max_retransmissions", || {
            "is given beside message_lifetime_ns, and a message has one policy".to_owned()
        });
        let lifetime = sctp.message_lifetime_ns.is_none_or(|lifetime_ns| lifetime_ns >= RTO_UNIT_NS);
        problems.require(lifetime, "transport.sctp.message_lifetime_ns", || "is less than a millisecond".to_owned());
        let bounds = [sctp.rto_min_ns, sctp.rto_initial_ns, sctp.rto_max_ns];
        let whole = bounds.iter().all(|bound| bound % RTO_UNIT_NS == 0 && *bound >= RTO_UNIT_NS);
        problems.require(whole, "transport.sctp", || "has an RTO bound that is not in whole milliseconds".to_owned());
        problems.require(bounds.is_sorted(), "transport.sctp", || "needs rto_min <= rto_initial <= rto_max".to_owned());
    }

    fn dialer(&self, job: &Job, _server: IpAddr, _certificate: Option<&[u8]>) -> Result<Arc<dyn Dialer>> {
        Ok(Arc::new(kernel::Dialer::new(Sctp::new(job)?, job)))
    }

    fn listen(&self, job: &Job, place: Place) -> Result<Box<dyn Listener>> {
        Ok(Box::new(kernel::Listener::bind(Sctp::new(job)?, place)?))
    }
}
