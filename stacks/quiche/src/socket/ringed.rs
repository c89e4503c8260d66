//! The socket for virtual time: it sends, waits and receives in one system call.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::time::Duration;

use anyhow::{Context as _, Result};
use netwarp_role::nanoseconds;
use netwarp_virtual_time::{Arrival, Event, Ring, held_clock};

use super::{Bound, Socket, Train, is_lost};

/// A socket with its own ring (`io_uring`).
pub(crate) struct Ringed {
    ring: Ring,
    bound: Bound,
    /// The socket's number in the ring.
    number: u32,
    arrived: VecDeque<Arrival>,
    /// The packet that was returned last, whose buffer is given back next.
    taken: Option<Arrival>,
}

impl Ringed {
    pub(super) fn open(address: SocketAddr, buffer_bytes: u64, payload_bytes: u32) -> Result<Self> {
        let mut ring = Ring::new(payload_bytes as usize).context("make a ring (io_uring)")?;
        let bound = Bound::new(address, buffer_bytes)?;
        let number = open_in(&mut ring, &bound)?;
        Ok(Self { ring, bound, number, arrived: VecDeque::new(), taken: None })
    }

    fn close(&mut self) {
        let left = self.taken.take().into_iter().chain(self.arrived.drain(..));
        left.for_each(|arrival| self.ring.give_back(arrival));
        self.ring.close(self.number);
    }
}

impl Socket for Ringed {
    fn renew(&mut self) -> Result<()> {
        self.close();
        self.bound = self.bound.reopen_elsewhere()?;
        self.number = open_in(&mut self.ring, &self.bound)?;
        Ok(())
    }

    fn bound(&self) -> &Bound {
        &self.bound
    }

    fn send(&mut self, train: &Train<'_>) -> Result<()> {
        let sent = self.ring.send(self.number, &train.transmit());
        sent.context("hand packets over (io_uring_enter)")
    }

    fn receive(&mut self) -> Result<Option<(&mut [u8], SocketAddr)>> {
        if let Some(taken) = self.taken.take() {
            self.ring.give_back(taken);
        }
        let Some(arrival) = self.arrived.pop_front() else { return Ok(None) };
        let arrival = self.taken.insert(arrival);
        Ok(Some((self.ring.contents(arrival), arrival.meta.addr)))
    }

    fn wait(&mut self, orders: RawFd, at_most: Option<Duration>) -> Result<bool> {
        let now_ns = held_clock::now_ns();
        let deadline_ns = at_most.map(|time| now_ns.saturating_add(nanoseconds(time)));
        let waited = match self.ring.wait(orders, now_ns, deadline_ns) {
            Ok(waited) => waited,
            Err(error) if error.kind() == ErrorKind::Interrupted => {
                held_clock::waited(None);
                return Ok(false);
            }
            Err(error) => return Err(error).context("wait for packets (io_uring_enter)"),
        };
        held_clock::waited(waited.time_ns);
        for event in self.ring.take_events() {
            match event {
                Event::Arrived(arrival) if arrival.socket == self.number => {
                    self.arrived.push_back(arrival);
                }
                Event::Arrived(arrival) => self.ring.give_back(arrival),
                Event::Refused { error, .. } if !is_lost(&error) => return Err(error).context("send packets"),
                Event::Refused { .. } | Event::Room(_) => {}
            }
        }
        Ok(waited.is_ready)
    }
}

impl Drop for Ringed {
    fn drop(&mut self) {
        self.close();
    }
}

fn open_in(ring: &mut Ring, bound: &Bound) -> Result<u32> {
    let opened = ring.open(bound.socket.clone());
    opened.context("receive in a ring (io_uring)")
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::os::fd::AsRawFd as _;

    use super::*;

    /// Opens two sockets; `None` if the machine forbids `io_uring`.
    fn pair() -> Option<(Ringed, Ringed)> {
        let open = || Ringed::open((Ipv4Addr::LOCALHOST, 0).into(), 1 << 20, 1472);
        match open() {
            Ok(first) => Some((first, open().unwrap())),
            Err(error) => {
                let kind = error.downcast_ref().map(std::io::Error::kind);
                let is_forbidden = matches!(kind, Some(ErrorKind::Unsupported | ErrorKind::PermissionDenied));
                assert!(is_forbidden, "{error:#}");
                None
            }
        }
    }

    fn send(from: &mut Ringed, to: SocketAddr, contents: &[u8]) {
        let train = Train { contents, packet_bytes: 2, to };
        from.send(&train).unwrap();
    }

    fn receive(socket: &mut Ringed, orders: RawFd, count: usize) -> Vec<Vec<u8>> {
        let mut received = Vec::new();
        while received.len() < count {
            socket.wait(orders, None).unwrap();
            while let Some((packet, _)) = socket.receive().unwrap() {
                received.push(packet.to_vec());
            }
        }
        received
    }

    #[test]
    fn packets_of_a_train_come_apart_and_one_socket_follows_another() {
        let Some((mut from, mut to)) = pair() else { return };
        let (orders, _end) = std::os::unix::net::UnixStream::pair().unwrap();
        send(&mut from, to.local(), b"aabbc");
        from.wait(orders.as_raw_fd(), Some(Duration::ZERO)).unwrap();
        let received = receive(&mut to, orders.as_raw_fd(), 3);
        assert_eq!(received, [&b"aa"[..], b"bb", b"c"]);
        let before = from.local();
        send(&mut from, to.local(), b"d");
        from.renew().unwrap();
        assert_ne!(from.local(), before);
        assert_eq!(receive(&mut to, orders.as_raw_fd(), 1), [b"d"]);
    }

    #[test]
    fn an_order_ends_a_wait() {
        let Some((mut socket, _)) = pair() else { return };
        let (orders, end) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(!socket.wait(orders.as_raw_fd(), Some(Duration::ZERO)).unwrap());
        drop(end);
        assert!(socket.wait(orders.as_raw_fd(), None).unwrap());
    }
}
