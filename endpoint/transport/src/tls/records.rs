//! Reads and writes TLS records on a socket for rustls (RFC 8446, section 5.1).

use std::io::{self, IoSlice, Read, Write};
use std::sync::Arc;

use crate::error::Result;
use crate::socket::Socket;

/// The size of a record's header: type, version and length.
const HEADER_BYTES: usize = 5;

/// A socket from which whole records are received (two calls each: header and body), and to which many records are sent
/// in one call.
pub(super) struct Records {
    /// The socket of the connection.
    pub socket: Arc<Socket>,
    record: Vec<u8>,
    consumed: usize,
}

impl Records {
    /// Wraps a socket from which no record has been received.
    pub(super) fn new(socket: Arc<Socket>) -> Self {
        Self { socket, record: Vec::new(), consumed: 0 }
    }

    /// Returns whether rustls has read all bytes that were received.
    pub(super) fn is_consumed(&self) -> bool {
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
            self.receive()?;
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

/// A socket that rustls reads and writes without waiting.
pub(super) struct NonBlocking<'a>(pub &'a Socket);

impl Read for NonBlocking<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_receive(buffer)
    }
}

impl Write for NonBlocking<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_send(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
