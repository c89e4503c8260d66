//! The server: it answers clients until it is ordered to finish.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use netwarp_role::{Answered, Chunk, Identity, Job, Orchestrator, Orders, Side, begin, now_ns, records};
use quic::{Connection, Incoming};
use tokio::task::JoinSet;

use crate::chunk_stream::transfer_chunk;
use crate::endpoint::{self, stats};

/// Carries out the server's part of the job.
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
    answered.iter().try_for_each(|each| each.write(orchestrator))
}

/// Answers a client's requests on one connection, until all chunks have been transferred.
async fn answer(job: &Job, incoming: Incoming, epoch_ns: u64) -> Result<Answered<Connection>> {
    let start_ns = now_ns() - epoch_ns;
    let connection = incoming.await.context("accept a connection")?;
    let connected_ns = now_ns() - epoch_ns;
    let mut chunks = JoinSet::new();
    for _ in 0..job.bulk.chunks {
        let stream = connection.accept_bi().await.context("accept a stream")?;
        chunks.spawn(transfer_chunk(stream, Chunk::answer(&job.bulk, epoch_ns), true));
    }
    Answered::of(connection, records(chunks).await?, |connection, transfer| {
        Ok(job.connection_record(Side::Server, transfer, (start_ns, connected_ns), stats(connection)))
    })
}
