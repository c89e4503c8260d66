//! A QUIC connection with the interface that workloads use.

use std::sync::Arc;

use async_trait::async_trait;
use netwarp_core::clock::Moment;
use netwarp_core::connection_gauges::ConnectionGauges;
use netwarp_wire::job::{Reconnect, Resume, TransportKind};
use netwarp_wire::record::{Settings, Side, Stats};
use quinn::{ConnectionError, Endpoint};

use super::Options;
use super::closing::{GIVEN_UP, NO_ERROR, closed_at_the_end, closed_in_order};
use super::datagram_flow::DatagramFlow;
use super::http3::Http3Streams;
use super::receive::Receiver;
use super::stream::Stream;
use crate::error::{Context as _, Result};
use crate::{Carrier, Duplex, Report};

/// An established connection.
pub(super) struct Connection {
    pub connection: quinn::Connection,
    pub endpoint: Endpoint,
    pub options: Options,
    /// Shared memory for the connection's state, if it is sampled.
    pub gauges: Option<Arc<ConnectionGauges>>,
    pub streams: u32,
    pub start: Moment,
    pub connected: Moment,
}

impl Connection {
    fn stream(&mut self, (send, receive): (quinn::SendStream, quinn::RecvStream)) -> Box<dyn crate::Stream> {
        let index = self.streams;
        self.streams += 1;
        let receive = Receiver::new(receive, self.options.transport.buffer_bytes);
        Box::new(Stream { send, receive, index, is_closed_for_sending: false, gauges: self.gauges.clone() })
    }

    /// Returns the flow of datagrams that is used instead of streams, if the job's messages are QUIC datagrams;
    /// otherwise `None`.
    fn datagram_flow(&self, side: Side) -> Option<Box<dyn crate::Stream>> {
        let Options { transport, .. } = &self.options;
        let flow = || DatagramFlow::new(self.connection.clone(), side, transport.buffer_bytes, self.gauges.clone());
        transport.quic.datagrams.then(|| Box::new(flow()) as Box<dyn crate::Stream>)
    }
}

#[async_trait]
impl crate::Connection for Connection {
    fn start(&self) -> Moment {
        self.start
    }

    fn connected(&self) -> Moment {
        self.connected
    }

    async fn open_stream(&mut self) -> Result<Box<dyn crate::Stream>> {
        if let Some(flow) = self.datagram_flow(Side::Client) {
            return Ok(flow);
        }
        let opened = self.connection.open_bi().await.context("opening a QUIC stream")?;
        Ok(self.stream(opened))
    }

    async fn accept_stream(&mut self) -> Result<Option<Box<dyn crate::Stream>>> {
        if let Some(flow) = self.datagram_flow(Side::Server) {
            return Ok(Some(flow));
        }
        match self.connection.accept_bi().await {
            Ok(accepted) => Ok(Some(self.stream(accepted))),
            Err(error) if closed_in_order(&error) => Ok(None),
            Err(error) => Err(error).context("waiting for a QUIC stream"),
        }
    }

    fn carrier(&mut self) -> Result<Carrier> {
        let streams = Http3Streams::new(self.connection.clone(), self.options.transport.buffer_bytes);
        Ok(Carrier::Quic(streams))
    }

    async fn duplex(&mut self, side: Side) -> Result<Box<dyn Duplex>> {
        let (send, receive) = match side {
            Side::Client => self.connection.open_bi().await,
            Side::Server => self.connection.accept_bi().await,
        }
        .context("opening a QUIC stream")?;
        Ok(Box::new(tokio::io::join(receive, send)) as Box<dyn Duplex>)
    }

    async fn closed(&mut self) -> Result<()> {
        match self.connection.closed().await {
            error if closed_at_the_end(&error) => Ok(()),
            // HTTP/3 has closed the connection itself, after the peer.
            ConnectionError::LocallyClosed => Ok(()),
            error => Err(error).context("waiting for the peer to close"),
        }
    }

    fn report(&self) -> Result<Report> {
        let path = self.connection.stats().path;
        let settings = Settings {
            transport: TransportKind::Quic,
            congestion: self.options.transport.congestion.clone(),
            initial_window_bytes: self.options.initial_window_bytes,
            mss_bytes: path.current_mtu.into(),
            send_buffer_bytes: self.options.send_buffer_bytes,
            receive_buffer_bytes: self.options.receive_buffer_bytes,
            paced: true,
        };
        let stats = Stats {
            retransmitted_packets: Some(path.lost_packets),
            smoothed_rtt_ns: Some(path.rtt.as_nanos() as u64),
            min_rtt_ns: Some(path.min_rtt.as_nanos() as u64),
            congestion_window_bytes: Some(path.cwnd),
            ..Stats::default()
        };
        let resumed = self.connection.handshake_data().and_then(|data| data.downcast::<Resume>().ok());
        Ok(Report { settings, stats, resumed: *resumed.context("the QUIC handshake is not over")? })
    }

    fn migrates(&self) -> bool {
        self.options.transport.reconnect == Reconnect::Migrate && self.connection.handshake_data().is_some()
    }

    fn abandon(&self) {
        self.connection.close(GIVEN_UP, b"");
    }

    async fn close(self: Box<Self>) -> Result<()> {
        self.connection.close(NO_ERROR, b"");
        // A CONNECTION_CLOSE is not retransmitted, but it must be sent before the process ends.
        self.endpoint.wait_idle().await;
        Ok(())
    }
}
