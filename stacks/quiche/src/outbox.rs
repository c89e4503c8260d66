//! Packets on their way out: quiche makes them, and says when each may go.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::socket::{MOST_BYTES, Socket, Train};

/// The packets of one connection.
pub(crate) struct Outbox {
    /// The packets that go next, one after another, and room for one more.
    made: Vec<u8>,
    /// Length of the next packet, which pacing keeps until its time, at the beginning.
    held: Option<(usize, quiche::SendInfo)>,
}

impl Outbox {
    /// Nothing to send.
    pub(crate) fn new() -> Self {
        Self { made: vec![0; 2 * MOST_BYTES], held: None }
    }

    /// Sends packets until there is none, or until the next one's time has not come. Those of one size go to the kernel together,
    /// up to what quiche says may go at once, as in its own programs.
    ///
    /// # Errors
    /// A connection that broke; as [`Socket::send`].
    pub(crate) fn send(&mut self, quic: &mut quiche::Connection, socket: &mut dyn Socket) -> Result<()> {
        let now = Instant::now();
        loop {
            let Some((packet_bytes, about)) = self.next(quic, 0)? else {
                return Ok(());
            };
            if about.at > now {
                self.held = Some((packet_bytes, about));
                return Ok(());
            }
            let most_bytes = MOST_BYTES.min(quic.send_quantum()).min(socket.most_packets() * packet_bytes);
            let mut length = packet_bytes;
            let mut unlike = None;
            while unlike.is_none() && length + packet_bytes <= most_bytes {
                let Some((bytes, next)) = self.next(quic, length)? else {
                    break;
                };
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

    /// The next packet, at a place among those that are made; the first may have been held.
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

    /// How long nothing is to be done for a connection unless a packet comes.
    pub(crate) fn idle_for(&self, quic: &quiche::Connection) -> Option<Duration> {
        let held = self.held.as_ref().map(|(_, about)| about.at.saturating_duration_since(Instant::now()));
        [held, quic.timeout()].into_iter().flatten().min()
    }
}
