//! `tls`: TLS 1.3 (rustls) over the kernel's TCP. The kernel's own TLS is not used: this process encrypts and decrypts
//! the records.
//!
//! With early data (`resume = 0rtt`) a client that has a ticket sends its request with its ClientHello, once TCP is
//! connected, and the server answers with its first flight. The content of a client that sends (`up`) waits for the
//! handshake, because it would have to be sent again if early data were refused.
//!
//! Early data can be replayed: anyone with a copy of a client's first flight can send it to the server again, and
//! nothing in it is fresh (RFC 8446, section 8). It suits only requests that may be answered twice. This server accepts
//! each ticket once.

mod records;
mod stack;
mod stream;

pub(super) use self::stack::TlsStack;
use std::net::SocketAddr;
use std::sync::Arc;

use netwarp_wire::job::{Job, Resume, Transport};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};

use self::stream::TlsStream;
use super::error::{Context as _, Result};
use super::identity::{self, Identity, SERVER_NAME};
use super::kernel::Protocol;
use super::socket::Socket;
use super::tcp::Tcp;

/// The most early data of a connection, in bytes: far more than requests need.
const EARLY_DATA_BYTES: u32 = 16 << 10;

/// The client's end of TLS connections.
pub(super) struct Client {
    tcp: Tcp,
    options: Transport,
    config: Arc<ClientConfig>,
}

impl Client {
    /// Creates a client that trusts only the certificate `trusted` (DER).
    pub(super) fn new(job: &Job, trusted: &[u8]) -> Result<Self> {
        let config = Arc::new(identity::client_config(trusted, job)?);
        Ok(Self { tcp: Tcp::new(job), options: job.only().transport.clone(), config })
    }
}

impl Protocol for Client {
    type Stream = TlsStream;

    const NAME: &'static str = "tls";

    fn socket(&self, peer: SocketAddr) -> Result<Socket> {
        self.tcp.socket(peer)
    }

    fn establish(&self, socket: Arc<Socket>) -> Result<Vec<TlsStream>> {
        let name = ServerName::try_from(SERVER_NAME).context("naming the server")?;
        let mut session = ClientConnection::new(self.config.clone(), name).context("starting a TLS client")?;
        let is_early = session.early_data().is_some();
        let mut stream = TlsStream::new(socket, session.into(), &self.options);
        if !is_early {
            stream.handshake()?;
        }
        Ok(vec![stream])
    }
}

/// The server's end of TLS connections.
pub(super) struct Server {
    tcp: Tcp,
    options: Transport,
    config: Arc<ServerConfig>,
    identity: Identity,
}

impl Server {
    /// Creates a server that presents this certificate.
    ///
    /// # Errors
    /// The key does not match the certificate.
    pub(super) fn new(job: &Job, identity: Identity) -> Result<Self> {
        let config = Arc::new(identity.server_config(job, EARLY_DATA_BYTES)?);
        Ok(Self { tcp: Tcp::new(job), options: job.only().transport.clone(), config, identity })
    }
}

impl Protocol for Server {
    type Stream = TlsStream;

    const NAME: &'static str = "tls";

    fn socket(&self, peer: SocketAddr) -> Result<Socket> {
        self.tcp.socket(peer)
    }

    fn establish(&self, socket: Arc<Socket>) -> Result<Vec<TlsStream>> {
        let session = ServerConnection::new(self.config.clone()).context("starting a TLS server")?;
        let mut stream = TlsStream::new(socket, session.into(), &self.options);
        match self.options.resume {
            Resume::ZeroRtt => stream.handshake_or_early_data()?,
            Resume::None | Resume::OneRtt => stream.handshake()?,
        }
        Ok(vec![stream])
    }

    fn certificate(&self) -> Option<&[u8]> {
        Some(self.identity.certificate())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use netwarp_wire::golden;
    use netwarp_wire::job::{Http, TransportKind, Workload};

    use super::stream::flush;
    use super::*;
    use crate::byte_stream::ByteStream as _;

    fn job() -> Job {
        let mut job = golden::job("bulk-quic");
        let transport = &mut job.only_mut().transport;
        (transport.kind, transport.resume) = (TransportKind::Tls, Resume::ZeroRtt);
        job
    }

    /// Returns the two ends of a new TCP connection.
    fn connected() -> [Arc<Socket>; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        [ours, listener.accept().unwrap().0].map(|stream| Arc::new(Socket::from(socket2::Socket::from(stream))))
    }

    fn server(job: &Job) -> Server {
        Server::new(job, Identity::generate(job).unwrap()).unwrap()
    }

    /// Sends a request and its answer over a new connection. Returns what client and server report about resumption.
    fn exchange(client: &Client, server: &Server) -> (Resume, Resume) {
        let [ours, theirs] = connected();
        std::thread::scope(|scope| {
            let serving = scope.spawn(|| {
                let mut stream = server.establish(theirs).unwrap().remove(0);
                let mut request = [0; 3];
                stream.receive(&mut request).unwrap();
                stream.send(&request).unwrap();
                stream.finish().unwrap();
                // The server's end arrives after the client's Finished, which it answers with the ticket, like a
                // confirmation.
                stream.receive_to_end().unwrap();
                flush(&mut stream.session, &mut stream.records).unwrap();
                stream.resumed()
            });
            let mut stream = client.establish(ours).unwrap().remove(0);
            stream.send(b"ask").unwrap();
            let mut answer = [0; 3];
            stream.receive(&mut answer).unwrap();
            assert_eq!(&answer, b"ask");
            stream.session.send_close_notify();
            flush(&mut stream.session, &mut stream.records).unwrap();
            stream.receive_to_end().unwrap();
            (stream.resumed(), serving.join().unwrap())
        })
    }

    #[test]
    fn early_data_that_is_refused_is_sent_again() {
        let mut server = server(&job());
        let client = Client::new(&job(), server.identity.certificate()).unwrap();
        assert_eq!(exchange(&client, &server), (Resume::None, Resume::None));
        let mut config = ServerConfig::clone(&server.config);
        config.max_early_data_size = 0;
        server.config = Arc::new(config);
        assert_eq!(exchange(&client, &server), (Resume::OneRtt, Resume::OneRtt));
    }

    #[test]
    fn a_client_refuses_a_certificate_that_is_not_the_run_s() {
        let server = server(&job());
        let other = Identity::generate(&job()).unwrap();
        let client = Client::new(&job(), other.certificate()).unwrap();
        let [ours, theirs] = connected();
        // Without a ticket, nothing is sent before the handshake is complete.
        std::thread::scope(|scope| {
            scope.spawn(|| server.establish(theirs).err().expect("it is refused"));
            let message = format!("{:#}", client.establish(ours).err().expect("it is refused"));
            assert!(message.contains("invalid peer certificate"), "{message}");
        });
    }

    #[test]
    fn ends_that_speak_different_versions_of_http_do_not_connect() {
        let http2 = golden::job("page-tls");
        let mut http1 = http2.clone();
        let Workload::Page(page) = &mut http1.only_mut().workload else { panic!("the golden job is a page") };
        page.http = Http::H1;
        let server = server(&http1);
        let client = Client::new(&http2, server.identity.certificate()).unwrap();
        let [ours, theirs] = connected();
        std::thread::scope(|scope| {
            let refused = scope.spawn(|| server.establish(theirs).err().expect("it is refused"));
            assert!(client.establish(ours).is_err());
            let message = format!("{:#}", refused.join().unwrap());
            assert!(message.contains("any known protocol"), "{message}");
        });
    }
}
