//! The client: requests all files at once over one connection, and writes them to a directory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;

use anyhow::{Context as _, Result, bail, ensure};
use netwarp_role::BLOCK_BYTES;
use netwarp_role::interop::Request;

use super::{config, log_secrets};
use crate::client::{STREAM_STEP, local_address};
use crate::connection::{expire_timers, fresh_id, receive};
use crate::outbox::Outbox;
use crate::socket::{NO_ORDERS, open_polled};

/// The size of the socket's buffers, in bytes.
const BUFFER_BYTES: u64 = 8 << 20;

/// Fetches files over as many connections as the test case asks for.
pub(super) fn fetch(requests: &[Request<'_>], test_case: &str) -> Result<()> {
    let server = requests.first().context("there is no file to fetch")?.server()?;
    let mut config = config(test_case, server)?;
    // The runner's certificates are issued by an authority that clients do not know.
    config.verify_peer(false);
    match test_case {
        "multiconnect" => {
            for one in requests.chunks(1) {
                fetch_over(&mut config, one, None)?;
            }
            Ok(())
        }
        "resumption" | "zerortt" => {
            let (first, others) = requests.split_at(1);
            let session = fetch_over(&mut config, first, None)?.context("the server sent no session ticket")?;
            fetch_over(&mut config, others, Some(&session)).map(drop)
        }
        _ => fetch_over(&mut config, requests, None).map(drop),
    }
}

/// Fetches files over one connection, which resumes a session if there is one. Returns the session that a later
/// connection can resume.
fn fetch_over(
    config: &mut quiche::Config,
    requests: &[Request<'_>],
    session: Option<&[u8]>,
) -> Result<Option<Vec<u8>>> {
    let first = requests.first().context("there is no file to fetch")?;
    let server = first.server()?;
    let mut socket = open_polled((local_address(server)?, 0).into(), BUFFER_BYTES)?;
    let id = fresh_id()?;
    let quic = quiche::connect(Some(first.host()), &id, socket.local(), server, config);
    let mut quic = quic.context("begin a connection")?;
    log_secrets(&mut quic)?;
    if let Some(session) = session {
        quic.set_session(session).context("resume the first connection's session")?;
    }
    let mut outbox = Outbox::new();
    let mut asked = Asked { unasked: requests, next_stream: 0, downloads: BTreeMap::new() };
    loop {
        outbox.send(&mut quic, &mut *socket)?;
        if quic.is_established() || quic.is_in_early_data() {
            asked.ask(&mut quic)?;
            asked.take(&mut quic)?;
            if asked.is_done() {
                break;
            }
            asked.ask(&mut quic)?;
            outbox.send(&mut quic, &mut *socket)?;
        }
        ensure!(!quic.is_closed(), "the connection ended before all files were there{}", why(&quic));
        socket.wait(NO_ORDERS, outbox.idle_for(&quic))?;
        let local = socket.local();
        while let Some((packet, from)) = socket.receive()? {
            receive(&mut quic, packet, from, local)?;
        }
        expire_timers(&mut quic);
    }
    let session = quic.session().map(<[u8]>::to_vec);
    outbox.close(&mut quic, &mut *socket)?;
    Ok(session)
}

/// Returns a text with the reason why a connection was closed, if either end has given one.
fn why(quic: &quiche::Connection) -> String {
    let told = [("the server", quic.peer_error()), ("this end", quic.local_error())];
    let told = told.into_iter().find_map(|(end, error)| Some((end, error?)));
    told.map_or(String::new(), |(end, error)| {
        let reason = String::from_utf8_lossy(&error.reason);
        format!(": {end} closed it with error {:#x} {reason}", error.error_code)
    })
}

/// The files that are requested and received over one connection.
struct Asked<'a> {
    /// The requests that have not been sent yet.
    unasked: &'a [Request<'a>],
    next_stream: u64,
    /// The files to which responses are written, by stream, until they are complete.
    downloads: BTreeMap<u64, File>,
}

impl Asked<'_> {
    fn is_done(&self) -> bool {
        self.unasked.is_empty() && self.downloads.is_empty()
    }

    /// Requests files, each on a separate stream, while the server allows more streams.
    fn ask(&mut self, quic: &mut quiche::Connection) -> Result<()> {
        while let Some((request, others)) = self.unasked.split_first()
            && quic.peer_streams_left_bidi() > 0
        {
            let line = request.line();
            // A request that does not fit into the flow-control windows waits.
            if quic.stream_capacity(self.next_stream).is_ok_and(|capacity| capacity < line.len()) {
                return Ok(());
            }
            let sent = match quic.stream_send(self.next_stream, line.as_bytes(), true) {
                Err(quiche::Error::Done) => return Ok(()),
                sent => sent.with_context(|| format!("ask for {}", request.path))?,
            };
            ensure!(sent == line.len(), "the request for {} does not fit", request.path);
            self.downloads.insert(self.next_stream, request.file()?);
            self.next_stream += STREAM_STEP;
            self.unasked = others;
        }
        Ok(())
    }

    /// Writes received bytes to the files, and removes complete downloads.
    fn take(&mut self, quic: &mut quiche::Connection) -> Result<()> {
        let mut block = vec![0; BLOCK_BYTES];
        for stream in quic.readable() {
            let Some(mut file) = self.downloads.get(&stream) else {
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
                    self.downloads.remove(&stream);
                    break;
                }
            }
        }
        Ok(())
    }
}
