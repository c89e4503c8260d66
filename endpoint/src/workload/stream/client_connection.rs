//! One connection of the client of `stream`, and its streams.

use tokio::task::JoinSet;

use super::FAREWELL;
use super::request::{MediaRequest, MediaRequestKind};
use super::stream_slots::{StreamSlot, StreamSlots};
use crate::clock::Moment;
use crate::record::{ConnectionRecord, Record, Side};
use crate::request_prefix::RequestPrefix;
use crate::transport::Connection;
use crate::transport::error::{Context as _, Result, ensure};
use crate::workload::{Run, connection_record};

/// A connection of the client that stands, with its streams.
pub(super) struct ClientConnection {
    /// Its number among the run's connections, from 0.
    pub number: u32,
    /// What its requests begin with.
    prefix: RequestPrefix,
    connection: Box<dyn Connection>,
    /// When it was dialled at first, if handovers cut that short.
    first_try: Option<Moment>,
    slots: StreamSlots,
    /// Streams on which the client is saying farewell.
    closing: JoinSet<Result<()>>,
}

impl ClientConnection {
    /// Opens the streams of a connection that was just opened.
    ///
    /// # Arguments
    /// * `prefix` - what its requests begin with.
    /// * `first_try` - when it was dialled at first, if handovers cut that short.
    ///
    /// # Errors
    /// As [`Connection::open_stream`].
    pub(super) async fn over(
        mut connection: Box<dyn Connection>,
        number: u32,
        prefix: RequestPrefix,
        fixed: Option<u32>,
        first_try: Option<Moment>,
    ) -> Result<Self> {
        let slots = StreamSlots::open(&mut *connection, fixed).await?;
        Ok(Self { number, prefix, connection, first_try, slots, closing: JoinSet::new() })
    }

    /// Whether a segment could be asked for right now.
    pub(super) fn can_carry(&self) -> bool {
        self.slots.can_carry()
    }

    /// Whether it goes on when the client moves.
    pub(super) fn migrates(&self) -> bool {
        self.connection.migrates()
    }

    /// Gives a stream for a segment of this quality; waits until there is one.
    ///
    /// # Errors
    /// As [`Connection::open_stream`].
    pub(super) async fn take(&mut self, quality: u32) -> Result<StreamSlot> {
        let slot = self.slots.take(&mut *self.connection, quality).await?;
        self.close_outdated();
        Ok(slot)
    }

    /// Takes back a stream that is idle again.
    pub(super) fn put_back(&mut self, slot: StreamSlot) {
        self.slots.put_back(slot);
        self.close_outdated();
    }

    /// Waits for the next stream to be closed; none if none is closing. Dropping this future loses nothing.
    ///
    /// # Errors
    /// What kept it from ending in order.
    pub(super) async fn next_closed_stream(&mut self) -> Option<Result<()>> {
        let closed = self.closing.join_next().await?;
        Some(closed.context("a task panicked").and_then(|closed| closed))
    }

    /// Gives the connection up at once: what waits on its streams fails soon.
    pub(super) fn abandon(&self) {
        self.connection.abandon();
    }

    /// The record of the connection, if there is anything to record.
    ///
    /// # Errors
    /// As [`Connection::report`].
    pub(super) fn record(&self, run: &Run, abandoned: bool) -> Result<Option<Record>> {
        let record = connection_record(run, Side::Client, &*self.connection, abandoned)?;
        Ok(record.map(|record| {
            let start_ns = self.first_try.map_or(record.start_ns, |first_try| first_try.since(run.epoch_ns));
            Record::Connection(ConnectionRecord { connection: self.number, start_ns, ..record })
        }))
    }

    /// Says farewell on all streams, which must be idle. May be dropped and begun again.
    ///
    /// # Errors
    /// A stream that does not end in order.
    pub(super) async fn say_farewell(&mut self) -> Result<()> {
        for slot in self.slots.take_idle() {
            self.closing.spawn(close_stream(slot, self.number, self.prefix));
        }
        while let Some(closed) = self.next_closed_stream().await {
            closed?;
        }
        Ok(())
    }

    /// Closes, when farewell has been said.
    ///
    /// # Errors
    /// As [`Connection::close`].
    pub(super) async fn close(self) -> Result<()> {
        self.connection.close().await
    }

    /// Closes streams that will not be used again.
    fn close_outdated(&mut self) {
        for slot in self.slots.take_outdated() {
            self.closing.spawn(close_stream(slot, self.number, self.prefix));
        }
    }
}

/// Says farewell on a stream and waits until the server has confirmed it.
async fn close_stream(mut slot: StreamSlot, connection: u32, prefix: RequestPrefix) -> Result<()> {
    let farewell = MediaRequest { connection, what: MediaRequestKind::Farewell };
    slot.stream.send(&farewell.encode(prefix)).await.context("saying farewell")?;
    let mut confirmation = [0];
    slot.stream.receive(&mut confirmation).await.context("waiting for the confirmation of the farewell")?;
    ensure!(confirmation == [FAREWELL], "the server answered {confirmation:?}, which confirms nothing");
    slot.stream.finish().await.map(drop)
}
