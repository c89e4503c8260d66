//! `stream`: a medium in segments, watched by a viewer whose player adapts.
//!
//! [`player`], [`rule`] and [`media`] make decisions and have neither clock nor connection; [`client`] and [`server`]
//! carry them out.

mod client;
mod client_connection;
mod media;
mod player;
mod request;
mod rule;
mod server;
mod stream_slots;
mod verify;

use std::sync::Arc;

use async_trait::async_trait;
use netwarp_transport::error::{Result, bail};
use netwarp_transport::stack_of;
use netwarp_transport::{Connection, Dialer};
use netwarp_wire::job::{self, Job};
use netwarp_wire::problems::Problems;
use netwarp_wire::record::{ConnectionRecord, Record, Side};

use self::client::Client;
use self::media::Media;
use self::server::MediaServer;
use super::{End, Finish, Moves, OverConnections, Run, Workload, connection_record, unless_finished};

/// The server's answer to a farewell, the client's last message on a stream (ASCII's ACK).
const FAREWELL: u8 = 0x06;

/// The most streams of a connection whose number of streams is fixed from its start: each has a waiting thread at
/// either end.
const MOST_STREAMS: u32 = 2000;

#[async_trait]
impl OverConnections for job::Stream {
    async fn drive(&self, run: &Arc<Run>, dialer: &Arc<dyn Dialer>, handovers: Moves) -> Result<Vec<Record>> {
        let mut client = Client::new(run, self, dialer, handovers)?;
        client.watch().await?;
        client.close().await
    }

    async fn serve(
        &self,
        run: &Arc<Run>,
        mut connection: Box<dyn Connection>,
        mut finish: Finish,
    ) -> Result<Vec<Record>> {
        let mut storage = MediaServer::new(&Arc::new(Media::of(self)), fixed_streams(&run.job.only().transport));
        let is_ended = storage.serve(run, &mut *connection, &mut finish).await?;
        let has_handovers = run.job.timeline.has_handovers();
        let index = match storage.number() {
            // Streams that the client has given up may never end. They are still at work, so there is nothing to
            // report.
            Some(index) if is_ended => index,
            _ if has_handovers => return Ok(Vec::new()),
            _ => bail!("the client left the connection without a farewell"),
        };
        let is_lost = storage.is_lost();
        let record = connection_record(run, Side::Server, &*connection, is_lost)?;
        let record = record.map(|record| Record::Connection(ConnectionRecord { connection: index, ..record }));
        if !is_lost {
            let ended = end(&mut storage, &mut *connection, &mut finish).await;
            ended.or_else(|error| run.ignore_if_abandoned(error, Some(index)))?;
        }
        Ok(record.into_iter().collect())
    }
}

impl Workload for job::Stream {
    fn end(&self, _job: &Job, _side: Side) -> End<'_> {
        End::Connections(self)
    }

    fn is_delivery(&self, record: &Record) -> bool {
        matches!(record, Record::Segment(_))
    }

    fn check(&self, job: &Job, problems: &mut Problems) {
        let streams = fixed_streams(&job.only().transport).unwrap_or(1);
        problems.require(streams <= MOST_STREAMS, "transport.sctp.streams", || {
            format!("is {streams}, and a player opens all of them at once, at most {MOST_STREAMS}")
        });
    }

    fn difference(&self, _job: &Job, deliveries: &[Record]) -> anyhow::Result<Option<String>> {
        verify::difference(deliveries, self)
    }

    /// Returns the size of the watched segments in the highest quality. Because of seeks more may be sent, and because
    /// of handovers some twice.
    fn content_bytes(&self) -> u64 {
        let largest_bytes = self.qualities.iter().map(|quality| quality.segment_bytes).max().unwrap_or(0);
        largest_bytes.saturating_mul(self.watch_ns.div_ceil(self.segment_ns.max(1)))
    }

    fn is_played(&self) -> bool {
        true
    }
}

/// Confirms that the streams have ended, and waits until the client closes the connection or is done.
async fn end(storage: &mut MediaServer, connection: &mut dyn Connection, finish: &mut Finish) -> Result<()> {
    storage.confirm();
    unless_finished(finish, storage.confirmed()).await?;
    unless_finished(finish, connection.closed()).await
}

/// Returns how many streams every connection has from its start; `None` if any number can be opened.
fn fixed_streams(transport: &job::Transport) -> Option<u32> {
    Some(stack_of(transport.kind).most_streams(transport)).filter(|streams| *streams < u32::MAX)
}
