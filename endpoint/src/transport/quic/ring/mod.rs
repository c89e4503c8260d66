//! QUIC's event loop in virtual time: one system call at a wake-up, which sends, waits and receives.
//!
//! In a guest a system call costs as much as the rest of a packet. An event loop over `epoll` makes four for each: it waits,
//! asks for the time, receives, and sends. Here a thread's `epoll_wait` becomes one `io_uring_enter`: it hands over what was to be
//! sent since the last, and comes back with the datagrams that have come, each with the kernel's stamp, which is
//! what the clock says then. Or it comes back because a timer is due, and then the clock says that timer's time. tokio's `epoll`
//! descriptor is watched like a socket, so whatever else the loop waits for still wakes it.
//!
//! What was to be sent waits until the loop does. No virtual time passes meanwhile: computing takes none.

mod buffers;
mod message;
mod socket;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::Arc;
use std::task::Waker;

use io_uring::types::{Fd, RecvMsgOut, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, cqueue, opcode, squeue};
use libc::msghdr;
use quinn::udp::Transmit;

use self::buffers::Buffers;
use self::message::{CONTROL_BYTES, Copied, NAME_BYTES, Outgoing, Received};
pub(crate) use self::socket::RingSocket;
use self::socket::{Arrival, Shared};
use crate::clock::{self, EventLoop, Waited};

/// Operations handed over in one call; with more to send there are two.
const OPERATIONS: u32 = 256;

/// Results that may wait to be read.
const RESULTS: u32 = 4096;

/// What the kernel puts before a datagram in a buffer (`struct io_uring_recvmsg_out`).
const OUT_HEADER_BYTES: usize = 16;

const NS_PER_S: u64 = 1_000_000_000;

thread_local! {
    static RING: RefCell<Option<Ring>> = const { RefCell::new(None) };
}

/// Has this thread's event loop wait in a ring from now on.
///
/// # Arguments
/// * `datagram_bytes` - the largest that may come.
///
/// # Errors
/// A kernel that cannot do it.
fn start(datagram_bytes: usize) -> io::Result<()> {
    RING.with_borrow_mut(|ring| {
        if ring.is_none() {
            *ring = Some(Ring::new(datagram_bytes)?);
            clock::wait_by(Box::new(Loop));
        }
        Ok(())
    })
}

/// Works with this thread's ring.
///
/// # Panics
/// On a thread that has none: sockets stay on the thread they were made on.
fn with_ring<T>(work: impl FnOnce(&mut Ring) -> T) -> T {
    RING.with_borrow_mut(|ring| work(ring.as_mut().expect("a ring's socket is used on the ring's own thread")))
}

struct Loop;

impl EventLoop for Loop {
    fn wait(&mut self, epoll: RawFd, now_ns: u64, deadline_ns: Option<u64>) -> io::Result<Waited> {
        let (waited, woken) = with_ring(|ring| {
            let waited = ring.wait(epoll, now_ns, deadline_ns);
            (waited, std::mem::take(&mut ring.woken))
        });
        // Only now: what is woken may end, and what ends may close a socket of the ring.
        woken.into_iter().for_each(Waker::wake);
        waited
    }
}

/// What a result is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    /// The watch over `epoll`.
    Epoll,
    /// Receiving on this socket.
    Receive(u32),
    /// Sending what lies here.
    Send(u32),
    /// The watch for room to send on this socket.
    Room(u32),
    /// Calling an operation off.
    Cancel,
}

impl Token {
    fn encode(self) -> u64 {
        let (kind, index) = match self {
            Self::Epoll => (0, 0),
            Self::Receive(index) => (1, index),
            Self::Send(index) => (2, index),
            Self::Room(index) => (3, index),
            Self::Cancel => (4, 0),
        };
        kind << 32 | u64::from(index)
    }

    fn decode(data: u64) -> Self {
        let index = data as u32;
        match data >> 32 {
            0 => Self::Epoll,
            1 => Self::Receive(index),
            2 => Self::Send(index),
            3 => Self::Room(index),
            _ => Self::Cancel,
        }
    }
}

struct Ring {
    uring: IoUring,
    buffers: Buffers,
    /// By number. One that was closed stays until its receiving has ended.
    sockets: BTreeMap<u32, Arc<Shared>>,
    opened: u32,
    /// What is being sent, or was.
    #[expect(clippy::vec_box, reason = "the kernel is told where it lies, and a list that grows moves")]
    slots: Vec<Box<Outgoing>>,
    /// How many of the slots, from the first on, are to be sent.
    used: usize,
    /// What of each datagram is to be told.
    template: Box<msghdr>,
    lead_ns: u64,
    is_epoll_watched: bool,
    results: Vec<(u64, i32, u32)>,
    woken: Vec<Waker>,
}

/// What results told.
#[derive(Debug, Default)]
struct News {
    is_epoll_ready: bool,
    /// Of the latest datagram, in nanoseconds of `CLOCK_MONOTONIC`.
    stamp_ns: Option<u64>,
    /// Something happened of which it is not known when.
    is_untimed: bool,
}

impl Ring {
    fn new(datagram_bytes: usize) -> io::Result<Self> {
        let uring =
            IoUring::builder().setup_single_issuer().setup_defer_taskrun().setup_cqsize(RESULTS).build(OPERATIONS)?;
        let each_bytes = (OUT_HEADER_BYTES + NAME_BYTES + CONTROL_BYTES + datagram_bytes).next_multiple_of(64);
        let buffers = Buffers::register(&uring.submitter(), each_bytes)?;
        // SAFETY: all-zero is a valid header, of nothing.
        let mut template: Box<msghdr> = Box::new(unsafe { std::mem::zeroed() });
        template.msg_namelen = NAME_BYTES as u32;
        template.msg_controllen = CONTROL_BYTES;
        Ok(Self {
            uring,
            buffers,
            sockets: BTreeMap::new(),
            opened: 0,
            slots: Vec::new(),
            used: 0,
            template,
            lead_ns: clock::realtime_lead_ns(),
            is_epoll_watched: false,
            results: Vec::new(),
            woken: Vec::new(),
        })
    }

    /// Receives on a socket from now on. Gives its number.
    fn open(&mut self, socket: Arc<Shared>) -> io::Result<u32> {
        let number = self.opened;
        self.opened += 1;
        self.sockets.insert(number, socket);
        self.receive(number)?;
        Ok(number)
    }

    /// Ends it. What it was to send is sent before: the loop may not wait again.
    fn close(&mut self, number: u32) {
        let cancel = opcode::AsyncCancel::new(Token::Receive(number).encode()).build();
        // SAFETY: calling off refers to no memory. Should the ring not take it, the socket stays open for as long as the ring.
        let _ = unsafe { self.push(&cancel.user_data(Token::Cancel.encode())) }.and_then(|()| self.enter(0, None));
        if let Some(socket) = self.sockets.get(&number) {
            let left = socket.inbox().close();
            left.iter().for_each(|arrival| self.buffers.give(arrival.buffer));
        }
    }

    /// Sends a datagram, or several of one size, when the loop waits next.
    fn send(&mut self, socket: u32, transmit: &Transmit<'_>) -> io::Result<()> {
        let Some(fd) = self.sockets.get(&socket).map(|socket| Fd(socket.socket.as_raw_fd())) else { return Ok(()) };
        let slot = self.used;
        self.used += 1;
        if slot == self.slots.len() {
            self.slots.push(Outgoing::new(socket, Copied::from(transmit)));
        }
        let outgoing = &mut self.slots[slot];
        outgoing.refill(socket, transmit);
        let send = opcode::SendMsg::new(fd, outgoing.header()).flags(libc::MSG_DONTWAIT as u32).build();
        let send = send.flags(squeue::Flags::SKIP_SUCCESS).user_data(Token::Send(slot as u32).encode());
        // SAFETY: what the header refers to lies in a box that is neither moved nor changed before the operation was handed
        // over. Then it is over: with MSG_DONTWAIT the kernel tries once, at once (`io_sendmsg`).
        unsafe { self.push(&send) }
    }

    /// Wakes who waits for room on a socket when there is some.
    fn watch_room(&mut self, number: u32) -> io::Result<()> {
        let Some(socket) = self.sockets.get(&number) else { return Ok(()) };
        let watch = opcode::PollAdd::new(Fd(socket.socket.as_raw_fd()), libc::POLLOUT as u32).build();
        // SAFETY: watching refers to no memory; the socket stays open until its receiving has ended.
        unsafe { self.push(&watch.user_data(Token::Room(number).encode())) }
    }

    fn contents(&self, arrival: &Arrival) -> &[u8] {
        &self.buffers.contents(arrival.buffer, arrival.payload.end)[arrival.payload.start..]
    }

    fn give_back(&mut self, arrival: &Arrival) {
        self.buffers.give(arrival.buffer);
    }

    fn receive(&mut self, number: u32) -> io::Result<()> {
        let Some(socket) = self.sockets.get(&number) else { return Ok(()) };
        let fd = Fd(socket.socket.as_raw_fd());
        let receive = opcode::RecvMsgMulti::new(fd, &raw const *self.template, buffers::GROUP).build();
        // SAFETY: the template lives as long as the ring, and so do the buffers.
        unsafe { self.push(&receive.user_data(Token::Receive(number).encode())) }
    }

    /// # Safety
    /// What the operation refers to must be valid until its result is there.
    unsafe fn push(&mut self, operation: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the caller's promise.
        if unsafe { self.uring.submission().push(operation) }.is_err() {
            self.enter(0, None)?;
            // SAFETY: the caller's promise.
            unsafe { self.uring.submission().push(operation) }.map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn wait(&mut self, epoll: RawFd, now_ns: u64, deadline_ns: Option<u64>) -> io::Result<Waited> {
        if !self.is_epoll_watched {
            let watch = opcode::PollAdd::new(Fd(epoll), libc::POLLIN as u32).build();
            // SAFETY: watching refers to no memory.
            unsafe { self.push(&watch.user_data(Token::Epoll.encode()))? };
            self.is_epoll_watched = true;
        }
        let is_due = deadline_ns.is_some_and(|deadline_ns| deadline_ns <= now_ns);
        // A send has a result only if it failed, which ends the wait.
        self.enter(usize::from(!is_due), deadline_ns)?;
        let news = self.read_results()?;
        let time_ns = match news {
            News { is_epoll_ready: true, .. } | News { is_untimed: true, .. } => None,
            News { stamp_ns: Some(stamp_ns), .. } => Some(stamp_ns.max(now_ns)),
            News { .. } => deadline_ns.map(|deadline_ns| deadline_ns.max(now_ns)),
        };
        Ok(Waited { time_ns, is_epoll_ready: news.is_epoll_ready })
    }

    /// Hands over what was pushed, and waits for results until this time at most.
    fn enter(&mut self, wanted: usize, deadline_ns: Option<u64>) -> io::Result<()> {
        let pushed = self.uring.submission().len() as u32;
        let deadline = deadline_ns.map(|ns| Timespec::new().sec(ns / NS_PER_S).nsec((ns % NS_PER_S) as u32));
        let none = SubmitArgs::new();
        let arguments = deadline.as_ref().map_or(none, |deadline| SubmitArgs::new().timespec(deadline));
        let flags = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG | EnterFlags::ABS_TIMER;
        // SAFETY: the arguments are what EXT_ARG says they are, and valid for the call; who pushed has vouched for the operations.
        let entered = unsafe { self.uring.submitter().enter(pushed, wanted as u32, flags.bits(), Some(&arguments)) };
        match entered {
            Err(error) if error.raw_os_error() == Some(libc::ETIME) => Ok(()),
            entered => entered.map(drop),
        }
    }

    fn read_results(&mut self) -> io::Result<News> {
        let mut news = News::default();
        let mut results = std::mem::take(&mut self.results);
        results.extend(self.uring.completion().map(|entry| (entry.user_data(), entry.result(), entry.flags())));
        for (token, result, flags) in results.drain(..) {
            match Token::decode(token) {
                Token::Epoll => (news.is_epoll_ready, self.is_epoll_watched) = (true, false),
                Token::Receive(number) => self.received(number, result, flags, &mut news)?,
                Token::Send(slot) => {
                    news.is_untimed = true;
                    self.refused(slot, io::Error::from_raw_os_error(-result))?;
                }
                Token::Room(number) => {
                    news.is_untimed = true;
                    self.has_room(number)?;
                }
                Token::Cancel => news.is_untimed = true,
            }
        }
        self.results = results;
        if self.uring.submission().is_empty() {
            self.used = 0;
        }
        Ok(news)
    }

    fn received(&mut self, number: u32, result: i32, flags: u32, news: &mut News) -> io::Result<()> {
        let Some(socket) = self.sockets.get(&number).cloned() else { return Ok(()) };
        match (cqueue::buffer_select(flags), usize::try_from(result)) {
            (Some(buffer), Ok(length)) => {
                let arrival = read(buffer, self.buffers.contents(buffer, length), &self.template);
                let stamp_ns = arrival.as_ref().and_then(|(_, stamp_ns)| *stamp_ns);
                match stamp_ns {
                    Some(stamp_ns) => news.stamp_ns = news.stamp_ns.max(Some(stamp_ns.saturating_sub(self.lead_ns))),
                    None => news.is_untimed = true,
                }
                match arrival {
                    Some((arrival, _)) if !socket.inbox().is_closed() => self.woken.extend(socket.inbox().put(arrival)),
                    _ => self.buffers.give(buffer),
                }
            }
            // Without buffers, or called off. Any other error is one of a datagram, such as quinn leaves out too.
            _ => news.is_untimed = true,
        }
        if cqueue::more(flags) {
            return Ok(());
        }
        if socket.inbox().is_closed() {
            self.sockets.remove(&number);
            return Ok(());
        }
        self.receive(number)
    }

    fn refused(&mut self, slot: u32, error: io::Error) -> io::Result<()> {
        let Outgoing { copied, socket: number, .. } = &*self.slots[slot as usize];
        let Some(socket) = self.sockets.get(number) else { return Ok(()) };
        if socket.refused(copied, error) { self.watch_room(*number) } else { Ok(()) }
    }

    fn has_room(&mut self, number: u32) -> io::Result<()> {
        let Some(socket) = self.sockets.get(&number) else { return Ok(()) };
        match socket.use_room() {
            Some(writers) => self.woken.extend(writers),
            None => return self.watch_room(number),
        }
        Ok(())
    }
}

/// A datagram in a buffer, and the kernel's stamp.
fn read(buffer: u16, contents: &[u8], template: &msghdr) -> Option<(Arrival, Option<u64>)> {
    let out = RecvMsgOut::parse(contents, template).ok()?;
    let payload = out.payload_data();
    let received = Received::read(out.name_data(), out.control_data(), payload.len())?;
    let begin = contents.len() - payload.len();
    Some((Arrival { buffer, payload: begin..contents.len(), meta: received.meta }, received.stamp_ns))
}
