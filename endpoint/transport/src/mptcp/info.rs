//! `MPTCP_INFO` and `MPTCP_TCPINFO`: what the kernel reports about an MPTCP connection and its subflows
//! (`include/uapi/linux/mptcp.h`).

use libc::c_int;
use netwarp_wire::record::Stats;

use crate::error::{Context, Result, ensure};
use crate::socket::Socket;
use crate::system_call::Plain;
use crate::tcp::info::TcpInfo;

const SOL_MPTCP: c_int = 284;
const MPTCP_INFO: c_int = 1;
const MPTCP_TCPINFO: c_int = 2;
const MPTCP_INFO_FLAG_FALLBACK: u32 = 1;

/// The largest number of subflows: the first and as many more as the path manager allows (`MPTCP_PM_SUBFLOWS_MAX`).
const SUBFLOWS_MAX: usize = 9;

/// The beginning of `struct mptcp_info`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct MptcpInfo {
    counts_and_limits: [u8; 6],
    flags: u32,
    token: u32,
    /// The next sequence number to write, the oldest unacknowledged one, and the next one to receive.
    sequence: [u64; 3],
    local_addresses_and_checksum: [u8; 3],
    retransmits: u32,
    /// The numbers of bytes retransmitted, sent and received.
    moved_bytes: [u64; 3],
    acknowledged_bytes: u64,
}

/// `struct mptcp_subflow_data`.
#[repr(C, align(8))]
#[derive(Debug, Clone, Copy, Default)]
struct SubflowData {
    header_bytes: u32,
    subflows: u32,
    kernel_bytes: u32,
    element_bytes: u32,
}

/// The buffer that `MPTCP_TCPINFO` fills: one structure follows the other, each as long as `data.element_bytes` says.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct SubflowInfos {
    data: SubflowData,
    infos: [u8; SUBFLOWS_MAX * size_of::<TcpInfo>()],
}

// SAFETY: repr(C), integers and arrays of them.
unsafe impl Plain for MptcpInfo {}
// SAFETY: as above.
unsafe impl Plain for SubflowInfos {}

/// Returns whether a connection has fallen back to plain TCP (RFC 8684, 3.7), as is common on a lossy path. A server
/// takes the client for one without MPTCP if the first segment in order after the SYN carries no MPTCP option
/// (`check_fully_established` in `net/mptcp/options.c`), and a client gives MPTCP up after two unanswered SYNs
/// (`net.mptcp.syn_retrans_before_tcp_fallback`).
pub(super) fn has_fallen_back(socket: &Socket) -> bool {
    // After a fallback the socket passes options on to TCP, which does not have this one. If the socket itself is
    // faulty, the next read will fail.
    let info = socket.get(SOL_MPTCP, MPTCP_INFO, MptcpInfo::default(), "MPTCP_INFO");
    info.map_or(true, |info| info.flags & MPTCP_INFO_FLAG_FALLBACK != 0)
}

/// Returns whether the connection is fully established: the peer has acknowledged data. Before that no subflow may join
/// (RFC 8684, 3.1), and a connection that loses its only address is lost.
pub(super) fn is_fully_established(socket: &Socket) -> bool {
    let info = socket.get(SOL_MPTCP, MPTCP_INFO, MptcpInfo::default(), "MPTCP_INFO");
    info.is_ok_and(|info| info.acknowledged_bytes > 0)
}

/// Returns the connected subflows, the oldest first. A subflow that is still connecting when a short transfer ends has
/// carried nothing, and has not negotiated its options.
///
/// # Errors
/// As `getsockopt(2)`; the connection has no subflow left.
pub(super) fn subflows(socket: &Socket) -> Result<Vec<TcpInfo>> {
    let data = SubflowData {
        header_bytes: size_of::<SubflowData>() as u32,
        element_bytes: size_of::<TcpInfo>() as u32,
        ..SubflowData::default()
    };
    let requested = SubflowInfos { data, infos: [0; SUBFLOWS_MAX * size_of::<TcpInfo>()] };
    connected(&socket.get(SOL_MPTCP, MPTCP_TCPINFO, requested, "MPTCP_TCPINFO")?.tcp_infos()?)
}

impl SubflowInfos {
    /// Returns the `TCP_INFO` of each subflow. An older kernel's structures are shorter than [`TcpInfo`] and lie closer
    /// together (`mptcp_getsockopt_tcpinfo` in `net/mptcp/sockopt.c`).
    fn tcp_infos(&self) -> Result<Vec<TcpInfo>> {
        let (count, each_bytes) = (self.data.subflows as usize, self.data.element_bytes as usize);
        ensure!(count <= SUBFLOWS_MAX, "an MPTCP connection has {count} subflows, more than the kernel allows");
        let infos: Option<Vec<TcpInfo>> =
            self.infos.chunks_exact(each_bytes.max(1)).take(count).map(TcpInfo::from_bytes).collect();
        infos.with_context(|| format!("the kernel's TCP_INFO of an MPTCP subflow has {each_bytes} bytes, too few"))
    }
}

fn connected(subflows: &[TcpInfo]) -> Result<Vec<TcpInfo>> {
    let connected: Vec<TcpInfo> = subflows.iter().filter(|subflow| subflow.has_connected()).copied().collect();
    ensure!(!connected.is_empty(), "none of an MPTCP connection's {} subflows is connected", subflows.len());
    Ok(connected)
}

/// Combines the counters of all subflows into those of one connection: the sums of packets and windows, the smallest
/// minimum RTT, and the smoothed RTT of the oldest subflow. Times that can overlap are left out.
pub(super) fn stats(subflows: &[TcpInfo]) -> Stats {
    let each: Vec<Stats> = subflows.iter().map(TcpInfo::stats).collect();
    combined(&each)
}

fn combined(each: &[Stats]) -> Stats {
    let total = |read: fn(&Stats) -> Option<u64>| each.iter().map(read).sum::<Option<u64>>();
    Stats {
        retransmitted_packets: total(|stats| stats.retransmitted_packets),
        smoothed_rtt_ns: each.first().and_then(|stats| stats.smoothed_rtt_ns),
        min_rtt_ns: each.iter().filter_map(|stats| stats.min_rtt_ns).min(),
        congestion_window_bytes: total(|stats| stats.congestion_window_bytes),
        ..Stats::default()
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn fields_lie_where_the_kernel_puts_them() {
        assert_eq!((offset_of!(MptcpInfo, flags), size_of::<SubflowData>()), (8, 16));
        assert_eq!((offset_of!(MptcpInfo, retransmits), offset_of!(MptcpInfo, acknowledged_bytes)), (44, 72));
        assert_eq!(offset_of!(SubflowInfos, infos), 16);
    }

    #[test]
    fn subflows_lie_as_far_apart_as_the_kernels_structure_is_long() {
        for each_bytes in [232_usize, 248] {
            let data = SubflowData { subflows: 2, element_bytes: each_bytes as u32, ..SubflowData::default() };
            let mut answer = SubflowInfos { data, infos: [0; SUBFLOWS_MAX * size_of::<TcpInfo>()] };
            (answer.infos[0], answer.infos[each_bytes]) = (1, 2);
            let told: Vec<bool> = answer.tcp_infos().unwrap().iter().map(TcpInfo::has_connected).collect();
            assert_eq!(told, [true, false], "{each_bytes} bytes each");
        }
    }

    #[test]
    fn a_plain_tcp_socket_has_fallen_back() {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        assert!(has_fallen_back(&Socket::from(socket)));
    }

    #[test]
    fn a_subflow_that_is_still_connecting_is_left_out() {
        let (established, syn_sent) = (TcpInfo::in_state(1), TcpInfo::in_state(2));
        let left = connected(&[established, syn_sent]).unwrap();
        assert!(left.len() == 1 && left[0].has_connected());
        let message = connected(&[syn_sent]).unwrap_err().to_string();
        assert!(message.contains("none of an MPTCP connection's 1 subflows"), "{message}");
    }

    #[test]
    fn subflows_add_up() {
        let subflow = |packets, smoothed_rtt_ns, min_rtt_ns| Stats {
            retransmitted_packets: Some(packets),
            smoothed_rtt_ns: Some(smoothed_rtt_ns),
            min_rtt_ns,
            congestion_window_bytes: Some(14_480),
            busy_ns: Some(9),
            ..Stats::default()
        };
        let answer = combined(&[subflow(3, 50, Some(40)), subflow(4, 30, Some(20)), subflow(0, 10, None)]);
        let expected = Stats {
            retransmitted_packets: Some(7),
            smoothed_rtt_ns: Some(50),
            min_rtt_ns: Some(20),
            congestion_window_bytes: Some(3 * 14_480),
            ..Stats::default()
        };
        assert_eq!(answer, expected);
    }
}
