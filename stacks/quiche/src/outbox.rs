//! Packets on their way out: quiche makes them, and says when each may go.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::socket::Socket;

/// The packets of one connection.
pub(crate) struct Outbox {
    packet: Vec<u8>,
    /// Length of the next packet, which pacing keeps until its time.
    held: Option<(usize, quiche::SendInfo)>,
}

impl Outbox {
    /// Nothing to send.
    pub(crate) fn new() -> Self {
        Self {
            packet: vec![0; 65_535],
            held: None,
        }
    }

    /// Sends packets until there is none, or until the next one's time has not come.
    ///
    /// # Errors
    /// A connection that broke; as [`Socket::send`].
    pub(crate) fn send(&mut self, quic: &mut quiche::Connection, socket: &Socket) -> Result<()> {
        let now = Instant::now();
        loop {
            if self.held.is_none() {
                self.held = match quic.send(&mut self.packet) {
                    Ok(made) => Some(made),
                    Err(quiche::Error::Done) => return Ok(()),
                    Err(error) => return Err(error).context("make a packet"),
                };
            }
            let Some((length, about)) = self.held.take_if(|(_, about)| about.at <= now) else {
                return Ok(());
            };
            socket.send(&self.packet[..length], about.to)?;
        }
    }

    /// How long nothing is to be done for a connection unless a packet comes.
    pub(crate) fn idle_for(&self, quic: &quiche::Connection) -> Option<Duration> {
        let held = self
            .held
            .as_ref()
            .map(|(_, about)| about.at.saturating_duration_since(Instant::now()));
        [held, quic.timeout()].into_iter().flatten().min()
    }
}
