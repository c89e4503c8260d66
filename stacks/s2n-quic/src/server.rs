//! The server: it answers clients until it is ordered to finish.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use netwarp_role::{
    Chunk, ConnectionRecord, Identity, Job, Orchestrator, Orders, Record, Side, TransferRecord, begin, now_ns,
};
use s2n_quic::Connection;
use tokio::task::JoinSet;

use crate::chunk_stream::{records, transfer_chunk};
use crate::counters::Counters;
use crate::endpoint;

/// Does the server's part of the job.
pub(crate) async fn serve(job: &Job, orchestrator: &mut Orchestrator, address: SocketAddr) -> Result<()> {
    let begin = begin(orchestrator)?;
    let identity = Identity::generate()?;
    let mut server = endpoint::server(job, &identity, address)?;
    orchestrator.ready(&identity.certificate_hex)?;
    let orders = Orders::of(orchestrator)?;
    let mut answered = Vec::new();
    loop {
        tokio::select! {
            biased;
            accepted = server.accept() => {
                let connection = accepted.context("s2n-quic accepts no connection any more")?;
                let connected_ns = now_ns() - begin.epoch_ns;
                answered.push(answer(job, connection, connected_ns, begin.epoch_ns).await?);
            }
            readable = orders.readable() => {
                readable?;
                break;
            }
        }
    }
    orchestrator.finish()?;
    for each in &answered {
        each.transfers.iter().cloned().try_for_each(|record| orchestrator.write(Record::Transfer(record)))?;
        orchestrator.write(Record::Connection(each.record.clone()))?;
    }
    Ok(())
}

/// A connection over which all requested chunks have been transferred.
struct Answered {
    transfers: Vec<TransferRecord>,
    record: ConnectionRecord,
    /// Held until the order to finish: dropped, it would be closed, and the client may not have everything yet.
    _connection: Connection,
}

/// Answers a client's requests on one connection, until all chunks have been transferred.
async fn answer(job: &Job, mut connection: Connection, connected_ns: u64, epoch_ns: u64) -> Result<Answered> {
    let mut chunks = JoinSet::new();
    for _ in 0..job.bulk.chunks {
        let stream = connection.accept_bidirectional_stream().await;
        let stream = stream
            .context("accept a stream")?
            .context("the client closed the connection before it asked for all chunks")?;
        chunks.spawn(transfer_chunk(stream, Chunk::answer(&job.bulk, epoch_ns), true));
    }
    let transfers = records(chunks).await?;
    let transfer = transfers.first().map_or(0, |record| record.transfer);
    let counted = Counters::of(&connection).context("s2n-quic has forgotten the connection")?;
    let times = (counted.begun_ns - epoch_ns, connected_ns);
    Ok(Answered { transfers, record: counted.record(job, Side::Server, transfer, times), _connection: connection })
}
