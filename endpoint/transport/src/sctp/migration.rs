//! Makes SCTP associations follow their client to each new address (RFC 5061).
//!
//! The kernel can do it by itself (`SCTP_AUTO_ASCONF`), but only half a second after an address was added or removed
//! (`SCTP_ADDRESS_TICK_DELAY`), and without asking the peer to send there. So the client's process does it as soon as
//! it is notified of a handover: it adds the new address, asks the peer to send there, and deletes the old address once
//! it is lost.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, Weak};

use netwarp_core::addresses::Family;
use netwarp_wire::job::{Job, Reconnect};

use super::api::{
    AssociationStatus, SCTP_BINDX_ADD, SCTP_BINDX_REMOVE, SCTP_SET_PEER_PRIMARY_ADDR, SCTP_STATUS, SOL_SCTP, SetPrimary,
};
use super::multihoming::change_addresses;
use crate::error::{Context as _, Result};
use crate::socket::Socket;

/// A client's current address, and the associations that follow it.
#[derive(Debug)]
pub(super) struct Migration(Mutex<State>);

#[derive(Debug)]
struct State {
    address: IpAddr,
    associations: Vec<Association>,
}

/// An open association, and the addresses that its peer knows.
#[derive(Debug)]
struct Association {
    socket: Weak<Socket>,
    addresses: Vec<IpAddr>,
}

impl Migration {
    /// Creates the migration for a job; `None` if its associations do not migrate.
    pub(super) fn of(job: &Job) -> Option<Self> {
        let migrates = job.only().transport.reconnect == Reconnect::Migrate && job.timeline.has_handovers();
        let state = || State { address: Family::of(job).client(0), associations: Vec::new() };
        migrates.then(|| Self(Mutex::new(state())))
    }

    /// Binds a client's socket to the current address. If the socket were bound to the unspecified address, the kernel
    /// would choose the association's addresses.
    pub(super) fn bind(&self, socket: &Socket) -> Result<()> {
        let address = SocketAddr::from((self.state().address, 0));
        socket.bind(&address.into()).with_context(|| format!("binding a socket to {address}"))
    }

    /// Makes an open association follow the client from now on.
    pub(super) fn accompany(&self, socket: &Arc<Socket>) -> Result<()> {
        let (address, _) = local_address(socket)?;
        let association = Association { socket: Arc::downgrade(socket), addresses: vec![address] };
        self.state().associations.push(association);
        Ok(())
    }

    /// Tells peers to add the client's new address and to send to it.
    pub(super) fn attached(&self, address: IpAddr) -> Result<()> {
        let mut state = self.state();
        state.address = address;
        state.each_standing(|socket, addresses| {
            let (_, port) = local_address(socket)?;
            if !addresses.contains(&address) {
                change_addresses(socket, SCTP_BINDX_ADD, &[address], port)?;
                addresses.push(address);
            }
            let primary = SetPrimary::new(SocketAddr::new(address, port));
            socket.set(SOL_SCTP, SCTP_SET_PEER_PRIMARY_ADDR, &primary, "SCTP_SET_PEER_PRIMARY_ADDR")
        })
    }

    /// Tells peers to delete an address that the client has lost.
    pub(super) fn detached(&self, address: IpAddr) -> Result<()> {
        self.state().each_standing(|socket, addresses| {
            // The last address cannot be deleted (RFC 5061, 4.3); a handover that would do so is refused before the
            // run.
            if addresses.len() < 2 || !addresses.contains(&address) {
                return Ok(());
            }
            change_addresses(socket, SCTP_BINDX_REMOVE, &[address], local_address(socket)?.1)?;
            addresses.retain(|&other| other != address);
            Ok(())
        })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().expect("no holder panics")
    }
}

impl State {
    /// Calls `work` with socket and addresses of each open association, and forgets associations that have ended.
    fn each_standing(&mut self, mut work: impl FnMut(&Socket, &mut Vec<IpAddr>) -> Result<()>) -> Result<()> {
        self.associations.retain(|association| association.socket.strong_count() > 0);
        for Association { socket, addresses } in &mut self.associations {
            let Some(socket) = socket.upgrade() else { continue };
            match work(&socket, addresses) {
                Err(error) if is_established(&socket) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns whether the socket has an association that has not begun to shut down.
fn is_established(socket: &Socket) -> bool {
    let status = socket.get(SOL_SCTP, SCTP_STATUS, AssociationStatus::default(), "SCTP_STATUS");
    status.is_ok_and(|status| status.is_established())
}

fn local_address(socket: &Socket) -> Result<(IpAddr, u16)> {
    let address = socket.local_addr().context("asking for a socket's address")?;
    let address = address.as_socket().context("an SCTP socket has no IP address")?;
    Ok((address.ip(), address.port()))
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;

    use super::*;

    #[test]
    fn only_associations_that_migrate_are_carried_over() {
        let mut job = golden::job("stream-handovers");
        job.only_mut().transport.reconnect = Reconnect::New;
        assert!(Migration::of(&job).is_none());
        job.only_mut().transport.reconnect = Reconnect::Migrate;
        assert!(Migration::of(&job).is_some());
        job.timeline.events.clear();
        assert!(Migration::of(&job).is_none());
    }

    #[test]
    fn an_association_that_has_ended_stays_behind() {
        let mut job = golden::job("stream-handovers");
        job.only_mut().transport.reconnect = Reconnect::Migrate;
        let migration = Migration::of(&job).expect("it migrates");
        // A TCP socket: neither option can be set on it, nor a status read.
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        let socket = Arc::new(Socket::from(socket));
        migration.accompany(&socket).unwrap();
        let next = Family::Ipv4.client(1);
        migration.attached(next).unwrap();
        assert_eq!(migration.state().address, next);
        drop(socket);
        migration.detached(Family::Ipv4.client(0)).unwrap();
        assert!(migration.state().associations.is_empty());
    }
}
