//! The side that listens.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Bulk;
use super::request::{REQUEST_BYTES, Request};
use crate::job::{self, Direction};
use crate::record::{ConnectionRecord, Record, Side};
use crate::sink::Sink;
use crate::transport::error::{Context as _, Error, Result, ensure};
use crate::transport::{Connection, Stream};
use crate::workload::{Run, connection_record, finished};

/// The server's part on one connection.
///
/// # Errors
/// Whatever kept the content from arriving. That a client which moves gives the connection up is none.
pub async fn serve(
    run: &Arc<Run>,
    asked: &job::Bulk,
    mut connection: Box<dyn Connection>,
    mut finish: watch::Receiver<bool>,
) -> Result<Vec<Record>> {
    let bulk = Bulk::of(run, asked, Side::Server);
    let mut served = Served::default();
    let mut lanes = JoinSet::new();
    for _ in 0..bulk.layout.streams {
        let accepted = tokio::select! {
            accepted = connection.accept_stream() => accepted,
            () = finished(&mut finish) => Ok(None),
        };
        match accepted {
            Ok(Some(stream)) => drop(lanes.spawn(bulk.clone().answer(stream))),
            Ok(None) => break,
            Err(error) => served.lose(&bulk, error)?,
        }
    }
    let has_handovers = run.job.timeline.has_handovers();
    loop {
        tokio::select! {
            biased;
            lane = lanes.join_next() => match lane {
                Some(lane) => served.add(&bulk, lane.context("a task panicked")?)?,
                None => break,
            },
            // What a client has given up may never end. Its lanes are still at work: there is nothing to be said of it.
            () = finished(&mut finish), if has_handovers => return Ok(served.into_transfers()),
        }
    }
    let Some(first) = served.lanes.first().map(|lane| lane.request) else {
        ensure!(has_handovers, "the client closed the connection without asking for anything");
        return Ok(Vec::new());
    };
    let index = bulk.layout.connection(first.transfer, first.attempt, first.chunk);
    // Asked now: an SCTP association has nothing left to say once its peer has shut it down.
    let record = connection_record(run, Side::Server, &*connection, served.is_lost)?;
    let of_transfer = |record| ConnectionRecord { connection: index, transfer: first.transfer, ..record };
    let mut records: Vec<Record> = record.map(of_transfer).map(Record::Connection).into_iter().collect();
    if !served.is_lost {
        let ended = end(&mut *connection, &mut served.lanes, &mut finish).await;
        ended.or_else(|error| run.ignore_if_abandoned(error, Some(first.attempt)))?;
    }
    records.extend(served.into_transfers());
    Ok(records)
}

/// Ends all streams, and waits for the client to close.
async fn end(connection: &mut dyn Connection, lanes: &mut [Lane], finish: &mut watch::Receiver<bool>) -> Result<()> {
    for lane in lanes {
        tokio::select! {
            ended = lane.stream.finish() => drop(ended?),
            () = finished(finish) => {}
        }
    }
    tokio::select! {
        closed = connection.closed() => closed,
        () = finished(finish) => Ok(()),
    }
}

/// What was done on one connection.
#[derive(Default)]
struct Served {
    /// By number.
    lanes: Vec<Lane>,
    /// The client has given the connection up.
    is_lost: bool,
}

/// What was done on one stream.
struct Lane {
    stream: Box<dyn Stream>,
    /// The first: it says which lane this is.
    request: Request,
    records: Vec<Record>,
}

/// How a stream ended, which was none of the lanes if it broke off before anything was asked.
struct Answered {
    lane: Option<Lane>,
    error: Option<Error>,
}

impl Served {
    fn add(&mut self, bulk: &Bulk, Answered { lane, error }: Answered) -> Result<()> {
        let of = |lane: &Lane| (lane.request.transfer, lane.request.attempt);
        if let (Some(first), Some(lane)) = (self.lanes.first(), &lane) {
            ensure!(of(first) == of(lane), "one connection was asked for transfers {:?} and {:?}", of(first), of(lane));
        }
        self.lanes.extend(lane);
        self.lanes.sort_by_key(|lane| lane.request.chunk);
        error.map_or(Ok(()), |error| self.lose(bulk, error))
    }

    /// The connection was lost, or a stream of it.
    fn lose(&mut self, bulk: &Bulk, error: Error) -> Result<()> {
        self.is_lost = true;
        bulk.run.ignore_if_abandoned(error, self.lanes.first().map(|lane| lane.request.attempt))
    }

    fn into_transfers(self) -> Vec<Record> {
        self.lanes.into_iter().flat_map(|lane| lane.records).collect()
    }
}

impl Bulk {
    /// Does what is asked on one stream.
    async fn answer(self, mut stream: Box<dyn Stream>) -> Answered {
        let first = self.hear(&mut *stream, |request| request.chunk < self.layout.lanes()).await;
        let request = match first {
            Ok(request) => request,
            Err(error) => return Answered { lane: None, error: Some(error) },
        };
        self.run.attempts.heard_of(request.attempt);
        let mut records = Vec::new();
        let carried = match self.asked.direction {
            Direction::Down => self.supply(&mut *stream, request, &mut records).await,
            Direction::Up => self.collect(&mut *stream, request, &mut records).await,
        };
        Answered { lane: Some(Lane { stream, request, records }), error: carried.err() }
    }

    async fn supply(&self, stream: &mut dyn Stream, first: Request, records: &mut Vec<Record>) -> Result<()> {
        // The client hashes what it puts together; a piece of a chunk has no hash to compare.
        let verify = self.asked.verify && !self.run.job.resumes();
        let mut all_sent = Vec::new();
        for chunk in self.layout.chunks_of(first.chunk) {
            let request = self.hear_of(stream, chunk, first).await?;
            all_sent.push((request, self.send(stream, &request, verify).await?));
        }
        for (request, sent) in all_sent {
            let received = self.confirmed(stream, sent).await?;
            if self.run.attempts.record_once(request.transfer, request.chunk) {
                let begun_at_bytes = self.layout.part(request.chunk).offset_bytes;
                records.push(self.record(stream, &request, request.part.offset_bytes - begun_at_bytes, received));
            }
        }
        Ok(())
    }

    async fn collect(&self, stream: &mut dyn Stream, first: Request, records: &mut Vec<Record>) -> Result<()> {
        for chunk in self.layout.chunks_of(first.chunk) {
            let request = self.hear_of(stream, chunk, first).await?;
            let sink = Sink::new(request.part.length_bytes, self.asked.verify)
                .watching_arrivals(self.run.watched_arrivals())
                .shared();
            let received = self.receive(stream, &sink).await?;
            records.push(self.record(stream, &request, 0, received));
        }
        Ok(())
    }

    /// The request for a chunk; the lane's first was heard before.
    async fn hear_of(&self, stream: &mut dyn Stream, chunk: u32, first: Request) -> Result<Request> {
        let round = |request: &Request| (request.transfer, request.attempt);
        match chunk == first.chunk {
            true => Ok(first),
            false => self.hear(stream, |request| (round(request), request.chunk) == (round(&first), chunk)).await,
        }
    }

    /// A request as the server's job has it, if it is one of those `expected` here.
    async fn hear(&self, stream: &mut dyn Stream, expected: impl FnOnce(&Request) -> bool) -> Result<Request> {
        let mut encoded = [0; REQUEST_BYTES];
        stream.receive(&mut encoded).await.context("receiving the request")?;
        let asked = Request::decode(&encoded)?;
        ensure!(
            asked.transfer < self.asked.transfers && expected(&asked),
            "the client asks for {asked:?} on a stream that is not to carry it"
        );
        let begun_at_bytes = self.layout.part(asked.chunk).offset_bytes;
        let had_bytes = if self.run.job.resumes() { asked.part.offset_bytes.saturating_sub(begun_at_bytes) } else { 0 };
        let rest_bytes = self.layout.part(asked.chunk).length_bytes.checked_sub(had_bytes);
        let ours = rest_bytes.map(|_| self.request((asked.transfer, asked.attempt), asked.chunk, had_bytes));
        ensure!(ours == Some(asked), "the client asks for {asked:?}, but the server's job is {ours:?}");
        Ok(asked)
    }
}
