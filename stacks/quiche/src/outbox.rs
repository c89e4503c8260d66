//! Sends the packets that quiche makes, each at the time that quiche's pacing sets.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::socket::{MOST_BYTES, Socket, Train};

/// The packets that a connection sends next.
pub(crate) struct Outbox {
    /// The bytes of the packets that are sent next, one after another, and room for one more packet.
    made: Vec<u8>,
    /// Length and send time of the first packet in `made`, if it waits for its send time.
    held: Option<(usize, quiche::SendInfo)>,
}

impl Outbox {
    /// Creates an empty outbox.
    pub(crate) fn new() -> Self {
        Self { made: vec![0; 2 * MOST_BYTES], held: None }
    }

    /// Sends packets until there are no more, or until the next one is scheduled for later. Packets of the same size
    /// are passed to the kernel together, up to the number of bytes that quiche allows at once, as in quiche's own
    /// programs.
    pub(crate) fn send(&mut self, quic: &mut quiche::Connection, socket: &mut dyn Socket) -> Result<()> {
        let now = Instant::now();
        loop {
            let Some((packet_bytes, about)) = self.next(quic, 0)? else { return Ok(()) };
            if about.at > now {
                self.held = Some((packet_bytes, about));
                return Ok(());
            }
            let most_bytes = MOST_BYTES.min(quic.send_quantum()).min(socket.most_packets() * packet_bytes);
            let mut length = packet_bytes;
            let mut unlike = None;
            while unlike.is_none() && length + packet_bytes <= most_bytes {
                let Some((bytes, next)) = self.next(quic, length)? else { break };
                let is_alike = bytes <= packet_bytes && next.at <= now && next.to == about.to;
                if is_alike {
                    length += bytes;
                } else {
                    unlike = Some((bytes, next));
                }
                if bytes < packet_bytes {
                    break;
                }
            }
            socket.send(&Train { contents: &self.made[..length], packet_bytes, to: about.to })?;
            if let Some((bytes, _)) = unlike {
                self.made.copy_within(length..length + bytes, 0);
                self.held = unlike;
            }
        }
    }

    /// Returns length and send time of the next packet: the held packet, which is at the beginning of `made`, or a new
    /// one, which is written to `made` at `place`; `None` if quiche has nothing to send.
    fn next(&mut self, quic: &mut quiche::Connection, place: usize) -> Result<Option<(usize, quiche::SendInfo)>> {
        if let Some(held) = self.held.take() {
            return Ok(Some(held));
        }
        match quic.send(&mut self.made[place..]) {
            Ok(made) => Ok(Some(made)),
            Err(quiche::Error::Done) => Ok(None),
            Err(error) => Err(error).context("make a packet"),
        }
    }

    /// Closes the connection, and sends the packets that notify the peer.
    pub(crate) fn close(&mut self, quic: &mut quiche::Connection, socket: &mut dyn Socket) -> Result<()> {
        match quic.close(true, 0, b"") {
            Ok(()) | Err(quiche::Error::Done) => self.send(quic, socket),
            Err(error) => Err(error).context("close the connection"),
        }
    }

    /// Returns the time until the connection's next timer expires or its held packet is due; `None` if there is
    /// neither.
    pub(crate) fn idle_for(&self, quic: &quiche::Connection) -> Option<Duration> {
        let held = self.held.as_ref().map(|(_, about)| about.at.saturating_duration_since(Instant::now()));
        [held, quic.timeout()].into_iter().flatten().min()
    }
}
