//! `struct sctp_info`: the state of an association, as the kernel reports it through `sock_diag(7)`.

use netwarp_core::clock;
use netwarp_core::connection_sample::{Activity, ConnectionState, Limits, Repair};

/// The part of `struct sctp_info` (`include/uapi/linux/sctp.h`) that is read. The names are the kernel's without
/// `sctpi_`, except for fields that are not read; fields with `p_` there concern the primary path.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SctpInfo {
    unread_front: [u32; 7],
    /// The number of chunks that have not been sent.
    outqueue: u32,
    unread_errors: [u32; 2],
    /// The largest chunk, in bytes.
    maxseg: u32,
    /// The room in the peer's receive window beyond the data in flight, in bytes.
    peer_rwnd: u32,
    unread_peer: [u32; 2],
    unread_packets: [u64; 4],
    rtxchunks: u64,
    /// Fields that are not read: more counters, and a `struct sockaddr_storage`.
    unread_chunks: [u64; 9 + 16],
    path_state: i32,
    cwnd: u32,
    /// Smoothed RTT in ticks, as in `SCTP_STATUS`.
    srtt: u32,
    unread_timers: [u32; 5],
    ssthresh: u32,
    partial_bytes_acked: u32,
    flight_size: u32,
}

impl SctpInfo {
    /// Decodes the attribute `INET_DIAG_INFO`; `None` if it is too short, or if it describes a socket without an
    /// association.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let front = bytes.get(..size_of::<Self>())?;
        // SAFETY: there are as many bytes as the structure has, which consists of integers.
        let info: Self = unsafe { std::ptr::read_unaligned(front.as_ptr().cast()) };
        (info.cwnd > 0).then_some(info)
    }

    /// Returns the state of the association, for a sample.
    ///
    /// # Arguments
    /// * `send_room_bytes` - how many bytes its send buffer still has room for.
    pub fn state(&self, send_room_bytes: u32) -> ConnectionState {
        let (has_sent_all, unacked_bytes) = (self.outqueue == 0, u64::from(self.flight_size));
        let activity = match (has_sent_all, unacked_bytes) {
            (true, 0) => Activity::Idle,
            // A message is accepted whole as long as there is any room.
            (true, _) if send_room_bytes == 0 => Activity::BufferFull,
            // There is no room for another chunk.
            (false, _) if self.peer_rwnd < self.maxseg => Activity::PeerFull,
            _ => Activity::Busy,
        };
        ConnectionState {
            cwnd_bytes: self.cwnd.into(),
            // Before the first loss, the slow start threshold is the receive window that the peer announced first.
            ssthresh_bytes: self.ssthresh.into(),
            rtt_ns: u64::from(self.srtt) * clock::tick_ns(),
            unacked_bytes,
            acked_bytes: None,
            repair: Repair::default(),
            retrans_packets: self.rtxchunks,
            pacing_rate_bit_s: 0,
            delivery_rate_bit_s: 0,
            limits: Limits::Now(activity),
            has_sent_all: has_sent_all && activity != Activity::BufferFull && self.flight_size < self.cwnd,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn fields_lie_where_the_kernel_puts_them() {
        // Offsets as a C program that includes linux/sctp.h prints them.
        assert_eq!((offset_of!(SctpInfo, outqueue), offset_of!(SctpInfo, peer_rwnd)), (28, 44));
        assert_eq!((offset_of!(SctpInfo, rtxchunks), offset_of!(SctpInfo, cwnd)), (88, 300));
        assert_eq!((offset_of!(SctpInfo, ssthresh), offset_of!(SctpInfo, flight_size)), (328, 336));
    }
}
