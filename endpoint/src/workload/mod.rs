//! What travels. Each workload is written once for each side, against [`crate::transport`]'s interface.

mod bulk;
pub mod layout;
pub mod stream;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use tokio::sync::watch;

use crate::flow::SharedFlow;
use crate::job::{Job, Workload};
use crate::record::{Record, Side};
use crate::sink::WatchedFlow;
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
    /// What this side receives, over time.
    pub flow: SharedFlow,
}

impl Run {
    /// Where sinks note what comes, in a run whose records tell of it.
    pub fn watched_flow(&self) -> Option<WatchedFlow> {
        let is_told = !self.job.timeline.is_empty() || matches!(self.job.workload, Workload::Stream(_));
        is_told.then(|| WatchedFlow { flow: self.flow.clone(), epoch_ns: self.epoch_ns })
    }
}

/// The client's moves between paths until now, for workloads to wait on. What they dial after having seen a move leaves
/// from the new address; connections that do not migrate are theirs to give up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moves {
    /// How many.
    pub count: u32,
}

/// What the work comes to, or none if the client moves first.
#[allow(dead_code)]
pub async fn unless_moved<T>(moves: &mut watch::Receiver<Moves>, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        result = work => Some(result),
        Ok(()) = moves.changed() => None,
    }
}

/// The client's part. Gives its records.
///
/// # Errors
/// Whatever kept the workload from being done in full.
pub async fn drive(run: &Arc<Run>, dialer: &Arc<dyn Dialer>, moves: watch::Receiver<Moves>) -> Result<Vec<Record>> {
    match &run.job.workload {
        Workload::Bulk(asked) => bulk::drive(run, asked, dialer, moves).await,
        Workload::Stream(asked) => stream::drive(run, asked, dialer, moves).await,
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
        Workload::Stream(asked) => stream::serve(run, asked, connection, finish).await,
    }
}

fn connection_record(
    run: &Run,
    side: Side,
    index: u32,
    transfer: u32,
    abandoned: bool,
    connection: &dyn Connection,
    report: Report,
) -> Record {
    Record::Connection {
        side,
        connection: index,
        transfer,
        abandoned,
        resumed: report.resumed,
        start_ns: connection.start().since(run.epoch_ns),
        connected_ns: connection.connected().since(run.epoch_ns),
        settings: report.settings,
        stats: report.stats,
    }
}
