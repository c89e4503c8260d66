//! When the client's host sent its first packet and received its last one, from a capture there, for programs that do
//! not report this.

use anyhow::{Context as _, Result, ensure};
use netwarp_core::clock;
use netwarp_path::capture::{Ring, Selection};
use netwarp_path::topology::FIRST_INDEX;

/// How many bytes of a packet are kept: only its time is needed.
const SNAP_BYTES: u32 = 64;

/// The memory for a captured packet: its first bytes, the kernel's metadata, alignment.
const PACKET_COST_BYTES: u64 = 192;

/// Starts capturing the packets of the client's host, which is to receive `content_bytes` of content.
pub(super) fn listen(content_bytes: u64) -> Result<Ring> {
    let selection = Selection { incoming: FIRST_INDEX, outgoing: FIRST_INDEX, snap_bytes: SNAP_BYTES };
    let packets = content_bytes.div_ceil(1200);
    // Twice the packets of the content, for retransmissions and acknowledgements.
    Ring::open(4 * packets * PACKET_COST_BYTES + (8 << 20), Some(&selection))
}

/// Returns when the first packet was sent and when the last one was received before the program ended, in nanoseconds
/// since the run's epoch.
pub(super) fn span(ring: &Ring, epoch_ns: u64, ended_ns: u64) -> Result<(u64, u64)> {
    // Packets are stamped with CLOCK_REALTIME.
    let zero_ns = clock::realtime_lead_ns() + epoch_ns;
    let (mut first_ns, mut last_ns) = (None, None);
    ring.read(|packet| {
        let at_ns = packet.time_ns.saturating_sub(zero_ns);
        match packet.outgoing {
            true => first_ns = first_ns.or(Some(at_ns)),
            false if at_ns <= ended_ns => last_ns = last_ns.max(Some(at_ns)),
            false => {}
        }
        Ok(())
    })?;
    let (first_ns, last_ns) = first_ns.zip(last_ns).context("the client's program left a file without a packet")?;
    ensure!(first_ns <= last_ns, "the client's first packet left after the last one had come");
    Ok((first_ns, last_ns))
}
