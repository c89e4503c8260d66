//! What travels. Each workload is written once for each side, against [`crate::transport`]'s interface.

mod bulk;
pub mod layout;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Result, bail};
use tokio::sync::watch;

use crate::job::{Job, Workload};
use crate::record::{Record, Side};
use crate::transport::{Connection, Dialer, Report};

/// What both sides know of the run.
#[derive(Debug)]
pub struct Run {
    /// The job.
    pub job: Job,
    /// What the run's clock calls zero, in nanoseconds of `CLOCK_MONOTONIC`.
    pub epoch_ns: u64,
    /// Where the server listens.
    pub server: SocketAddr,
}

/// The client's part. Gives its records.
///
/// # Errors
/// Whatever kept the workload from being done in full.
pub async fn drive(run: &Arc<Run>, dialer: &Arc<dyn Dialer>) -> Result<Vec<Record>> {
    match &run.job.workload {
        Workload::Bulk(asked) => bulk::drive(run, asked, dialer).await,
        Workload::Stream(_) => bail!("this endpoint has no player"),
    }
}

/// The server's part on one connection. Gives its records when the client has closed the connection, or
/// when `finish` says that no client needs anything any more.
///
/// # Errors
/// Whatever kept the workload from being done in full.
pub async fn serve(
    run: &Arc<Run>,
    connection: Box<dyn Connection>,
    finish: watch::Receiver<bool>,
) -> Result<Vec<Record>> {
    match &run.job.workload {
        Workload::Bulk(asked) => bulk::serve(run, asked, connection, finish).await,
        Workload::Stream(_) => bail!("this endpoint has no storage of segments"),
    }
}

fn connection_record(
    run: &Run,
    side: Side,
    index: u32,
    transfer: u32,
    connection: &dyn Connection,
    report: Report,
) -> Record {
    Record::Connection {
        side,
        connection: index,
        transfer,
        abandoned: false,
        resumed: report.resumed,
        start_ns: connection.start().since(run.epoch_ns),
        connected_ns: connection.connected().since(run.epoch_ns),
        settings: report.settings,
        stats: report.stats,
    }
}
