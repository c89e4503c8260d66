//! The server of `bulk`: answers the requests of each connection.

use std::sync::Arc;

use netwarp_core::clock::Moment;
use netwarp_core::content_sink::{Received, Sink};
use netwarp_transport::error::{Context as _, Error, Result, ensure};
use netwarp_transport::{Connection, Sent, Stream};
use netwarp_wire::job::{self, Direction, Done};
use netwarp_wire::record::{ConnectionRecord, Record, Side};
use tokio::task::JoinSet;

use super::request::{ChunkRequest, PROTOCOL, REQUEST_BYTES};
use super::{Bulk, confirmation};
use crate::{Finish, Run, connection_record, finished, unless_finished};

/// Serves one connection.
///
/// # Errors
/// The content did not arrive. It is no error if a client gives the connection up after a handover.
pub(super) async fn serve(
    run: &Arc<Run>,
    requested: &job::Bulk,
    mut connection: Box<dyn Connection>,
    mut finish: Finish,
) -> Result<Vec<Record>> {
    let bulk = Bulk::of(run, requested, Side::Server);
    let mut served = Served::default();
    let mut slots = JoinSet::new();
    let has_handovers = run.job.timeline.has_handovers();
    let breaks_off = requested.duration_ns.is_some();
    let mut awaited = bulk.layout.streams;
    while awaited > 0 {
        let accepted = tokio::select! {
            accepted = connection.accept_stream() => accepted,
            // A client that returns after a handover has fewer slots left, and may wait for the ends of these.
            Some(slot) = slots.join_next(), if has_handovers => {
                served.add(&bulk, slot.context("a task panicked")?)?;
                served.end_streams(&bulk, &mut finish).await?;
                continue;
            }
            () = finished(&mut finish) => Ok(None),
        };
        awaited -= 1;
        match accepted {
            Ok(Some(stream)) => drop(slots.spawn(bulk.clone().answer(stream))),
            Ok(None) => break,
            Err(error) => served.lose(&bulk, error)?,
        }
    }
    let mut is_broken_off = false;
    loop {
        tokio::select! {
            biased;
            slot = slots.join_next() => match slot {
                Some(slot) => served.add(&bulk, slot.context("a task panicked")?)?,
                None => break,
            },
            () = finished(&mut finish), if has_handovers || breaks_off && !is_broken_off => {
                if has_handovers {
                    // Streams that the client has given up may never end. Its slots are still at work, so there is
                    // nothing to report.
                    return Ok(served.into_transfers());
                }
                is_broken_off = true;
                connection.break_off();
            }
        }
    }
    if requested.done == Done::Transfer {
        served.until_done(&bulk, &mut *connection).await?;
    }
    let Some(first) = served.slots.first().map(|slot| slot.request) else {
        ensure!(has_handovers || breaks_off, "the client closed the connection without requesting for anything");
        return Ok(Vec::new());
    };
    let index = bulk.layout.connection(first.transfer, first.attempt, first.chunk);
    // The record is taken now: an SCTP association has no state left once its peer has shut it down.
    let record = connection_record(run, Side::Server, &*connection, served.is_lost)?;
    let of_transfer = |record: ConnectionRecord| ConnectionRecord {
        connection: index,
        transfer: first.transfer,
        // A connection that was broken off after its time was not abandoned.
        abandoned: record.abandoned && !breaks_off,
        ..record
    };
    let mut records: Vec<Record> = record.map(of_transfer).map(Record::Connection).into_iter().collect();
    if !served.is_lost {
        served.end_streams(&bulk, &mut finish).await?;
    }
    if !served.is_lost {
        let closed = unless_finished(&mut finish, connection.closed()).await;
        closed.or_else(|error| run.ignore_if_abandoned(error, Some(first.attempt)))?;
    }
    records.extend(served.into_transfers());
    Ok(records)
}

/// The outcome of serving one connection.
#[derive(Default)]
struct Served {
    /// The streams, in the order of their slots' numbers.
    slots: Vec<ServedStream>,
    /// The additional stream on which the client confirmed the transfer.
    further: Option<Box<dyn Stream>>,
    /// Whether the client has given the connection up.
    is_lost: bool,
}

/// The outcome of serving one stream.
struct ServedStream {
    stream: Box<dyn Stream>,
    is_ended: bool,
    /// The first request of the stream, which names its slot.
    request: ChunkRequest,
    records: Vec<Record>,
    /// The sent chunks, if they are confirmed only with the whole transfer.
    unconfirmed: Vec<(ChunkRequest, Sent)>,
}

/// How a stream ended. A stream that was lost before its first request has no slot.
struct Answered {
    slot: Option<ServedStream>,
    error: Option<Error>,
}

impl Served {
    fn add(&mut self, bulk: &Bulk, Answered { slot, error }: Answered) -> Result<()> {
        let of = |slot: &ServedStream| (slot.request.transfer, slot.request.attempt);
        if let (Some(first), Some(slot)) = (self.slots.first(), &slot) {
            ensure!(
                of(first) == of(slot),
                "one connection was requested for transfers {:?} and {:?}",
                of(first),
                of(slot)
            );
        }
        self.slots.extend(slot);
        self.slots.sort_by_key(|slot| slot.request.chunk);
        error.map_or(Ok(()), |error| self.lose(bulk, error))
    }

    /// Waits until the client confirms everything that was sent over the connection: on an additional stream, or by
    /// closing the connection.
    async fn until_done(&mut self, bulk: &Bulk, connection: &mut dyn Connection) -> Result<()> {
        if bulk.layout.is_multiplexed {
            let further = connection.accept_stream().await?;
            let mut further = further.context("the client closed the connection without saying that it has all")?;
            confirmation(&mut *further).await?;
            self.further = Some(further);
        } else {
            connection.closed().await?;
        }
        let last_byte = Moment::now();
        for slot in &mut self.slots {
            for (request, Sent { first_byte, sha256 }) in std::mem::take(&mut slot.unconfirmed) {
                let received = Received { first_byte, last_byte, longest_gap: None, sha256 };
                slot.records.push(bulk.record(&*slot.stream, &request, 0, received));
            }
        }
        Ok(())
    }

    /// Handles the loss of the connection or of one of its streams: no error if the client may have given it up.
    fn lose(&mut self, bulk: &Bulk, error: Error) -> Result<()> {
        self.is_lost = true;
        bulk.run.ignore_if_abandoned(error, self.slots.first().map(|slot| slot.request.attempt))
    }

    /// Finishes the streams that are still open, including the stream of the confirmation.
    async fn end_streams(&mut self, bulk: &Bulk, finish: &mut Finish) -> Result<()> {
        let mut further = self.further.take();
        let mut open: Vec<&mut Box<dyn Stream>> = further.iter_mut().collect();
        for slot in self.slots.iter_mut().filter(|slot| !slot.is_ended) {
            slot.is_ended = true;
            open.push(&mut slot.stream);
        }
        for stream in open {
            if let Err(error) = unless_finished(finish, stream.finish()).await {
                return self.lose(bulk, error);
            }
        }
        Ok(())
    }

    fn into_transfers(self) -> Vec<Record> {
        self.slots.into_iter().flat_map(|slot| slot.records).collect()
    }
}

impl Bulk {
    /// Answers the requests on one stream.
    async fn answer(self, mut stream: Box<dyn Stream>) -> Answered {
        let first = self.receive_request(&mut *stream, |request| request.chunk < self.layout.slots()).await;
        let request = match first {
            Ok(request) => request,
            Err(error) => return Answered { slot: None, error: Some(error) },
        };
        self.run.attempts.record_attempt(request.attempt);
        let (mut records, mut unconfirmed) = (Vec::new(), Vec::new());
        let carried = match (self.requested.direction, self.requested.done) {
            (Direction::Up, _) => self.collect(&mut *stream, request, &mut records).await,
            (Direction::Down, Done::Chunk) => self.supply(&mut *stream, request, &mut records).await,
            (Direction::Down, Done::Transfer) => self.hand_over(&mut *stream, request, &mut unconfirmed).await,
        };
        let slot = ServedStream { stream, is_ended: false, request, records, unconfirmed };
        Answered { slot: Some(slot), error: carried.err() }
    }

    /// Sends the chunks of a slot and ends the stream, without waiting for confirmations: the client confirms the whole
    /// transfer.
    async fn hand_over(
        &self,
        stream: &mut dyn Stream,
        first: ChunkRequest,
        unconfirmed: &mut Vec<(ChunkRequest, Sent)>,
    ) -> Result<()> {
        unconfirmed.append(&mut self.send_all(stream, first).await?);
        stream.close_sending().await
    }

    async fn send_all(&self, stream: &mut dyn Stream, first: ChunkRequest) -> Result<Vec<(ChunkRequest, Sent)>> {
        // The client hashes whole chunks; the rest of a chunk has no hash to compare with.
        let verify = self.requested.verify && !self.run.job.resumes();
        let mut all_sent = Vec::new();
        for chunk in self.layout.chunks_of(first.chunk) {
            let request = self.receive_request_for(stream, chunk, first).await?;
            all_sent.push((request, self.send(stream, &request, verify).await?));
        }
        Ok(all_sent)
    }

    async fn supply(&self, stream: &mut dyn Stream, first: ChunkRequest, records: &mut Vec<Record>) -> Result<()> {
        let all_sent = self.send_all(stream, first).await?;
        for (request, sent) in all_sent {
            let received = self.confirmed(stream, sent).await?;
            if self.run.attempts.record_once(request.transfer, request.chunk) {
                let begun_at_bytes = self.layout.part(request.chunk).offset_bytes;
                records.push(self.record(stream, &request, request.part.offset_bytes - begun_at_bytes, received));
            }
        }
        Ok(())
    }

    async fn collect(&self, stream: &mut dyn Stream, first: ChunkRequest, records: &mut Vec<Record>) -> Result<()> {
        for chunk in self.layout.chunks_of(first.chunk) {
            let request = self.receive_request_for(stream, chunk, first).await?;
            let sink = Sink::new(request.part.length_bytes, self.requested.verify)
                .watching_arrivals(self.run.watched_arrivals())
                .shared();
            let received = self.receive(stream, &sink).await;
            if received.is_err() && self.requested.duration_ns.is_some() {
                let round = (request.transfer, request.attempt);
                records.push(self.record_of_broken_off(stream.index(), round, chunk, &sink));
            }
            let received = received?;
            if self.run.attempts.record_once(request.transfer, request.chunk) {
                records.push(self.record(stream, &request, 0, received));
            }
        }
        Ok(())
    }

    /// Receives the request for a chunk. The request for a slot's first chunk has been received before.
    async fn receive_request_for(
        &self,
        stream: &mut dyn Stream,
        chunk: u32,
        first: ChunkRequest,
    ) -> Result<ChunkRequest> {
        let round = |request: &ChunkRequest| (request.transfer, request.attempt);
        match chunk == first.chunk {
            true => Ok(first),
            false => {
                self.receive_request(stream, |request| (round(request), request.chunk) == (round(&first), chunk)).await
            }
        }
    }

    /// Receives a request; an error if it does not fit the job, or is for a chunk that is not `expected` on this
    /// stream.
    async fn receive_request(
        &self,
        stream: &mut dyn Stream,
        expected: impl FnOnce(&ChunkRequest) -> bool,
    ) -> Result<ChunkRequest> {
        let mut encoded = [0; REQUEST_BYTES];
        stream.receive(&mut encoded).await.context("receiving the request")?;
        let requested = ChunkRequest::decode(&encoded, self.run.request_prefix(PROTOCOL))?;
        ensure!(
            requested.transfer < self.requested.transfers && expected(&requested),
            "the client asks for {requested:?} on a stream that is not to carry it"
        );
        let begun_at_bytes = self.layout.part(requested.chunk).offset_bytes;
        let had_bytes =
            if self.run.job.resumes() { requested.part.offset_bytes.saturating_sub(begun_at_bytes) } else { 0 };
        let rest_bytes = self.layout.part(requested.chunk).length_bytes.checked_sub(had_bytes);
        let ours =
            rest_bytes.map(|_| self.request((requested.transfer, requested.attempt), requested.chunk, had_bytes));
        ensure!(ours == Some(requested), "the client asks for {requested:?}, but the server's job is {ours:?}");
        Ok(requested)
    }
}
