//! The server: it answers clients until it is ordered to finish.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use netwarp_role::{Answered, Chunk, Identity, Job, Orchestrator, Orders, Side, begin, now_ns, records};
use s2n_quic::Connection;
use tokio::task::JoinSet;

use crate::chunk_stream::transfer_chunk;
use crate::counters::Counters;
use crate::endpoint;

/// Carries out the server's part of the job.
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
    answered.iter().try_for_each(|each| each.write(orchestrator))
}

/// Answers a client's requests on one connection, until all chunks have been transferred.
async fn answer(
    job: &Job,
    mut connection: Connection,
    connected_ns: u64,
    epoch_ns: u64,
) -> Result<Answered<Connection>> {
    let mut chunks = JoinSet::new();
    for _ in 0..job.bulk.chunks {
        let stream = connection.accept_bidirectional_stream().await;
        let stream = stream
            .context("accept a stream")?
            .context("the client closed the connection before it asked for all chunks")?;
        chunks.spawn(transfer_chunk(stream, Chunk::answer(&job.bulk, epoch_ns), true));
    }
    Answered::of(connection, records(chunks).await?, |connection, transfer| {
        let counted = Counters::of(connection).context("s2n-quic has forgotten the connection")?;
        Ok(counted.record(job, Side::Server, transfer, (counted.begun_ns - epoch_ns, connected_ns)))
    })
}
