//! A connection of the client's, and its streams.

use tokio::task::JoinSet;

use super::FAREWELL;
use super::request::{MediaRequest, MediaRequestKind};
use super::stream_slots::{StreamSlot, StreamSlots};
use crate::clock::Moment;
use crate::record::{ConnectionRecord, Record, Side};
use crate::transport::Connection;
use crate::transport::error::{Context as _, Result, ensure};
use crate::workload::{Run, connection_record};

/// A connection that stands.
pub(super) struct ClientConnection {
    /// Of the run's connections, from 0.
    pub number: u32,
    connection: Box<dyn Connection>,
    /// When it was dialled at first, if moves cut that short.
    first_try: Option<Moment>,
    slots: StreamSlots,
    /// Streams that are being given back.
    leaving: JoinSet<Result<()>>,
}

impl ClientConnection {
    /// Over a connection just opened.
    ///
    /// # Arguments
    /// * `first_try` - when it was dialled at first, if moves cut that short.
    ///
    /// # Errors
    /// As [`Connection::open_stream`].
    pub(super) async fn over(
        mut connection: Box<dyn Connection>,
        number: u32,
        fixed: Option<u32>,
        first_try: Option<Moment>,
    ) -> Result<Self> {
        let slots = StreamSlots::open(&mut *connection, fixed).await?;
        Ok(Self { number, connection, first_try, slots, leaving: JoinSet::new() })
    }

    /// Whether a segment could be asked for right now.
    pub(super) fn can_carry(&self) -> bool {
        self.slots.can_carry()
    }

    /// Whether it goes on when the client moves.
    pub(super) fn migrates(&self) -> bool {
        self.connection.migrates()
    }

    /// The stream for a segment of this quality, when there is one.
    ///
    /// # Errors
    /// As [`Connection::open_stream`].
    pub(super) async fn take(&mut self, quality: u32) -> Result<StreamSlot> {
        let slot = self.slots.take(&mut *self.connection, quality).await?;
        self.leave_outdated();
        Ok(slot)
    }

    /// A stream is idle again.
    pub(super) fn put_back(&mut self, slot: StreamSlot) {
        self.slots.put_back(slot);
        self.leave_outdated();
    }

    /// The next stream to be given back for good, none while there is none to wait for. Dropping this future loses nothing.
    ///
    /// # Errors
    /// What kept it from ending in order.
    pub(super) async fn next_left(&mut self) -> Option<Result<()>> {
        let left = self.leaving.join_next().await?;
        Some(left.context("a task panicked").and_then(|left| left))
    }

    /// Gives it up. Gives its streams no time: what waits on them fails soon.
    pub(super) fn abandon(&self) {
        self.connection.abandon();
    }

    /// What is to be said of it.
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
            self.leaving.spawn(leave(slot, self.number));
        }
        while let Some(left) = self.next_left().await {
            left?;
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

    /// Streams that will not be used again are given back.
    fn leave_outdated(&mut self) {
        for slot in self.slots.take_outdated() {
            self.leaving.spawn(leave(slot, self.number));
        }
    }
}

/// Says farewell on a stream and waits until the server has confirmed it.
async fn leave(mut slot: StreamSlot, connection: u32) -> Result<()> {
    let farewell = MediaRequest { connection, what: MediaRequestKind::Farewell };
    slot.stream.send(&farewell.encode()).await.context("saying farewell")?;
    let mut confirmation = [0];
    slot.stream.receive(&mut confirmation).await.context("waiting for the confirmation of the farewell")?;
    ensure!(confirmation == [FAREWELL], "the server answered {confirmation:?}, which confirms nothing");
    slot.stream.finish().await.map(drop)
}
