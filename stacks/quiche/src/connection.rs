//! A quiche connection, and the chunks that its streams transfer.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use netwarp_role::{
    BLOCK_BYTES, Bulk, Chunk, ConnectionRecord, Job, Orchestrator, Record, Resume, Side, Stats, nanoseconds, now_ns,
};

use crate::outbox::Outbox;
use crate::socket::Socket;

/// The length of the connection IDs that this role chooses, in bytes.
pub(crate) const ID_BYTES: usize = 16;

/// The only congestion control with which quiche paces packets (`get_packet_send_time` of its recoveries).
const PACED_CONGESTION: &str = "bbr2";

/// A connection, with the chunks that are transferred on it.
pub(crate) struct Connection {
    side: Side,
    quic: quiche::Connection,
    bulk: Bulk,
    epoch_ns: u64,
    start_ns: u64,
    connected_ns: Option<u64>,
    /// Whether data was sent or received before the handshake was complete.
    was_early: bool,
    chunks: BTreeMap<u64, Chunk>,
    /// The streams that the peer has ended.
    ended: BTreeSet<u64>,
    /// The streams that this end has ended.
    closed: BTreeSet<u64>,
    outbox: Outbox,
    block: Vec<u8>,
}

impl Connection {
    /// Creates a connection on which no packet has been sent or received.
    pub(crate) fn new(side: Side, quic: quiche::Connection, job: &Job, epoch_ns: u64) -> Self {
        Self {
            side,
            quic,
            bulk: job.bulk.clone(),
            epoch_ns,
            start_ns: now_ns() - epoch_ns,
            connected_ns: None,
            was_early: false,
            chunks: BTreeMap::new(),
            ended: BTreeSet::new(),
            closed: BTreeSet::new(),
            outbox: Outbox::new(),
            block: vec![0; BLOCK_BYTES],
        }
    }

    /// Returns quiche's own connection.
    pub(crate) fn quic(&self) -> &quiche::Connection {
        &self.quic
    }

    /// Starts to transfer a chunk on a stream.
    pub(crate) fn begin(&mut self, stream: u64, chunk: Chunk) {
        self.chunks.insert(stream, chunk);
    }

    /// Returns whether application data may be sent.
    pub(crate) fn is_ready(&self) -> bool {
        self.connected_ns.is_some()
    }

    /// Returns whether all chunks have arrived and the peer has ended their streams.
    pub(crate) fn is_done(&self) -> bool {
        self.chunks.iter().all(|(stream, chunk)| chunk.is_done() && self.ended.contains(stream))
    }

    /// Returns the session that a later connection can resume, if the server has sent one.
    pub(crate) fn session(&self) -> Option<Vec<u8>> {
        self.quic.session().map(<[u8]>::to_vec)
    }

    /// Resumes the session of an earlier connection.
    pub(crate) fn resume(&mut self, session: &[u8]) -> Result<()> {
        self.quic.set_session(session).context("resume an earlier connection")
    }

    /// Passes a received packet to quiche.
    pub(crate) fn receive(&mut self, packet: &mut [u8], from: SocketAddr, to: SocketAddr) -> Result<()> {
        receive(&mut self.quic, packet, from, to)
    }

    /// Reads and writes as much of the chunks as possible now, and sends the packets that are due.
    ///
    /// Chunks are written before packets are made, and as far as quiche accepts, for two reasons: packets are full, and
    /// quiche sees that its congestion window limits it. It does not increase the window of an application that it
    /// takes for idle. Packets are short only where the window ends, and, after a loss, as single acknowledgements open
    /// it again.
    pub(crate) fn work(&mut self, socket: &mut dyn Socket) -> Result<()> {
        if !self.is_ready() {
            // Early data may be sent with the handshake.
            self.send(socket)?;
        }
        self.was_early |= self.quic.is_in_early_data();
        if self.connected_ns.is_none() && (self.quic.is_established() || self.quic.is_in_early_data()) {
            self.connected_ns = Some(now_ns() - self.epoch_ns);
        }
        if let Some(error) = self.quic.peer_error().filter(|error| !error.is_app || error.error_code != 0) {
            bail!(
                "the peer closed the connection: error {:#x} {}",
                error.error_code,
                String::from_utf8_lossy(&error.reason)
            );
        }
        if let Some(error) = self.quic.local_error().filter(|error| error.error_code != 0) {
            bail!("the connection broke: error {:#x}", error.error_code);
        }
        if self.quic.is_timed_out() {
            bail!("the connection timed out");
        }
        if self.is_ready() && !self.quic.is_closed() && !self.quic.is_draining() {
            self.read()?;
            self.write()?;
        }
        self.send(socket)
    }

    fn read(&mut self) -> Result<()> {
        for stream in self.quic.readable() {
            let answer = || Chunk::answer(&self.bulk, self.epoch_ns);
            let chunk = self.chunks.entry(stream).or_insert_with(answer);
            loop {
                match self.quic.stream_recv(stream, &mut self.block) {
                    Ok((length, is_end)) => {
                        chunk.incoming(&self.block[..length])?;
                        if is_end {
                            // Once both sides have ended a stream, quiche has forgotten it.
                            self.ended.insert(stream);
                            break;
                        }
                    }
                    Err(quiche::Error::Done) => break,
                    Err(error) => return Err(error).with_context(|| format!("read from stream {stream}")),
                }
            }
        }
        Ok(())
    }

    fn write(&mut self) -> Result<()> {
        for (&stream, chunk) in &mut self.chunks {
            loop {
                let bytes = chunk.outgoing()?;
                if bytes.is_empty() {
                    break;
                }
                match self.quic.stream_send(stream, bytes, false) {
                    Ok(0) | Err(quiche::Error::Done | quiche::Error::StreamLimit) => break,
                    Ok(length) => chunk.advance(length),
                    Err(error) => return Err(error).with_context(|| format!("write to stream {stream}")),
                }
            }
            if self.side == Side::Server && chunk.is_done() && self.closed.insert(stream) {
                self.quic.stream_send(stream, b"", true).with_context(|| format!("end stream {stream}"))?;
            }
        }
        Ok(())
    }

    fn send(&mut self, socket: &mut dyn Socket) -> Result<()> {
        self.outbox.send(&mut self.quic, socket)
    }

    /// Returns the time until the connection's next timer expires or its next paced packet is due; `None` if there is
    /// neither.
    pub(crate) fn idle_for(&self) -> Option<Duration> {
        self.outbox.idle_for(&self.quic)
    }

    /// Makes quiche handle its timers that have expired.
    pub(crate) fn expire_timers(&mut self) {
        expire_timers(&mut self.quic);
    }

    /// Closes the connection, once everything has arrived.
    pub(crate) fn close(&mut self, socket: &mut dyn Socket) -> Result<()> {
        self.outbox.close(&mut self.quic, socket)
    }

    /// Sends the records of the chunks and of the connection to the orchestrator.
    pub(crate) fn report(&self, job: &Job, orchestrator: &mut Orchestrator) -> Result<()> {
        let records: Vec<_> = self.chunks.values().filter_map(Chunk::record).collect();
        let transfer = records.first().map_or(0, |record| record.transfer);
        records.into_iter().try_for_each(|record| orchestrator.write(Record::Transfer(record)))?;
        let Some(connected_ns) = self.connected_ns else { return Ok(()) };
        let path = self.quic.path_stats().next().context("the connection has no path")?;
        let payload_bytes = self.quic.max_send_udp_payload_size() as u32;
        orchestrator.write(Record::Connection(ConnectionRecord {
            side: self.side,
            connection: transfer,
            transfer,
            abandoned: false,
            resumed: self.resumed(),
            start_ns: self.start_ns,
            connected_ns,
            settings: job.settings(payload_bytes, job.transport.congestion == PACED_CONGESTION),
            stats: Stats {
                retransmitted_packets: Some(path.lost as u64),
                smoothed_rtt_ns: Some(nanoseconds(path.rtt)),
                min_rtt_ns: path.min_rtt.map(nanoseconds),
                congestion_window_bytes: Some(path.cwnd as u64),
                ..Stats::default()
            },
        }))
    }

    fn resumed(&self) -> Resume {
        match (self.quic.is_resumed(), self.was_early) {
            (true, true) => Resume::ZeroRtt,
            (true, false) => Resume::OneRtt,
            (false, _) => Resume::None,
        }
    }
}

/// Passes a received packet to quiche.
pub(crate) fn receive(
    quic: &mut quiche::Connection,
    packet: &mut [u8],
    from: SocketAddr,
    to: SocketAddr,
) -> Result<()> {
    match quic.recv(packet, quiche::RecvInfo { from, to }) {
        Ok(_) | Err(quiche::Error::Done) => Ok(()),
        Err(error) => Err(error).context("read a packet"),
    }
}

/// Makes quiche handle a connection's timers that have expired.
pub(crate) fn expire_timers(quic: &mut quiche::Connection) {
    if quic.timeout().is_some_and(|left| left.is_zero()) {
        quic.on_timeout();
    }
}

/// The connection of a server to which a packet belongs.
pub(crate) enum Destination {
    /// The connection with this index.
    Known(usize),
    /// A new connection, which the packet begins.
    New,
    /// A connection that no longer exists.
    Over,
}

/// Finds the connection to which a packet belongs.
pub(crate) fn destination<'a>(
    header: &quiche::Header<'_>,
    connections: impl Iterator<Item = &'a quiche::Connection>,
) -> Destination {
    let mut newest = None;
    for (index, connection) in connections.enumerate() {
        if connection.source_ids().any(|own| *own == header.dcid) {
            return Destination::Known(index);
        }
        newest = Some((index, connection));
    }
    match newest {
        // Until the client knows this role's connection ID, it uses one that it chose itself; its connection is the
        // newest.
        Some((index, newest))
            if header.ty != quiche::Type::Short && !newest.is_established() && !newest.is_in_early_data() =>
        {
            Destination::Known(index)
        }
        _ if header.ty == quiche::Type::Initial => Destination::New,
        _ => Destination::Over,
    }
}

/// Returns a new random connection ID.
pub(crate) fn fresh_id() -> Result<quiche::ConnectionId<'static>> {
    let mut id = vec![0; ID_BYTES];
    // SAFETY: the buffer is valid for writes of its length.
    let count = unsafe { libc::getrandom(id.as_mut_ptr().cast(), id.len(), 0) };
    anyhow::ensure!(count == ID_BYTES as isize, "take random numbers: {}", std::io::Error::last_os_error());
    Ok(quiche::ConnectionId::from_vec(id))
}
