//! `bulk`: one content, over one stream of one connection.
//!
//! The client opens the stream with a [`Request`]. The content follows: from the server (`down`), or straight from the
//! client (`up`). Its receiver confirms the last byte with one byte of its own, and the sender closes nothing before
//! it has that: no byte can be lost at close, whatever the transport does there.

use anyhow::{Context as _, Result, bail, ensure};
use tokio::sync::watch;

use super::{Run, connection_record};
use crate::clock::Moment;
use crate::content::{Gap, Reader, Sink};
use crate::job::{Content, Heading, Workload};
use crate::record::{Record, Side};
use crate::transport::{Connection, Dialer, Received, Stream};

/// ASCII's ACK.
const CONFIRMATION: u8 = 0x06;

/// The client's part.
///
/// # Errors
/// Whatever kept the content from arriving.
pub async fn drive(run: &Run, dialer: &dyn Dialer) -> Result<Vec<Record>> {
    let bulk = Bulk::of(run, Side::Client, 0);
    let mut connection = dialer.dial(run.server).await?;
    let mut stream = connection.open_stream().await?;
    stream.send(&bulk.request().encode()).await.context("sending the request")?;
    let transfer = bulk.transfer(&mut *stream).await?;
    stream.finish().await?;
    let records = vec![connection_record(run, Side::Client, 0, &*connection, connection.report()?), transfer];
    drop(stream);
    connection.close().await?;
    Ok(records)
}

/// The server's part on one connection.
///
/// # Errors
/// Whatever kept the content from arriving.
pub async fn serve(
    run: &Run,
    mut connection: Box<dyn Connection>,
    index: u32,
    mut finish: watch::Receiver<bool>,
) -> Result<Vec<Record>> {
    let bulk = Bulk::of(run, Side::Server, index);
    let mut transfers = Vec::new();
    let mut report = None;
    loop {
        let accepted = tokio::select! {
            accepted = connection.accept_stream() => accepted?,
            () = finished(&mut finish) => None,
        };
        let Some(mut stream) = accepted else { break };
        bulk.receive_request(&mut *stream).await?;
        transfers.push(bulk.transfer(&mut *stream).await?);
        // Asked now: an SCTP association has nothing left to say once its peer has shut it down.
        report = Some(connection.report()?);
        tokio::select! {
            finished = stream.finish() => finished?,
            () = finished(&mut finish) => {}
        }
    }
    let report = report.context("the client closed the connection without asking for anything")?;
    let mut records = vec![connection_record(run, Side::Server, index, &*connection, report)];
    records.append(&mut transfers);
    Ok(records)
}

/// A client that is done has everything, even if its last words were lost on the path.
async fn finished(finish: &mut watch::Receiver<bool>) {
    if finish.wait_for(|finish| *finish).await.is_err() {
        // Whoever could say so is gone: this side's own work decides.
        std::future::pending::<()>().await;
    }
}

/// One side of the workload.
struct Bulk<'a> {
    run: &'a Run,
    side: Side,
    connection: u32,
    direction: Heading,
    content: &'a Content,
    verify: bool,
}

impl<'a> Bulk<'a> {
    fn of(run: &'a Run, side: Side, connection: u32) -> Self {
        let Workload::Bulk { direction, content, verify, .. } = &run.job.workload;
        Self { run, side, connection, direction: *direction, content, verify: *verify }
    }

    fn request(&self) -> Request {
        Request { direction: self.direction, size_bytes: self.content.size_bytes() }
    }

    async fn receive_request(&self, stream: &mut dyn Stream) -> Result<()> {
        let mut encoded = [0; REQUEST_BYTES];
        stream.receive(&mut encoded).await.context("receiving the request")?;
        let (asked, expected) = (Request::decode(&encoded)?, self.request());
        ensure!(asked == expected, "the client asks for {asked:?}, but the server's job is {expected:?}");
        Ok(())
    }

    async fn transfer(&self, stream: &mut dyn Stream) -> Result<Record> {
        match (self.side, self.direction) {
            (Side::Server, Heading::Down) | (Side::Client, Heading::Up) => self.send(stream).await,
            (Side::Client, Heading::Down) | (Side::Server, Heading::Up) => self.receive(stream).await,
        }
    }

    async fn send(&self, stream: &mut dyn Stream) -> Result<Record> {
        let content = Reader::open(self.content, self.verify)?;
        let sent = stream.send_content(content).await.context("sending the content")?;
        let mut confirmation = [0];
        stream.receive(&mut confirmation).await.context("waiting for the receiver's confirmation")?;
        ensure!(confirmation == [CONFIRMATION], "the receiver answered {confirmation:?} instead of a confirmation");
        Ok(self.record(stream, sent.first_byte, Moment::now(), sent.sha256, None))
    }

    async fn receive(&self, stream: &mut dyn Stream) -> Result<Record> {
        let sink =
            Sink::new(self.content.size_bytes(), self.verify).watching_arrivals(!self.run.job.timeline.is_empty());
        let received = stream.receive_content(sink).await.context("receiving the content")?;
        stream.send(&[CONFIRMATION]).await.context("confirming the content")?;
        let Received { first_byte, last_byte, longest_gap, sha256 } = received;
        Ok(self.record(stream, first_byte, last_byte, sha256, longest_gap))
    }

    fn record(
        &self,
        stream: &dyn Stream,
        first_byte: Moment,
        last_byte: Moment,
        sha256: Option<String>,
        longest_gap: Option<Gap>,
    ) -> Record {
        Record::Transfer {
            side: self.side,
            connection: self.connection,
            stream: stream.index(),
            transfer: 0,
            chunk: 0,
            direction: self.direction,
            bytes: self.content.size_bytes(),
            first_byte_ns: first_byte.since(self.run.epoch_ns),
            last_byte_ns: last_byte.since(self.run.epoch_ns),
            sha256,
            longest_gap_ns: longest_gap.map(|gap| gap.length_ns),
            longest_gap_at_ns: longest_gap.map(|gap| gap.start.since(self.run.epoch_ns)),
        }
    }
}

/// Name and version of the protocol.
const MAGIC: [u8; 8] = *b"netwarp\x01";
const REQUEST_BYTES: usize = MAGIC.len() + 1 + size_of::<u64>();

/// What the client asks for: magic, direction (0 down, 1 up), content length in big endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Request {
    direction: Heading,
    size_bytes: u64,
}

impl Request {
    fn encode(&self) -> [u8; REQUEST_BYTES] {
        let mut encoded = [0; REQUEST_BYTES];
        let (magic, rest) = encoded.split_at_mut(MAGIC.len());
        magic.copy_from_slice(&MAGIC);
        rest[0] = match self.direction {
            Heading::Down => 0,
            Heading::Up => 1,
        };
        rest[1..].copy_from_slice(&self.size_bytes.to_be_bytes());
        encoded
    }

    fn decode(encoded: &[u8; REQUEST_BYTES]) -> Result<Self> {
        let (magic, rest) = encoded.split_at(MAGIC.len());
        ensure!(magic == MAGIC, "the client speaks another protocol or version: its request begins with {magic:02x?}");
        let direction = match rest[0] {
            0 => Heading::Down,
            1 => Heading::Up,
            other => bail!("the client asks for direction {other}"),
        };
        let size_bytes = u64::from_be_bytes(rest[1..].try_into().expect("eight bytes are left"));
        Ok(Self { direction, size_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive_the_round_trip() {
        for (direction, size_bytes) in [(Heading::Down, 0), (Heading::Up, u64::MAX), (Heading::Down, 10_000_000)] {
            let request = Request { direction, size_bytes };
            assert_eq!(Request::decode(&request.encode()).unwrap(), request);
        }
    }

    #[test]
    fn other_protocols_are_refused() {
        let good = Request { direction: Heading::Up, size_bytes: 1 }.encode();
        for at in [0, 7, 8] {
            let mut bad = good;
            bad[at] ^= 0x40;
            assert!(Request::decode(&bad).is_err(), "byte {at}");
        }
    }
}
