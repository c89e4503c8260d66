//! The client: requests all files at once over one connection, and writes them to a directory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use netwarp_role::BLOCK_BYTES;

use super::{config, log_secrets};
use crate::client::{STREAM_STEP, local_address};
use crate::connection::{expire_timers, fresh_id, receive};
use crate::outbox::Outbox;
use crate::socket::{NO_ORDERS, open_polled};

/// The directory for the files.
const DOWNLOADED: &str = "/downloads";

/// The size of the socket's buffers, in bytes.
const BUFFER_BYTES: u64 = 8 << 20;

/// A request, such as `https://server4:443/file`.
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

    /// Creates the file for the answer.
    fn file(&self) -> Result<File> {
        let name = Path::new(self.path).file_name();
        let place = Path::new(DOWNLOADED).join(name.with_context(|| format!("{} is no file", self.path))?);
        File::create(&place).with_context(|| format!("create {}", place.display()))
    }
}

/// Fetches the files of REQUESTS, which are separated by spaces.
pub(super) fn fetch(requests: &str) -> Result<()> {
    let requests: Vec<_> = requests.split_whitespace().map(Request::parse).collect::<Result<_>>()?;
    let first = requests.first().context("REQUESTS names no file")?;
    let server = resolve(first.authority)?;
    let mut config = config()?;
    // The runner's certificates are issued by an authority that clients do not know.
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
            receive(&mut quic, packet, from, local)?;
        }
        expire_timers(&mut quic);
    }
    outbox.close(&mut quic, &mut *socket)
}

fn resolve(authority: &str) -> Result<SocketAddr> {
    let mut found = authority.to_socket_addrs().with_context(|| format!("find {authority}"))?;
    found.find(SocketAddr::is_ipv4).with_context(|| format!("{authority} has no IPv4 address"))
}

/// Requests each file on a stream of its own. Returns the file to write to for each stream.
fn ask(quic: &mut quiche::Connection, requests: &[Request<'_>]) -> Result<BTreeMap<u64, File>> {
    let mut downloads = BTreeMap::new();
    for (stream, request) in (0..).step_by(STREAM_STEP as usize).zip(requests) {
        let line = format!("GET /{}\r\n", request.path);
        let sent = quic.stream_send(stream, line.as_bytes(), true);
        let sent = sent.with_context(|| format!("ask for {}", request.path))?;
        ensure!(sent == line.len(), "the request for {} does not fit", request.path);
        downloads.insert(stream, request.file()?);
    }
    Ok(downloads)
}

/// Writes what has arrived, and removes the downloads that are complete.
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
                Err(error) => return Err(error).with_context(|| format!("read from stream {stream}")),
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
