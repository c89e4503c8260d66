//! A flow whose messages are QUIC datagrams (RFC 9221): one message in each, and none retransmitted.
//!
//! What must arrive is sent on an additional stream: the client's request, the end of the messages, and the receiver's
//! confirmation. The server learns of that stream only when data arrives on it, so it accepts datagrams before.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use netwarp_core::clock::Moment;
use netwarp_core::connection_gauges::ConnectionGauges;
use netwarp_core::content_sink::SharedSink;
use netwarp_core::deadline::Deadline;
use netwarp_core::flow::{MessageSink, Pacer};
use netwarp_wire::content::Reader;
use netwarp_wire::record::Side;

use super::receive::Receiver;
use super::stream::Stream;
use crate::error::{Context as _, Result, bail};
use crate::{Sent, Stream as _, received_now};

/// The message that marks the end of the flow (ASCII's EOT).
const END: u8 = 0x04;

/// A flow of datagrams, with the additional stream.
pub(super) struct DatagramFlow {
    connection: quinn::Connection,
    gauges: Option<Arc<ConnectionGauges>>,
    beside: Beside,
}

impl DatagramFlow {
    /// Creates the flow of a connection. The client opens the stream.
    ///
    /// # Arguments
    /// * `window_bytes` - the flow-control window of the stream.
    /// * `gauges` - shared memory for the connection's state, if it is sampled.
    pub(super) fn new(
        connection: quinn::Connection,
        side: Side,
        window_bytes: u64,
        gauges: Option<Arc<ConnectionGauges>>,
    ) -> Self {
        let beside = Beside { connection: connection.clone(), side, window_bytes, stream: None };
        Self { connection, gauges, beside }
    }

    /// Passes the message in a datagram to the sink.
    fn take(sink: &mut MessageSink, datagram: &[u8]) -> Result<()> {
        sink.arrived(received_now(datagram)?);
        Ok(())
    }

    /// Receives the datagrams that are still in flight, until none has arrived for `drain`. The message that announces
    /// the end may overtake datagrams that wait for the congestion window, because it fits into a packet where they do
    /// not.
    async fn receive_last(&self, sink: &mut MessageSink, drain: Duration) -> Result<()> {
        let (deadline, drain_ns) = (Deadline::new()?, u64::try_from(drain.as_nanos()).unwrap_or(u64::MAX));
        while !sink.is_complete() {
            let until_ns = Moment::now().since(0).saturating_add(drain_ns);
            tokio::select! {
                biased;
                datagram = self.connection.read_datagram() => Self::take(sink, &datagram.context("receiving datagrams")?)?,
                waited = deadline.wait_until(Some(until_ns)) => return Ok(waited?),
            }
        }
        Ok(())
    }
}

/// The additional stream of a datagram flow. The client opens it, and the server accepts it, when it is first used.
struct Beside {
    connection: quinn::Connection,
    side: Side,
    window_bytes: u64,
    stream: Option<Stream>,
}

impl Beside {
    async fn stream(&mut self) -> Result<&mut Stream> {
        if self.stream.is_none() {
            let (send, receive) = match self.side {
                Side::Client => self.connection.open_bi().await,
                Side::Server => self.connection.accept_bi().await,
            }
            .context("opening the stream beside a flow's datagrams")?;
            self.stream = Some(Stream {
                send,
                receive: Receiver::new(receive, self.window_bytes),
                index: 0,
                is_closed_for_sending: false,
                gauges: None,
            });
        }
        Ok(self.stream.as_mut().expect("it was made"))
    }

    async fn end(&mut self) -> Result<()> {
        let mut message = [0];
        self.stream().await?.receive(&mut message).await?;
        if message == [END] { Ok(()) } else { bail!("the flow's sender sent {message:?} in place of its end") }
    }
}

#[async_trait]
impl crate::Stream for DatagramFlow {
    fn index(&self) -> u32 {
        0
    }

    async fn send(&mut self, message: &[u8]) -> Result<()> {
        self.beside.stream().await?.send(message).await
    }

    async fn receive(&mut self, buffer: &mut [u8]) -> Result<()> {
        self.beside.stream().await?.receive(buffer).await
    }

    async fn send_content(&mut self, _: Reader) -> Result<Sent> {
        bail!("datagrams may be lost: a content would never be whole")
    }

    async fn receive_content(&mut self, _: SharedSink) -> Result<()> {
        bail!("datagrams may be lost: a content would never be whole")
    }

    /// Sends each message when it is due, and waits while the send buffer has no room, as a stream would: congestion
    /// control applies to datagrams too.
    async fn send_messages(&mut self, mut pacer: Pacer) -> Result<Pacer> {
        let deadline = Deadline::new()?;
        while let Some(due_ns) = pacer.next_due_ns() {
            if due_ns > Moment::now().since(0) {
                deadline.wait_until(Some(due_ns)).await?;
            }
            if let Some(message) = pacer.due_message(Moment::now().since(0)) {
                let datagram = Bytes::copy_from_slice(message);
                let _waiting = self.gauges.as_ref().map(ConnectionGauges::waiting);
                self.connection.send_datagram_wait(datagram).await.context("sending a datagram over quic")?;
            }
        }
        self.send(&[END]).await?;
        Ok(pacer)
    }

    async fn receive_messages(&mut self, mut sink: MessageSink, drain: Duration) -> Result<MessageSink> {
        let connection = self.connection.clone();
        {
            let mut end = std::pin::pin!(self.beside.end());
            loop {
                tokio::select! {
                    biased;
                    datagram = connection.read_datagram() => Self::take(&mut sink, &datagram.context("receiving datagrams")?)?,
                    ended = &mut end => break ended?,
                }
            }
        }
        self.receive_last(&mut sink, drain).await?;
        Ok(sink)
    }

    async fn finish(&mut self) -> Result<bool> {
        self.beside.stream().await?.finish().await
    }
}
