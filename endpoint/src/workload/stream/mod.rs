//! `stream`: a medium in segments, watched by a viewer whose player adapts.
//!
//! [`player`], [`rule`] and [`medium`] decide, and know neither clock nor connection; [`client`] and [`storage`] carry out.

mod alarm;
mod client;
mod lanes;
mod link;
mod media;
mod player;
mod request;
mod rule;
mod server;
pub mod verify;

use std::sync::Arc;

use tokio::sync::watch;

use self::client::Client;
use self::media::Media;
use self::server::MediaServer;
use super::{Moves, Run, connection_record, finished};
use crate::job;
use crate::record::{ConnectionRecord, Record, Side};
use crate::transport::error::{Result, bail};
use crate::transport::{self, Connection, Dialer};

/// ASCII's ACK: the answer to a farewell.
const FAREWELL: u8 = 0x06;

/// The client's part.
///
/// # Errors
/// Whatever kept the viewer from seeing enough.
pub async fn drive(
    run: &Arc<Run>,
    asked: &job::Stream,
    dialer: &Arc<dyn Dialer>,
    moves: watch::Receiver<Moves>,
) -> Result<Vec<Record>> {
    let mut client = Client::new(run, asked, dialer, moves)?;
    client.watch().await?;
    client.close().await
}

/// The server's part on one connection.
///
/// # Errors
/// Whatever kept it from answering. That a client which moves gives the connection up is none.
pub async fn serve(
    run: &Arc<Run>,
    asked: &job::Stream,
    mut connection: Box<dyn Connection>,
    mut finish: watch::Receiver<bool>,
) -> Result<Vec<Record>> {
    let mut storage = MediaServer::new(&Arc::new(Media::of(asked)), fixed_streams(&run.job.transport));
    let is_ended = storage.serve(run, &mut *connection, &mut finish).await?;
    let has_handovers = run.job.timeline.has_handovers();
    let index = match storage.number() {
        // What a client has given up may never end. Its streams are still at work: there is nothing to be said of it.
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

/// Confirms the farewells, and waits for the client to close.
async fn end(
    storage: &mut MediaServer,
    connection: &mut dyn Connection,
    finish: &mut watch::Receiver<bool>,
) -> Result<()> {
    storage.confirm();
    tokio::select! {
        confirmed = storage.confirmed() => confirmed?,
        () = finished(finish) => {}
    }
    tokio::select! {
        closed = connection.closed() => closed,
        () = finished(finish) => Ok(()),
    }
}

/// How many streams a connection has from the start; none if any number can be opened.
fn fixed_streams(transport: &job::Transport) -> Option<u32> {
    Some(transport::streams_at_most(transport)).filter(|streams| *streams < u32::MAX)
}
