//! Converts datagrams to and from the form of `sendmsg(2)` and `recvmsg(2)`: addresses, contents and control messages.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use libc::{c_int, in_pktinfo, in6_pktinfo, iovec, msghdr, sockaddr_in, sockaddr_in6, timespec};
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit};
use socket2::SockAddr;

/// The size of a control message's header, and so the offset of its contents.
const HEADER_BYTES: usize = size_of::<libc::cmsghdr>();
/// The multiple to which a control message's length is rounded up (`CMSG_ALIGN`).
const ALIGNMENT: usize = align_of::<usize>();

/// The size of the buffer for a datagram's control messages, in bytes: four messages, each with at most a `timespec`.
pub(crate) const CONTROL_BYTES: usize = 4 * (HEADER_BYTES + size_of::<timespec>());

/// The size of the buffer for an address, in bytes.
pub(crate) const NAME_BYTES: usize = size_of::<sockaddr_in6>();

/// A copy of a datagram to send, or of several datagrams of the same size to the same address.
#[derive(Debug, Clone)]
pub struct Copied {
    destination: SocketAddr,
    ecn: Option<EcnCodepoint>,
    contents: Vec<u8>,
    /// The size of each datagram except the last, in bytes; `None` if there is only one.
    segment_size: Option<usize>,
    src_ip: Option<IpAddr>,
}

impl Copied {
    /// Returns all of the copied datagrams, to be sent by one call.
    pub fn whole(&self) -> Transmit<'_> {
        let Self { destination, ecn, segment_size, src_ip, .. } = *self;
        Transmit { destination, ecn, contents: &self.contents, segment_size, src_ip }
    }

    /// Returns the copied datagrams one by one.
    pub fn datagrams(&self) -> impl Iterator<Item = Transmit<'_>> {
        let each = self.segment_size.unwrap_or(self.contents.len()).max(1);
        self.contents.chunks(each).map(|contents| Transmit { contents, segment_size: None, ..self.whole() })
    }
}

impl From<&Transmit<'_>> for Copied {
    fn from(transmit: &Transmit<'_>) -> Self {
        let Transmit { destination, ecn, src_ip, .. } = *transmit;
        let segment_size = transmit.segment_size.filter(|size| *size < transmit.contents.len());
        Self { destination, ecn, contents: transmit.contents.to_vec(), segment_size, src_ip }
    }
}

/// A datagram to send, with the header that the kernel needs. The header points into this value, so the value must not
/// be moved until the kernel is done with it.
pub(crate) struct Outgoing {
    pub copied: Copied,
    /// The number, in the ring, of the socket that sends the datagram.
    pub socket: u32,
    header: msghdr,
    part: iovec,
    address: SockAddr,
    control: Control,
}

impl Outgoing {
    /// Creates a datagram to send on a socket of the ring.
    pub(crate) fn new(socket: u32, copied: Copied) -> Box<Self> {
        // SAFETY: all-zero is a valid header and a valid, empty part.
        let (header, part) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        let address = copied.destination.into();
        Box::new(Self { copied, socket, header, part, address, control: Control::default() })
    }

    /// Replaces the datagram by another one, reusing its memory.
    pub(crate) fn refill(&mut self, socket: u32, transmit: &Transmit<'_>) {
        let mut contents = std::mem::take(&mut self.copied.contents);
        contents.clear();
        contents.extend_from_slice(transmit.contents);
        if self.copied.destination != transmit.destination {
            self.address = transmit.destination.into();
        }
        let Transmit { destination, ecn, src_ip, .. } = *transmit;
        let segment_size = transmit.segment_size.filter(|size| *size < transmit.contents.len());
        self.copied = Copied { destination, ecn, contents, segment_size, src_ip };
        self.socket = socket;
    }

    /// Returns the header for `sendmsg(2)`. It is valid until this value is moved or changed.
    pub(crate) fn header(&mut self) -> *const msghdr {
        let Copied { destination, ecn, contents, segment_size, src_ip } = &mut self.copied;
        self.control.clear();
        let ecn = ecn.map_or(0, |ecn| ecn as c_int);
        let (level, kind) = match destination {
            SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TOS),
            SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
        };
        self.control.push(level, kind, &ecn.to_ne_bytes());
        if let Some(size) = segment_size {
            self.control.push(libc::SOL_UDP, libc::UDP_SEGMENT, &(*size as u16).to_ne_bytes());
        }
        match src_ip {
            Some(IpAddr::V4(source)) => {
                // An in_pktinfo: no interface, the source, no destination.
                let info = [[0; 4], source.octets(), [0; 4]].concat();
                self.control.push(libc::IPPROTO_IP, libc::IP_PKTINFO, &info);
            }
            Some(IpAddr::V6(source)) => {
                // An in6_pktinfo: the source, no interface.
                let info = [&source.octets()[..], &[0; 4]].concat();
                self.control.push(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &info);
            }
            None => {}
        }
        self.part = iovec { iov_base: contents.as_mut_ptr().cast(), iov_len: contents.len() };
        self.header.msg_name = self.address.as_ptr().cast_mut().cast();
        self.header.msg_namelen = self.address.len();
        self.header.msg_iov = &raw mut self.part;
        self.header.msg_iovlen = 1;
        self.header.msg_control = self.control.bytes.as_mut_ptr().cast();
        self.header.msg_controllen = self.control.length;
        &raw const self.header
    }
}

/// Control messages, written one after another.
#[derive(Debug)]
#[repr(C, align(8))]
struct Control {
    bytes: [u8; CONTROL_BYTES],
    length: usize,
}

impl Default for Control {
    fn default() -> Self {
        Self { bytes: [0; CONTROL_BYTES], length: 0 }
    }
}

impl Control {
    fn clear(&mut self) {
        *self = Self::default();
    }

    fn push(&mut self, level: c_int, kind: c_int, contents: &[u8]) {
        let begin = self.length;
        let mut write = |at: usize, bytes: &[u8]| self.bytes[begin + at..][..bytes.len()].copy_from_slice(bytes);
        let length = HEADER_BYTES + contents.len();
        write(0, &length.to_ne_bytes());
        write(size_of::<usize>(), &level.to_ne_bytes());
        write(size_of::<usize>() + size_of::<c_int>(), &kind.to_ne_bytes());
        write(HEADER_BYTES, contents);
        self.length = begin + length.next_multiple_of(ALIGNMENT);
    }
}

/// The metadata of a received datagram.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received {
    /// The metadata in quinn's form.
    pub meta: RecvMeta,
    /// When the datagram arrived, in nanoseconds of `CLOCK_REALTIME`, if the kernel has time-stamped it.
    pub stamp_ns: Option<u64>,
}

impl Received {
    /// Decodes the metadata that the kernel returns with a datagram; `None` if the datagram's source is not an IPv4
    /// address.
    pub(crate) fn read(name: &[u8], mut control: &[u8], payload_bytes: usize) -> Option<Self> {
        let mut meta =
            RecvMeta { addr: address(name)?, len: payload_bytes, stride: payload_bytes, ..RecvMeta::default() };
        let mut stamp_ns = None;
        while let Some((level, kind, contents, rest)) = next_message(control) {
            match (level, kind) {
                // IPv4 has one byte, IPv6 an int; the ECN bits are the least significant ones of both.
                (libc::IPPROTO_IP, libc::IP_TOS) | (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    meta.ecn = contents.first().and_then(|tos| EcnCodepoint::from_bits(*tos))
                }
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    let destination = contents.get(std::mem::offset_of!(in_pktinfo, ipi_addr)..).and_then(first);
                    meta.dst_ip = destination.map(|octets: [u8; 4]| Ipv4Addr::from(octets).into());
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    let destination = contents.get(std::mem::offset_of!(in6_pktinfo, ipi6_addr)..).and_then(first);
                    meta.dst_ip = destination.map(|octets: [u8; 16]| Ipv6Addr::from(octets).into());
                }
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => stamp_ns = time_ns(contents),
                _ => {}
            }
            control = rest;
        }
        Some(Self { meta, stamp_ns })
    }
}

fn address(name: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes(first(name)?);
    // The port is at the same offset in both structures.
    let port = u16::from_be_bytes(first(name.get(std::mem::offset_of!(sockaddr_in, sin_port)..)?)?);
    let address: IpAddr = match c_int::from(family) {
        libc::AF_INET => first::<4>(name.get(std::mem::offset_of!(sockaddr_in, sin_addr)..)?)?.into(),
        libc::AF_INET6 => first::<16>(name.get(std::mem::offset_of!(sockaddr_in6, sin6_addr)..)?)?.into(),
        _ => return None,
    };
    Some(SocketAddr::new(address, port))
}

/// Returns level, type and contents of the first control message, and the bytes of the remaining ones.
fn next_message(control: &[u8]) -> Option<(c_int, c_int, &[u8], &[u8])> {
    let length = usize::from_ne_bytes(first(control)?);
    let level = c_int::from_ne_bytes(first(control.get(size_of::<usize>()..)?)?);
    let kind = c_int::from_ne_bytes(first(control.get(size_of::<usize>() + size_of::<c_int>()..)?)?);
    let contents = control.get(HEADER_BYTES..length)?;
    let rest = control.get(length.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
    Some((level, kind, contents, rest))
}

fn time_ns(contents: &[u8]) -> Option<u64> {
    let seconds = i64::from_ne_bytes(first(contents)?);
    let rest_ns = i64::from_ne_bytes(first(contents.get(size_of::<i64>()..)?)?);
    let time = Duration::new(seconds.try_into().ok()?, rest_ns.try_into().ok()?);
    u64::try_from(time.as_nanos()).ok()
}

fn first<const COUNT: usize>(bytes: &[u8]) -> Option<[u8; COUNT]> {
    bytes.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_beside_a_datagram_is_read_again() {
        let mut control = Control::default();
        control.push(libc::IPPROTO_IP, libc::IP_TOS, &[EcnCodepoint::Ce as u8]);
        control.push(libc::IPPROTO_IP, libc::IP_PKTINFO, &[0, 0, 0, 0, 10, 0, 0, 9, 10, 0, 2, 1]);
        let time: Vec<u8> = [3_i64, 7].iter().flat_map(|part| part.to_ne_bytes()).collect();
        control.push(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &time);
        let name = [&libc::AF_INET.to_ne_bytes()[..2], &4433_u16.to_be_bytes(), &[10, 0, 1, 1]].concat();
        let Received { meta, stamp_ns } = Received::read(&name, &control.bytes[..control.length], 1472).unwrap();
        assert_eq!((meta.addr, meta.dst_ip), ("10.0.1.1:4433".parse().unwrap(), Some("10.0.2.1".parse().unwrap())));
        assert_eq!((meta.len, meta.stride, meta.ecn), (1472, 1472, Some(EcnCodepoint::Ce)));
        assert_eq!(stamp_ns, Some(3_000_000_007));
    }

    #[test]
    fn what_is_written_beside_a_datagram_over_ipv6_is_read_again() {
        let [peer, own]: [Ipv6Addr; 2] = ["2001:db8:0:1::1", "2001:db8:0:2::1"].map(|each| each.parse().unwrap());
        let contents = [0; 10].to_vec();
        let copied = Copied {
            destination: SocketAddr::new(peer.into(), 4433),
            ecn: Some(EcnCodepoint::Ce),
            contents,
            segment_size: None,
            src_ip: Some(own.into()),
        };
        let mut outgoing = Outgoing::new(0, copied);
        outgoing.header();
        let control = &outgoing.control;
        let name = [&libc::AF_INET6.to_ne_bytes()[..2], &4433_u16.to_be_bytes(), &[0; 4], &peer.octets(), &[0; 4]];
        let received = Received::read(&name.concat(), &control.bytes[..control.length], 10).unwrap();
        let meta = received.meta;
        assert_eq!((meta.addr, meta.dst_ip), (SocketAddr::new(peer.into(), 4433), Some(own.into())));
        assert_eq!(meta.ecn, Some(EcnCodepoint::Ce));
    }

    #[test]
    fn what_is_cut_off_is_not_read() {
        let name = [&libc::AF_INET.to_ne_bytes()[..2], &4433_u16.to_be_bytes(), &[10, 0, 1, 1]].concat();
        assert!(Received::read(&name[..6], &[], 1).is_none());
        let cut = [20_usize.to_ne_bytes(), [0; 8]].concat();
        assert_eq!(Received::read(&name, &cut, 1).unwrap().stamp_ns, None);
    }

    #[test]
    fn several_datagrams_of_one_size_come_apart() {
        let destination = "10.0.2.1:4433".parse().unwrap();
        let transmit = Transmit { destination, ecn: None, contents: b"aabbc", segment_size: Some(2), src_ip: None };
        let copied = Copied::from(&transmit);
        let contents: Vec<&[u8]> = copied.datagrams().map(|each| each.contents).collect();
        assert_eq!(contents, [&b"aa"[..], b"bb", b"c"]);
    }
}
