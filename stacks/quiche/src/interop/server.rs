//! The server: it sends the files of a directory to every client, until it is killed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::net::SocketAddr;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result};
use netwarp_role::BLOCK_BYTES;
use netwarp_role::interop::{CERTIFICATE_FILE, KEY_FILE, MOST_REQUEST_BYTES, SERVED, listening_address};

use super::{PAYLOAD_BYTES, WINDOW_BYTES, config, log_secrets};
use crate::connection::{ID_BYTES, expire_timers, fresh_id};
use crate::outbox::Outbox;
use crate::socket::{NO_ORDERS, Socket, Train, open_polled};

/// The error code for refused requests: HTTP/3's H3_REQUEST_REJECTED, since HTTP/0.9 has none.
const REFUSED: u64 = 0x10b;

/// The connection of a client.
struct Peer {
    /// The connection ID that the client chose for the server, until it learns the server's own.
    chosen: Vec<u8>,
    quic: quiche::Connection,
    outbox: Outbox,
    exchanges: BTreeMap<u64, Exchange>,
}

/// A request on a stream, and the part of its answer that is still to be sent.
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
pub(super) fn serve(test_case: &str) -> Result<()> {
    let address = listening_address();
    let mut config = config(test_case, address)?;
    let loaded = config.load_cert_chain_from_pem_file(CERTIFICATE_FILE);
    loaded.with_context(|| format!("use {CERTIFICATE_FILE}"))?;
    let loaded = config.load_priv_key_from_pem_file(KEY_FILE);
    loaded.with_context(|| format!("use {KEY_FILE}"))?;
    let mut socket = open_polled(address, WINDOW_BYTES)?;
    let mut peers: Vec<Peer> = Vec::new();
    loop {
        let idle_for = peers.iter().filter_map(|peer| peer.outbox.idle_for(&peer.quic)).min();
        socket.wait(NO_ORDERS, idle_for)?;
        let local = socket.local();
        while let Some((packet, from)) = socket.receive()? {
            let Ok(header) = quiche::Header::from_slice(packet, ID_BYTES) else { continue };
            let known = peers.iter().position(|peer| peer.is_meant(&header));
            let index = match known {
                Some(index) => index,
                None if header.ty != quiche::Type::Initial => continue,
                None => match admitted(&header, from, test_case == "retry") {
                    Admitted::Retry => {
                        send_retry(&header, from, &mut *socket)?;
                        continue;
                    }
                    Admitted::No => continue,
                    Admitted::Yes(original) => {
                        let id = if original.is_some() { header.dcid.clone() } else { fresh_id()? };
                        let quic = quiche::accept(&id, original.as_ref(), local, from, &mut config);
                        peers.push(Peer::new(header.dcid.to_vec(), quic.context("accept a connection")?)?);
                        peers.len() - 1
                    }
                },
            };
            // An invalid packet is the peer's fault, and quiche answers it.
            let _ = peers[index].quic.recv(packet, quiche::RecvInfo { from, to: local });
        }
        peers.iter_mut().try_for_each(|peer| peer.work(&mut *socket))?;
        peers.retain(|peer| !peer.quic.is_closed());
    }
}

/// The server's reaction to a client that begins a connection.
enum Admitted {
    /// Sends a Retry: the client must first prove its address.
    Retry,
    /// Ignores the client: its token belongs to another address.
    No,
    /// Accepts the client; after a Retry, with the connection ID that the client chose before that.
    Yes(Option<quiche::ConnectionId<'static>>),
}

fn admitted(header: &quiche::Header<'_>, from: SocketAddr, retries: bool) -> Admitted {
    match header.token.as_deref().unwrap_or_default() {
        _ if !retries => Admitted::Yes(None),
        [] => Admitted::Retry,
        token => match token.strip_prefix(from.to_string().as_bytes()) {
            Some(original) => Admitted::Yes(Some(quiche::ConnectionId::from_vec(original.to_vec()))),
            None => Admitted::No,
        },
    }
}

/// Sends a Retry. Its token consists of the client's address and the connection ID that the client chose.
fn send_retry(header: &quiche::Header<'_>, to: SocketAddr, socket: &mut dyn Socket) -> Result<()> {
    let token = [to.to_string().as_bytes(), &header.dcid].concat();
    let mut packet = [0; PAYLOAD_BYTES];
    let made = quiche::retry(&header.scid, &header.dcid, &fresh_id()?, &token, header.version, &mut packet);
    let length = made.context("make a Retry")?;
    socket.send(&Train { contents: &packet[..length], packet_bytes: length, to })
}

impl Peer {
    /// Returns whether a packet is for this connection.
    fn is_meant(&self, header: &quiche::Header<'_>) -> bool {
        self.chosen == *header.dcid || self.quic.source_ids().any(|own| *own == header.dcid)
    }

    fn new(chosen: Vec<u8>, mut quic: quiche::Connection) -> Result<Self> {
        log_secrets(&mut quic)?;
        Ok(Self { chosen, quic, outbox: Outbox::new(), exchanges: BTreeMap::new() })
    }

    fn work(&mut self, socket: &mut dyn Socket) -> Result<()> {
        expire_timers(&mut self.quic);
        for stream in self.quic.readable() {
            let exchange = self.exchanges.entry(stream).or_default();
            if !exchange.read_request(&mut self.quic, stream) {
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
    /// Reads more of the request, and opens the requested file once the request is complete. Returns false if there is
    /// no such file.
    fn read_request(&mut self, quic: &mut quiche::Connection, stream: u64) -> bool {
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

/// Returns the path of the file that a request (`GET /name`) asks for; `None` if the request is invalid or its file
/// would be outside the directory.
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
