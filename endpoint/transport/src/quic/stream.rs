//! A QUIC stream with the interface that workloads use.

use std::sync::Arc;

use async_trait::async_trait;
use netwarp_core::clock::Moment;
use netwarp_core::connection_gauges::ConnectionGauges;
use netwarp_core::content_sink::SharedSink;
use netwarp_wire::content::Reader;
use quinn::{ReadError, StoppedError};

use super::blocks::Blocks;
use super::closing::closed_at_the_end;
use super::receive::Receiver;
use crate::Sent;
use crate::error::{Context as _, Error, Result, bail};

/// How many bytes of content are passed to quinn at once. quinn frees its send buffer by whole writes, so this is far
/// smaller than the buffer.
const SEND_BLOCK_BYTES: usize = 64 << 10;

/// A stream in both directions.
pub(super) struct Stream {
    pub send: quinn::SendStream,
    pub receive: Receiver,
    /// The index of the stream on its connection, starting at 0.
    pub index: u32,
    /// Whether this side has told the peer that it sends nothing more.
    pub is_closed_for_sending: bool,
    /// Shared memory for the state of the stream's connection, if that is sampled.
    pub gauges: Option<Arc<ConnectionGauges>>,
}

#[async_trait]
impl crate::Stream for Stream {
    fn index(&self) -> u32 {
        self.index
    }

    async fn send(&mut self, message: &[u8]) -> Result<()> {
        let _waiting = self.gauges.as_ref().map(ConnectionGauges::waiting);
        self.send.write_all(message).await.context("sending over quic")
    }

    async fn receive(&mut self, buffer: &mut [u8]) -> Result<()> {
        self.receive.fill(buffer).await
    }

    async fn send_content(&mut self, mut content: Reader) -> Result<Sent> {
        let first_byte = Moment::now();
        let blocks = Blocks::new(content.remaining_bytes().min(SEND_BLOCK_BYTES as u64) as usize);
        while content.remaining_bytes() > 0 {
            let mut block = blocks.take();
            let length = content.read(&mut block)?.len();
            let _waiting = self.gauges.as_ref().map(ConnectionGauges::waiting);
            self.send.write_chunk(blocks.lend(block, length)).await.context("sending the content over quic")?;
        }
        Ok(Sent { first_byte, sha256: content.into_sha256() })
    }

    async fn receive_content(&mut self, sink: SharedSink) -> Result<()> {
        let remaining_bytes = || sink.lock().expect("no holder panics").remaining_bytes();
        while let remaining @ 1.. = remaining_bytes() {
            let limit = usize::try_from(remaining).unwrap_or(usize::MAX);
            let bytes = self.receive.next(limit).await.context("receiving the content over quic")?;
            let ended = || Error::closed(format!("the stream ended when {remaining} bytes were to come"));
            sink.lock().expect("no holder panics").consume(&bytes.ok_or_else(ended)?)?;
        }
        Ok(())
    }

    async fn close_sending(&mut self) -> Result<()> {
        self.is_closed_for_sending = true;
        self.send.finish().context("ending a QUIC stream")
    }

    /// Ends the stream, and waits until the peer has ended it too: dropping a stream that has not ended would ask the
    /// peer to stop sending.
    async fn finish(&mut self) -> Result<bool> {
        if !self.is_closed_for_sending {
            self.send.finish().context("finishing a QUIC stream")?;
        }
        match self.send.stopped().await {
            Ok(None) => {}
            Ok(Some(code)) => bail!("the peer refused the end of a QUIC stream (error {code})"),
            // The peer closes only when it has received everything.
            Err(StoppedError::ConnectionLost(error)) if closed_at_the_end(&error) => {}
            Err(error) => return Err(error).context("finishing a QUIC stream"),
        }
        match self.receive.next(1).await {
            Ok(None) => Ok(true),
            Ok(Some(_)) => bail!("the peer sent more than it was asked for"),
            Err(ReadError::ConnectionLost(error)) if closed_at_the_end(&error) => Ok(true),
            Err(error) => Err(error).context("waiting for the end of a QUIC stream"),
        }
    }
}
