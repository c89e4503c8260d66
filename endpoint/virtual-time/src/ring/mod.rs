//! Waiting in virtual time: one system call for each wake-up, which sends, waits and receives.
//!
//! In a guest a system call costs as much as the rest of a packet. An event loop over `epoll` makes four for each
//! wake-up: it waits, reads the clock, receives, and sends. Here a wait is one `io_uring_enter`: it passes the
//! datagrams to send, collected since the last wait, to the kernel, and returns with the received datagrams. Each has
//! the kernel's time stamp, which is the current time. Or the call returns because a timer is due; then the timer's
//! time is the current time. One other descriptor is watched like a socket, so that orders, or other events for which a
//! program waits, still wake it.
//!
//! Datagrams to send are kept until the program waits. No virtual time passes meanwhile: computing takes none.

mod buffers;
mod message;
mod token;

use std::collections::BTreeMap;
use std::io;
use std::net::UdpSocket;
use std::ops::Range;
use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::Arc;

use io_uring::types::{Fd, RecvMsgOut, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, cqueue, opcode, squeue};
use libc::{c_int, msghdr, socklen_t};
use quinn_udp::{RecvMeta, Transmit};

use self::buffers::Buffers;
pub use self::message::Copied;
use self::message::{CONTROL_BYTES, NAME_BYTES, Outgoing, Received};
use self::token::Token;
use crate::held_clock;

/// The number of operations that can be passed to the kernel in one call; more of them take several calls.
const OPERATIONS: u32 = 256;

/// The number of results of operations that can wait to be read.
const RESULTS: u32 = 4096;

/// The size of the header that the kernel puts before a datagram in a buffer (`struct io_uring_recvmsg_out`), in bytes.
const OUT_HEADER_BYTES: usize = 16;

const NS_PER_S: u64 = 1_000_000_000;

/// A received datagram, whose buffer must be given back to the ring ([`Ring::give_back`]).
#[derive(Debug)]
pub struct Arrival {
    /// The number, in the ring, of the socket on which the datagram arrived.
    pub socket: u32,
    /// The metadata of this one datagram, in quinn's form.
    pub meta: RecvMeta,
    buffer: u16,
    /// The position of the datagram's contents in the buffer.
    payload: Range<usize>,
}

/// What has happened at a socket of the ring.
#[derive(Debug)]
pub enum Event {
    /// A datagram has arrived.
    Arrived(Arrival),
    /// The kernel refused to send a datagram.
    Refused {
        /// The number of the socket that should have sent the datagram.
        socket: u32,
        /// A copy of the datagram.
        sent: Copied,
        /// The kernel's reason.
        error: io::Error,
    },
    /// A socket that was watched for buffer space to send, given by number, has some.
    Room(u32),
}

/// The result of a wait: the time, and whether the watched descriptor is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waited {
    /// The current time in nanoseconds of `CLOCK_MONOTONIC`, if it is known without reading the clock.
    pub time_ns: Option<u64>,
    /// Whether the watched descriptor is ready.
    pub is_ready: bool,
}

/// An io_uring that sends, waits and receives on UDP sockets over IPv4 in one system call. It is for a single thread.
pub struct Ring {
    uring: IoUring,
    buffers: Buffers,
    /// The sockets, by number. A closed socket stays here until the kernel has ended receiving on it.
    sockets: BTreeMap<u32, Open>,
    opened: u32,
    /// Memory for datagrams that wait to be sent, reused after they were sent.
    #[expect(clippy::vec_box, reason = "the kernel is told where it lies, and a list that grows moves")]
    slots: Vec<Box<Outgoing>>,
    /// How many slots, from the first one, hold datagrams that wait to be sent.
    used: usize,
    /// The header that tells the kernel which metadata to return with each received datagram.
    template: Box<msghdr>,
    lead_ns: u64,
    is_watching: bool,
    results: Vec<(u64, i32, u32)>,
    events: Vec<Event>,
}

/// A socket of the ring.
struct Open {
    socket: Arc<UdpSocket>,
    is_closed: bool,
}

/// The events and the current time, taken from the results of a wait.
#[derive(Debug, Default)]
struct News {
    is_ready: bool,
    /// When the latest datagram arrived, in nanoseconds of `CLOCK_MONOTONIC`; `None` if none arrived.
    stamp_ns: Option<u64>,
    /// Whether there was an event whose time is not known.
    is_untimed: bool,
}

impl Ring {
    /// Creates a ring without sockets.
    ///
    /// # Arguments
    /// * `datagram_bytes` - the size of the largest datagram that may arrive.
    ///
    /// # Errors
    /// The kernel does not have an operation that the ring needs.
    pub fn new(datagram_bytes: usize) -> io::Result<Self> {
        let uring =
            IoUring::builder().setup_single_issuer().setup_defer_taskrun().setup_cqsize(RESULTS).build(OPERATIONS)?;
        let each_bytes = (OUT_HEADER_BYTES + NAME_BYTES + CONTROL_BYTES + datagram_bytes).next_multiple_of(64);
        let buffers = Buffers::register(&uring.submitter(), each_bytes)?;
        // SAFETY: all-zero is a valid, empty header.
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
            lead_ns: held_clock::realtime_lead_ns(),
            is_watching: false,
            results: Vec::new(),
            events: Vec::new(),
        })
    }

    /// Starts receiving on a bound socket, and returns the socket's number in the ring.
    ///
    /// # Errors
    /// The socket does not accept the options that the ring needs.
    pub fn open(&mut self, socket: Arc<UdpSocket>) -> io::Result<u32> {
        // Each datagram must have a buffer and a time stamp of its own.
        switch(&socket, libc::SOL_UDP, libc::UDP_GRO, false)?;
        switch(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, true)?;
        let number = self.opened;
        self.opened += 1;
        self.sockets.insert(number, Open { socket, is_closed: false });
        self.receive(number)?;
        Ok(number)
    }

    /// Stops receiving on a socket. Datagrams that wait to be sent are sent at once, because there may be no more
    /// waits.
    pub fn close(&mut self, number: u32) {
        let cancel = opcode::AsyncCancel::new(Token::Receive(number).encode()).build();
        // SAFETY: cancelling refers to no memory. If the ring does not accept it, the socket stays open for as long as
        // the ring exists.
        let _ = unsafe { self.push(&cancel.user_data(Token::Cancel.encode())) }.and_then(|()| self.enter(0, None));
        if let Some(open) = self.sockets.get_mut(&number) {
            open.is_closed = true;
        }
    }

    /// Sends a datagram, or several of the same size, when the program next waits.
    ///
    /// # Errors
    /// As `io_uring_enter(2)`. If the kernel refuses to send a datagram, that is not an error but an [`Event`].
    pub fn send(&mut self, socket: u32, transmit: &Transmit<'_>) -> io::Result<()> {
        let Some(fd) = self.descriptor(socket) else { return Ok(()) };
        let slot = self.used;
        self.used += 1;
        if slot == self.slots.len() {
            self.slots.push(Outgoing::new(socket, Copied::from(transmit)));
        }
        let outgoing = &mut self.slots[slot];
        outgoing.refill(socket, transmit);
        let send = opcode::SendMsg::new(fd, outgoing.header()).flags(libc::MSG_DONTWAIT as u32).build();
        let send = send.flags(squeue::Flags::SKIP_SUCCESS).user_data(Token::Send(slot as u32).encode());
        // SAFETY: what the header refers to lies in a box that is neither moved nor changed before the operation was
        // passed to the kernel. Then it is over: with MSG_DONTWAIT the kernel tries once, at once (`io_sendmsg`).
        unsafe { self.push(&send) }
    }

    /// Watches a socket until it has buffer space to send, which is then reported as an [`Event`].
    ///
    /// # Errors
    /// As `io_uring_enter(2)`.
    pub fn watch_room(&mut self, number: u32) -> io::Result<()> {
        let Some(fd) = self.descriptor(number) else { return Ok(()) };
        let watch = opcode::PollAdd::new(fd, libc::POLLOUT as u32).build();
        // SAFETY: watching refers to no memory; the socket stays open until its receiving has ended.
        unsafe { self.push(&watch.user_data(Token::Room(number).encode())) }
    }

    /// Returns the contents of a datagram. The receiver may change them.
    pub fn contents(&mut self, arrival: &Arrival) -> &mut [u8] {
        &mut self.buffers.contents(arrival.buffer, arrival.payload.end)[arrival.payload.start..]
    }

    /// Gives a datagram's buffer back to the ring, when its receiver is done with it.
    pub fn give_back(&mut self, arrival: Arrival) {
        self.buffers.give(arrival.buffer);
    }

    /// Returns the events since the last call, in order.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn descriptor(&self, number: u32) -> Option<Fd> {
        self.sockets.get(&number).map(|open| Fd(open.socket.as_raw_fd()))
    }

    fn receive(&mut self, number: u32) -> io::Result<()> {
        let Some(fd) = self.descriptor(number) else { return Ok(()) };
        let receive = opcode::RecvMsgMulti::new(fd, &raw const *self.template, buffers::GROUP).build();
        // SAFETY: the template lives as long as the ring, and so do the buffers.
        unsafe { self.push(&receive.user_data(Token::Receive(number).encode())) }
    }

    /// Queues an operation, passing those already queued to the kernel first if the queue is full.
    ///
    /// # Safety
    /// The memory to which the operation refers must be valid until its result is there.
    unsafe fn push(&mut self, operation: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the caller's promise.
        if unsafe { self.uring.submission().push(operation) }.is_err() {
            self.enter(0, None)?;
            // SAFETY: the caller's promise.
            unsafe { self.uring.submission().push(operation) }.map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Sends the waiting datagrams, and waits until an event occurs or until `deadline_ns`.
    ///
    /// # Arguments
    /// * `watched` - another descriptor that ends the wait when it is readable; must be the same in all calls.
    /// * `now_ns` - the current time in nanoseconds of `CLOCK_MONOTONIC`.
    /// * `deadline_ns` - when the wait ends at the latest, by the same clock; `None` for never.
    ///
    /// # Errors
    /// As `io_uring_enter(2)`.
    pub fn wait(&mut self, watched: RawFd, now_ns: u64, deadline_ns: Option<u64>) -> io::Result<Waited> {
        if !self.is_watching {
            let watch = opcode::PollAdd::new(Fd(watched), libc::POLLIN as u32).build();
            // SAFETY: watching refers to no memory.
            unsafe { self.push(&watch.user_data(Token::Watch.encode()))? };
            self.is_watching = true;
        }
        let is_due = deadline_ns.is_some_and(|deadline_ns| deadline_ns <= now_ns);
        // A send has a result only if it failed, which ends the wait.
        self.enter(usize::from(!is_due), deadline_ns)?;
        let news = self.read_results()?;
        let time_ns = match news {
            News { is_ready: true, .. } | News { is_untimed: true, .. } => None,
            News { stamp_ns: Some(stamp_ns), .. } => Some(stamp_ns.max(now_ns)),
            News { .. } => deadline_ns.map(|deadline_ns| deadline_ns.max(now_ns)),
        };
        Ok(Waited { time_ns, is_ready: news.is_ready })
    }

    /// Passes the collected operations to the kernel, and waits for `wanted` results until `deadline_ns` at the latest.
    fn enter(&mut self, wanted: usize, deadline_ns: Option<u64>) -> io::Result<()> {
        let pushed = self.uring.submission().len() as u32;
        let deadline = deadline_ns.map(|ns| Timespec::new().sec(ns / NS_PER_S).nsec((ns % NS_PER_S) as u32));
        let none = SubmitArgs::new();
        let arguments = deadline.as_ref().map_or(none, |deadline| SubmitArgs::new().timespec(deadline));
        let flags = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG | EnterFlags::ABS_TIMER;
        // SAFETY: the arguments are what EXT_ARG says they are, and valid for the call; the callers of `push` guarantee
        // the operations.
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
                Token::Watch => (news.is_ready, self.is_watching) = (true, false),
                Token::Receive(number) => self.received(number, result, flags, &mut news)?,
                Token::Send(slot) => {
                    news.is_untimed = true;
                    let Outgoing { copied, socket, .. } = &*self.slots[slot as usize];
                    let (socket, sent, error) = (*socket, copied.clone(), io::Error::from_raw_os_error(-result));
                    self.events.push(Event::Refused { socket, sent, error });
                }
                Token::Room(number) => {
                    news.is_untimed = true;
                    self.events.push(Event::Room(number));
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
        let Some(is_closed) = self.sockets.get(&number).map(|open| open.is_closed) else { return Ok(()) };
        match (cqueue::buffer_select(flags), usize::try_from(result)) {
            (Some(buffer), Ok(length)) => {
                let received = read(self.buffers.contents(buffer, length), &self.template);
                match received.as_ref().and_then(|(received, _)| received.stamp_ns) {
                    Some(stamp_ns) => news.stamp_ns = news.stamp_ns.max(Some(stamp_ns.saturating_sub(self.lead_ns))),
                    None => news.is_untimed = true,
                }
                match received.filter(|_| !is_closed) {
                    Some((Received { meta, .. }, payload)) => {
                        self.events.push(Event::Arrived(Arrival { socket: number, meta, buffer, payload }));
                    }
                    None => self.buffers.give(buffer),
                }
            }
            // There were no buffers, or receiving was cancelled. Any other error concerns a single datagram; quinn
            // ignores those too.
            _ => news.is_untimed = true,
        }
        if cqueue::more(flags) {
            return Ok(());
        }
        if is_closed {
            self.sockets.remove(&number);
            return Ok(());
        }
        self.receive(number)
    }
}

/// Decodes a buffer with a received datagram: returns the datagram's metadata, and its position in the buffer.
fn read(contents: &[u8], template: &msghdr) -> Option<(Received, Range<usize>)> {
    let out = RecvMsgOut::parse(contents, template).ok()?;
    let payload = out.payload_data();
    let received = Received::read(out.name_data(), out.control_data(), payload.len())?;
    Some((received, contents.len() - payload.len()..contents.len()))
}

fn switch(socket: &UdpSocket, level: c_int, option: c_int, is_on: bool) -> io::Result<()> {
    let value = c_int::from(is_on);
    // SAFETY: `value` is valid for reads of its size.
    let result = unsafe {
        let pointer = std::ptr::from_ref(&value).cast();
        libc::setsockopt(socket.as_raw_fd(), level, option, pointer, size_of_val(&value) as socklen_t)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
