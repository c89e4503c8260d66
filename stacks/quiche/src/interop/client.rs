//! The client: asks for all files at once over one connection, and leaves them in a directory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};

use super::{NO_ORDERS, config, log_secrets};
use crate::client::local_address;
use crate::connection::fresh_id;
use crate::outbox::Outbox;
use crate::socket::open_polled;

/// Where files are left.
const DOWNLOADED: &str = "/downloads";

const BUFFER_BYTES: u64 = 8 << 20;

const BLOCK_BYTES: usize = 64 << 10;

/// A request: `https://server4:443/file`.
struct Request<'a> {
    authority: &'a str,
    path: &'a str,
}

impl<'a> Request<'a> {
    fn parse(text: &'a str) -> Result<Self> {
        let parts = text.strip_prefix("https://").and_then(|rest| rest.split_once('/'));
        let (authority, path) = parts.with_context(|| format!("{text} names no file"))?;
        Ok(Self { authority, path })
    }

    fn host(&self) -> &'a str {
        self.authority.rsplit_once(':').map_or(self.authority, |(host, _)| host)
    }

    /// Where its answer is kept.
    fn file(&self) -> Result<File> {
        let name = Path::new(self.path).file_name();
        let place = Path::new(DOWNLOADED).join(name.with_context(|| format!("{} is no file", self.path))?);
        File::create(&place).with_context(|| format!("create {}", place.display()))
    }
}

/// Fetches the files of REQUESTS, which spaces separate.
///
/// # Errors
/// Whatever kept one of them from being there as a whole.
pub(super) fn fetch(requests: &str) -> Result<()> {
    let requests: Vec<_> = requests.split_whitespace().map(Request::parse).collect::<Result<_>>()?;
    let first = requests.first().context("REQUESTS names no file")?;
    let server = resolve(first.authority)?;
    let mut config = config()?;
    // The runner's certificates are of an authority that clients are not told of.
    config.verify_peer(false);
    let mut socket = open_polled((local_address(server)?, 0).into(), BUFFER_BYTES)?;
    let id = fresh_id()?;
    let quic = quiche::connect(Some(first.host()), &id, socket.local(), server, &mut config);
    let mut quic = quic.context("begin a connection")?;
    log_secrets(&mut quic)?;
    let mut outbox = Outbox::new();
    let mut downloads = None;
    loop {
        outbox.send(&mut quic, &mut *socket)?;
        if quic.is_established() {
            let downloads = match &mut downloads {
                Some(downloads) => downloads,
                None => downloads.insert(ask(&mut quic, &requests)?),
            };
            take(&mut quic, downloads)?;
            if downloads.is_empty() {
                break;
            }
            outbox.send(&mut quic, &mut *socket)?;
        }
        ensure!(!quic.is_closed(), "the connection ended before all files were there");
        socket.wait(NO_ORDERS, outbox.idle_for(&quic))?;
        let local = socket.local();
        while let Some((packet, from)) = socket.receive()? {
            match quic.recv(packet, quiche::RecvInfo { from, to: local }) {
                Ok(_) | Err(quiche::Error::Done) => {}
                Err(error) => return Err(error).context("read a packet"),
            }
        }
        if quic.timeout().is_some_and(|left| left.is_zero()) {
            quic.on_timeout();
        }
    }
    match quic.close(true, 0, b"") {
        Ok(()) | Err(quiche::Error::Done) => outbox.send(&mut quic, &mut *socket),
        Err(error) => Err(error).context("close the connection"),
    }
}

fn resolve(authority: &str) -> Result<SocketAddr> {
    let mut found = authority.to_socket_addrs().with_context(|| format!("find {authority}"))?;
    found.find(SocketAddr::is_ipv4).with_context(|| format!("{authority} has no IPv4 address"))
}

/// Asks for each file on a stream of its own, and gives the file to write to by stream.
fn ask(quic: &mut quiche::Connection, requests: &[Request<'_>]) -> Result<BTreeMap<u64, File>> {
    let mut downloads = BTreeMap::new();
    // Streams of clients have numbers four apart (RFC 9000, section 2.1).
    for (stream, request) in (0..).step_by(4).zip(requests) {
        let line = format!("GET /{}\r\n", request.path);
        let sent = quic.stream_send(stream, line.as_bytes(), true);
        let sent = sent.with_context(|| format!("ask for {}", request.path))?;
        ensure!(sent == line.len(), "the request for {} does not fit", request.path);
        downloads.insert(stream, request.file()?);
    }
    Ok(downloads)
}

/// Writes what has come; a file that is whole is taken out.
fn take(quic: &mut quiche::Connection, downloads: &mut BTreeMap<u64, File>) -> Result<()> {
    let mut block = vec![0; BLOCK_BYTES];
    for stream in quic.readable() {
        let Some(mut file) = downloads.get(&stream) else {
            bail!("the server sent on stream {stream}, where nothing was asked for");
        };
        loop {
            let (length, is_end) = match quic.stream_recv(stream, &mut block) {
                Ok(read) => read,
                Err(quiche::Error::Done) => break,
                Err(error) => {
                    return Err(error).with_context(|| format!("read from stream {stream}"));
                }
            };
            file.write_all(&block[..length]).context("keep a file")?;
            if is_end {
                downloads.remove(&stream);
                break;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_a_host_and_a_file() {
        let request = Request::parse("https://server4:443/a/b").unwrap();
        assert_eq!((request.authority, request.host(), request.path), ("server4:443", "server4", "a/b"));
        assert!(Request::parse("server4").is_err());
        assert!(Request::parse("https://server4:443/").unwrap().file().is_err());
    }
}
