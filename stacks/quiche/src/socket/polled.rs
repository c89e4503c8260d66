//! The socket for real time: it waits in `ppoll`, and passes several packets to the kernel at once where it can.

use std::io::{ErrorKind, IoSliceMut};
use std::net::SocketAddr;
use std::ops::Range;
use std::os::fd::{AsRawFd as _, RawFd};
use std::time::Duration;

use anyhow::{Context as _, Result};
use netwarp_virtual_time::udp::RecvMeta;

use super::{Bound, MOST_BYTES, Socket, Train, is_lost};

/// The number of buffers that the kernel fills in one call, each with one packet or several of the same size.
const ROOMS: usize = 16;

const ROOM_BYTES: usize = MOST_BYTES.next_multiple_of(64);

/// A socket for which the program waits in `ppoll`.
pub(crate) struct Polled {
    bound: Bound,
    rooms: Vec<u8>,
    /// The received packets that have not been returned yet: the position of each in `rooms`, and its sender. The next
    /// one to return is last.
    packets: Vec<(Range<usize>, SocketAddr)>,
    /// Whether the kernel had no more packets when it was last asked.
    is_drained: bool,
}

impl Polled {
    pub(super) fn open(address: SocketAddr, buffer_bytes: u64) -> Result<Self> {
        let bound = Bound::new(address, buffer_bytes)?;
        bound.socket.set_nonblocking(true).context("have the socket never wait")?;
        Ok(Self { bound, rooms: vec![0; ROOMS * ROOM_BYTES], packets: Vec::new(), is_drained: true })
    }

    fn take_batch(&mut self) -> Result<()> {
        let Bound { socket, state, .. } = &self.bound;
        let mut metas = [RecvMeta::default(); ROOMS];
        let mut rooms: Vec<_> = self.rooms.chunks_mut(ROOM_BYTES).map(IoSliceMut::new).collect();
        let count = match state.recv((&**socket).into(), &mut rooms, &mut metas) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error).context("receive packets"),
        };
        self.is_drained = count < ROOMS;
        for (room, meta) in metas[..count].iter().enumerate() {
            let begin = room * ROOM_BYTES;
            let starts = (begin..begin + meta.len).step_by(meta.stride.max(1));
            let packet = |start: usize| (start..(start + meta.stride).min(begin + meta.len), meta.addr);
            self.packets.extend(starts.map(packet));
        }
        self.packets.reverse();
        Ok(())
    }
}

impl Socket for Polled {
    fn renew(&mut self) -> Result<()> {
        *self = Self::open((self.bound.local.ip(), 0).into(), self.bound.buffer_bytes)?;
        Ok(())
    }

    fn bound(&self) -> &Bound {
        &self.bound
    }

    fn send(&mut self, train: &Train<'_>) -> Result<()> {
        let Bound { socket, state, .. } = &self.bound;
        match state.try_send((&**socket).into(), &train.transmit()) {
            Err(error) if is_lost(&error) => Ok(()),
            sent => sent.with_context(|| format!("send packets to {}", train.to)),
        }
    }

    fn receive(&mut self) -> Result<Option<(&mut [u8], SocketAddr)>> {
        if self.packets.is_empty() && !self.is_drained {
            self.take_batch()?;
        }
        let next = self.packets.pop();
        Ok(next.map(|(place, from)| (&mut self.rooms[place], from)))
    }

    fn wait(&mut self, orders: RawFd, at_most: Option<Duration>) -> Result<bool> {
        let watched = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut polled = [watched(orders), watched(self.bound.socket.as_raw_fd())];
        let limit = at_most.map(|limit| libc::timespec {
            tv_sec: limit.as_secs() as libc::time_t,
            tv_nsec: limit.subsec_nanos().into(),
        });
        let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the array and the time are valid during the call, and there is no mask.
        let count = unsafe { libc::ppoll(polled.as_mut_ptr(), polled.len() as u64, limit, std::ptr::null()) };
        let error = std::io::Error::last_os_error();
        if count < 0 && error.kind() != ErrorKind::Interrupted {
            return Err(error).context("wait for packets (ppoll)");
        }
        self.is_drained = polled[1].revents == 0;
        Ok(polled[0].revents != 0)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn packets_of_a_train_come_apart() {
        let open = || Polled::open((Ipv4Addr::LOCALHOST, 0).into(), 1 << 20).unwrap();
        let (mut from, mut to) = (open(), open());
        assert!(from.most_packets() > 1, "this kernel splits nothing");
        let train = |contents| Train { contents, packet_bytes: 2, to: to.local() };
        from.send(&train(b"aabbc")).unwrap();
        from.send(&train(b"d")).unwrap();
        let mut received = Vec::new();
        while received.len() < 4 {
            to.wait(crate::socket::NO_ORDERS, None).unwrap();
            while let Some((packet, sender)) = to.receive().unwrap() {
                assert_eq!(sender, from.local());
                received.push(packet.to_vec());
            }
        }
        assert_eq!(received, [&b"aa"[..], b"bb", b"c", b"d"]);
    }
}
