//! What a server over tokio has answered: chunks, each on a task of its own, and the connection that they came over.

use anyhow::{Context as _, Result};
use netwarp_wire::record::{ConnectionRecord, Record, TransferRecord};
use tokio::task::JoinSet;

use crate::chunk::Chunk;
use crate::orchestrator::Orchestrator;

/// Waits until chunks are transferred, and returns their records in order.
///
/// # Errors
/// That of a chunk.
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
    /// Held until the order to finish: dropped, it would be closed, and the client may not have everything yet.
    _connection: C,
}

impl<C> Answered<C> {
    /// Notes a connection when its chunks have been transferred.
    ///
    /// # Arguments
    /// * `record` - makes the record of the connection, of its first chunk's transfer.
    ///
    /// # Errors
    /// That of `record`.
    pub fn of(
        connection: C,
        transfers: Vec<TransferRecord>,
        record: impl FnOnce(&C, u32) -> Result<ConnectionRecord>,
    ) -> Result<Self> {
        let transfer = transfers.first().map_or(0, |record| record.transfer);
        let record = record(&connection, transfer)?;
        Ok(Self { transfers, record, _connection: connection })
    }

    /// Writes the records of what was transferred, and of the connection.
    ///
    /// # Errors
    /// The orchestrator does not take them.
    pub fn write(&self, orchestrator: &mut Orchestrator) -> Result<()> {
        self.transfers.iter().cloned().try_for_each(|record| orchestrator.write(Record::Transfer(record)))?;
        orchestrator.write(Record::Connection(self.record.clone()))
    }
}
