//! The parts of the kernel's SCTP socket interface (`include/uapi/linux/sctp.h`; RFC 6458) that `sctp` uses.

use std::io;
use std::mem::offset_of;
use std::net::SocketAddr;
use std::os::fd::RawFd;

use libc::{c_int, c_void, cmsghdr, msghdr};
use socket2::SockAddr;

use crate::system_call::{Plain, retry, size};

/// The level of SCTP's socket options.
pub(super) const SOL_SCTP: c_int = 132;
/// Socket option: the bounds of the retransmission time-out; an [`RtoInfo`].
pub(super) const SCTP_RTOINFO: c_int = 0;
/// Socket option: how associations are set up; an [`InitMessage`].
pub(super) const SCTP_INITMSG: c_int = 2;
/// Socket option: asks the peer to send to an address of this end (RFC 5061, 4.2.4); a [`SetPrimary`].
pub(super) const SCTP_SET_PEER_PRIMARY_ADDR: c_int = 5;
/// Socket option: adds addresses, packed one after the other (`SCTP_SOCKOPT_BINDX_ADD`).
pub(super) const SCTP_BINDX_ADD: c_int = 100;
/// Socket option: removes addresses (`SCTP_SOCKOPT_BINDX_REM`).
pub(super) const SCTP_BINDX_REMOVE: c_int = 101;
/// Socket option: switches Nagle's algorithm off; an int.
pub(super) const SCTP_NODELAY: c_int = 3;
/// Socket option: the largest fragment of a message; an [`AssociationValue`].
pub(super) const SCTP_MAXSEG: c_int = 13;
/// Socket option: the state of the association; an [`AssociationStatus`].
pub(super) const SCTP_STATUS: c_int = 14;
/// Socket option: the association's counters; an [`AssociationStats`].
pub(super) const SCTP_GET_ASSOC_STATS: c_int = 112;

/// Socket option: the scheduler that chooses the stream whose message is sent next; an [`AssociationValue`].
pub(super) const SCTP_STREAM_SCHEDULER: c_int = 123;
/// Round robin between streams (`SCTP_SS_RR`; RFC 8260, section 3.2).
pub(super) const ROUND_ROBIN: u32 = 2;
/// Socket option: reports with each message the stream on which it arrived; an int.
pub(super) const SCTP_RECVRCVINFO: c_int = 32;

/// Socket option: whether the peer supports partial reliability (PR-SCTP, RFC 3758); an [`AssociationValue`].
pub(super) const SCTP_PR_SUPPORTED: c_int = 113;
/// Socket option: subscribes to a kind of event; an [`Event`]. Events are received like messages.
pub(super) const SCTP_EVENT: c_int = 127;

/// The event that all data has been acknowledged or abandoned (RFC 6458, section 6.1.9).
const SCTP_SENDER_DRY_EVENT: u16 = (1 << 15) + 9;
/// The flag of a received message that is an event.
const MSG_NOTIFICATION: c_int = 0x8000;

/// `SCTP_ESTABLISHED` of `enum sctp_sstat_state`.
const SCTP_ESTABLISHED: i32 = 4;

/// The type of the control message that carries [`ReceiveInfo`].
const SCTP_RCVINFO: c_int = 3;

/// The type of the control message that carries [`SendInfo`].
const SCTP_SNDINFO: c_int = 2;

/// The type of the control message that carries [`PartialReliability`].
const SCTP_PRINFO: c_int = 5;

/// The policy of [`PartialReliability`] that abandons messages after a time.
const SCTP_PR_SCTP_TTL: u16 = 0x10;
/// The policy of [`PartialReliability`] that abandons messages after a number of retransmissions.
const SCTP_PR_SCTP_RTX: u16 = 0x20;
/// The flag of [`SendInfo`] for unordered delivery.
const SCTP_UNORDERED: u16 = 1;

/// `struct sctp_rtoinfo`, in milliseconds. A zero leaves a value unchanged.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RtoInfo {
    /// Ignored for one-to-one sockets when set; filled by the kernel when read.
    pub association: i32,
    /// The first time-out (RTO.Initial), in milliseconds.
    pub initial_ms: u32,
    /// The longest time-out (RTO.Max), in milliseconds.
    pub max_ms: u32,
    /// The shortest time-out (RTO.Min), in milliseconds.
    pub min_ms: u32,
}

/// `struct sctp_initmsg`. A zero leaves the kernel's default.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InitMessage {
    /// The number of streams on which this end wants to send.
    pub outbound_streams: u16,
    /// The number of streams on which the peer may send.
    pub inbound_streams: u16,
    /// How many INITs are sent before giving up.
    pub attempts: u16,
    /// The longest time between INITs, in milliseconds.
    pub timeout_ms: u16,
}

/// `struct sctp_assoc_value`: the value of an association's option.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct AssociationValue {
    /// Ignored for one-to-one sockets.
    pub association: i32,
    /// The option's value.
    pub value: u32,
}

/// `struct sctp_sndinfo`: how a message is sent.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct SendInfo {
    stream: u16,
    flags: u16,
    payload_protocol: u32,
    context: u32,
    association: i32,
}

/// `struct sctp_rcvinfo`: how a message was received.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct ReceiveInfo {
    stream: u16,
    unread_message: [u16; 2],
    unread_numbers: [u32; 5],
}

/// `struct sctp_prinfo`: when a message is abandoned (RFC 7496, section 4). The default is never.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PartialReliability {
    policy: u16,
    padding: u16,
    value: u32,
}

impl PartialReliability {
    /// Abandons messages `lifetime_ms` after they were passed to the kernel.
    pub(super) fn lifetime(lifetime_ms: u32) -> Self {
        Self { policy: SCTP_PR_SCTP_TTL, value: lifetime_ms, ..Self::default() }
    }

    /// Abandons messages after this many retransmissions.
    pub(super) fn max_retransmissions(repetitions: u32) -> Self {
        Self { policy: SCTP_PR_SCTP_RTX, value: repetitions, ..Self::default() }
    }
}

/// The control messages (`cmsg`) that say how messages are sent (RFC 6458, sections 5.3.4 and 5.3.7).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct SendControl {
    header: cmsghdr,
    info: SendInfo,
    partial_header: cmsghdr,
    partial: PartialReliability,
}

impl SendControl {
    /// Creates control messages for sending on this stream of a one-to-one socket. Unordered messages may overtake
    /// others of their stream.
    pub(super) fn on_stream(stream: u16, unordered: bool) -> Self {
        let info = SendInfo { stream, flags: if unordered { SCTP_UNORDERED } else { 0 }, ..SendInfo::default() };
        let (header, partial_header) =
            (control_header::<SendInfo>(SCTP_SNDINFO), control_header::<PartialReliability>(SCTP_PRINFO));
        Self { header, info, partial_header, partial: PartialReliability::default() }
    }

    /// Adds partial reliability.
    pub(super) fn with(self, partial: PartialReliability) -> Self {
        Self { partial, ..self }
    }

    /// Returns how many bytes of control messages are passed to the kernel: without partial reliability if it is not
    /// used.
    pub(super) fn length_bytes(&self) -> usize {
        if self.partial.policy == 0 { offset_of!(Self, partial_header) } else { size_of::<Self>() }
    }
}

fn control_header<T>(kind: c_int) -> cmsghdr {
    // SAFETY: CMSG_LEN only computes.
    let cmsg_len = unsafe { libc::CMSG_LEN(size_of::<T>() as u32) } as usize;
    cmsghdr { cmsg_len, cmsg_level: libc::IPPROTO_SCTP, cmsg_type: kind }
}

/// `struct sctp_event`: switches the notifications of an event on or off.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    /// Ignored for one-to-one sockets.
    association: i32,
    kind: u16,
    is_wanted: u8,
    padding: u8,
}

impl Event {
    /// Switches on or off the event that all data has been acknowledged or abandoned. If none is outstanding, the event
    /// comes at once.
    pub(super) fn sender_dry(is_wanted: bool) -> Self {
        Self { association: 0, kind: SCTP_SENDER_DRY_EVENT, is_wanted: is_wanted.into(), padding: 0 }
    }
}

/// The size of a `struct sockaddr_storage`, in 32-bit words.
const ADDRESS_WORDS: usize = 32;

/// `struct sctp_setpeerprim`: asks the peer to send to an address. It is packed to 32-bit words.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct SetPrimary {
    association: i32,
    address: [u32; ADDRESS_WORDS],
}

impl SetPrimary {
    /// Creates the request for an address of a one-to-one socket, which has only one association.
    pub(super) fn new(address: SocketAddr) -> Self {
        let mut words = [0; ADDRESS_WORDS];
        for (word, bytes) in words.iter_mut().zip(packed(address).as_chunks().0) {
            *word = u32::from_ne_bytes(*bytes);
        }
        Self { association: 0, address: words }
    }
}

/// Returns an address as the bytes of a `sockaddr_in` or `sockaddr_in6`.
pub(super) fn packed(address: SocketAddr) -> Vec<u8> {
    let address = SockAddr::from(address);
    // SAFETY: the storage is valid for reads of its length, and its bytes are initialised.
    unsafe { std::slice::from_raw_parts(address.as_ptr().cast::<u8>(), address.len() as usize) }.to_vec()
}

/// `struct sctp_paddrinfo`: the state of one of the peer's addresses. It is packed to 32-bit words.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PeerAddress {
    association: i32,
    address: [u32; ADDRESS_WORDS],
    state: i32,
    /// The congestion window, in bytes.
    pub congestion_window_bytes: u32,
    /// The smoothed RTT; 0 before the first measurement. The kernel returns it in ticks (`transport->srtt` in
    /// `net/sctp/socket.c`), although RFC 6458 says milliseconds.
    pub smoothed_rtt_ticks: u32,
    rto_ms: u32,
    mtu_bytes: u32,
}

/// `struct sctp_status`: the state of an association.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AssociationStatus {
    association: i32,
    state: i32,
    peer_window_bytes: u32,
    unacknowledged_chunks: u16,
    pending_chunks: u16,
    /// The number of streams on which the peer may send.
    pub inbound_streams: u16,
    /// The number of streams on which this end may send.
    pub outbound_streams: u16,
    /// The largest piece of a message that fits into one packet, in bytes.
    pub fragmentation_point_bytes: u32,
    /// The peer's address to which data is sent.
    pub primary: PeerAddress,
}

impl AssociationStatus {
    /// Returns whether the association is established and neither end has begun to shut it down.
    pub(super) fn is_established(&self) -> bool {
        self.state == SCTP_ESTABLISHED
    }
}

/// `struct sctp_assoc_stats`: the counters of an association.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AssociationStats {
    association: i32,
    /// Padding: the kernel aligns the address to eight bytes.
    padding: u32,
    address: [u32; ADDRESS_WORDS],
    /// Counters that are not read: the largest RTO, SACKs and packets.
    unread_packets: [u64; 5],
    /// The number of DATA chunks retransmitted.
    pub retransmitted_chunks: u64,
    unread_chunks: [u64; 9],
}

// SAFETY: repr(C), integers only.
unsafe impl Plain for RtoInfo {}
// SAFETY: repr(C), integers only.
unsafe impl Plain for AssociationValue {}
// SAFETY: repr(C), integers and arrays of them, no padding that is read.
unsafe impl Plain for AssociationStatus {}
// SAFETY: as above.
unsafe impl Plain for AssociationStats {}

/// The result of one `recvmsg(2)`: a message, a part of one, or an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// The number of bytes; 0 at the end of the association.
    pub length: usize,
    /// Whether these are the last bytes of the message (`MSG_EOR`).
    pub is_last: bool,
    /// Whether the piece is an event that the socket has subscribed to.
    pub is_event: bool,
    /// The stream on which the message arrived; `None` unless the socket has set `SCTP_RECVRCVINFO`.
    pub stream: Option<u16>,
}

/// Receives the next bytes of a message (`recvmsg(2)`).
pub(super) fn receive_message(socket: RawFd, buffer: &mut [u8]) -> io::Result<Piece> {
    const SPACE: usize = control_space(size_of::<ReceiveInfo>());
    #[repr(align(8))]
    struct Control([u8; SPACE]);
    let mut control = Control([0; SPACE]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: all-zero is a valid msghdr.
    let mut header: msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast::<c_void>();
    header.msg_controllen = SPACE;
    // SAFETY: the one part and `control` are valid for writes of their lengths and outlive the call; no name is asked
    // for.
    let length = retry(|| size(unsafe { libc::recvmsg(socket, &mut header, 0) }))?;
    // SAFETY: the kernel filled `control` with whole control messages and set their total length.
    let stream = unsafe {
        let first = libc::CMSG_FIRSTHDR(&header);
        let is_info = !first.is_null()
            && (*first).cmsg_level == libc::IPPROTO_SCTP
            && (*first).cmsg_type == SCTP_RCVINFO
            && (*first).cmsg_len >= libc::CMSG_LEN(size_of::<ReceiveInfo>() as u32) as usize;
        is_info.then(|| libc::CMSG_DATA(first).cast::<ReceiveInfo>().read_unaligned().stream)
    };
    let has = |flag| header.msg_flags & flag != 0;
    Ok(Piece { length, is_last: has(libc::MSG_EOR), is_event: has(MSG_NOTIFICATION), stream })
}

const fn control_space(data_bytes: usize) -> usize {
    // SAFETY: CMSG_SPACE only computes.
    unsafe { libc::CMSG_SPACE(data_bytes as u32) as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_packed_as_the_kernel_reads_them() {
        let long = super::packed("[2001:db8::1]:4433".parse().expect("an address"));
        assert_eq!((long.len(), &long[..4], &long[8..12]), (28, &[10, 0, 0x11, 0x51][..], &[0x20, 1, 0xd, 0xb8][..]));
        let packed = packed("10.1.2.3:4433".parse().expect("an address"));
        assert_eq!(packed, [2, 0, 0x11, 0x51, 10, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_primary_address_is_packed_as_the_kernel_reads_it() {
        let primary = SetPrimary::new("10.1.2.3:4433".parse().expect("an address"));
        let bytes: Vec<u8> = primary.address[..2].iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(bytes[..2], (libc::AF_INET as u16).to_ne_bytes());
        assert_eq!(bytes[2..], [0x11, 0x51, 10, 1, 2, 3]);
        assert_eq!(size_of::<SetPrimary>(), 132);
    }

    #[test]
    fn fields_lie_where_the_kernel_puts_them() {
        // Sizes as a C program that includes linux/sctp.h prints them.
        assert_eq!((size_of::<InitMessage>(), size_of::<SendInfo>(), size_of::<AssociationValue>()), (8, 16, 8));
        assert_eq!(size_of::<ReceiveInfo>(), 28);
        // The results of CMSG_SPACE and CMSG_LEN for its control messages.
        let plain = SendControl::on_stream(0, false);
        assert_eq!((plain.length_bytes(), offset_of!(SendControl, info)), (control_space(16), control_space(0)));
        let partial = plain.with(PartialReliability::lifetime(100));
        assert_eq!((size_of::<PartialReliability>(), size_of::<Event>()), (8, 8));
        assert_eq!(partial.length_bytes(), control_space(16) + control_space(8));
        assert_eq!((size_of::<RtoInfo>(), offset_of!(RtoInfo, max_ms)), (16, 8));
        assert_eq!((size_of::<PeerAddress>(), offset_of!(PeerAddress, congestion_window_bytes)), (152, 136));
        assert_eq!(offset_of!(PeerAddress, smoothed_rtt_ticks), 140);
        assert_eq!(size_of::<AssociationStatus>(), 176);
        assert_eq!(offset_of!(AssociationStatus, fragmentation_point_bytes), 20);
        assert_eq!(offset_of!(AssociationStatus, primary), 24);
        assert_eq!(offset_of!(AssociationStats, unread_packets), 136);
        assert_eq!((size_of::<AssociationStats>(), offset_of!(AssociationStats, retransmitted_chunks)), (256, 176));
    }
}
