//! The server: it answers clients until it is ordered to finish.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use netwarp_role::{
    Chunk, ConnectionRecord, Identity, Job, Orchestrator, Orders, Record, Side, TransferRecord, begin, now_ns,
};
use quic::{Connection, Incoming};
use tokio::task::JoinSet;

use crate::chunk_stream::{records, transfer_chunk};
use crate::endpoint::{self, connection_record};

/// Does the server's part of the job.
pub(crate) async fn serve(job: &Job, orchestrator: &mut Orchestrator, address: SocketAddr) -> Result<()> {
    let begin = begin(orchestrator)?;
    let identity = Identity::generate()?;
    let server = endpoint::server(job, &identity, address)?;
    orchestrator.ready(&identity.certificate_hex)?;
    let orders = Orders::of(orchestrator)?;
    let mut answered = Vec::new();
    loop {
        tokio::select! {
            biased;
            accepted = server.accept() => {
                let incoming = accepted.context("the endpoint accepts no connection any more")?;
                answered.push(answer(job, incoming, begin.epoch_ns).await?);
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
async fn answer(job: &Job, incoming: Incoming, epoch_ns: u64) -> Result<Answered> {
    let start_ns = now_ns() - epoch_ns;
    let connection = incoming.await.context("accept a connection")?;
    let connected_ns = now_ns() - epoch_ns;
    let mut chunks = JoinSet::new();
    for _ in 0..job.bulk.chunks {
        let stream = connection.accept_bi().await.context("accept a stream")?;
        chunks.spawn(transfer_chunk(stream, Chunk::answer(&job.bulk, epoch_ns), true));
    }
    let transfers = records(chunks).await?;
    let transfer = transfers.first().map_or(0, |record| record.transfer);
    let record = connection_record(job, &connection, Side::Server, transfer, (start_ns, connected_ns));
    Ok(Answered { transfers, record, _connection: connection })
}
