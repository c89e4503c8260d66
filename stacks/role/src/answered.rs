//! The result of a server over tokio on one connection: the chunks that it has transferred, each on a separate task,
//! and the connection itself.

use anyhow::{Context as _, Result};
use netwarp_wire::record::{ConnectionRecord, Record, TransferRecord};
use tokio::task::JoinSet;

use crate::chunk::Chunk;
use crate::orchestrator::Orchestrator;

/// Waits until all chunks are transferred, and returns their records in order.
///
/// # Errors
/// The error of a chunk.
pub async fn records(mut transferred: JoinSet<Result<Chunk>>) -> Result<Vec<TransferRecord>> {
    let mut records = Vec::new();
    while let Some(chunk) = transferred.join_next().await {
        records.extend(chunk.context("carry a chunk")??.record());
    }
    records.sort_by_key(|record| record.chunk);
    Ok(records)
}

/// A connection over which all requested chunks have been transferred.
pub struct Answered<C> {
    transfers: Vec<TransferRecord>,
    record: ConnectionRecord,
    /// Kept until the order to finish: dropping it would close the connection, and the client may not have everything
    /// yet.
    _connection: C,
}

impl<C> Answered<C> {
    /// Creates the result of a connection whose chunks have been transferred.
    ///
    /// # Arguments
    /// * `record` - makes the connection's record, given the number of the transfer of its first chunk.
    ///
    /// # Errors
    /// The error of `record`.
    pub fn of(
        connection: C,
        transfers: Vec<TransferRecord>,
        record: impl FnOnce(&C, u32) -> Result<ConnectionRecord>,
    ) -> Result<Self> {
        let transfer = transfers.first().map_or(0, |record| record.transfer);
        let record = record(&connection, transfer)?;
        Ok(Self { transfers, record, _connection: connection })
    }

    /// Sends the records of the chunks and of the connection to the orchestrator.
    ///
    /// # Errors
    /// The orchestrator does not accept them.
    pub fn write(&self, orchestrator: &mut Orchestrator) -> Result<()> {
        self.transfers.iter().cloned().try_for_each(|record| orchestrator.write(Record::Transfer(record)))?;
        orchestrator.write(Record::Connection(self.record.clone()))
    }
}
