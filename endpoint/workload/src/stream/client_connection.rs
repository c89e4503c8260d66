//! One connection of the client of `stream`, and its streams.

use netwarp_core::clock::Moment;
use netwarp_transport::Connection;
use netwarp_transport::error::{Context as _, Result, ensure};
use netwarp_wire::record::{ConnectionRecord, Record, Side};
use netwarp_wire::request_prefix::RequestPrefix;
use tokio::task::JoinSet;

use super::FAREWELL;
use super::request::{MediaRequest, MediaRequestKind};
use super::stream_slots::{StreamSlot, StreamSlots};
use crate::{Run, connection_record};

/// An established connection of the client, with its streams.
pub(super) struct ClientConnection {
    /// The connection's number in the run, starting at 0.
    pub number: u32,
    /// The prefix of the client's requests on the connection.
    prefix: RequestPrefix,
    connection: Box<dyn Connection>,
    /// When the client first tried to open this connection, if handovers interrupted that attempt; `None` if none did.
    first_try: Option<Moment>,
    slots: StreamSlots,
    /// The streams that the client is ending.
    closing: JoinSet<Result<()>>,
}

impl ClientConnection {
    /// Opens the streams of a new connection.
    ///
    /// # Arguments
    /// * `prefix` - the prefix of the client's requests.
    /// * `first_try` - when the client first tried to connect, if handovers interrupted that attempt.
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

    /// Returns whether a segment can be requested now.
    pub(super) fn can_carry(&self) -> bool {
        self.slots.can_carry()
    }

    /// Returns whether the connection continues over another path after a handover.
    pub(super) fn migrates(&self) -> bool {
        self.connection.migrates()
    }

    /// Returns a stream for a segment of this quality, and closes streams that will not be used again.
    pub(super) async fn take(&mut self, quality: u32) -> Result<StreamSlot> {
        let slot = self.slots.take(&mut *self.connection, quality).await?;
        self.close_outdated();
        Ok(slot)
    }

    /// Puts a stream back that is idle again.
    pub(super) fn put_back(&mut self, slot: StreamSlot) {
        self.slots.put_back(slot);
        self.close_outdated();
    }

    /// Waits until the next of the closing streams is closed; `None` if none is closing. Dropping this future loses
    /// nothing.
    pub(super) async fn next_closed_stream(&mut self) -> Option<Result<()>> {
        let closed = self.closing.join_next().await?;
        Some(closed.context("a task panicked").and_then(|closed| closed))
    }

    /// Gives the connection up at once: pending operations on its streams soon fail.
    pub(super) fn abandon(&self) {
        self.connection.abandon();
    }

    /// Returns the record of the connection; `None` only if it was given up before its handshake was complete.
    pub(super) fn record(&self, run: &Run, abandoned: bool) -> Result<Option<Record>> {
        let record = connection_record(run, Side::Client, &*self.connection, abandoned)?;
        Ok(record.map(|record| {
            let start_ns = self.first_try.map_or(record.start_ns, |first_try| first_try.since(run.epoch_ns));
            Record::Connection(ConnectionRecord { connection: self.number, start_ns, ..record })
        }))
    }

    /// Closes all streams, which must be idle. The future may be dropped, and the function called again.
    pub(super) async fn say_farewell(&mut self) -> Result<()> {
        for slot in self.slots.take_idle() {
            self.closing.spawn(close_stream(slot, self.number, self.prefix));
        }
        while let Some(closed) = self.next_closed_stream().await {
            closed?;
        }
        Ok(())
    }

    /// Closes the connection; all its streams must be closed already.
    pub(super) async fn close(self) -> Result<()> {
        self.connection.close().await
    }

    /// Begins to close the idle streams that will not be used again.
    fn close_outdated(&mut self) {
        for slot in self.slots.take_outdated() {
            self.closing.spawn(close_stream(slot, self.number, self.prefix));
        }
    }
}

/// Sends the last message on a stream, waits until the server has confirmed it, and closes the stream.
async fn close_stream(mut slot: StreamSlot, connection: u32, prefix: RequestPrefix) -> Result<()> {
    let farewell = MediaRequest { connection, what: MediaRequestKind::Farewell };
    slot.stream.send(&farewell.encode(prefix)).await.context("saying farewell")?;
    let mut confirmation = [0];
    slot.stream.receive(&mut confirmation).await.context("waiting for the confirmation of the farewell")?;
    ensure!(confirmation == [FAREWELL], "the server answered {confirmation:?}, which confirms nothing");
    slot.stream.finish().await.map(drop)
}
