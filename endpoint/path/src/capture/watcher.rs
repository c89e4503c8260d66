//! Measures the one-way delay of every packet of one direction, from the sender's IP layer to the receiver's as ns-3's
//! FlowMonitor does, by recording packets at the router. The links between hosts and router take no time, so a packet
//! arrives at the router when its sender's IP layer sends it, and at its receiver's IP layer when it leaves the router.
//!
//! Like a capture ([`super::Capture`]), this does not change what a run measures: the kernel writes the first bytes of
//! packets to memory, which is read when the transfer is over.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hasher as _};

use anyhow::{Context, Result, ensure};
use netwarp_core::clock;
use netwarp_core::flow::Tally;
use netwarp_wire::job::{Direction, Job};
use netwarp_wire::record::{FlowUnit, Record};

use super::Content;
use super::ring::{CapturedPacket, Ring, Selection};
use crate::network::Network;
use crate::topology::{ETHERNET_HEADER_BYTES, Topology};

/// How many bytes of each packet are kept to recognise it: the IP and transport headers, and the first bytes of the
/// payload.
const SNAP_BYTES: u32 = 128;

/// The memory that a packet takes in the ring: its first bytes, the kernel's metadata, alignment.
const PACKET_COST_BYTES: u64 = 256;

/// The most memory for a watcher, in bytes: a guest has 1 GiB.
const MEMORY_MAX_BYTES: u64 = 512 << 20;

const ETHERNET_HEADER: usize = ETHERNET_HEADER_BYTES as usize;

/// Records the packets of one direction of a run's path at its router.
pub struct Watcher {
    ring: Ring,
    selection: Selection,
    direction: Direction,
}

impl Watcher {
    /// Starts to record the packets of one direction.
    ///
    /// # Arguments
    /// * `content` - about how much is sent.
    ///
    /// # Errors
    /// The packets would not fit into memory; packet sockets are not available.
    pub fn start(
        network: &Network,
        topology: &Topology<'_>,
        job: &Job,
        direction: Direction,
        content: Content,
    ) -> Result<Self> {
        let (into, out_of) = (direction.opposite(), direction);
        let router =
            |direction| topology.crossing(0, direction).bottleneck.context("packets are followed through a router");
        let selection =
            Selection { incoming: router(into)?.index, outgoing: router(out_of)?.index, snap_bytes: SNAP_BYTES };
        let bytes = memory_bytes(job, content)?;
        let ring = network.within(router(into)?.node, || Ring::open(bytes, Some(&selection)))?;
        Ok(Self { ring, selection, direction })
    }

    /// Ends the recording, and returns the packets' statistics: how many there were, losses and delays.
    ///
    /// # Errors
    /// A packet was not recorded.
    pub fn finish(self, epoch_ns: u64) -> Result<Record> {
        self.ring.stop()?;
        // Packets are stamped with CLOCK_REALTIME.
        let lead_ns = clock::realtime_lead_ns();
        let mut passage = Passage::default();
        self.ring.read(|packet| {
            let packet = CapturedPacket { time_ns: packet.time_ns.saturating_sub(lead_ns), ..packet };
            match packet.outgoing {
                false => passage.entered(&packet),
                true => passage.left(&packet),
            }
            debug_assert!([self.selection.incoming, self.selection.outgoing].contains(&packet.index));
            Ok(())
        })?;
        let Passage { entered, tally, .. } = passage;
        Ok(Record::FlowStats(tally.into_record(FlowUnit::Packet, self.direction, Some(entered), epoch_ns)))
    }
}

/// Returns the ring's size in bytes: room for the first [`SNAP_BYTES`] of each packet of the flow, on its arrival and
/// its departure, plus 50 % for retransmissions.
fn memory_bytes(job: &Job, content: Content) -> Result<u64> {
    let packets = content.packets(job);
    let bytes = 3 * packets * PACKET_COST_BYTES + (8 << 20);
    ensure!(
        bytes <= MEMORY_MAX_BYTES,
        "packets are followed in memory until the flow is over, and some {packets} of them do not fit its {} MiB: choose a \
         smaller flow",
        MEMORY_MAX_BYTES >> 20
    );
    Ok(bytes)
}

/// Tracks the packets that pass the router: which have entered it, and which of these have not left it yet.
#[derive(Default)]
struct Passage {
    entered: u64,
    /// The packets that have not left, by [`key`]: number and arrival time of each, oldest first.
    inside: HashMap<u64, VecDeque<(u64, u64)>>,
    tally: Tally,
}

impl Passage {
    fn entered(&mut self, packet: &CapturedPacket<'_>) {
        let Some(key) = key(packet.bytes) else { return };
        self.inside.entry(key).or_default().push_back((self.entered, packet.time_ns));
        self.entered += 1;
    }

    /// Counts a packet that has left, with its delay. If it never arrived, the router's netem has made it, by
    /// duplicating or corrupting a packet, and it counts as a duplicate.
    fn left(&mut self, packet: &CapturedPacket<'_>) {
        let Some(key) = key(packet.bytes) else { return };
        let length_bytes = u64::from(packet.length_bytes) - ETHERNET_HEADER as u64;
        match self.inside.get_mut(&key).and_then(VecDeque::pop_front) {
            Some((number, entered_ns)) => self.tally.arrived(number, entered_ns, packet.time_ns, length_bytes),
            None => self.tally.duplicate(),
        }
    }
}

/// Returns a hash of the parts of a packet that routers do not change: all but TTL or hop limit, header checksum and
/// ECN field. Returns `None` if the frame has no IP packet.
fn key(frame: &[u8]) -> Option<u64> {
    let (ethernet, packet) = frame.split_at_checked(ETHERNET_HEADER)?;
    let mut hasher = DefaultHasher::new();
    match ethernet.last_chunk()? {
        [0x08, 0x00] if packet.len() >= 20 => {
            hasher.write_u8(packet[1] & !0b11);
            hasher.write(&packet[2..8]);
            hasher.write(&packet[9..10]);
            hasher.write(&packet[12..]);
        }
        // The ECN field is in the second byte, the hop limit is the eighth (RFC 8200, 3).
        [0x86, 0xdd] if packet.len() >= 40 => {
            hasher.write_u8(packet[1] & !0b11_0000);
            hasher.write(&packet[2..7]);
            hasher.write(&packet[8..]);
        }
        _ => return None,
    }
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the Ethernet frame of a packet of 100 bytes, with `number` in its payload.
    fn frame(number: u8, ttl: u8) -> Vec<u8> {
        let mut frame = vec![0; ETHERNET_HEADER];
        frame[12] = 0x08;
        frame.extend_from_slice(&[0x45, 0, 0, 100, 0, number, 0x40, 0, ttl, 17, ttl, ttl]);
        frame.extend_from_slice(&[10; 88]);
        frame
    }

    fn packet(bytes: &[u8], outgoing: bool, time_ns: u64) -> CapturedPacket<'_> {
        CapturedPacket { index: 10, outgoing, time_ns, length_bytes: bytes.len() as u32, bytes }
    }

    #[test]
    fn a_packet_is_known_again_on_the_other_side_of_the_router() {
        let mut passage = Passage::default();
        for number in 0..4 {
            passage.entered(&packet(&frame(number, 64), false, 1_000 * u64::from(number)));
        }
        // 1 is lost, 0 is overtaken by 2, 3 arrives twice, and a corrupted packet is ignored.
        for (number, time_ns) in [(2, 2_500), (0, 2_600), (3, 3_700), (3, 3_800)] {
            passage.left(&packet(&frame(number, 63), true, time_ns));
        }
        passage.left(&packet(&frame(200, 63), true, 4_000));
        let record = passage.tally.into_record(FlowUnit::Packet, Direction::Up, Some(passage.entered), 0);
        assert_eq!((record.sent, record.received, record.received_bytes), (Some(4), 3, 300));
        assert_eq!((record.reordered, record.duplicates), (Some(1), Some(2)));
        assert_eq!((record.delay_sum_ns, record.jitter_sum_ns), (500 + 2_600 + 700, 2_100 + 1_900));
    }

    #[test]
    fn what_is_sent_twice_is_two_packets() {
        let mut passage = Passage::default();
        for (outgoing, time_ns) in [(false, 10), (false, 20), (true, 110), (true, 150)] {
            let bytes = frame(7, 64);
            let packet = packet(&bytes, outgoing, time_ns);
            if outgoing { passage.left(&packet) } else { passage.entered(&packet) }
        }
        let record = passage.tally.into_record(FlowUnit::Packet, Direction::Up, None, 0);
        assert_eq!((record.received, record.delay_sum_ns, record.duplicates), (2, 100 + 130, Some(0)));
    }

    #[test]
    fn a_packet_of_ipv6_is_known_by_all_but_its_hop_limit_and_its_mark() {
        let six = |hop_limit, mark: u8, last| {
            let ethernet = [&[0; 12][..], &[0x86, 0xdd]].concat();
            let header = [&[0x60, mark << 4, 0, 7, 0, 8, 17, hop_limit][..], &[1; 16], &[2; 16]].concat();
            key(&[ethernet, header, vec![9, 9, 9, last]].concat())
        };
        assert!(six(64, 0b10, 1).is_some());
        assert_eq!(six(64, 0b10, 1), six(63, 0b11, 1));
        assert_ne!(six(64, 0b10, 1), six(64, 0b10, 2));
    }

    #[test]
    fn arp_is_no_packet_of_the_flow() {
        let mut frame = frame(1, 64);
        frame[13] = 0x06;
        assert_eq!(key(&frame), None);
    }
}
