//! The stream of plaintext bytes of a TLS session, early data included.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::sync::Arc;

use netwarp_core::content_sink::Sink;
use netwarp_wire::content::Reader;
use netwarp_wire::job::{Resume, Transport, TransportKind};
use rustls::{Connection as Session, HandshakeKind};

use super::records::{NonBlocking, Records};
use crate::byte_stream::{ByteStream, ReadyStream};
use crate::error::{Context as _, Error, Result};
use crate::socket::{SEND_BLOCK_BYTES, Socket};
use crate::{Report, tcp};

/// How many bytes of content are sent at once while the handshake is not complete.
const EARLY_BLOCK_BYTES: usize = 64 << 10;

/// The largest plaintext of a record, in bytes (RFC 8446, section 5.1).
const RECORD_BYTES: usize = 16 << 10;

/// A TLS session on a TCP connection.
pub(crate) struct TlsStream {
    pub(super) session: Session,
    pub(super) records: Records,
    options: Transport,
    /// At the client: early data that was sent, kept until the handshake is complete, as the server may refuse it.
    unconfirmed: Vec<u8>,
    /// At the server: whether it has accepted early data.
    has_early_data: bool,
}

impl TlsStream {
    /// Creates the stream of a new session, on a connected socket.
    pub(super) fn new(socket: Arc<Socket>, mut session: Session, options: &Transport) -> Self {
        session.set_buffer_limit(None);
        let (records, options) = (Records::new(socket), options.clone());
        Self { session, records, options, unconfirmed: Vec::new(), has_early_data: false }
    }

    /// Completes the handshake if it is not complete. Early data that the server did not accept is sent again.
    pub(super) fn handshake(&mut self) -> Result<()> {
        while self.session.is_handshaking() {
            self.session.complete_io(&mut self.records).context("TLS handshake")?;
        }
        let unconfirmed = std::mem::take(&mut self.unconfirmed);
        if let Session::Client(session) = &mut self.session
            && !session.is_early_data_accepted()
        {
            session.writer().write_all(&unconfirmed).context("sealing what was refused as early data")?;
        }
        flush(&mut self.session, &mut self.records)
    }

    /// At the client: completes the handshake, which must come before reading the server's answer to early data. Does
    /// nothing at the server.
    fn client_handshake(&mut self) -> Result<()> {
        match self.session {
            Session::Client(_) if self.session.is_handshaking() => self.handshake(),
            _ => Ok(()),
        }
    }

    /// At the server: continues the handshake until it is complete, or until early data has been accepted.
    pub(super) fn handshake_or_early_data(&mut self) -> Result<()> {
        while self.session.is_handshaking() && !self.has_early_data {
            self.receive_record().context("TLS handshake")?;
            if let Session::Server(session) = &mut self.session {
                self.has_early_data = session.early_data().is_some();
            }
        }
        Ok(())
    }

    /// At the server: continues a handshake with the records that have arrived, while early data is being answered.
    /// When the handshake is complete the server sends a ticket, which the client needs if it moves before it has
    /// received everything.
    fn continue_handshake(&mut self) -> Result<()> {
        while self.session.is_handshaking() && self.records.socket.is_readable().context("watching for a record")? {
            self.receive_record().context("TLS handshake")?;
        }
        Ok(())
    }

    /// At the server: reads early data into the buffer. Returns how many bytes were read.
    fn receive_early(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            let Session::Server(session) = &mut self.session else { break };
            let Some(mut early) = session.early_data() else { break };
            let read = early.read(&mut buffer[filled..]).context("reading early data")?;
            filled += read;
            if read == 0 && session.is_handshaking() {
                self.receive_record()?;
            } else if read == 0 {
                break;
            }
        }
        Ok(filled)
    }

    /// Receives and discards remaining data until the peer ends the session; rustls stores tickets that arrive with it.
    pub(super) fn receive_to_end(&mut self) -> Result<()> {
        loop {
            let read = self.session.read_tls(&mut self.records).context("receiving a TLS record")?;
            let state = self.session.process_new_packets().context("opening a TLS record")?;
            if read == 0 || state.peer_has_closed() {
                return Ok(());
            }
        }
    }

    /// Returns whether and how the session resumed an earlier one.
    pub(super) fn resumed(&self) -> Resume {
        let is_early = match &self.session {
            Session::Client(session) => session.is_early_data_accepted(),
            Session::Server(_) => self.has_early_data,
        };
        match self.session.handshake_kind() {
            Some(HandshakeKind::Resumed) if is_early => Resume::ZeroRtt,
            Some(HandshakeKind::Resumed) => Resume::OneRtt,
            _ => Resume::None,
        }
    }

    /// Receives one record and decrypts it.
    fn receive_record(&mut self) -> Result<()> {
        loop {
            let read = self.session.read_tls(&mut self.records).context("receiving a TLS record")?;
            if read == 0 {
                return Err(ended());
            }
            if self.records.is_consumed() {
                break;
            }
        }
        let state = self.session.process_new_packets().context("opening a TLS record")?;
        if state.peer_has_closed() && state.plaintext_bytes_to_read() == 0 {
            return Err(ended());
        }
        // Sends the answers of the handshake, and the tickets that a server sends after it.
        flush(&mut self.session, &mut self.records)
    }

    /// Passes available plaintext to `take`, after receiving more if there is none. `take` returns how many bytes it
    /// has used.
    fn with_plaintext(&mut self, take: impl FnOnce(&[u8]) -> Result<usize>) -> Result<()> {
        use std::io::BufRead as _;
        loop {
            match self.session.reader().fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error).context("receiving over TLS"),
                Ok([]) => return Err(ended()),
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

impl ReadyStream for TlsStream {
    fn try_receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.session.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
            self.session.read_tls(&mut NonBlocking(&self.records.socket))?;
            self.session.process_new_packets().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        }
    }

    /// Takes over at most one record's bytes, so that no more than that waits for buffer space in the kernel.
    fn try_send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.try_flush()?;
        let taken = self.session.writer().write(&bytes[..bytes.len().min(RECORD_BYTES)])?;
        match self.try_flush() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(taken),
        }
    }

    fn try_flush(&mut self) -> io::Result<()> {
        while self.session.wants_write() {
            self.session.write_tls(&mut NonBlocking(&self.records.socket))?;
        }
        Ok(())
    }

    fn end(&mut self) {
        self.session.send_close_notify();
    }
}

impl ByteStream for TlsStream {
    fn send(&mut self, message: &[u8]) -> Result<()> {
        match &mut self.session {
            Session::Client(session) if session.is_handshaking() => {
                let mut early = session.early_data().context("sending before the handshake is over")?;
                early.write_all(message).context("sealing early data")?;
                self.unconfirmed.extend_from_slice(message);
            }
            session => session.writer().write_all(message).context("sealing a message")?,
        }
        flush(&mut self.session, &mut self.records)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<()> {
        self.client_handshake()?;
        let mut filled = self.receive_early(buffer)?;
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
        self.client_handshake()?;
        let mut block = vec![0; content.remaining_bytes().min(SEND_BLOCK_BYTES as u64) as usize];
        while content.remaining_bytes() > 0 {
            self.continue_handshake()?;
            let room = if self.session.is_handshaking() { block.len().min(EARLY_BLOCK_BYTES) } else { block.len() };
            self.session.writer().write_all(content.read(&mut block[..room])?).context("sealing a block")?;
            flush(&mut self.session, &mut self.records)?;
        }
        Ok(())
    }

    fn receive_content(&mut self, sink: &mut Sink) -> Result<()> {
        self.client_handshake()?;
        while let remaining @ 1.. = sink.remaining_bytes() {
            self.with_plaintext(|plaintext| {
                let length = remaining.min(plaintext.len() as u64) as usize;
                sink.consume(&plaintext[..length])?;
                Ok(length)
            })?;
        }
        Ok(())
    }

    /// Completes the handshake before closing: afterwards a server could not send tickets any more.
    fn close_sending(&mut self) -> Result<()> {
        self.handshake()?;
        self.session.send_close_notify();
        flush(&mut self.session, &mut self.records)?;
        self.records.socket.shutdown(Shutdown::Write).context("closing the sending side")
    }

    fn finish(&mut self) -> Result<()> {
        self.session.send_close_notify();
        flush(&mut self.session, &mut self.records)?;
        match self.session {
            // With early data, tickets arrive after the content: the server cannot send them before.
            Session::Client(_) if self.options.resume != Resume::None => self.receive_to_end(),
            _ => Ok(()),
        }
    }

    fn report(&self) -> Result<Report> {
        let report = tcp::report(TransportKind::Tls, &self.records.socket, &self.options)?;
        Ok(Report { resumed: self.resumed(), ..report })
    }
}

fn ended() -> Error {
    Error::closed("the peer closed the connection in the middle of the content")
}

/// Sends all records that the session has ready.
pub(super) fn flush(session: &mut Session, records: &mut Records) -> Result<()> {
    while session.wants_write() {
        session.write_tls(records).context("sending TLS records")?;
    }
    Ok(())
}
