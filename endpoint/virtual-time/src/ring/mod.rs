//! Waiting in virtual time: one system call for each wake-up, which sends, waits and receives.
//!
//! In a guest a system call costs as much as the rest of a packet. An event loop over `epoll` makes four for each
//! wake-up: it waits, reads the clock, receives, and sends. Here a wait is one `io_uring_enter`: it hands over the
//! datagrams to send since the last wait, and returns with the received datagrams, each with the kernel's stamp, which
//! is the present time. Or it returns because a timer is due; then that timer's time is the present time. One other
//! descriptor is watched like a socket, so that orders, or other events for which a program waits, still wake it.
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

/// The number of operations handed over in one call; more of them take two calls.
const OPERATIONS: u32 = 256;

/// The number of results that can wait to be read.
const RESULTS: u32 = 4096;

/// The size of the header that the kernel puts before a datagram in a buffer (`struct io_uring_recvmsg_out`).
const OUT_HEADER_BYTES: usize = 16;

const NS_PER_S: u64 = 1_000_000_000;

/// A received datagram. Its buffer belongs to the receiver until it is given back.
#[derive(Debug)]
pub struct Arrival {
    /// The number of the socket on which it arrived.
    pub socket: u32,
    /// The metadata of this one datagram, in quinn's form.
    pub meta: RecvMeta,
    buffer: u16,
    /// The position of its contents in the buffer.
    payload: Range<usize>,
}

/// An event of a socket.
#[derive(Debug)]
pub enum Event {
    /// A datagram has arrived.
    Arrived(Arrival),
    /// The kernel refused to send a datagram.
    Refused {
        /// The number of the socket from which it was sent.
        socket: u32,
        /// A copy of the datagram.
        sent: Copied,
        /// The kernel's reason.
        error: io::Error,
    },
    /// There is room to send on the socket with this number, which was watched for it.
    Room(u32),
}

/// The result of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waited {
    /// The present time, in nanoseconds of `CLOCK_MONOTONIC`, if it is known without reading the clock.
    pub time_ns: Option<u64>,
    /// Whether the watched descriptor is ready.
    pub is_ready: bool,
}

/// Sends and receives on UDP sockets over IPv4, and waits, in one system call. It is for a single thread.
pub struct Ring {
    uring: IoUring,
    buffers: Buffers,
    /// The sockets, by number. A closed socket stays until its receiving has ended.
    sockets: BTreeMap<u32, Open>,
    opened: u32,
    /// Datagrams that are being sent, or were sent.
    #[expect(clippy::vec_box, reason = "the kernel is told where it lies, and a list that grows moves")]
    slots: Vec<Box<Outgoing>>,
    /// How many of the slots, from the first on, are to be sent.
    used: usize,
    /// The header that states which metadata the kernel returns with each datagram.
    template: Box<msghdr>,
    lead_ns: u64,
    is_watching: bool,
    results: Vec<(u64, i32, u32)>,
    events: Vec<Event>,
}

/// A socket on which datagrams are received.
struct Open {
    socket: Arc<UdpSocket>,
    is_closed: bool,
}

/// The time and the events that the results of a wait report.
#[derive(Debug, Default)]
struct News {
    is_ready: bool,
    /// The stamp of the latest datagram, in nanoseconds of `CLOCK_MONOTONIC`.
    stamp_ns: Option<u64>,
    /// Whether there was an event without a known time.
    is_untimed: bool,
}

impl Ring {
    /// Creates a ring without sockets.
    ///
    /// # Arguments
    /// * `datagram_bytes` - the size of the largest datagram that may arrive.
    ///
    /// # Errors
    /// The kernel lacks what the ring needs.
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

    /// Starts receiving on a bound socket. Returns its number.
    ///
    /// # Errors
    /// The socket does not take the options.
    pub fn open(&mut self, socket: Arc<UdpSocket>) -> io::Result<u32> {
        // Each datagram has a buffer and a stamp of its own.
        switch(&socket, libc::SOL_UDP, libc::UDP_GRO, false)?;
        switch(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, true)?;
        let number = self.opened;
        self.opened += 1;
        self.sockets.insert(number, Open { socket, is_closed: false });
        self.receive(number)?;
        Ok(number)
    }

    /// Stops receiving on a socket. Its datagrams are sent first, because there may be no more waits.
    pub fn close(&mut self, number: u32) {
        let cancel = opcode::AsyncCancel::new(Token::Receive(number).encode()).build();
        // SAFETY: cancelling refers to no memory. If the ring does not accept it, the socket stays open for as long as
        // the ring exists.
        let _ = unsafe { self.push(&cancel.user_data(Token::Cancel.encode())) }.and_then(|()| self.enter(0, None));
        if let Some(open) = self.sockets.get_mut(&number) {
            open.is_closed = true;
        }
    }

    /// Sends a datagram, or several of one size, when the program waits next.
    ///
    /// # Errors
    /// As `io_uring_enter(2)`. A datagram that the kernel refuses is an [`Event`].
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
        // handed over. Then it is over: with MSG_DONTWAIT the kernel tries once, at once (`io_sendmsg`).
        unsafe { self.push(&send) }
    }

    /// Watches a socket for room to send, which is then an [`Event`].
    ///
    /// # Errors
    /// As `io_uring_enter(2)`.
    pub fn watch_room(&mut self, number: u32) -> io::Result<()> {
        let Some(fd) = self.descriptor(number) else { return Ok(()) };
        let watch = opcode::PollAdd::new(fd, libc::POLLOUT as u32).build();
        // SAFETY: watching refers to no memory; the socket stays open until its receiving has ended.
        unsafe { self.push(&watch.user_data(Token::Room(number).encode())) }
    }

    /// Returns the contents of a datagram, which its receiver may change.
    pub fn contents(&mut self, arrival: &Arrival) -> &mut [u8] {
        &mut self.buffers.contents(arrival.buffer, arrival.payload.end)[arrival.payload.start..]
    }

    /// Returns a datagram's buffer, once its receiver is done with it.
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

    /// Hands over the datagrams to send, and waits until an event occurs or until `deadline_ns`.
    ///
    /// # Arguments
    /// * `watched` - a descriptor that ends the wait as well when it is readable; always the same one.
    /// * `now_ns` - the present time of the clock.
    /// * `deadline_ns` - when the wait ends at the latest, if ever, on the same clock.
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

    /// Hands over the pushed operations, and waits for results until `deadline_ns` at the latest.
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
            // There were no buffers, or it was cancelled. Any other error concerns a datagram; quinn ignores those too.
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

/// Returns the metadata of a datagram in a buffer, and its position in the buffer.
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
