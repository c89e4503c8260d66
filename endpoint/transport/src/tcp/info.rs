//! `TCP_INFO`: the state of a connection, as the kernel's TCP reports it.

use std::mem::offset_of;
use std::os::fd::AsRawFd;

use netwarp_core::connection_sample::{ConnectionState, Limits, Repair};
use netwarp_wire::job::TcpOptions;
use netwarp_wire::record::Stats;

use crate::error::{Context as _, Result, ensure};
use crate::system_call::{Plain, get_option};

/// The beginning of `struct tcp_info` (`include/uapi/linux/tcp.h`, Linux 4.10 and later, the last fields 6.7), whose
/// newer fields the C library's definition lacks. The names of fields that are read are the kernel's without `tcpi_`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct TcpInfo {
    state: u8,
    ca_state: u8,
    unread_timers: [u8; 3],
    options: u8,
    unread_flags: [u8; 2],
    unread_timeouts: [u32; 2],
    /// The largest payload of a segment without TCP options, in bytes.
    pub snd_mss: u32,
    rcv_mss: u32,
    unacked: u32,
    unread_segments: [u32; 10],
    rtt_us: u32,
    rttvar: u32,
    snd_ssthresh: u32,
    snd_cwnd_segments: u32,
    unread_receiving: [u32; 4],
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    unread_sent: [u32; 2],
    notsent_bytes: u32,
    min_rtt_us: u32,
    unread_data: [u32; 2],
    delivery_rate: u64,
    busy_time_us: u64,
    rwnd_limited_us: u64,
    sndbuf_limited_us: u64,
    unread_delivered: [u32; 2],
    unread_bytes: [u64; 2],
    unread_orders: [u32; 6],
    unread_total_rto: u16,
    total_rto_recoveries: u16,
    total_rto_time_ms: u32,
}

// SAFETY: repr(C), integers only.
unsafe impl Plain for TcpInfo {}

impl TcpInfo {
    /// Reads the `TCP_INFO` of a socket (`getsockopt(2)`).
    ///
    /// # Errors
    /// As `getsockopt(2)`.
    pub fn read(socket: &impl AsRawFd) -> Result<Self> {
        get_option(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, Self::default()).context("reading TCP_INFO")
    }

    /// Decodes the attribute `INET_DIAG_INFO` of a connection (`sock_diag(7)`); `None` if it is too short. Fields that
    /// an older kernel does not have are 0.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < offset_of!(Self, unread_delivered) {
            return None;
        }
        let mut whole = [0; size_of::<Self>()];
        let known = bytes.len().min(whole.len());
        whole[..known].copy_from_slice(&bytes[..known]);
        // SAFETY: there are as many bytes as the structure has, which consists of integers.
        Some(unsafe { std::ptr::read_unaligned(whole.as_ptr().cast()) })
    }

    /// Returns the state of the connection, for a sample.
    pub fn state(&self) -> ConnectionState {
        let mss_bytes = u64::from(self.snd_mss);
        let is_infinite = self.snd_ssthresh >= TCP_INFINITE_SSTHRESH;
        let limits_us = [self.busy_time_us, self.rwnd_limited_us, self.sndbuf_limited_us];
        ConnectionState {
            cwnd_bytes: self.cwnd_bytes(),
            ssthresh_bytes: if is_infinite { 0 } else { u64::from(self.snd_ssthresh) * mss_bytes },
            rtt_ns: u64::from(self.rtt_us) * NANOSECONDS_PER_MICROSECOND,
            // The kernel counts full-size segments.
            unacked_bytes: u64::from(self.unacked) * mss_bytes,
            acked_bytes: Some(self.bytes_acked),
            retrans_packets: self.total_retrans.into(),
            // Without pacing the rate is `~0`.
            pacing_rate_bit_s: if self.pacing_rate == u64::MAX { 0 } else { self.pacing_rate.saturating_mul(8) },
            delivery_rate_bit_s: self.delivery_rate.saturating_mul(8),
            limits: Limits::Counted(limits_us.map(|time_us| time_us * NANOSECONDS_PER_MICROSECOND)),
            has_sent_all: self.notsent_bytes == 0 && self.unacked < self.snd_cwnd_segments,
            repair: Repair {
                is_recovering: self.ca_state >= CA_RECOVERY,
                timeout_ns: u64::from(self.total_rto_time_ms) * NANOSECONDS_PER_MILLISECOND,
                timeout_recoveries: self.total_rto_recoveries.into(),
            },
        }
    }

    fn cwnd_bytes(&self) -> u64 {
        u64::from(self.snd_cwnd_segments) * u64::from(self.snd_mss)
    }

    /// Returns whether the peer has answered the SYN; before that, no options have been negotiated.
    pub(crate) fn has_connected(&self) -> bool {
        self.state != SYN_SENT
    }

    /// Returns whether the peer has sent no data so far.
    pub(crate) fn has_received_nothing(&self) -> bool {
        self.bytes_received == 0
    }

    /// Returns a `TCP_INFO` with this state of `include/net/tcp_states.h`, and zeros otherwise.
    #[cfg(test)]
    pub(crate) fn in_state(state: u8) -> Self {
        Self { state, ..Self::default() }
    }

    /// Checks that both ends negotiated the job's options when they connected.
    ///
    /// # Errors
    /// An option is in use that should not be, or the other way round.
    pub(crate) fn check_options(&self, wanted: &TcpOptions) -> Result<()> {
        let options = [
            ("SACK", TCPI_OPT_SACK, wanted.sack, "tcp_sack"),
            ("timestamps", TCPI_OPT_TIMESTAMPS, wanted.timestamps, "tcp_timestamps"),
            ("window scaling", TCPI_OPT_WSCALE, wanted.window_scaling, "tcp_window_scaling"),
        ];
        for (name, bit, wanted, sysctl) in options {
            let negotiated = self.options & bit != 0;
            ensure!(
                negotiated == wanted,
                "the job says {name} = {wanted}, but the connection was set up with {negotiated}: \
                 look at the sysctl net.ipv4.{sysctl} of both ends"
            );
        }
        Ok(())
    }

    /// Returns whether data was sent with the SYN and acknowledged with it (Fast Open; `TCPI_OPT_SYN_DATA`).
    pub(crate) fn has_syn_data(&self) -> bool {
        const SYN_DATA: u8 = 32;
        self.options & SYN_DATA != 0
    }

    /// Returns the counters in the units of a run's record.
    pub fn stats(&self) -> Stats {
        Stats {
            retransmitted_packets: Some(self.total_retrans.into()),
            smoothed_rtt_ns: measured_ns(self.rtt_us, 0),
            min_rtt_ns: measured_ns(self.min_rtt_us, u32::MAX),
            congestion_window_bytes: Some(self.cwnd_bytes()),
            busy_ns: Some(self.busy_time_us * NANOSECONDS_PER_MICROSECOND),
            receive_window_limited_ns: Some(self.rwnd_limited_us * NANOSECONDS_PER_MICROSECOND),
            send_buffer_limited_ns: Some(self.sndbuf_limited_us * NANOSECONDS_PER_MICROSECOND),
        }
    }
}

const TCP_INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// `TCP_SYN_SENT` of `include/net/tcp_states.h`.
const SYN_SENT: u8 = 2;

/// A bit of `tcpi_options`, which the SYN and the SYN-ACK have negotiated: timestamps (RFC 7323).
const TCPI_OPT_TIMESTAMPS: u8 = 1;
const TCPI_OPT_SACK: u8 = 2;
const TCPI_OPT_WSCALE: u8 = 4;

const NANOSECONDS_PER_MICROSECOND: u64 = 1000;
const NANOSECONDS_PER_MILLISECOND: u64 = 1_000_000;

/// `TCP_CA_Recovery` of `include/uapi/linux/tcp.h`; the next state is `TCP_CA_Loss`, recovery after a time-out.
const CA_RECOVERY: u8 = 3;

fn measured_ns(time_us: u32, unmeasured: u32) -> Option<u64> {
    (time_us != unmeasured).then(|| u64::from(time_us) * NANOSECONDS_PER_MICROSECOND)
}

#[cfg(test)]
mod tests {
    use netwarp_wire::job::Recovery;

    use super::*;

    #[test]
    fn fields_lie_where_the_kernel_puts_them() {
        // Offsets of include/uapi/linux/tcp.h, as pahole prints them.
        assert_eq!(offset_of!(TcpInfo, snd_mss), 16);
        assert_eq!(offset_of!(TcpInfo, rtt_us), 68);
        assert_eq!(offset_of!(TcpInfo, total_retrans), 100);
        assert_eq!(offset_of!(TcpInfo, min_rtt_us), 148);
        assert_eq!(offset_of!(TcpInfo, busy_time_us), 168);
        assert_eq!(offset_of!(TcpInfo, total_rto_recoveries), 242);
        assert_eq!(size_of::<TcpInfo>(), 248);
    }

    #[test]
    fn what_an_older_kernel_does_not_report_is_none_and_what_it_reports_is_read() {
        let mut bytes = [0; 248];
        bytes[1] = CA_RECOVERY;
        bytes[242] = 2;
        bytes[244] = 200;
        let read = |length: usize| TcpInfo::from_bytes(&bytes[..length]).map(|info| info.state().repair);
        let seen = Repair { is_recovering: true, timeout_ns: 200_000_000, timeout_recoveries: 2 };
        assert_eq!(read(248), Some(seen));
        assert_eq!(read(192), Some(Repair { timeout_ns: 0, timeout_recoveries: 0, ..seen }));
        assert_eq!(read(191), None);
    }

    #[test]
    fn options_that_did_not_take_effect_are_told() {
        let info = TcpInfo { options: TCPI_OPT_SACK | TCPI_OPT_WSCALE, ..TcpInfo::default() };
        let wanted = TcpOptions {
            sack: true,
            timestamps: false,
            window_scaling: true,
            recovery: Recovery::Rack,
            accurate_ecn: false,
            tcp_rto_min_ns: None,
            tso_packets: None,
            hystart: None,
            mtu_probing: false,
        };
        info.check_options(&wanted).unwrap();
        let cases = [
            (TcpOptions { timestamps: true, ..wanted.clone() }, "net.ipv4.tcp_timestamps"),
            (TcpOptions { sack: false, ..wanted.clone() }, "net.ipv4.tcp_sack"),
            (TcpOptions { window_scaling: false, ..wanted }, "net.ipv4.tcp_window_scaling"),
        ];
        for (wanted, expected) in cases {
            let told = info.check_options(&wanted).unwrap_err().to_string();
            assert!(told.contains(expected), "{told}");
        }
    }

    #[test]
    fn what_was_not_measured_is_none() {
        let stats = TcpInfo { min_rtt_us: u32::MAX, ..TcpInfo::default() }.stats();
        assert_eq!((stats.smoothed_rtt_ns, stats.min_rtt_ns), (None, None));
        let stats = TcpInfo { rtt_us: 100_241, min_rtt_us: 100_000, ..TcpInfo::default() }.stats();
        assert_eq!((stats.smoothed_rtt_ns, stats.min_rtt_ns), (Some(100_241_000), Some(100_000_000)));
    }
}
