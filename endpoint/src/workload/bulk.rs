//! `bulk`: one content, whole or in chunks that travel at once, once or several times.
//!
//! The client dials, waits until all connections of the transfer stand, then opens their streams and asks on each for
//! its chunks ([`Request`]). The chunk follows: from the server (`down`), or straight from the client (`up`). Its
//! receiver confirms the last byte with one byte of its own, and the sender closes nothing before it has that: no byte
//! can be lost at close, whatever the transport does there.
//!
//! That all connections stand before any content moves is kim-2022's order: it tells of connection time that adds up
//! over the connections and puts off the end of the transfer by as much.
//!
//! The receiver needs no memory to merge the chunks: each has its place in the content, stated in the request, and
//! [`crate::verify`] holds each chunk's hash against the original's.

mod request;

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use tokio::sync::watch;
use tokio::task::JoinSet;

use self::request::{REQUEST_BYTES, Request};
use super::layout::Layout;
use super::{Moves, Run, connection_record};
use crate::clock::Moment;
use crate::content::Reader;
use crate::job::{self, Dial, Heading};
use crate::record::{Record, Side};
use crate::sink::{Gap, Received, Sink};
use crate::transport::{Connection, Dialer, Stream};

/// ASCII's ACK.
const CONFIRMATION: u8 = 0x06;

/// The client's part.
///
/// # Errors
/// Whatever kept the content from arriving.
pub async fn drive(
    run: &Arc<Run>,
    asked: &job::Bulk,
    dialer: &Arc<dyn Dialer>,
    _moves: watch::Receiver<Moves>,
) -> Result<Vec<Record>> {
    let bulk = Bulk::of(run, asked, Side::Client);
    let mut records = Vec::new();
    for transfer in 0..asked.transfers {
        records.append(&mut bulk.drive(dialer, transfer).await?);
    }
    Ok(records)
}

/// The server's part on one connection.
///
/// # Errors
/// Whatever kept the content from arriving.
pub async fn serve(
    run: &Arc<Run>,
    asked: &job::Bulk,
    mut connection: Box<dyn Connection>,
    mut finish: watch::Receiver<bool>,
) -> Result<Vec<Record>> {
    let bulk = Bulk::of(run, asked, Side::Server);
    let mut lanes = JoinSet::new();
    for _ in 0..bulk.layout.streams {
        let accepted = tokio::select! {
            accepted = connection.accept_stream() => accepted?,
            () = finished(&mut finish) => None,
        };
        let Some(stream) = accepted else { break };
        lanes.spawn(bulk.clone().answer(stream));
    }
    let mut served = gather(lanes).await?;
    served.sort_by_key(|lane| lane.first_chunk);
    let first = served.first().context("the client closed the connection without asking for anything")?;
    let (transfer, index) = (first.transfer, bulk.layout.connection(first.transfer, first.first_chunk));
    // Asked now: an SCTP association has nothing left to say once its peer has shut it down.
    let mut records =
        vec![connection_record(run, Side::Server, index, transfer, false, &*connection, connection.report()?)];
    for lane in served {
        ensure!(lane.transfer == transfer, "one connection was asked for transfers {transfer} and {}", lane.transfer);
        records.extend(lane.records);
        let mut stream = lane.stream;
        tokio::select! {
            ended = stream.finish() => ended?,
            () = finished(&mut finish) => {}
        }
    }
    tokio::select! {
        closed = connection.closed() => closed?,
        () = finished(&mut finish) => {}
    }
    Ok(records)
}

/// A client that is done has everything, even if its last words were lost on the path.
pub async fn finished(finish: &mut watch::Receiver<bool>) {
    if finish.wait_for(|finish| *finish).await.is_err() {
        // Whoever could say so is gone: this side's own work decides.
        std::future::pending::<()>().await;
    }
}

/// What all tasks gave; the first error ends the wait.
async fn gather<T: 'static>(mut tasks: JoinSet<Result<T>>) -> Result<Vec<T>> {
    let mut all = Vec::new();
    while let Some(one) = tasks.join_next().await {
        all.push(one.context("a task panicked")??);
    }
    Ok(all)
}

/// One side of the workload.
#[derive(Clone)]
struct Bulk {
    run: Arc<Run>,
    asked: job::Bulk,
    side: Side,
    layout: Layout,
}

/// What a server did on one stream.
struct Served {
    stream: Box<dyn Stream>,
    transfer: u32,
    first_chunk: u32,
    records: Vec<Record>,
}

impl Bulk {
    fn of(run: &Arc<Run>, asked: &job::Bulk, side: Side) -> Self {
        let layout = Layout::of(asked, &run.job.transport);
        Self { run: run.clone(), asked: asked.clone(), side, layout }
    }

    /// The client's part of one transfer.
    async fn drive(&self, dialer: &Arc<dyn Dialer>, transfer: u32) -> Result<Vec<Record>> {
        let mut working = JoinSet::new();
        for (number, connection) in (0..).zip(self.dial(dialer, transfer).await?) {
            working.spawn(self.clone().ask(connection, transfer, number));
        }
        let mut carried = gather(working).await?;
        carried.sort_by_key(|(number, _)| *number);
        Ok(carried.into_iter().flat_map(|(_, records)| records).collect())
    }

    /// Opens all connections of a transfer, in order; ready when the last is connected.
    /// It may resume what earlier transfers left, but no connection of its own.
    async fn dial(&self, dialer: &Arc<dyn Dialer>, transfer: u32) -> Result<Vec<Box<dyn Connection>>> {
        let (may_resume, mut connections) = (transfer > 0, Vec::new());
        match self.asked.dial {
            Dial::Sequential => {
                for _ in 0..self.layout.connections {
                    connections.push(dialer.dial(self.run.server, may_resume).await?);
                }
            }
            Dial::Parallel => {
                let mut dialling = JoinSet::new();
                for number in 0..self.layout.connections {
                    let (dialer, server) = (dialer.clone(), self.run.server);
                    dialling.spawn(async move { Ok((number, dialer.dial(server, may_resume).await?)) });
                }
                let mut dialled = gather(dialling).await?;
                dialled.sort_by_key(|(number, _)| *number);
                connections.extend(dialled.into_iter().map(|(_, connection)| connection));
            }
        }
        Ok(connections)
    }

    /// The client's part on one connection, the `number`-th of its transfer, which it gives back with the records.
    async fn ask(self, mut connection: Box<dyn Connection>, transfer: u32, number: u32) -> Result<(u32, Vec<Record>)> {
        let mut lanes = JoinSet::new();
        for place in 0..self.layout.streams {
            let mut stream = connection.open_stream().await?;
            let (bulk, lane) = (self.clone(), number * self.layout.streams + place);
            lanes.spawn(async move {
                let records = bulk.carry(&mut *stream, transfer, lane).await?;
                stream.finish().await?;
                Ok((lane, records))
            });
        }
        let mut carried = gather(lanes).await?;
        carried.sort_by_key(|(lane, _)| *lane);
        let index = self.layout.connection(transfer, number * self.layout.streams);
        let report = connection.report()?;
        let mut records =
            vec![connection_record(&self.run, Side::Client, index, transfer, false, &*connection, report)];
        records.extend(carried.into_iter().flat_map(|(_, records)| records));
        connection.close().await?;
        Ok((number, records))
    }

    /// The server's part on one stream: the first request says which lane it is.
    async fn answer(self, mut stream: Box<dyn Stream>) -> Result<Served> {
        let mut encoded = [0; REQUEST_BYTES];
        stream.receive(&mut encoded).await.context("receiving the request")?;
        let Request { transfer, chunk, .. } = self.check(&encoded, |_, chunk| chunk < self.layout.lanes())?;
        let records = self.carry(&mut *stream, transfer, chunk).await?;
        Ok(Served { stream, transfer, first_chunk: chunk, records })
    }

    /// Carries a lane's chunks, one after another, without waiting for the peer's word in between.
    async fn carry(&self, stream: &mut dyn Stream, transfer: u32, lane: u32) -> Result<Vec<Record>> {
        match (self.side, self.asked.direction) {
            (Side::Server, Heading::Down) | (Side::Client, Heading::Up) => self.send(stream, transfer, lane).await,
            (Side::Client, Heading::Down) | (Side::Server, Heading::Up) => self.receive(stream, transfer, lane).await,
        }
    }

    async fn send(&self, stream: &mut dyn Stream, transfer: u32, lane: u32) -> Result<Vec<Record>> {
        let mut all_sent = Vec::new();
        for chunk in self.layout.chunks_of(lane) {
            self.agree(stream, transfer, chunk, lane).await?;
            let content = Reader::open(&self.asked.content, self.layout.part(chunk), self.asked.verify)?;
            all_sent.push((chunk, stream.send_content(content).await.context("sending the content")?));
        }
        let mut records = Vec::new();
        for (chunk, sent) in all_sent {
            let mut confirmation = [0];
            stream.receive(&mut confirmation).await.context("waiting for the receiver's confirmation")?;
            ensure!(confirmation == [CONFIRMATION], "the receiver answered {confirmation:?}, which confirms nothing");
            records.push(self.record(stream, (transfer, chunk), sent.first_byte, Moment::now(), sent.sha256, None));
        }
        Ok(records)
    }

    async fn receive(&self, stream: &mut dyn Stream, transfer: u32, lane: u32) -> Result<Vec<Record>> {
        if self.side == Side::Client {
            for chunk in self.layout.chunks_of(lane) {
                self.agree(stream, transfer, chunk, lane).await?;
            }
        }
        let mut records = Vec::new();
        for chunk in self.layout.chunks_of(lane) {
            if self.side == Side::Server {
                self.agree(stream, transfer, chunk, lane).await?;
            }
            let sink = Sink::new(self.layout.part(chunk).length_bytes, self.asked.verify)
                .watching_arrivals(self.run.watched_flow())
                .shared();
            stream.receive_content(sink.clone()).await.context("receiving the content")?;
            let received = sink.lock().expect("no holder panics").received()?;
            stream.send(&[CONFIRMATION]).await.context("confirming the content")?;
            let Received { first_byte, last_byte, longest_gap, sha256 } = received;
            records.push(self.record(stream, (transfer, chunk), first_byte, last_byte, sha256, longest_gap));
        }
        Ok(records)
    }

    /// The client asks for a chunk, the server hears it; the lane's first request it has heard before.
    async fn agree(&self, stream: &mut dyn Stream, transfer: u32, chunk: u32, lane: u32) -> Result<()> {
        match self.side {
            Side::Client => {
                let request = self.request(transfer, chunk).encode();
                stream.send(&request).await.context("sending the request")
            }
            Side::Server if chunk == lane => Ok(()),
            Side::Server => {
                let mut encoded = [0; REQUEST_BYTES];
                stream.receive(&mut encoded).await.context("receiving the request")?;
                self.check(&encoded, |of, asked| (of, asked) == (transfer, chunk)).map(drop)
            }
        }
    }

    fn request(&self, transfer: u32, chunk: u32) -> Request {
        Request { direction: self.asked.direction, transfer, chunk, part: self.layout.part(chunk) }
    }

    /// A request as the server's job has it, for one of the chunks `expected` here.
    fn check(&self, encoded: &[u8; REQUEST_BYTES], expected: impl FnOnce(u32, u32) -> bool) -> Result<Request> {
        let asked = Request::decode(encoded)?;
        ensure!(
            asked.transfer < self.asked.transfers && expected(asked.transfer, asked.chunk),
            "the client asks for {asked:?} on a stream that is not to carry it"
        );
        let ours = self.request(asked.transfer, asked.chunk);
        ensure!(asked == ours, "the client asks for {asked:?}, but the server's job is {ours:?}");
        Ok(asked)
    }

    fn record(
        &self,
        stream: &dyn Stream,
        (transfer, chunk): (u32, u32),
        first_byte: Moment,
        last_byte: Moment,
        sha256: Option<String>,
        longest_gap: Option<Gap>,
    ) -> Record {
        let lane = chunk % self.layout.lanes();
        Record::Transfer {
            side: self.side,
            connection: self.layout.connection(transfer, lane),
            stream: stream.index(),
            transfer,
            chunk,
            direction: self.asked.direction,
            bytes: self.layout.part(chunk).length_bytes,
            resumed_at_bytes: 0,
            first_byte_ns: first_byte.since(self.run.epoch_ns),
            last_byte_ns: last_byte.since(self.run.epoch_ns),
            sha256,
            longest_gap_ns: longest_gap.map(|gap| gap.length_ns),
            longest_gap_at_ns: longest_gap.map(|gap| gap.start.since(self.run.epoch_ns)),
        }
    }
}
