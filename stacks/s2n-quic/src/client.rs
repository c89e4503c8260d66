//! The client: carries out all transfers, one after another, each over a new connection.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use netwarp_role::{Chunk, Job, Orchestrator, Record, Request, SERVER_NAME, Side, begin, now_ns, records, to_pem};
use s2n_quic::Client;
use s2n_quic::client::Connect;
use tokio::task::JoinSet;

use crate::chunk_stream::transfer_chunk;
use crate::counters::Counters;
use crate::endpoint;

/// Carries out the client's part of the job.
pub(crate) async fn drive(job: &Job, orchestrator: &mut Orchestrator, server: SocketAddr) -> Result<()> {
    let begin = begin(orchestrator)?;
    let trusted = begin.certificate.context("the server has no certificate")?;
    let client = endpoint::client(job, &to_pem(&trusted)?, server)?;
    for transfer in 0..job.bulk.transfers {
        run_transfer(job, orchestrator, &client, server, (transfer, begin.epoch_ns))
            .await
            .with_context(|| format!("transfer {transfer}"))?;
    }
    Ok(())
}

async fn run_transfer(
    job: &Job,
    orchestrator: &mut Orchestrator,
    client: &Client,
    server: SocketAddr,
    (transfer, epoch_ns): (u32, u64),
) -> Result<()> {
    let start_ns = now_ns() - epoch_ns;
    let dialled = client.connect(Connect::new(server).with_server_name(SERVER_NAME));
    let mut connection = dialled.await.context("connect")?;
    let connected_ns = now_ns() - epoch_ns;
    let mut chunks = JoinSet::new();
    for chunk in 0..job.bulk.chunks {
        let stream = connection.open_bidirectional_stream().await;
        let chunk = Chunk::ask(&job.bulk, Request { transfer, chunk }, epoch_ns)?;
        chunks.spawn(transfer_chunk(stream.context("open a stream")?, chunk, false));
    }
    records(chunks).await?.into_iter().try_for_each(|record| orchestrator.write(Record::Transfer(record)))?;
    let counted = Counters::of(&connection).context("s2n-quic has forgotten the connection")?;
    connection.close(0_u32.into());
    orchestrator.write(Record::Connection(counted.record(job, Side::Client, transfer, (start_ns, connected_ns))))
}
