//! The client of `bulk`: opens connections, requests chunks, and receives or sends them.

use std::pin::pin;
use std::sync::Arc;

use netwarp_core::clock::Moment;
use netwarp_core::deadline::Deadline;
use netwarp_core::sink::{SharedSink, Sink};
use netwarp_transport::error::{Context as _, Result};
use netwarp_transport::{Connection, Dialer, Error, Stream};
use netwarp_wire::job::{self, Dial, Direction, Done};
use netwarp_wire::record::{ConnectionRecord, Record, Side};
use tokio::task::JoinSet;

use super::request::PROTOCOL;
use super::{Bulk, CONFIRMATION, join_all};
use crate::{Moves, Run, connection_record, unless_handed_over};

/// Carries out the client's part of the workload.
///
/// # Errors
/// The content did not arrive.
pub(super) async fn drive(
    run: &Arc<Run>,
    requested: &job::Bulk,
    dialer: &Arc<dyn Dialer>,
    handovers: Moves,
) -> Result<Vec<Record>> {
    let until_ns = requested.duration_ns.map(|duration_ns| Moment::now().since(0).saturating_add(duration_ns));
    let bulk = Bulk { until_ns, ..Bulk::of(run, requested, Side::Client) };
    let mut client = Client { bulk, dialer: dialer.clone(), handovers, attempt: 0 };
    let mut records = Vec::new();
    for transfer in 0..requested.transfers {
        records.append(&mut client.transfer(transfer).await?);
    }
    Ok(records)
}

struct Client {
    bulk: Bulk,
    dialer: Arc<dyn Dialer>,
    handovers: Moves,
    /// How often the client has given up connections with requests and dialled anew, in the run.
    attempt: u32,
}

/// The work of one connection of a transfer.
struct Share {
    /// The index of the connection in the transfer.
    number: u32,
    slots: Vec<StreamSlot>,
    /// When the connection was first dialled, if handovers interrupted that.
    first_try: Option<Moment>,
}

/// The work of one stream: chunks, one after another.
#[derive(Clone)]
struct StreamSlot {
    number: u32,
    chunks: Vec<Chunk>,
}

#[derive(Clone)]
struct Chunk {
    number: u32,
    /// The sink of a chunk from the server, filled over as many connections as needed.
    sink: SharedSink,
}

/// How dialling the connections of a transfer ended.
enum Dialled {
    /// All are established, in order.
    Connected(Vec<Box<dyn Connection>>),
    /// The client has moved meanwhile.
    Moved,
    /// The transfer's time was over before.
    TimeOver,
}

/// The result of a connection.
struct ConnectionOutcome {
    /// The index of the connection in the transfer.
    number: u32,
    records: Vec<Record>,
    /// The work that is left, if the connection was given up.
    remaining: Option<Share>,
}

impl Client {
    /// Carries one transfer, over as many connections as the client's handovers make necessary.
    async fn transfer(&mut self, transfer: u32) -> Result<Vec<Record>> {
        let shares = (0..self.bulk.layout.connections).map(|number| self.share(transfer, number));
        let mut remaining: Vec<Share> = shares.collect::<Result<_>>()?;
        let mut records = Vec::new();
        while !remaining.is_empty() {
            // The dialer already knows of the handovers so far.
            self.handovers.mark_unchanged();
            let dialled = Moment::now();
            let connections = match self.dial(transfer, remaining.len()).await? {
                Dialled::Connected(connections) => connections,
                Dialled::Moved => {
                    remaining.iter_mut().for_each(|share| _ = share.first_try.get_or_insert(dialled));
                    continue;
                }
                Dialled::TimeOver => {
                    records.extend(remaining.iter().flat_map(|share| self.not_connected(share, transfer)));
                    return Ok(records);
                }
            };
            let mut requesting = JoinSet::new();
            for (share, connection) in remaining.drain(..).zip(connections) {
                requesting.spawn(self.bulk.clone().carry_share(
                    connection,
                    share,
                    (transfer, self.attempt),
                    self.handovers.clone(),
                ));
            }
            let mut requested = join_all(requesting).await?;
            requested.sort_by_key(|requested| requested.number);
            for requested in requested {
                records.extend(requested.records);
                remaining.extend(requested.remaining);
            }
            self.attempt += u32::from(!remaining.is_empty());
        }
        records.extend(self.bulk.merge(transfer)?);
        Ok(records)
    }

    /// Returns the records of a share whose time was over before it was connected: nothing has arrived.
    fn not_connected(&self, share: &Share, transfer: u32) -> Vec<Record> {
        let broken_off = |slot| self.bulk.broken_off(slot, 0, (transfer, self.attempt)).records;
        share.slots.iter().flat_map(broken_off).collect()
    }

    fn share(&self, transfer: u32, number: u32) -> Result<Share> {
        let Bulk { layout, requested, run, .. } = &self.bulk;
        let chunk = |chunk| {
            let sink =
                Sink::new(layout.part(chunk).length_bytes, requested.verify).watching_arrivals(run.watched_arrivals());
            let sink = sink.writing_to(self.bulk.chunk_file(transfer, chunk)?);
            Ok(Chunk { number: chunk, sink: sink.shared() })
        };
        let slot = |slot| {
            let chunks = layout.chunks_of(slot).map(chunk).collect::<Result<_>>()?;
            Ok(StreamSlot { number: slot, chunks })
        };
        let slots = (number * layout.streams..(number + 1) * layout.streams).map(slot).collect::<Result<_>>()?;
        Ok(Share { number, slots, first_try: None })
    }

    /// Opens `count` connections and returns them in order once all are connected. They may resume earlier transfers'
    /// sessions, but not each other's; after a handover, they may resume any. Stops if a handover occurs meanwhile,
    /// or if the transfer's time is over.
    async fn dial(&mut self, transfer: u32, count: usize) -> Result<Dialled> {
        let may_resume = transfer > 0 || self.handovers.borrow().count > 0;
        let (dialer, server, order) = (self.dialer.clone(), self.bulk.run.server, self.bulk.requested.dial);
        let until_ns = self.bulk.until_ns;
        let dialling = async {
            tokio::select! {
                biased;
                dialled = dial_all(dialer, server, count, may_resume, order) => dialled.map(Dialled::Connected),
                over = time_over(until_ns) => over.map(|()| Dialled::TimeOver),
            }
        };
        match unless_handed_over(&mut self.handovers, dialling).await {
            None => Ok(Dialled::Moved),
            Some(Ok(dialled)) => Ok(dialled),
            Some(Err(error)) => {
                let is_awaited =
                    self.handovers.has_changed()? || self.bulk.run.hands_over_after(*self.handovers.borrow());
                let (true, Error::Unreachable(_)) = (is_awaited, &error) else { return Err(error) };
                // The client has no address between two paths: nothing can be done before the next handover.
                self.handovers.changed().await.context("waiting for the next path")?;
                Ok(Dialled::Moved)
            }
        }
    }
}

async fn dial_all(
    dialer: Arc<dyn Dialer>,
    server: std::net::SocketAddr,
    count: usize,
    may_resume: bool,
    order: Dial,
) -> Result<Vec<Box<dyn Connection>>> {
    let mut connections = Vec::new();
    match order {
        Dial::Sequential => {
            for _ in 0..count {
                connections.push(dialer.dial(server, may_resume).await?);
            }
        }
        Dial::Parallel => {
            let mut dialling = JoinSet::new();
            for number in 0..count {
                let dialer = dialer.clone();
                dialling.spawn(async move { Ok((number, dialer.dial(server, may_resume).await?)) });
            }
            let mut dialled = join_all(dialling).await?;
            dialled.sort_by_key(|(number, _)| *number);
            connections.extend(dialled.into_iter().map(|(_, connection)| connection));
        }
    }
    Ok(connections)
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// All its slots were carried out.
    Whole,
    /// It was given up because the client has moved to another path.
    GivenUp,
    /// It was broken off because the transfer's time was over.
    BrokenOff,
}

/// A slot that was carried out.
struct Carried {
    number: u32,
    records: Vec<Record>,
    /// Its stream, if that is finished only when the transfer is done.
    stream: Option<Box<dyn Stream>>,
    /// Whether the peer is known to have received everything.
    is_confirmed: bool,
}

impl Bulk {
    /// Carries out a share of the transfer over a connection, for as long as the connection is used.
    async fn carry_share(
        self,
        mut connection: Box<dyn Connection>,
        share: Share,
        round: (u32, u32),
        mut handovers: Moves,
    ) -> Result<ConnectionOutcome> {
        let (mut carried, ending) = self.carry_all(&mut *connection, &share.slots, round, &mut handovers).await?;
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

    /// Carries out slots concurrently. Returns those that were completed or broken off with the transfer, and how the
    /// connection ended.
    async fn carry_all(
        &self,
        connection: &mut dyn Connection,
        slots: &[StreamSlot],
        round: (u32, u32),
        handovers: &mut Moves,
    ) -> Result<(Vec<Carried>, Ending)> {
        let mut carrying = JoinSet::new();
        let mut indices = Vec::new();
        for slot in slots {
            // This does not block: an established connection has room for its streams.
            let stream = connection.open_stream().await?;
            indices.push(stream.index());
            carrying.spawn(self.clone().carry(stream, slot.clone(), round));
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
            let is_carried = |slot: &StreamSlot| carried.iter().any(|each: &Carried| each.number == slot.number);
            let open: Vec<_> = slots.iter().zip(indices).filter(|(slot, _)| !is_carried(slot)).collect();
            carried.extend(open.into_iter().map(|(slot, stream)| self.broken_off(slot, stream, round)));
        }
        Ok((carried, ending))
    }

    /// Returns the result of a slot that was broken off. The client has records of chunks from the server; the server
    /// has those of chunks to it.
    fn broken_off(&self, slot: &StreamSlot, stream: u32, round: (u32, u32)) -> Carried {
        let of_chunk = |chunk: &Chunk| self.record_of_broken_off(stream, round, chunk.number, &chunk.sink);
        let records = match self.requested.direction {
            Direction::Down => slot.chunks.iter().map(of_chunk).collect(),
            Direction::Up => Vec::new(),
        };
        Carried { number: slot.number, records, stream: None, is_confirmed: false }
    }

    /// Says that all has arrived over a connection, on one more stream if it has any, and finishes its streams.
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

    /// Carries out a slot's chunks, one after another, without waiting for the peer's confirmation in between.
    async fn carry(self, mut stream: Box<dyn Stream>, slot: StreamSlot, round: (u32, u32)) -> Result<Carried> {
        let records = match self.requested.direction {
            Direction::Down => self.fetch(&mut *stream, &slot, round).await?,
            Direction::Up => self.deliver(&mut *stream, &slot, round).await?,
        };
        if self.requested.done == Done::Transfer {
            return Ok(Carried { number: slot.number, records, stream: Some(stream), is_confirmed: false });
        }
        let is_confirmed = stream.finish().await?;
        Ok(Carried { number: slot.number, records, stream: None, is_confirmed })
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

/// Waits until `at_ns`, or forever if it is none.
///
/// # Errors
/// As [`Deadline`].
async fn time_over(at_ns: Option<u64>) -> Result<()> {
    match at_ns {
        Some(_) => Ok(Deadline::new()?.wait_until(at_ns).await?),
        None => std::future::pending().await,
    }
}

/// Waits until the client has to give the connection up.
async fn given_up(handovers: &mut Moves, connection: &dyn Connection) {
    while handovers.changed().await.is_ok() {
        if !connection.migrates() {
            return;
        }
    }
    std::future::pending().await
}

/// Closes a connection. Returns none if the client has to give it up meanwhile.
async fn close(connection: Box<dyn Connection>, handovers: &mut Moves) -> Result<Option<()>> {
    if connection.migrates() {
        return connection.close().await.map(Some);
    }
    unless_handed_over(handovers, connection.close()).await.transpose()
}
