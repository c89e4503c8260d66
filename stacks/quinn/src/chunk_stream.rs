//! Transfers chunks over streams.

use anyhow::{Context as _, Result, ensure};
use netwarp_role::{BLOCK_BYTES, Chunk};
use quic::{RecvStream, SendStream};

/// Transfers a chunk from beginning to end. Only one end has something to send at a time.
///
/// # Arguments
/// * `ends` - whether this side ends the stream when everything has arrived; otherwise it waits for the peer to end it.
pub(crate) async fn transfer_chunk(
    (mut outgoing, mut incoming): (SendStream, RecvStream),
    mut chunk: Chunk,
    ends: bool,
) -> Result<Chunk> {
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        loop {
            let bytes = chunk.outgoing()?;
            if bytes.is_empty() {
                break;
            }
            let accepted = outgoing.write(bytes).await.context("write to a stream")?;
            chunk.advance(accepted);
        }
        if ends && chunk.is_done() {
            outgoing.finish().context("end the stream")?;
            return Ok(chunk);
        }
        match incoming.read(&mut block).await.context("read from a stream")? {
            Some(length) => chunk.incoming(&block[..length])?,
            None => {
                ensure!(chunk.is_done(), "the stream ended before the chunk had been transferred");
                return Ok(chunk);
            }
        }
    }
}
