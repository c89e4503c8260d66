//! The server: answers clients until it is ordered to finish.

use std::net::SocketAddr;
use std::os::fd::RawFd;

use anyhow::{Context as _, Result, bail};
use netwarp_role::{Chunk, ConnectionRecord, Identity, Job, Orchestrator, Order, Record, Side, TransferRecord, now_ns};
use s2n_quic::Connection;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::JoinSet;

use crate::carry::carry;
use crate::clock::begin;
use crate::counters::Counters;
use crate::endpoint;

/// Serves the job's clients.
///
/// # Errors
/// Whatever kept it from being done in full.
pub(crate) async fn serve(job: &Job, orchestrator: &mut Orchestrator, address: SocketAddr) -> Result<()> {
    let begin = begin(orchestrator)?;
    let identity = Identity::generate()?;
    let mut server = endpoint::server(job, &identity, address)?;
    orchestrator.ready(&identity.certificate_hex)?;
    // SAFETY: standard input stays open and in its place.
    let orders: AsyncFd<RawFd> =
        unsafe { AsyncFd::register_with_interest(orchestrator.descriptor(), Interest::READABLE) }
            .context("wait for orders")?;
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
                readable.context("wait for orders")?.retain_ready();
                break;
            }
        }
    }
    match orchestrator.next_order()? {
        None | Some(Order::Finish {}) => {}
        Some(order) => bail!("a server is only ordered to finish, not to {order:?}"),
    }
    for each in &answered {
        each.transfers.iter().cloned().try_for_each(|record| orchestrator.write(Record::Transfer(record)))?;
        orchestrator.write(Record::Connection(each.record.clone()))?;
    }
    Ok(())
}

/// A connection on which all that was asked for has been carried.
struct Answered {
    transfers: Vec<TransferRecord>,
    record: ConnectionRecord,
    /// Held until the order to finish: s2n-quic closes what nobody holds, and the client may not have all yet.
    _connection: Connection,
}

/// Answers what a client asks for on one connection, until all chunks have been carried.
async fn answer(job: &Job, mut connection: Connection, connected_ns: u64, epoch_ns: u64) -> Result<Answered> {
    let mut carried = JoinSet::new();
    for _ in 0..job.bulk.chunks {
        let stream = connection.accept_bidirectional_stream().await;
        let stream = stream
            .context("accept a stream")?
            .context("the client closed the connection before it asked for all chunks")?;
        carried.spawn(carry(stream, Chunk::answer(&job.bulk, epoch_ns), true));
    }
    let mut transfers = Vec::new();
    while let Some(chunk) = carried.join_next().await {
        transfers.extend(chunk.context("carry a chunk")??.record());
    }
    transfers.sort_by_key(|record| record.chunk);
    let transfer = transfers.first().map_or(0, |record| record.transfer);
    let counted = Counters::of(&connection).context("s2n-quic has forgotten the connection")?;
    let times = (counted.begun_ns - epoch_ns, connected_ns);
    Ok(Answered { transfers, record: counted.record(job, Side::Server, transfer, times), _connection: connection })
}
