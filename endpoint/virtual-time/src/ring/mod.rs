//! Waiting in virtual time: one system call at a wake-up, which sends, waits and receives.
//!
//! In a guest a system call costs as much as the rest of a packet. An event loop over `epoll` makes four for each: it waits,
//! asks for the time, receives, and sends. Here a wait is one `io_uring_enter`: it hands over what was to be
//! sent since the last, and comes back with the datagrams that have come, each with the kernel's stamp, which is
//! what the clock says then. Or it comes back because a timer is due, and then the clock says that timer's time. One other
//! descriptor is watched like a socket, so that orders, or whatever else a program waits for, still wake it.
//!
//! What was to be sent waits until the program does. No virtual time passes meanwhile: computing takes none.

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

/// Operations handed over in one call; with more to send there are two.
const OPERATIONS: u32 = 256;

/// Results that may wait to be read.
const RESULTS: u32 = 4096;

/// What the kernel puts before a datagram in a buffer (`struct io_uring_recvmsg_out`).
const OUT_HEADER_BYTES: usize = 16;

const NS_PER_S: u64 = 1_000_000_000;

/// A datagram that has come. Its buffer is the receiver's until it is given back.
#[derive(Debug)]
pub struct Arrival {
    /// The number of the socket that it has come to.
    pub socket: u32,
    /// In quinn's terms; of one datagram.
    pub meta: RecvMeta,
    buffer: u16,
    /// Where in the buffer.
    payload: Range<usize>,
}

/// What has happened at a socket.
#[derive(Debug)]
pub enum Event {
    /// A datagram has come.
    Arrived(Arrival),
    /// The kernel did not take what was to be sent.
    Refused {
        /// The number of the socket that it was to be sent from.
        socket: u32,
        /// A copy of it.
        sent: Copied,
        /// The kernel's reason.
        error: io::Error,
    },
    /// There is room to send on the socket of this number, which was watched for it.
    Room(u32),
}

/// What has ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waited {
    /// What the clock says now, in nanoseconds of `CLOCK_MONOTONIC`, if that is known without asking.
    pub time_ns: Option<u64>,
    /// Whether the watched descriptor is ready.
    pub is_ready: bool,
}

/// Sends and receives on UDP sockets over IPv4, and waits, in one system call. For one thread.
pub struct Ring {
    uring: IoUring,
    buffers: Buffers,
    /// By number. One that was closed stays until its receiving has ended.
    sockets: BTreeMap<u32, Open>,
    opened: u32,
    /// What is being sent, or was.
    #[expect(clippy::vec_box, reason = "the kernel is told where it lies, and a list that grows moves")]
    slots: Vec<Box<Outgoing>>,
    /// How many of the slots, from the first on, are to be sent.
    used: usize,
    /// What of each datagram is to be told.
    template: Box<msghdr>,
    lead_ns: u64,
    is_watching: bool,
    results: Vec<(u64, i32, u32)>,
    events: Vec<Event>,
}

/// A socket that is received on.
struct Open {
    socket: Arc<UdpSocket>,
    is_closed: bool,
}

/// What results told.
#[derive(Debug, Default)]
struct News {
    is_ready: bool,
    /// Of the latest datagram, in nanoseconds of `CLOCK_MONOTONIC`.
    stamp_ns: Option<u64>,
    /// Something happened of which it is not known when.
    is_untimed: bool,
}

impl Ring {
    /// A ring without sockets.
    ///
    /// # Arguments
    /// * `datagram_bytes` - the largest that may come.
    ///
    /// # Errors
    /// A kernel that cannot do it.
    pub fn new(datagram_bytes: usize) -> io::Result<Self> {
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
            lead_ns: held_clock::realtime_lead_ns(),
            is_watching: false,
            results: Vec::new(),
            events: Vec::new(),
        })
    }

    /// Receives on a bound socket from now on. Gives its number.
    ///
    /// # Errors
    /// A socket that does not take the options.
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

    /// Ends it. What it was to send is sent before: there may be no more waits.
    pub fn close(&mut self, number: u32) {
        let cancel = opcode::AsyncCancel::new(Token::Receive(number).encode()).build();
        // SAFETY: calling off refers to no memory. Should the ring not take it, the socket stays open for as long as the ring.
        let _ = unsafe { self.push(&cancel.user_data(Token::Cancel.encode())) }.and_then(|()| self.enter(0, None));
        if let Some(open) = self.sockets.get_mut(&number) {
            open.is_closed = true;
        }
    }

    /// Sends a datagram, or several of one size, when the program waits next.
    ///
    /// # Errors
    /// As `io_uring_enter(2)`. What the kernel does not take is an [`Event`].
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
        // SAFETY: what the header refers to lies in a box that is neither moved nor changed before the operation was handed
        // over. Then it is over: with MSG_DONTWAIT the kernel tries once, at once (`io_sendmsg`).
        unsafe { self.push(&send) }
    }

    /// Tells when there is room to send on a socket.
    ///
    /// # Errors
    /// As `io_uring_enter(2)`.
    pub fn watch_room(&mut self, number: u32) -> io::Result<()> {
        let Some(fd) = self.descriptor(number) else { return Ok(()) };
        let watch = opcode::PollAdd::new(fd, libc::POLLOUT as u32).build();
        // SAFETY: watching refers to no memory; the socket stays open until its receiving has ended.
        unsafe { self.push(&watch.user_data(Token::Room(number).encode())) }
    }

    /// What a datagram has in it; its receiver may change it.
    pub fn contents(&mut self, arrival: &Arrival) -> &mut [u8] {
        &mut self.buffers.contents(arrival.buffer, arrival.payload.end)[arrival.payload.start..]
    }

    /// Its receiver is done with a datagram.
    pub fn give_back(&mut self, arrival: Arrival) {
        self.buffers.give(arrival.buffer);
    }

    /// What has happened since they were taken last, in order.
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

    /// Hands over what is to be sent, and waits until something happens or a time has come.
    ///
    /// # Arguments
    /// * `watched` - a descriptor that is to end the wait too when it is readable; always the same.
    /// * `now_ns` - what the clock says.
    /// * `deadline_ns` - when the wait is to end, if ever, on the same clock.
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
            // Without buffers, or called off. Any other error is one of a datagram, such as quinn leaves out too.
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

/// What is known of a datagram in a buffer, and where in the buffer it is.
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
