//! QUIC's event loop in virtual time: it waits in the single system call of a [`Ring`] instead of in `epoll_wait`. The
//! ring watches tokio's `epoll` descriptor too, so other events of the loop still wake it.

mod socket;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::task::Waker;

use netwarp_core::clock::{self, EventLoop};
use netwarp_virtual_time::{Arrival, Event, Ring, Waited};

pub(crate) use self::socket::RingSocket;
use self::socket::Shared;

thread_local! {
    static RING: RefCell<Option<ThreadRing>> = const { RefCell::new(None) };
}

/// Makes this thread's event loop wait in an io_uring from now on.
///
/// # Arguments
/// * `datagram_bytes` - the size of the largest datagram that may arrive.
///
/// # Errors
/// The kernel lacks what the ring needs.
fn start(datagram_bytes: usize) -> io::Result<()> {
    RING.with_borrow_mut(|ring| {
        if ring.is_none() {
            *ring = Some(ThreadRing { ring: Ring::new(datagram_bytes)?, sockets: BTreeMap::new(), woken: Vec::new() });
            clock::wait_by(Box::new(Loop));
        }
        Ok(())
    })
}

/// Calls `work` with this thread's ring.
///
/// # Panics
/// On a thread without a ring: sockets stay on the thread they were made on.
fn with_ring<T>(work: impl FnOnce(&mut ThreadRing) -> T) -> T {
    RING.with_borrow_mut(|ring| work(ring.as_mut().expect("a ring's socket is used on the ring's own thread")))
}

struct Loop;

impl EventLoop for Loop {
    fn wait(&mut self, epoll: RawFd, now_ns: u64, deadline_ns: Option<u64>) -> io::Result<Waited> {
        let (waited, woken) = with_ring(|thread| {
            let waited = thread.wait(epoll, now_ns, deadline_ns);
            (waited, std::mem::take(&mut thread.woken))
        });
        // Tasks are woken last: a woken task may end, and so close a socket of the ring.
        woken.into_iter().for_each(Waker::wake);
        waited
    }
}

/// A thread's ring, with the sockets that use it.
struct ThreadRing {
    ring: Ring,
    /// The sockets, by their number in the ring.
    sockets: BTreeMap<u32, Arc<Shared>>,
    /// The tasks to wake after the wait.
    woken: Vec<Waker>,
}

impl ThreadRing {
    /// Starts receiving on a socket, and returns the socket's number in the ring.
    fn open(&mut self, socket: Arc<Shared>) -> io::Result<u32> {
        let number = self.ring.open(socket.socket.clone())?;
        self.sockets.insert(number, socket);
        Ok(number)
    }

    /// Stops receiving on the socket with this number.
    fn close(&mut self, number: u32) {
        self.ring.close(number);
        let left = self.sockets.remove(&number).map(|socket| socket.inbox().take_all());
        left.into_iter().flatten().for_each(|arrival| self.ring.give_back(arrival));
    }

    fn wait(&mut self, epoll: RawFd, now_ns: u64, deadline_ns: Option<u64>) -> io::Result<Waited> {
        let waited = self.ring.wait(epoll, now_ns, deadline_ns)?;
        for event in self.ring.take_events() {
            match event {
                Event::Arrived(arrival) => self.arrived(arrival),
                Event::Refused { socket: number, sent, error } => {
                    let socket = self.sockets.get(&number);
                    if socket.is_some_and(|socket| socket.refused(&sent, error)) {
                        self.ring.watch_room(number)?;
                    }
                }
                Event::Room(number) => match self.sockets.get(&number).map(|socket| socket.use_room()) {
                    Some(Some(writers)) => self.woken.extend(writers),
                    Some(None) => self.ring.watch_room(number)?,
                    None => {}
                },
            }
        }
        Ok(waited)
    }

    fn arrived(&mut self, arrival: Arrival) {
        match self.sockets.get(&arrival.socket) {
            Some(socket) => self.woken.extend(socket.inbox().put(arrival)),
            None => self.ring.give_back(arrival),
        }
    }
}
