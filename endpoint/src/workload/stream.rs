//! `stream`: a medium in segments, watched by a viewer whose player adapts.
//!
//! [`player`], [`rule`] and [`medium`] decide, and know neither clock nor connection; [`client`] and [`storage`] carry out.

mod alarm;
mod client;
mod lanes;
mod link;
mod medium;
mod player;
pub mod proof;
mod request;
mod rule;
mod storage;

use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio::sync::watch;

use self::client::Client;
use self::medium::Medium;
use self::storage::Storage;
use super::{Moves, Run, connection_record, finished};
use crate::job;
use crate::record::{Record, Side};
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
/// Whatever kept it from answering.
pub async fn serve(
    run: &Arc<Run>,
    asked: &job::Stream,
    mut connection: Box<dyn Connection>,
    mut finish: watch::Receiver<bool>,
) -> Result<Vec<Record>> {
    let mut storage = Storage::new(&Arc::new(Medium::of(asked)), fixed_streams(&run.job.transport));
    storage.serve(&mut *connection, &mut finish).await?;
    let index = storage.number().context("the client closed the connection without asking for anything")?;
    let records = vec![connection_record(run, Side::Server, index, 0, false, &*connection, connection.report()?)];
    storage.confirm();
    tokio::select! {
        confirmed = storage.confirmed() => confirmed?,
        () = finished(&mut finish) => {}
    }
    tokio::select! {
        closed = connection.closed() => closed?,
        () = finished(&mut finish) => {}
    }
    Ok(records)
}

/// How many streams a connection has from the start; none if any number can be opened.
fn fixed_streams(transport: &job::Transport) -> Option<u32> {
    Some(transport::streams_at_most(transport)).filter(|streams| *streams < u32::MAX)
}
