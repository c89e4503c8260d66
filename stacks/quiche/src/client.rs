//! The client: carries out all transfers, one after another, each over a new connection.

use std::fs;
use std::net::{IpAddr, SocketAddr};

use anyhow::{Context as _, Result, bail};
use netwarp_role::{Chunk, Job, Orchestrator, Request, Resume, SERVER_NAME, Side, anywhere, to_pem};

use crate::config;
use crate::connection::{Connection, fresh_id};
use crate::socket::{Socket, open};

/// The file from which quiche reads the certificate to trust.
const TRUSTED_FILE: &str = "/tmp/netwarp-trusted.pem";

/// The distance between the numbers of a client's streams (RFC 9000, section 2.1).
pub(crate) const STREAM_STEP: u64 = 4;

/// Carries out the client's part of the job.
pub(crate) fn drive(job: &Job, orchestrator: &mut Orchestrator, server: SocketAddr) -> Result<()> {
    let begin = orchestrator.begin()?;
    let trusted = begin.certificate.context("the server has no certificate")?;
    fs::write(TRUSTED_FILE, to_pem(&trusted)?).context("keep the server's certificate")?;
    let mut config = config(job)?;
    config.verify_peer(true);
    config.load_verify_locations_from_file(TRUSTED_FILE).context("trust the server's certificate")?;
    let mut socket = open((local_address(server)?, 0).into(), job.transport.buffer_bytes, job.payload_bytes())?;
    let mut session = None;
    for transfer in 0..job.bulk.transfers {
        if transfer > 0 {
            socket.renew()?;
        }
        let carried = run_transfer(
            job,
            orchestrator,
            (&mut *socket, server),
            &mut config,
            (transfer, begin.epoch_ns),
            session.take(),
        );
        session = carried.with_context(|| format!("transfer {transfer}"))?;
    }
    Ok(())
}

/// Carries out one transfer. Returns the session that the next transfer can resume, if there is one.
fn run_transfer(
    job: &Job,
    orchestrator: &mut Orchestrator,
    (socket, server): (&mut dyn Socket, SocketAddr),
    config: &mut quiche::Config,
    (transfer, epoch_ns): (u32, u64),
    session: Option<Vec<u8>>,
) -> Result<Option<Vec<u8>>> {
    let quic = quiche::connect(Some(SERVER_NAME), &fresh_id()?, socket.local(), server, config);
    let mut connection = Connection::new(Side::Client, quic.context("begin a connection")?, job, epoch_ns);
    if let Some(session) = session.filter(|_| job.transport.resume != Resume::None) {
        connection.resume(&session)?;
    }
    for chunk in 0..job.bulk.chunks {
        connection.begin(STREAM_STEP * u64::from(chunk), Chunk::ask(&job.bulk, Request { transfer, chunk }, epoch_ns)?);
    }
    connection.work(socket)?;
    while !connection.is_done() {
        if socket.wait(orchestrator.descriptor(), connection.idle_for())? {
            bail!("ordered to {:?} while it works", orchestrator.next_order()?);
        }
        let local = socket.local();
        while let Some((packet, from)) = socket.receive()? {
            connection.receive(packet, from, local)?;
        }
        connection.expire_timers();
        connection.work(socket)?;
    }
    connection.report(job, orchestrator)?;
    let session = connection.session();
    connection.close(socket)?;
    Ok(session)
}

/// Returns this host's address for packets to the server. quiche needs it to compare it with the address at which each
/// packet arrives.
///
/// # Errors
/// There is no route to the server.
pub(crate) fn local_address(server: SocketAddr) -> Result<IpAddr> {
    let probe = std::net::UdpSocket::bind(anywhere(server)).context("open a socket")?;
    probe.connect(server).with_context(|| format!("find the way to {server}"))?;
    Ok(probe.local_addr().context("ask for the socket's address")?.ip())
}
