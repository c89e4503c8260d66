//! `struct sctp_info`: what the kernel's SCTP says about an association to `sock_diag(7)`.

use crate::clock;

/// `struct sctp_info` of `include/uapi/linux/sctp.h`, as far as it is read. Names are the kernel's without `sctpi_`; what has a
/// `p_` there is of the primary path.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct SctpInfo {
    tag: u32,
    state: u32,
    rwnd: u32,
    unackdata: u16,
    penddata: u16,
    instrms: u16,
    outstrms: u16,
    fragmentation_point: u32,
    inqueue: u32,
    /// Chunks that have not been sent.
    outqueue: u32,
    overall_error: u32,
    max_burst: u32,
    /// Largest chunk.
    maxseg: u32,
    /// What the peer's window has room for, beyond what is on its way.
    peer_rwnd: u32,
    peer_tag: u32,
    peer_capable: u8,
    peer_sack: u8,
    reserved: u16,
    isacks: u64,
    osacks: u64,
    opackets: u64,
    ipackets: u64,
    rtxchunks: u64,
    outofseqtsns: u64,
    idupchunks: u64,
    gapcnt: u64,
    ouodchunks: u64,
    iuodchunks: u64,
    oodchunks: u64,
    iodchunks: u64,
    octrlchunks: u64,
    ictrlchunks: u64,
    /// A `struct sockaddr_storage`.
    address: [u64; 16],
    path_state: i32,
    cwnd: u32,
    /// In ticks, as of `SCTP_STATUS`.
    srtt: u32,
    rto: u32,
    hbinterval: u32,
    pathmaxrxt: u32,
    sackdelay: u32,
    sackfreq: u32,
    ssthresh: u32,
    partial_bytes_acked: u32,
    flight_size: u32,
}

impl SctpInfo {
    /// Reads the attribute `INET_DIAG_INFO`; none if it is too short, or of a socket's endpoint, which has no path.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let front = bytes.get(..size_of::<Self>())?;
        // SAFETY: as many bytes as the structure has, which is integers only.
        let info: Self = unsafe { std::ptr::read_unaligned(front.as_ptr().cast()) };
        (info.cwnd > 0).then_some(info)
    }

    /// Congestion window.
    pub(crate) fn cwnd_bytes(&self) -> u64 {
        self.cwnd.into()
    }

    /// Slow start threshold: before a loss the window that the peer announced first.
    pub(crate) fn ssthresh_bytes(&self) -> u64 {
        self.ssthresh.into()
    }

    /// Smoothed round-trip time; 0 until there is one.
    pub(crate) fn rtt_ns(&self) -> u64 {
        u64::from(self.srtt) * clock::tick_ns()
    }

    /// Sent and not acknowledged.
    pub(crate) fn unacked_bytes(&self) -> u64 {
        self.flight_size.into()
    }

    /// Chunks sent again.
    pub(crate) fn retrans_packets(&self) -> u64 {
        self.rtxchunks
    }

    /// Whether all that it was given has been sent.
    pub(crate) fn has_sent_all(&self) -> bool {
        self.outqueue == 0
    }

    /// Whether the peer's window has no room for another chunk.
    pub(crate) fn is_peer_full(&self) -> bool {
        self.peer_rwnd < self.maxseg
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn fields_lie_where_the_kernel_puts_them() {
        // As a C program that includes linux/sctp.h prints them.
        assert_eq!((offset_of!(SctpInfo, outqueue), offset_of!(SctpInfo, peer_rwnd)), (28, 44));
        assert_eq!((offset_of!(SctpInfo, rtxchunks), offset_of!(SctpInfo, cwnd)), (88, 300));
        assert_eq!((offset_of!(SctpInfo, ssthresh), offset_of!(SctpInfo, flight_size)), (328, 336));
    }
}
