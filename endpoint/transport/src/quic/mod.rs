//! `quic`: QUIC v1 (quinn) over the kernel's UDP.
//!
//! Everything runs on one thread and waits only in `epoll_wait`. So in virtual time this transport holds the clock (see
//! [`netwarp_core::clock`]) and waits in an io_uring instead ([`ring`]).

mod blocks;
mod closing;
mod config;
mod congestion;
mod connection;
mod datagram_flow;
pub(crate) mod http3;
pub(crate) mod qlog;
mod receive;
mod ring;
mod runtime;
mod session;
mod stack;
mod stream;
mod udp;
mod without_ecn;

pub(super) use self::stack::QuicStack;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use anyhow::anyhow;
use async_trait::async_trait;
use netwarp_core::addresses::{Family, unspecified};
use netwarp_core::clock::{self, Moment};
use netwarp_core::connection_gauges::ConnectionGauges;
use netwarp_core::heap;
use netwarp_wire::job::{Job, Reconnect, Resume, Transport};
use netwarp_wire::record::Side;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{AsyncUdpSocket, ClientConfig, Endpoint, ServerConfig};
use socket2::{Domain, Type};

use self::congestion::{Additions, LastFlight};
use self::connection::Connection;
use self::ring::RingSocket;
use self::runtime::EventLoop;
use self::session::Watched;
use self::udp::Datagrams;
use self::without_ecn::WithoutEcn;
use super::error::{Context as _, Result};
use super::identity::{self, Identity, SERVER_NAME};
use super::{Handshake, Place, peer_filter, socket};

/// The client's end: one UDP socket for all its connections, and a new one after each handover.
pub(crate) struct Dialer {
    job: Job,
    endpoint: Mutex<Endpoint>,
    crypto: Arc<QuicClientConfig>,
    options: Options,
}

/// The server's end: one UDP socket for all its connections.
pub(crate) struct Listener {
    job: Job,
    place: Place,
    config: ServerConfig,
    endpoint: Endpoint,
    identity: Identity,
    options: Options,
}

/// The transport options in effect on a connection, as reported in its record.
#[derive(Debug, Clone)]
struct Options {
    transport: Transport,
    initial_window_bytes: u64,
    send_buffer_bytes: u64,
    receive_buffer_bytes: u64,
}

impl Dialer {
    /// Creates a client that trusts only the certificate `trusted` (DER). Must be called inside the tokio runtime.
    pub(crate) fn new(job: &Job, server: IpAddr, trusted: &[u8]) -> Result<Self> {
        let crypto =
            QuicClientConfig::try_from(identity::client_config(trusted, job)?).context("choosing QUIC's ciphers")?;
        let (endpoint, options) = bind(job, own(home(job, server)), None)?;
        Ok(Self { job: job.clone(), endpoint: Mutex::new(endpoint), crypto: Arc::new(crypto), options })
    }

    /// Returns quinn's configuration of one connection.
    fn config(&self, server: IpAddr, gauges: Option<Arc<ConnectionGauges>>) -> Result<ClientConfig> {
        let last_flight = Arc::<LastFlight>::default();
        let mut config = ClientConfig::new(Arc::new(Watched::client(self.crypto.clone(), last_flight.clone())));
        let has_early_data = self.job.only().transport.resume == Resume::ZeroRtt;
        let mut transport = config::transport(
            &self.job,
            server,
            Additions { last_flight: has_early_data.then_some(last_flight), gauges },
        )?;
        transport.qlog_stream(qlog::stream(&self.job.only().transport, Side::Client)?);
        config.transport_config(Arc::new(transport));
        Ok(config)
    }
}

#[async_trait]
impl super::Dialer for Dialer {
    async fn dial(&self, server: SocketAddr, _may_resume: bool) -> Result<Box<dyn super::Connection>> {
        let attempt = || format!("connecting to {server} over quic");
        let start = Moment::now();
        let endpoint = self.endpoint.lock().expect("no holder panics").clone();
        let gauges = congestion::gauges(&self.options.transport, endpoint.local_addr()?.port(), server.port());
        let config = self.config(server.ip(), gauges.clone())?;
        let connecting = endpoint.connect_with(config, server, SERVER_NAME);
        let connection = match connecting.with_context(attempt)?.into_0rtt() {
            // The ticket allows early data. If the server does not accept it, the streams report that.
            Ok((connection, _)) => connection,
            Err(connecting) => connecting.await.with_context(attempt)?,
        };
        let connected = Moment::now();
        let options = self.options.clone();
        let connection = Connection { connection, endpoint, options, gauges, streams: 0, start, connected };
        Ok(Box::new(connection))
    }

    /// Binds a new socket to the new address, so that nothing is sent over the old path by accident. Connections that
    /// migrate move to it (RFC 9000, section 9). Others are replaced by new ones over it, which may use the session
    /// tickets of earlier ones.
    fn attached(&self, address: IpAddr) -> Result<()> {
        let place = own(address);
        let mut endpoint = self.endpoint.lock().expect("no holder panics");
        match self.job.only().transport.reconnect {
            Reconnect::New => *endpoint = bind(&self.job, place, None)?.0,
            Reconnect::Migrate => {
                let (socket, _) = datagrams(&self.job, place)?;
                endpoint.rebind_abstract(socket).with_context(|| format!("migrating to {address} over quic"))?;
            }
        }
        Ok(())
    }
}

impl Listener {
    /// Binds the address and generates a certificate. Must be called inside the tokio runtime.
    ///
    /// # Errors
    /// As `bind(2)`; quinn does not have an option of the job.
    pub(crate) fn bind(job: &Job, place: Place) -> Result<Self> {
        let identity = Identity::of_process(job)?;
        let crypto =
            QuicServerConfig::try_from(identity.server_config(job, u32::MAX)?).context("choosing QUIC's ciphers")?;
        let mut config = ServerConfig::with_crypto(Arc::new(Watched::server(crypto)));
        config.transport_config(Arc::new(config::transport(job, place.address.ip(), Additions::default())?));
        let (endpoint, options) = bind(job, place, Some(config.clone()))?;
        Ok(Self { job: job.clone(), place, config, endpoint, identity, options })
    }

    /// Returns quinn's configuration of one connection that publishes its state or writes a qlog file.
    fn watched(&self, gauges: Option<Arc<ConnectionGauges>>) -> Result<Arc<ServerConfig>> {
        let mut config = self.config.clone();
        let mut transport =
            config::transport(&self.job, self.place.address.ip(), Additions { last_flight: None, gauges })?;
        transport.qlog_stream(qlog::stream(&self.job.only().transport, Side::Server)?);
        config.transport_config(Arc::new(transport));
        Ok(Arc::new(config))
    }
}

#[async_trait]
impl super::Listener for Listener {
    fn certificate(&self) -> Option<&[u8]> {
        Some(self.identity.certificate())
    }

    async fn accept(&mut self) -> Result<Handshake> {
        let incoming = self.endpoint.accept().await.context("the QUIC endpoint was closed")?;
        let start = Moment::now();
        let (endpoint, options) = (self.endpoint.clone(), self.options.clone());
        let gauges =
            congestion::gauges(&options.transport, self.place.address.port(), incoming.remote_address().port());
        let is_watched = gauges.is_some() || options.transport.quic.qlog;
        let own = is_watched.then(|| self.watched(gauges.clone())).transpose()?;
        Ok(Box::pin(async move {
            let connecting = match own {
                Some(own) => incoming.accept_with(own),
                None => incoming.accept(),
            }
            .context("QUIC handshake")?;
            let connection = match options.transport.resume {
                // Early data is read and answered before the handshake is complete. On a server this always
                // succeeds.
                Resume::ZeroRtt => connecting.into_0rtt().map_err(|_| anyhow!("quinn accepts no early data"))?.0,
                Resume::None | Resume::OneRtt => connecting.await.context("QUIC handshake")?,
            };
            let connected = Moment::now();
            let connection = Connection { connection, endpoint, options, gauges, streams: 0, start, connected };
            Ok(Box::new(connection) as Box<dyn super::Connection>)
        }))
    }
}

/// Returns the place at which a client's socket is bound: this address, and a port that the kernel chooses; packets
/// from any host are accepted.
fn own(address: IpAddr) -> Place {
    Place { address: SocketAddr::new(address, 0), only_from: None }
}

fn bind(job: &Job, place: Place, server: Option<ServerConfig>) -> Result<(Endpoint, Options)> {
    let (socket, options) = datagrams(job, place)?;
    let Place { address, .. } = place;
    let config = config::endpoint(job, address.ip())?;
    let endpoint = Endpoint::new_with_abstract_socket(config, server, socket, Arc::new(EventLoop));
    if clock::is_virtual() {
        clock::hold();
        heap::grow_by_large_steps()?;
    }
    Ok((endpoint.with_context(|| format!("starting quic at {address}"))?, options))
}

/// Returns a UDP socket bound to the address. With handovers the address need not exist: a client may have lost it by
/// the time it binds.
fn datagrams(job: &Job, Place { address, only_from }: Place) -> Result<(Arc<dyn AsyncUdpSocket>, Options)> {
    let attempt = || format!("binding {address} over quic");
    let socket = socket2::Socket::new(Domain::for_address(address), Type::DGRAM, Some(socket2::Protocol::UDP));
    let socket = socket.with_context(attempt)?;
    socket::set_buffers(&socket, job.only().transport.buffer_bytes)?;
    let options = options(job, address.ip(), &socket)?;
    only_from.map_or(Ok(()), |peer| peer_filter::restrict(&socket, peer)).with_context(attempt)?;
    if job.timeline.has_handovers() {
        let set = if address.is_ipv4() { socket.set_freebind_v4(true) } else { socket.set_freebind_v6(true) };
        set.with_context(attempt)?;
    }
    socket.bind(&address.into()).with_context(attempt)?;
    let socket: Arc<dyn AsyncUdpSocket> = if clock::is_virtual() {
        let datagram_bytes = config::datagram_bytes(job, address.ip())?;
        let attempt = || format!("waiting for datagrams at {address} (io_uring)");
        Arc::new(RingSocket::new(socket.into(), datagram_bytes.into()).with_context(attempt)?)
    } else {
        Arc::new(Datagrams::new(socket.into()).with_context(attempt)?)
    };
    let offers_ecn = job.only().transport.ecn != Some(false);
    Ok((if offers_ecn { socket } else { Arc::new(WithoutEcn(socket)) }, options))
}

/// Returns the address to which a client's socket is bound at first. A client with handovers must bind to the address
/// of its path.
fn home(job: &Job, server: IpAddr) -> IpAddr {
    if job.timeline.has_handovers() { Family::of(job).client(0) } else { unspecified(server) }
}

/// Returns the effective values of the job's options: a window is limited by the size of the UDP socket's buffer.
fn options(job: &Job, address: IpAddr, socket: &socket2::Socket) -> Result<Options> {
    Ok(Options {
        transport: job.only().transport.clone(),
        initial_window_bytes: config::initial_window_bytes(job, address)?,
        send_buffer_bytes: job.only().transport.send_buffer_bytes.min(socket::effective_send_bytes(socket)?),
        receive_buffer_bytes: job.only().transport.buffer_bytes.min(socket::effective_receive_bytes(socket)?),
    })
}
