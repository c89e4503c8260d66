//! Writes pcapng (IETF, draft-ietf-opsawg-pcapng): section header, TLS secrets, interfaces, packets. Pure.
//!
//! Every block consists of its type, its length, a body padded to 32 bits, and its length again. Numbers are little
//! endian, as the byte-order magic in the section header says.

use std::io::{self, Write};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const DECRYPTION_SECRETS: u32 = 10;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// The secrets type of the NSS key log format: "TLSK".
const TLS_KEY_LOG: u32 = 0x544c_534b;

const UNKNOWN_LENGTH: u64 = u64::MAX;
const LINKTYPE_ETHERNET: u32 = 1;

const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;

/// The resolution of time stamps: 10⁻⁹ s.
const NANOSECONDS: u8 = 9;

/// The direction in which a packet passed its interface: bits 0 and 1 of `epb_flags`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PacketDirection {
    /// The packet arrived at the capturing machine.
    Inbound = 1,
    /// The packet left the capturing machine.
    Outbound = 2,
}

/// A packet to write, as it was on the wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet<'a> {
    /// The index of the packet's interface, in the order in which interfaces were written.
    pub interface: u32,
    /// The time stamp, in nanoseconds since 1970.
    pub time_ns: u64,
    /// Whether the packet arrived at the router or left it.
    pub direction: PacketDirection,
    /// The packet's bytes from the Ethernet header on.
    pub bytes: &'a [u8],
}

/// Writes the header of the file's only section.
pub(crate) fn section(to: &mut impl Write, application: &str) -> io::Result<()> {
    let version = [1_u16, 0].map(u16::to_le_bytes).concat();
    let mut body = [&BYTE_ORDER_MAGIC.to_le_bytes()[..], &version, &UNKNOWN_LENGTH.to_le_bytes()].concat();
    put_option(&mut body, SHB_USERAPPL, application.as_bytes());
    end_options(&mut body);
    block(to, SECTION_HEADER, &body)
}

/// Writes the secrets of TLS connections, given as lines of the NSS key log format. They must come before the packets.
pub(crate) fn tls_key_log(to: &mut impl Write, lines: &[u8]) -> io::Result<()> {
    let length = u32::try_from(lines.len()).map_err(io::Error::other)?;
    let mut body = [TLS_KEY_LOG, length].map(u32::to_le_bytes).concat();
    body.extend_from_slice(lines);
    pad(&mut body);
    block(to, DECRYPTION_SECRETS, &body)
}

/// Writes the description of the next interface.
pub(crate) fn interface(to: &mut impl Write, name: &str, description: &str) -> io::Result<()> {
    // 16 bits of link type and 16 reserved ones, then no limit on the captured length of a packet.
    let mut body = [LINKTYPE_ETHERNET.to_le_bytes(), 0_u32.to_le_bytes()].concat();
    put_option(&mut body, IF_NAME, name.as_bytes());
    put_option(&mut body, IF_DESCRIPTION, description.as_bytes());
    put_option(&mut body, IF_TSRESOL, &[NANOSECONDS]);
    end_options(&mut body);
    block(to, INTERFACE_DESCRIPTION, &body)
}

/// Writes a whole packet.
pub(crate) fn packet(to: &mut impl Write, packet: &Packet<'_>) -> io::Result<()> {
    let length = u32::try_from(packet.bytes.len()).map_err(io::Error::other)?;
    let (high, low) = ((packet.time_ns >> 32) as u32, packet.time_ns as u32);
    let mut body = [packet.interface, high, low, length, length].map(u32::to_le_bytes).concat();
    body.extend_from_slice(packet.bytes);
    pad(&mut body);
    put_option(&mut body, EPB_FLAGS, &(packet.direction as u32).to_le_bytes());
    end_options(&mut body);
    block(to, ENHANCED_PACKET, &body)
}

fn put_option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&u16::try_from(value.len()).expect("options are short").to_le_bytes());
    body.extend_from_slice(value);
    pad(body);
}

fn end_options(body: &mut Vec<u8>) {
    body.extend_from_slice(&[0; 4]);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

fn block(to: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let length = u32::try_from(12 + body.len()).map_err(io::Error::other)?.to_le_bytes();
    to.write_all(&kind.to_le_bytes())?;
    to.write_all(&length)?;
    to.write_all(body)?;
    to.write_all(&length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes were written by hand from the draft's figures 9, 10, 13 and 17.
    #[test]
    fn blocks_byte_by_byte() {
        let mut bytes = Vec::new();
        section(&mut bytes, "a").unwrap();
        let expected = "0a0d0d0a 28000000 4d3c2b1a 0100 0000 ffffffffffffffff 0400 0100 61000000 00000000 28000000";
        assert_eq!(hex::encode(&bytes), expected.replace(' ', ""));

        bytes.clear();
        interface(&mut bytes, "if", "what").unwrap();
        let expected = "01000000 30000000 01000000 00000000 0200 0200 69660000 0300 0400 77686174 \
                        0900 0100 09000000 00000000 30000000";
        assert_eq!(hex::encode(&bytes), expected.replace(' ', ""));

        bytes.clear();
        tls_key_log(&mut bytes, b"abcde").unwrap();
        let expected = "0a000000 1c000000 4b534c54 05000000 61626364 65000000 1c000000";
        assert_eq!(hex::encode(&bytes), expected.replace(' ', ""));

        bytes.clear();
        let time_ns = 0x0102_0304_0506_0708;
        packet(&mut bytes, &Packet { interface: 1, time_ns, direction: PacketDirection::Outbound, bytes: b"abcde" })
            .unwrap();
        let expected = "06000000 34000000 01000000 04030201 08070605 05000000 05000000 61626364 65000000 \
                        0200 0400 02000000 00000000 34000000";
        assert_eq!(hex::encode(&bytes), expected.replace(' ', ""));
    }
}
