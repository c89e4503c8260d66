//! `bulk`: one content, whole or in concurrent chunks, transferred once or several times.
//!
//! The client connects, waits until all connections of the transfer are established, then opens their streams and
//! requests chunks on each ([`ChunkRequest`]). The chunk follows: from the server (`down`), or immediately from the
//! client (`up`). Its receiver confirms the last byte by sending one byte, and the sender closes nothing before it has
//! received that: no byte can be lost at close, whatever the transport does there.
//!
//! A job may ask that only the transfer is confirmed ([`Done::Transfer`]), as kim-2022 has it. Then the server ends
//! each stream after its chunk, and the client waits for these ends. It confirms the transfer with that byte on one
//! more stream, or, over a transport without streams, by closing its connections.
//!
//! All connections are established before any content is sent, as in kim-2022, which reports connection times that add
//! up over the connections and delay the end of the transfer by as much.
//!
//! The receiver needs no memory to merge the chunks: the request states the offset of each in the content, and
//! [`verify`] compares each chunk's hash with that of the same part of the content. A job may ask for a file
//! nevertheless, as kim-2022 has it: then the client writes the chunks to files and puts these together ([`merge`]).
//!
//! A transfer that the job limits in time is broken off by the client, which resets its connections. Only the receiver
//! records what had arrived by then.
//!
//! When the client moves, connections that do not migrate are given up. The client reconnects and requests the rest of
//! every chunk of which the server may not know that it is complete: content from the server continues at the byte
//! reached, and content from the client begins again.

mod certificates;
mod client;
mod interop;
mod layout;
mod merge;
mod packet_times;
mod request;
mod server;
mod share;
mod verify;

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use netwarp_core::clock::Moment;
use netwarp_core::content_sink::{Received, SharedSink};
use netwarp_core::deadline::Deadline;
use netwarp_core::orchestrator::Orchestrator;
use netwarp_transport::error::{Context as _, Kind, Result, bail, ensure};
use netwarp_transport::{Connection, Dialer, Sent, Stream};
use netwarp_wire::content::{Part, Reader};
use netwarp_wire::job::{self, Content, Direction, Done, Job};
use netwarp_wire::problems::Problems;
use netwarp_wire::record::{Record, Side, TransferRecord};
use tokio::task::JoinSet;

use self::interop::Interop;
use self::layout::Layout;
use self::request::{ChunkRequest, PROTOCOL};
use self::verify::Expected;
use super::{ByProgram, End, Finish, Moves, OverConnections, Run, RunPlace, Sandbox, Workload};

/// The byte that confirms received content (ASCII's ACK).
const CONFIRMATION: u8 = 0x06;

/// The allowed numbers of chunks: at most as many as the streams that QUIC stacks allow a peer.
const CHUNKS: RangeInclusive<u32> = 1..=100;

#[async_trait]
impl OverConnections for job::Bulk {
    async fn drive(&self, run: &Arc<Run>, dialer: &Arc<dyn Dialer>, handovers: Moves) -> Result<Vec<Record>> {
        client::drive(run, self, dialer, handovers).await
    }

    async fn serve(&self, run: &Arc<Run>, connection: Box<dyn Connection>, finish: Finish) -> Result<Vec<Record>> {
        server::serve(run, self, connection, finish).await
    }
}

#[async_trait(?Send)]
impl ByProgram for job::Bulk {
    async fn serve(&self, orchestrator: &mut Orchestrator, run: RunPlace<'_>) -> anyhow::Result<()> {
        Interop::required(run.job, self)?.serve(orchestrator, run).await
    }

    async fn drive(&self, orchestrator: &mut Orchestrator, run: RunPlace<'_>) -> anyhow::Result<()> {
        Interop::required(run.job, self)?.drive(orchestrator, run).await
    }
}

impl Workload for job::Bulk {
    fn end(&self, job: &Job, _side: Side) -> End<'_> {
        if job.has_programs() { End::Program(self) } else { End::Connections(self) }
    }

    fn sandbox<'a>(&'a self, job: &'a Job) -> Option<Sandbox<'a>> {
        Interop::of(job, self).map(|interop| interop.sandbox())
    }

    fn fill_sandbox(&self, job: &Job) -> anyhow::Result<()> {
        Interop::of(job, self).map_or(Ok(()), |interop| interop.fill_sandbox())
    }

    fn check(&self, _job: &Job, problems: &mut Problems) {
        problems.require(CHUNKS.contains(&self.chunks), "workload.chunks", || {
            format!("is {}, must lie between {} and {}", self.chunks, CHUNKS.start(), CHUNKS.end())
        });
    }

    fn direction(&self) -> Direction {
        self.direction
    }

    fn breaks_off(&self) -> bool {
        self.duration_ns.is_some()
    }

    fn is_delivery(&self, record: &Record) -> bool {
        matches!(record, Record::Transfer(_) | Record::Merged(_) | Record::Download(_))
    }

    fn difference(&self, job: &Job, deliveries: &[Record]) -> anyhow::Result<Option<String>> {
        if job.has_programs() {
            return interop::difference(&self.content, deliveries);
        }
        if let Some(difference) = verify::difference(deliveries, &Expected::of(self, job)?) {
            return Ok(Some(difference));
        }
        merge::difference(deliveries, self)
    }

    fn content_bytes(&self) -> u64 {
        self.content.size_bytes().saturating_mul(u64::from(self.transfers))
    }

    fn files(&self) -> Vec<&Path> {
        match &self.content {
            Content::File { path, .. } => vec![path.as_ref()],
            Content::Seeded { .. } => Vec::new(),
        }
    }
}

/// Receives the byte that confirms content.
async fn confirmation(stream: &mut dyn Stream) -> Result<()> {
    let mut confirmation = [0];
    stream.receive(&mut confirmation).await.context("waiting for the receiver's confirmation")?;
    ensure!(confirmation == [CONFIRMATION], "{}", unconfirmed(confirmation[0]));
    Ok(())
}

/// Returns the error message for a byte that is not a confirmation. The first byte of a request shows that a request
/// has arrived again, although a client sends one per stream.
fn unconfirmed(byte: u8) -> String {
    if byte == PROTOCOL.0[0] {
        return "the transport delivered the request twice, and the second where its confirmation was due, as the \
                kernel's MPTCP does if one end alone has fallen back to TCP (findings.md)"
            .to_owned();
    }
    format!("the receiver answered {byte:#04x}, which confirms nothing")
}

/// Waits until the peer has ended the stream. All content of the stream must have arrived.
async fn ended(stream: &mut dyn Stream) -> Result<()> {
    match stream.receive(&mut [0]).await {
        Err(error) if error.kind() == Kind::Closed => Ok(()),
        Err(error) => Err(error).context("waiting for the end of the content"),
        Ok(()) => bail!("the peer sent more content than it was asked for"),
    }
}

/// Waits for all tasks and returns their results; the first error ends the wait.
async fn join_all<T: 'static>(mut tasks: JoinSet<Result<T>>) -> Result<Vec<T>> {
    let mut all = Vec::new();
    while let Some(one) = tasks.join_next().await {
        all.push(one.context("a task panicked")??);
    }
    Ok(all)
}

/// Waits until `at_ns` of `CLOCK_MONOTONIC`; forever if that is `None`.
async fn time_over(at_ns: Option<u64>) -> Result<()> {
    match at_ns {
        Some(_) => Ok(Deadline::new()?.wait_until(at_ns).await?),
        None => std::future::pending().await,
    }
}

/// One side of a `bulk` workload.
#[derive(Clone)]
struct Bulk {
    run: Arc<Run>,
    requested: job::Bulk,
    side: Side,
    layout: Layout,
    /// At the client: when it breaks the transfer off, in nanoseconds of `CLOCK_MONOTONIC`.
    until_ns: Option<u64>,
}

impl Bulk {
    fn of(run: &Arc<Run>, requested: &job::Bulk, side: Side) -> Self {
        let layout = Layout::of(requested, &run.job.only().transport);
        Self { run: run.clone(), requested: requested.clone(), side, layout, until_ns: None }
    }

    /// Returns the request for the rest of a chunk of a transfer after its first `after_bytes`. `attempt`: how often
    /// the client has reconnected.
    fn request(&self, (transfer, attempt): (u32, u32), chunk: u32, after_bytes: u64) -> ChunkRequest {
        let part = self.layout.part(chunk).after(after_bytes);
        ChunkRequest { direction: self.requested.direction, transfer, attempt, chunk, part }
    }

    async fn send(&self, stream: &mut dyn Stream, request: &ChunkRequest, verify: bool) -> Result<Sent> {
        let content = Reader::open(&self.requested.content, request.part, verify)?;
        stream.send_content(content).await.context("sending the content")
    }

    /// Receives content until the sink is full. Then confirms it, or, if only the transfer is confirmed, waits for the
    /// end of the stream.
    async fn receive(&self, stream: &mut dyn Stream, sink: &SharedSink) -> Result<Received> {
        sink.lock().expect("no holder panics").begin();
        stream.receive_content(sink.clone()).await.context("receiving the content")?;
        if self.requested.done == Done::Chunk {
            stream.send(&[CONFIRMATION]).await.context("confirming the content")?;
            return Ok(sink.lock().expect("no holder panics").received()?);
        }
        ended(stream).await?;
        let received = sink.lock().expect("no holder panics").received()?;
        Ok(Received { last_byte: Moment::now(), ..received })
    }

    /// Waits until the receiver confirms the sent content.
    async fn confirmed(&self, stream: &mut dyn Stream, sent: Sent) -> Result<Received> {
        confirmation(stream).await?;
        let Sent { first_byte, sha256 } = sent;
        Ok(Received { first_byte, last_byte: Moment::now(), longest_gap: None, sha256 })
    }

    fn record(&self, stream: &dyn Stream, request: &ChunkRequest, resumed_at_bytes: u64, received: Received) -> Record {
        let ChunkRequest { transfer, attempt, chunk, .. } = *request;
        let Part { length_bytes, .. } = self.layout.part(chunk);
        let bytes = (resumed_at_bytes, length_bytes - resumed_at_bytes);
        Record::Transfer(self.transfer_record(stream.index(), (transfer, attempt), chunk, bytes, received))
    }

    /// Returns the record of a chunk whose transfer was broken off, with the part that has arrived.
    fn record_of_broken_off(&self, stream: u32, round: (u32, u32), chunk: u32, sink: &SharedSink) -> Record {
        let sink = sink.lock().expect("no holder panics");
        Record::Transfer(self.transfer_record(stream, round, chunk, (0, sink.position_bytes()), sink.arrived()))
    }

    /// Returns the record of one end of a chunk: how many of its bytes earlier connections had carried, and how many
    /// this one moved.
    fn transfer_record(
        &self,
        stream: u32,
        (transfer, attempt): (u32, u32),
        chunk: u32,
        (resumed_at_bytes, bytes): (u64, u64),
        Received { first_byte, last_byte, longest_gap, sha256 }: Received,
    ) -> TransferRecord {
        TransferRecord {
            side: self.side,
            connection: self.layout.connection(transfer, attempt, chunk % self.layout.slots()),
            stream,
            transfer,
            chunk,
            direction: self.requested.direction,
            bytes,
            resumed_at_bytes,
            first_byte_ns: first_byte.since(self.run.epoch_ns),
            last_byte_ns: last_byte.since(self.run.epoch_ns),
            sha256,
            longest_gap_ns: longest_gap.map(|gap| gap.length_ns),
            longest_gap_at_ns: longest_gap.map(|gap| gap.start.since(self.run.epoch_ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_arrives_again_is_no_answer_of_the_receiver() {
        let part = Part { offset_bytes: 0, length_bytes: 1 };
        let first = ChunkRequest { direction: Direction::Down, transfer: 0, attempt: 0, chunk: 0, part };
        assert!(unconfirmed(first.encode(PROTOCOL)[0]).contains("delivered the request twice"));
        assert_eq!(unconfirmed(0x15), "the receiver answered 0x15, which confirms nothing");
    }
}
