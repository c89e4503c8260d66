//! The server: it sends the files of a directory to every client, until it is killed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::net::Ipv4Addr;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result};
use netwarp_role::BLOCK_BYTES;

use super::{WINDOW_BYTES, config, log_secrets};
use crate::connection::{Destination, ID_BYTES, destination, expire_timers, fresh_id};
use crate::outbox::Outbox;
use crate::socket::{NO_ORDERS, Socket, open_polled};

/// The port at which the contract's servers listen.
const PORT: u16 = 443;

/// The directory with the files.
const SERVED: &str = "/www";

const CERTIFICATE_FILE: &str = "/certs/cert.pem";
const KEY_FILE: &str = "/certs/priv.key";

/// The length from which a request is refused, in bytes.
const MOST_REQUEST_BYTES: usize = 4096;

/// The error code for refused requests: HTTP/3's H3_REQUEST_REJECTED, since HTTP/0.9 has none.
const REFUSED: u64 = 0x10b;

/// The connection of a client.
struct Peer {
    quic: quiche::Connection,
    outbox: Outbox,
    exchanges: BTreeMap<u64, Exchange>,
}

/// The request on a stream, and what is left of the answer.
#[derive(Default)]
struct Exchange {
    asked: Vec<u8>,
    file: Option<File>,
    block: Vec<u8>,
    sent: usize,
    is_over: bool,
}

/// Serves until the program is killed.
///
/// # Errors
/// The certificate cannot be read, or the address is not available.
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
            let Ok(header) = quiche::Header::from_slice(packet, ID_BYTES) else { continue };
            let index = match destination(&header, peers.iter().map(|peer| &peer.quic)) {
                Destination::Known(index) => index,
                Destination::New => {
                    let quic = quiche::accept(&fresh_id()?, None, local, from, &mut config);
                    peers.push(Peer::new(quic.context("accept a connection")?)?);
                    peers.len() - 1
                }
                Destination::Over => continue,
            };
            // A packet that cannot be read is the peer's fault, and quiche answers it.
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
        expire_timers(&mut self.quic);
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
        // It fails only for a stream that has ended.
        let _ = self.quic.stream_shutdown(stream, quiche::Shutdown::Write, REFUSED);
        if let Some(exchange) = self.exchanges.get_mut(&stream) {
            exchange.is_over = true;
        }
    }
}

impl Exchange {
    /// Reads more of the request, and opens its file once the request is complete. Returns false if there is no such
    /// file.
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

    /// Sends as much of the file as the stream accepts.
    fn answer(&mut self, quic: &mut quiche::Connection, stream: u64) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
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
                Err(error) => return Err(error).with_context(|| format!("write to stream {stream}")),
            }
        }
        Ok(())
    }
}

/// Returns the path of the file that a request (`GET /name`) asks for, which is never outside the directory.
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
