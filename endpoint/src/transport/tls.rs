//! `tls`: TLS 1.3 (rustls) over the kernel's TCP. No kernel TLS: records are made and opened in this process.

use std::io::{self, IoSlice, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Connection as Session, ServerConfig, ServerConnection};

use super::Report;
use super::identity::{self, Identity, SERVER_NAME};
use super::kernel::{ByteStream, Protocol};
use super::socket::{SEND_BLOCK_BYTES, Socket};
use super::tcp::{self, Tcp};
use crate::clock::Moment;
use crate::content::{Reader, Sink};
use crate::job::{Job, Transport, TransportKind};

/// The client's side.
pub struct Client {
    tcp: Tcp,
    options: Transport,
    config: Arc<ClientConfig>,
}

impl Client {
    /// Trusts the certificate with this DER and no other.
    ///
    /// # Errors
    /// Bytes that are no certificate.
    pub fn new(job: &Job, trusted: &[u8]) -> Result<Self> {
        let config = Arc::new(identity::client_config(trusted)?);
        Ok(Self { tcp: Tcp::new(job), options: job.transport.clone(), config })
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
        let session = ClientConnection::new(self.config.clone(), name).context("starting a TLS client")?;
        Ok(vec![TlsStream::handshake(socket, session.into(), &self.options)?])
    }
}

/// The server's side.
pub struct Server {
    tcp: Tcp,
    options: Transport,
    config: Arc<ServerConfig>,
    identity: Identity,
}

impl Server {
    /// Makes itself a certificate.
    ///
    /// # Errors
    /// No random numbers to be had.
    pub fn new(job: &Job) -> Result<Self> {
        let identity = Identity::generate()?;
        let config = Arc::new(identity.server_config()?);
        Ok(Self { tcp: Tcp::new(job), options: job.transport.clone(), config, identity })
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
        Ok(vec![TlsStream::handshake(socket, session.into(), &self.options)?])
    }

    fn certificate(&self) -> Option<&[u8]> {
        Some(self.identity.certificate())
    }
}

/// A TLS session on a TCP connection.
pub struct TlsStream {
    session: Session,
    records: Records,
    options: Transport,
}

impl TlsStream {
    fn handshake(socket: Arc<Socket>, mut session: Session, options: &Transport) -> Result<Self> {
        session.set_buffer_limit(None);
        let mut records = Records::new(socket);
        while session.is_handshaking() {
            session.complete_io(&mut records).context("TLS handshake")?;
        }
        flush(&mut session, &mut records)?;
        Ok(Self { session, records, options: options.clone() })
    }

    /// Receives one record and opens it.
    fn receive_record(&mut self) -> Result<()> {
        loop {
            let read = self.session.read_tls(&mut self.records).context("receiving a TLS record")?;
            ensure!(read > 0, "the peer closed the connection in the middle of the content");
            if self.records.is_consumed() {
                break;
            }
        }
        let state = self.session.process_new_packets().context("opening a TLS record")?;
        if state.peer_has_closed() && state.plaintext_bytes_to_read() == 0 {
            bail!("the peer closed the TLS session in the middle of the content");
        }
        Ok(())
    }

    /// Gives plaintext at hand to `take`, receiving more when there is none; `take` says how much it took.
    fn with_plaintext(&mut self, take: impl FnOnce(&[u8]) -> Result<usize>) -> Result<()> {
        use std::io::BufRead as _;
        loop {
            match self.session.reader().fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error).context("receiving over TLS"),
                Ok([]) => bail!("the peer closed the TLS session in the middle of the content"),
                Ok(_) => break,
            }
            self.receive_record()?;
        }
        let mut reader = self.session.reader();
        let taken = take(reader.fill_buf().context("receiving over TLS")?)?;
        reader.consume(taken);
        Ok(())
    }
}

impl ByteStream for TlsStream {
    fn send(&mut self, message: &[u8]) -> Result<()> {
        self.session.writer().write_all(message).context("sealing a message")?;
        flush(&mut self.session, &mut self.records)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            let rest = &mut buffer[filled..];
            self.with_plaintext(|plaintext| {
                let length = plaintext.len().min(rest.len());
                rest[..length].copy_from_slice(&plaintext[..length]);
                filled += length;
                Ok(length)
            })?;
        }
        Ok(())
    }

    fn send_content(&mut self, content: &mut Reader) -> Result<()> {
        let mut block = vec![0; content.remaining_bytes().min(SEND_BLOCK_BYTES as u64) as usize];
        while content.remaining_bytes() > 0 {
            self.session.writer().write_all(content.read(&mut block)?).context("sealing a block")?;
            flush(&mut self.session, &mut self.records)?;
        }
        Ok(())
    }

    fn receive_content(&mut self, sink: &mut Sink) -> Result<Moment> {
        let mut first_byte = None;
        while let remaining @ 1.. = sink.remaining_bytes() {
            self.with_plaintext(|plaintext| {
                first_byte.get_or_insert_with(Moment::now);
                let length = remaining.min(plaintext.len() as u64) as usize;
                sink.take(&plaintext[..length])?;
                Ok(length)
            })?;
        }
        first_byte.context("there was no content to receive")
    }

    fn finish(&mut self) -> Result<()> {
        self.session.send_close_notify();
        flush(&mut self.session, &mut self.records)
    }

    fn report(&self) -> Result<Report> {
        tcp::report(TransportKind::Tls, &self.records.socket, &self.options)
    }
}

fn flush(session: &mut Session, records: &mut Records) -> Result<()> {
    while session.wants_write() {
        session.write_tls(records).context("sending TLS records")?;
    }
    Ok(())
}

/// Records on the wire: type, version and length in five bytes, then the body (RFC 8446, section 5.1).
const HEADER_BYTES: usize = 5;

/// Receives whole records, header and body in one call each; sends many records in one call.
struct Records {
    socket: Arc<Socket>,
    record: Vec<u8>,
    consumed: usize,
}

impl Records {
    fn new(socket: Arc<Socket>) -> Self {
        Self { socket, record: Vec::new(), consumed: 0 }
    }

    fn is_consumed(&self) -> bool {
        self.consumed == self.record.len()
    }

    fn receive(&mut self) -> Result<()> {
        self.consumed = 0;
        self.record.resize(HEADER_BYTES, 0);
        if !self.socket.receive_exact_or_end(&mut self.record)? {
            self.record.clear();
            return Ok(());
        }
        let length = u16::from_be_bytes([self.record[3], self.record[4]]);
        self.record.resize(HEADER_BYTES + usize::from(length), 0);
        self.socket.receive_exact(&mut self.record[HEADER_BYTES..])
    }
}

impl Read for Records {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_consumed() {
            self.receive().map_err(|error| io::Error::other(format!("{error:#}")))?;
        }
        let rest = &self.record[self.consumed..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.consumed += length;
        Ok(length)
    }
}

impl Write for Records {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.socket.send_vectored(&[IoSlice::new(buffer)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.socket.send_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
