//! Transfers chunks over streams of s2n-quic.

use std::future::poll_fn;
use std::task::{Context, Poll};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use netwarp_role::Chunk;
use s2n_quic::stream::{BidirectionalStream, ReceiveStream, SendStream};

/// Transfers a chunk from beginning to end.
///
/// # Arguments
/// * `ends` - whether this side ends the stream when everything has arrived; otherwise it waits for the peer to end it.
pub(crate) async fn transfer_chunk(stream: BidirectionalStream, chunk: Chunk, ends: bool) -> Result<Chunk> {
    let (incoming, outgoing) = stream.split();
    let mut transfer = ChunkStream { incoming, outgoing, chunk, unsent: Bytes::new(), is_ended: false };
    poll_fn(|context| transfer.poll(context, ends)).await?;
    if ends {
        transfer.outgoing.finish().context("end the stream")?;
    }
    Ok(transfer.chunk)
}

struct ChunkStream {
    incoming: ReceiveStream,
    outgoing: SendStream,
    chunk: Chunk,
    /// The bytes that the stream has not accepted yet.
    unsent: Bytes,
    /// Whether the peer has ended its side of the stream.
    is_ended: bool,
}

impl ChunkStream {
    fn poll(&mut self, context: &mut Context<'_>, ends: bool) -> Poll<Result<()>> {
        while !self.is_ended {
            match self.incoming.poll_receive(context) {
                Poll::Ready(Ok(Some(bytes))) => self.chunk.incoming(&bytes)?,
                Poll::Ready(Ok(None)) => self.is_ended = true,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error).context("read from a stream")),
                Poll::Pending => break,
            }
        }
        loop {
            if self.unsent.is_empty() {
                self.unsent = Bytes::copy_from_slice(self.chunk.outgoing()?);
            }
            let length = self.unsent.len();
            if length == 0 {
                break;
            }
            let taken = self.outgoing.poll_send(&mut self.unsent, context);
            self.chunk.advance(length - self.unsent.len());
            match taken {
                Poll::Ready(taken) => taken.context("write to a stream")?,
                Poll::Pending => break,
            }
        }
        if self.chunk.is_done() && (ends || self.is_ended) { Poll::Ready(Ok(())) } else { Poll::Pending }
    }
}
