//! The part of a `bulk` transfer that the client carries out over one connection: it requests chunks, and receives or
//! sends them.

use std::pin::pin;

use netwarp_core::clock::Moment;
use netwarp_core::content_sink::SharedSink;
use netwarp_transport::error::{Context as _, Result};
use netwarp_transport::{Connection, Stream};
use netwarp_wire::job::{Direction, Done};
use netwarp_wire::record::{ConnectionRecord, Record, Side};
use tokio::task::JoinSet;

use super::request::PROTOCOL;
use super::{Bulk, CONFIRMATION, time_over};
use crate::{Moves, connection_record, unless_handed_over};

/// The part of a transfer that one connection carries.
pub(super) struct Share {
    /// The index of the connection in the transfer.
    pub number: u32,
    pub slots: Vec<StreamSlot>,
    /// When the client first tried to connect, if handovers interrupted the attempt.
    pub first_try: Option<Moment>,
}

/// The chunks that one stream carries, one after another.
#[derive(Clone)]
pub(super) struct StreamSlot {
    pub number: u32,
    pub chunks: Vec<Chunk>,
}

#[derive(Clone)]
pub(super) struct Chunk {
    pub number: u32,
    /// Receives the chunk if the server sends it; kept when the client continues over another connection.
    pub sink: SharedSink,
}

/// The outcome of one connection's part of a transfer.
pub(super) struct ConnectionOutcome {
    /// The index of the connection in the transfer.
    pub number: u32,
    pub records: Vec<Record>,
    /// The rest of the share, if the connection was given up.
    pub remaining: Option<Share>,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// All chunks of the connection were transferred.
    Whole,
    /// The connection was given up because the client has moved to another path.
    GivenUp,
    /// The connection was broken off because the transfer's time was over.
    BrokenOff,
}

/// A stream slot whose chunks were transferred or broken off.
pub(super) struct SlotOutcome {
    number: u32,
    pub records: Vec<Record>,
    /// The slot's stream, if it stays open until the whole transfer is done.
    stream: Option<Box<dyn Stream>>,
    /// Whether the receiver has confirmed the chunks.
    is_confirmed: bool,
}

impl Bulk {
    /// Transfers a connection's part, until that is done, a handover occurs, or the transfer's time is over.
    pub(super) async fn run_share(
        self,
        mut connection: Box<dyn Connection>,
        share: Share,
        round: (u32, u32),
        mut handovers: Moves,
    ) -> Result<ConnectionOutcome> {
        let (mut carried, ending) = self.run_slots(&mut *connection, &share.slots, round, &mut handovers).await?;
        if ending == Ending::Whole && self.requested.done == Done::Transfer {
            let streams = carried.iter_mut().filter_map(|slot| slot.stream.take()).collect();
            self.say_done(&mut *connection, streams).await?;
        }
        // A connection that was given up before its handshake was complete has no record.
        let record = connection_record(&self.run, Side::Client, &*connection, ending != Ending::Whole)?;
        let (transfer, attempt) = round;
        let index = self.layout.connection(transfer, attempt, share.number * self.layout.streams);
        let is_given_up = match ending {
            Ending::Whole => close(connection, &mut handovers).await?.is_none(),
            Ending::GivenUp => true,
            Ending::BrokenOff => {
                // Closing tells the peer; whether it succeeds does not matter any more.
                let _ = connection.close().await;
                false
            }
        };
        let record = record.map(|record| {
            let start_ns = share.first_try.map_or(record.start_ns, |first_try| first_try.since(self.run.epoch_ns));
            ConnectionRecord { connection: index, transfer, abandoned: is_given_up, start_ns, ..record }
        });
        carried.retain(|slot| slot.is_confirmed || !is_given_up);
        carried.sort_by_key(|slot| slot.number);
        let is_left = |slot: &StreamSlot| carried.iter().all(|carried| carried.number != slot.number);
        let slots: Vec<StreamSlot> = share.slots.into_iter().filter(is_left).collect();
        let remaining = (!slots.is_empty()).then_some(Share { number: share.number, slots, first_try: None });
        let records = record
            .map(Record::Connection)
            .into_iter()
            .chain(carried.into_iter().flat_map(|slot| slot.records))
            .collect();
        Ok(ConnectionOutcome { number: share.number, records, remaining })
    }

    /// Transfers the chunks of all slots concurrently. Returns the slots that were completed or broken off with the
    /// transfer, and how the connection ended.
    async fn run_slots(
        &self,
        connection: &mut dyn Connection,
        slots: &[StreamSlot],
        round: (u32, u32),
        handovers: &mut Moves,
    ) -> Result<(Vec<SlotOutcome>, Ending)> {
        let mut carrying = JoinSet::new();
        let mut indices = Vec::new();
        for slot in slots {
            // This does not block: an established connection can open all its streams at once.
            let stream = connection.open_stream().await?;
            indices.push(stream.index());
            carrying.spawn(self.clone().run_slot(stream, slot.clone(), round));
        }
        let (mut carried, mut ending) = (Vec::new(), Ending::Whole);
        let mut time_over = pin!(time_over(self.until_ns));
        loop {
            tokio::select! {
                biased;
                one = carrying.join_next() => match one {
                    Some(one) => match one.context("a task panicked")? {
                        Ok(slot) => carried.push(slot),
                        // The slots' sinks have what arrived before.
                        Err(_) if ending != Ending::Whole => {}
                        Err(error) => return Err(error),
                    },
                    None => break,
                },
                () = given_up(handovers, connection), if ending == Ending::Whole => {
                    ending = Ending::GivenUp;
                    connection.abandon();
                }
                over = &mut time_over, if ending == Ending::Whole => {
                    over?;
                    ending = Ending::BrokenOff;
                    connection.break_off();
                }
            }
        }
        if ending == Ending::BrokenOff {
            let is_carried = |slot: &StreamSlot| carried.iter().any(|each: &SlotOutcome| each.number == slot.number);
            let open: Vec<_> = slots.iter().zip(indices).filter(|(slot, _)| !is_carried(slot)).collect();
            carried.extend(open.into_iter().map(|(slot, stream)| self.broken_off(slot, stream, round)));
        }
        Ok((carried, ending))
    }

    /// Returns the outcome of a slot that was broken off. Each end records only the chunks that it receives.
    pub(super) fn broken_off(&self, slot: &StreamSlot, stream: u32, round: (u32, u32)) -> SlotOutcome {
        let of_chunk = |chunk: &Chunk| self.record_of_broken_off(stream, round, chunk.number, &chunk.sink);
        let records = match self.requested.direction {
            Direction::Down => slot.chunks.iter().map(of_chunk).collect(),
            Direction::Up => Vec::new(),
        };
        SlotOutcome { number: slot.number, records, stream: None, is_confirmed: false }
    }

    /// Confirms everything that arrived over a connection, on an additional stream if it has several, and finishes its
    /// streams.
    async fn say_done(&self, connection: &mut dyn Connection, mut streams: Vec<Box<dyn Stream>>) -> Result<()> {
        if self.layout.is_multiplexed {
            let mut further = connection.open_stream().await?;
            further.send(&[CONFIRMATION]).await.context("saying that the transfer is done")?;
            streams.push(further);
            for stream in &mut streams {
                stream.close_sending().await?;
            }
        }
        for stream in &mut streams {
            stream.finish().await?;
        }
        Ok(())
    }

    /// Transfers a slot's chunks one after another, without waiting for the peer's confirmation in between.
    async fn run_slot(self, mut stream: Box<dyn Stream>, slot: StreamSlot, round: (u32, u32)) -> Result<SlotOutcome> {
        let records = match self.requested.direction {
            Direction::Down => self.fetch(&mut *stream, &slot, round).await?,
            Direction::Up => self.deliver(&mut *stream, &slot, round).await?,
        };
        if self.requested.done == Done::Transfer {
            return Ok(SlotOutcome { number: slot.number, records, stream: Some(stream), is_confirmed: false });
        }
        let is_confirmed = stream.finish().await?;
        Ok(SlotOutcome { number: slot.number, records, stream: None, is_confirmed })
    }

    async fn fetch(&self, stream: &mut dyn Stream, slot: &StreamSlot, round: (u32, u32)) -> Result<Vec<Record>> {
        let mut requests = Vec::new();
        for Chunk { number, sink } in &slot.chunks {
            let request = self.request(round, *number, sink.lock().expect("no holder panics").position_bytes());
            stream.send(&request.encode(self.run.request_prefix(PROTOCOL))).await.context("sending the request")?;
            requests.push(request);
        }
        let mut records = Vec::new();
        for (Chunk { sink, .. }, request) in slot.chunks.iter().zip(&requests) {
            let received = self.receive(stream, sink).await?;
            records.push(self.record(stream, request, 0, received));
        }
        Ok(records)
    }

    async fn deliver(&self, stream: &mut dyn Stream, slot: &StreamSlot, round: (u32, u32)) -> Result<Vec<Record>> {
        let mut all_sent = Vec::new();
        for chunk in &slot.chunks {
            let request = self.request(round, chunk.number, 0);
            stream.send(&request.encode(self.run.request_prefix(PROTOCOL))).await.context("sending the request")?;
            all_sent.push((request, self.send(stream, &request, self.requested.verify).await?));
        }
        let mut records = Vec::new();
        for (request, sent) in all_sent {
            let received = self.confirmed(stream, sent).await?;
            records.push(self.record(stream, &request, 0, received));
        }
        Ok(records)
    }
}

/// Waits for a handover after which the connection must be given up because it does not migrate.
async fn given_up(handovers: &mut Moves, connection: &dyn Connection) {
    while handovers.changed().await.is_ok() {
        if !connection.migrates() {
            return;
        }
    }
    std::future::pending().await
}

/// Closes a connection, and waits for its end. Returns `None` if it must be given up first because of a handover.
async fn close(connection: Box<dyn Connection>, handovers: &mut Moves) -> Result<Option<()>> {
    if connection.migrates() {
        return connection.close().await.map(Some);
    }
    unless_handed_over(handovers, connection.close()).await.transpose()
}
