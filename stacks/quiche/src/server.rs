//! The server: answers clients until it is ordered to finish.

use std::fs;
use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use netwarp_role::{Identity, Job, Orchestrator, Side};

use crate::config;
use crate::connection::{Connection, Destination, ID_BYTES, destination, fresh_id};
use crate::socket::open;

/// The file from which quiche reads the server's certificate.
const CERTIFICATE_FILE: &str = "/tmp/netwarp-certificate.pem";
/// The file from which quiche reads the server's key.
const KEY_FILE: &str = "/tmp/netwarp-key.pem";

/// Carries out the server's part of the job.
pub(crate) fn serve(job: &Job, orchestrator: &mut Orchestrator, address: SocketAddr) -> Result<()> {
    let begin = orchestrator.begin()?;
    let identity = Identity::generate()?;
    fs::write(CERTIFICATE_FILE, &identity.certificate_pem).context("keep the certificate")?;
    fs::write(KEY_FILE, &identity.key_pem).context("keep the certificate's key")?;
    let mut config = config(job)?;
    config.load_cert_chain_from_pem_file(CERTIFICATE_FILE).context("use the certificate")?;
    config.load_priv_key_from_pem_file(KEY_FILE).context("use the certificate's key")?;
    let mut socket = open(address, job.transport.buffer_bytes, job.payload_bytes())?;
    orchestrator.ready(&identity.certificate_hex)?;
    let mut connections: Vec<Connection> = Vec::new();
    loop {
        let idle_for = connections.iter().filter_map(Connection::idle_for).min();
        if socket.wait(orchestrator.descriptor(), idle_for)? {
            break;
        }
        let local = socket.local();
        while let Some((packet, from)) = socket.receive()? {
            let header = quiche::Header::from_slice(packet, ID_BYTES).context("read a packet's header")?;
            let quic = connections.iter().map(Connection::quic);
            let index = match destination(&header, quic) {
                Destination::Known(index) => index,
                Destination::New => {
                    let quic = quiche::accept(&fresh_id()?, None, local, from, &mut config);
                    let quic = quic.context("accept a connection")?;
                    connections.push(Connection::new(Side::Server, quic, job, begin.epoch_ns));
                    connections.len() - 1
                }
                Destination::Over => continue,
            };
            connections[index].receive(packet, from, local)?;
        }
        for connection in &mut connections {
            connection.expire_timers();
            connection.work(&mut *socket)?;
        }
    }
    orchestrator.finish()?;
    connections.iter().try_for_each(|connection| connection.report(job, orchestrator))
}
