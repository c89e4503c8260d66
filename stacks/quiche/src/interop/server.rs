//! The server: gives the files of a directory to whoever asks, until it is killed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::net::Ipv4Addr;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result};

use super::{NO_ORDERS, WINDOW_BYTES, config, log_secrets};
use crate::connection::{Destination, ID_BYTES, destination, fresh_id};
use crate::outbox::Outbox;
use crate::socket::{Socket, open_polled};

/// Where the contract's servers listen.
const PORT: u16 = 443;

/// Where the files are.
const SERVED: &str = "/www";

const CERTIFICATE_FILE: &str = "/certs/cert.pem";
const KEY_FILE: &str = "/certs/priv.key";

/// More than a request's line has.
const MOST_REQUEST_BYTES: usize = 4096;

const BLOCK_BYTES: usize = 64 << 10;

/// HTTP/3's H3_REQUEST_REJECTED, for want of an error of HTTP/0.9's own.
const REFUSED: u64 = 0x10b;

/// A client's connection.
struct Peer {
    quic: quiche::Connection,
    outbox: Outbox,
    exchanges: BTreeMap<u64, Exchange>,
}

/// What was asked for on a stream, and what is left of the answer.
#[derive(Default)]
struct Exchange {
    asked: Vec<u8>,
    file: Option<File>,
    block: Vec<u8>,
    sent: usize,
    is_over: bool,
}

/// Serves for ever.
///
/// # Errors
/// No certificate, or an address that is not to be had.
pub(super) fn serve() -> Result<()> {
    let mut config = config()?;
    let loaded = config.load_cert_chain_from_pem_file(CERTIFICATE_FILE);
    loaded.with_context(|| format!("use {CERTIFICATE_FILE}"))?;
    let loaded = config.load_priv_key_from_pem_file(KEY_FILE);
    loaded.with_context(|| format!("use {KEY_FILE}"))?;
    let mut socket = open_polled((Ipv4Addr::UNSPECIFIED, PORT).into(), WINDOW_BYTES)?;
    let mut peers: Vec<Peer> = Vec::new();
    loop {
        let idle_for = peers.iter().filter_map(|peer| peer.outbox.idle_for(&peer.quic)).min();
        socket.wait(NO_ORDERS, idle_for)?;
        let local = socket.local();
        while let Some((packet, from)) = socket.receive()? {
            let Ok(header) = quiche::Header::from_slice(packet, ID_BYTES) else {
                continue;
            };
            let index = match destination(&header, peers.iter().map(|peer| &peer.quic)) {
                Destination::Known(index) => index,
                Destination::New => {
                    let quic = quiche::accept(&fresh_id()?, None, local, from, &mut config);
                    peers.push(Peer::new(quic.context("accept a connection")?)?);
                    peers.len() - 1
                }
                Destination::Over => continue,
            };
            // What cannot be read is the peer's fault, and quiche answers it.
            let _ = peers[index].quic.recv(packet, quiche::RecvInfo { from, to: local });
        }
        peers.iter_mut().try_for_each(|peer| peer.work(&mut *socket))?;
        peers.retain(|peer| !peer.quic.is_closed());
    }
}

impl Peer {
    fn new(mut quic: quiche::Connection) -> Result<Self> {
        log_secrets(&mut quic)?;
        Ok(Self { quic, outbox: Outbox::new(), exchanges: BTreeMap::new() })
    }

    fn work(&mut self, socket: &mut dyn Socket) -> Result<()> {
        if self.quic.timeout().is_some_and(|left| left.is_zero()) {
            self.quic.on_timeout();
        }
        for stream in self.quic.readable() {
            let exchange = self.exchanges.entry(stream).or_default();
            if !exchange.hear(&mut self.quic, stream) {
                self.refuse(stream);
            }
        }
        let streams: Vec<u64> = self.exchanges.keys().copied().collect();
        for stream in streams {
            let exchange = self.exchanges.get_mut(&stream);
            let answered = exchange.map_or(Ok(()), |it| it.answer(&mut self.quic, stream));
            if let Err(error) = answered {
                eprintln!("{error:#}");
                self.refuse(stream);
            }
        }
        self.exchanges.retain(|_, exchange| !exchange.is_over);
        self.outbox.send(&mut self.quic, socket)
    }

    fn refuse(&mut self, stream: u64) {
        // It fails only for a stream that is over.
        let _ = self.quic.stream_shutdown(stream, quiche::Shutdown::Write, REFUSED);
        if let Some(exchange) = self.exchanges.get_mut(&stream) {
            exchange.is_over = true;
        }
    }
}

impl Exchange {
    /// Reads on in the request, and opens its file when it is whole; false if there is none.
    fn hear(&mut self, quic: &mut quiche::Connection, stream: u64) -> bool {
        let mut block = [0; MOST_REQUEST_BYTES];
        while let Ok((length, _)) = quic.stream_recv(stream, &mut block) {
            self.asked.extend_from_slice(&block[..length]);
        }
        if self.file.is_some() || self.is_over {
            return true;
        }
        if !self.asked.contains(&b'\n') {
            return self.asked.len() < MOST_REQUEST_BYTES;
        }
        self.file = place(&self.asked).and_then(|place| File::open(place).ok());
        self.file.is_some()
    }

    /// Sends as much of the file as the stream takes.
    fn answer(&mut self, quic: &mut quiche::Connection, stream: u64) -> Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        while !self.is_over {
            if self.sent == self.block.len() {
                self.block.resize(BLOCK_BYTES, 0);
                let length = file.read(&mut self.block).context("read a file")?;
                self.block.truncate(length);
                self.sent = 0;
            }
            let is_end = self.block.is_empty();
            match quic.stream_send(stream, &self.block[self.sent..], is_end) {
                Ok(_) if is_end => self.is_over = true,
                Ok(0) | Err(quiche::Error::Done) => break,
                Ok(length) => self.sent += length,
                Err(error) => {
                    return Err(error).with_context(|| format!("write to stream {stream}"));
                }
            }
        }
        Ok(())
    }
}

/// Where the file of a request is: `GET /name`, and nowhere but below the directory.
fn place(request: &[u8]) -> Option<PathBuf> {
    let line = std::str::from_utf8(request).ok()?.lines().next()?;
    let name = Path::new(line.strip_prefix("GET ")?.trim());
    let parts = name.components().filter(|part| matches!(part, Component::Normal(_)));
    Some(Path::new(SERVED).join(parts.collect::<PathBuf>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_served_from_elsewhere() {
        let placed = |request: &[u8]| place(request).map(|place| place.display().to_string());
        assert_eq!(placed(b"GET /a/b\r\n").as_deref(), Some("/www/a/b"));
        assert_eq!(placed(b"GET /../etc/passwd\r\n").as_deref(), Some("/www/etc/passwd"));
        assert_eq!(placed(b"POST /a\r\n"), None);
    }
}
