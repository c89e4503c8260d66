//! Sockets and associations of SCTP, with a job's options.

use std::io::Cursor;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use libc::c_int;
use netwarp_wire::job::{Job, SctpOptions, Transport};
use socket2::{Domain, Type};

use super::api::{
    AssociationValue, InitMessage, ROUND_ROBIN, SCTP_INITMSG, SCTP_MAXSEG, SCTP_NODELAY, SCTP_RECVRCVINFO,
    SCTP_RTOINFO, SCTP_STREAM_SCHEDULER, SOL_SCTP,
};
use super::association::{check_association, rto_bounds, status};
use super::inbox::Inbox;
use super::migration::Migration;
use super::multihoming::Addresses;
use super::{Order, SctpStream, messages};
use crate::error::{Context as _, Result, ensure};
use crate::kernel::Protocol;
use crate::socket::{self, Socket};

/// The name of the congestion control of RFC 9260, section 7, the only one of the kernel's SCTP.
const CONGESTION: &str = "rfc9260";

/// The SCTP protocol with a job's options.
#[derive(Debug)]
pub(super) struct Sctp {
    options: Transport,
    addresses: Addresses,
    /// Moves associations to the new address at a handover; `None` if they do not migrate.
    migration: Option<Migration>,
}

impl Sctp {
    /// Creates the protocol with the job's options.
    ///
    /// # Errors
    /// SCTP does not have the congestion control.
    pub(super) fn new(job: &Job) -> Result<Self> {
        let options = job.only().transport.clone();
        ensure!(
            options.congestion == CONGESTION,
            "SCTP has no congestion control {:?}: the kernel's one is {CONGESTION:?}",
            options.congestion
        );
        Ok(Self { options, addresses: Addresses::of(job), migration: Migration::of(job) })
    }
}

impl Protocol for Sctp {
    type Stream = SctpStream;

    const NAME: &'static str = "sctp";

    fn socket(&self, peer: SocketAddr) -> Result<Socket> {
        let protocol = socket2::Protocol::from(libc::IPPROTO_SCTP);
        let socket = socket2::Socket::new(Domain::for_address(peer), Type::STREAM, Some(protocol));
        let socket = Socket::from(socket.context("creating an SCTP socket (the kernel needs CONFIG_IP_SCTP)")?);
        let SctpOptions { streams, .. } = self.options.sctp;
        let streams = InitMessage { outbound_streams: streams, inbound_streams: streams, ..InitMessage::default() };
        socket.set(SOL_SCTP, SCTP_INITMSG, &streams, "SCTP_INITMSG")?;
        socket.set(SOL_SCTP, SCTP_RTOINFO, &rto_bounds(&self.options.sctp)?, "SCTP_RTOINFO")?;
        socket.set(SOL_SCTP, SCTP_NODELAY, &c_int::from(self.options.nodelay), "SCTP_NODELAY")?;
        if let Some(mss_bytes) = self.options.mss_bytes {
            let fragment = AssociationValue { association: 0, value: mss_bytes };
            socket.set(SOL_SCTP, SCTP_MAXSEG, &fragment, "SCTP_MAXSEG")?;
        }
        socket::set_buffers(&socket, self.options.buffer_bytes)?;
        socket::set_send_buffer(&socket, self.options.send_buffer_bytes)?;
        Ok(socket)
    }

    fn bind(&self, socket: &Socket, address: SocketAddr) -> Result<()> {
        self.addresses.bind_server(socket, address)
    }

    fn bind_client(&self, socket: &Socket) -> Result<()> {
        match &self.migration {
            Some(migration) => migration.bind(socket),
            None => self.addresses.bind_client(socket),
        }
    }

    fn attached(&self, address: IpAddr) -> Result<()> {
        self.migration.as_ref().map_or(Ok(()), |migration| migration.attached(address))
    }

    fn detached(&self, address: IpAddr) -> Result<()> {
        self.migration.as_ref().map_or(Ok(()), |migration| migration.detached(address))
    }

    fn establish(&self, socket: Arc<Socket>) -> Result<Vec<SctpStream>> {
        let status = status(&socket)?;
        check_association(&socket, &status, &self.options.sctp)?;
        socket.set(SOL_SCTP, SCTP_RECVRCVINFO, &c_int::from(true), "SCTP_RECVRCVINFO")?;
        let SctpOptions { streams, unordered, .. } = self.options.sctp;
        if streams > 1 {
            // The kernel's default scheduler sends messages in the order of the calls: with a large buffer, all of the
            // first stream's messages would be sent before any of the second's.
            let scheduler = AssociationValue { association: 0, value: ROUND_ROBIN };
            socket.set(SOL_SCTP, SCTP_STREAM_SCHEDULER, &scheduler, "SCTP_STREAM_SCHEDULER")?;
        }
        messages::check(&socket, &self.options.sctp)?;
        if let Some(migration) = &self.migration {
            // A server's association is registered too, but a server is never told of handovers.
            migration.accompany(&socket)?;
        }
        let inbox = Arc::new(Inbox::new(streams));
        let stream = |number| SctpStream {
            socket: socket.clone(),
            options: self.options.clone(),
            initial_window_bytes: status.primary.congestion_window_bytes,
            number,
            inbox: inbox.clone(),
            begun: Cursor::default(),
            order: unordered.then(Order::default),
            has_rest: Arc::default(),
        };
        Ok((0..streams).map(stream).collect())
    }
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;

    use super::*;

    #[test]
    fn any_other_congestion_control_is_refused() {
        let mut job = golden::job("bulk-quic");
        let refused = format!("{:#}", Sctp::new(&job).unwrap_err());
        assert!(refused.contains("cubic") && refused.contains(CONGESTION), "{refused}");
        job.only_mut().transport.congestion = CONGESTION.to_owned();
        Sctp::new(&job).unwrap();
    }
}
