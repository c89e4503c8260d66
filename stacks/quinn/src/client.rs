//! The client: carries out all transfers, one after another, each over a new connection.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use netwarp_role::{Chunk, Job, Orchestrator, Record, Request, SERVER_NAME, Side, anywhere, begin, now_ns, records};
use quic::Endpoint;
use tokio::task::JoinSet;

use crate::chunk_stream::transfer_chunk;
use crate::endpoint::{self, stats};

/// Carries out the client's part of the job.
pub(crate) async fn drive(job: &Job, orchestrator: &mut Orchestrator, server: SocketAddr) -> Result<()> {
    let begin = begin(orchestrator)?;
    let trusted = begin.certificate.context("the server has no certificate")?;
    let client = endpoint::client(job, &trusted, anywhere(server))?;
    for transfer in 0..job.bulk.transfers {
        run_transfer(job, orchestrator, &client, server, (transfer, begin.epoch_ns))
            .await
            .with_context(|| format!("transfer {transfer}"))?;
    }
    client.wait_idle().await;
    Ok(())
}

async fn run_transfer(
    job: &Job,
    orchestrator: &mut Orchestrator,
    client: &Endpoint,
    server: SocketAddr,
    (transfer, epoch_ns): (u32, u64),
) -> Result<()> {
    let start_ns = now_ns() - epoch_ns;
    let connection = client.connect(server, SERVER_NAME).context("dial")?.await.context("connect")?;
    let connected_ns = now_ns() - epoch_ns;
    let mut chunks = JoinSet::new();
    for chunk in 0..job.bulk.chunks {
        let stream = connection.open_bi().await.context("open a stream")?;
        let chunk = Chunk::ask(&job.bulk, Request { transfer, chunk }, epoch_ns)?;
        chunks.spawn(transfer_chunk(stream, chunk, false));
    }
    records(chunks).await?.into_iter().try_for_each(|record| orchestrator.write(Record::Transfer(record)))?;
    let record = job.connection_record(Side::Client, transfer, (start_ns, connected_ns), stats(&connection));
    connection.close(0_u32.into(), b"");
    orchestrator.write(Record::Connection(record))
}
