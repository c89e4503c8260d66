//! Receives content from a stream socket with arrival times, in few system calls.
//!
//! A reader that takes each packet as it arrives needs a system call and a reading of the clock for each. This one
//! waits for the next packet, and then lets the kernel collect data for a short time ([`BATCH`]). A pause is detected
//! if it is longer than a batch; shorter ones are not. Where gaps are not measured, batches are as long as the steps of
//! the goodput record allow: in a run of hours over a lossy path, short batches would cause most of the run's cost.
//!
//! The arrival time of bytes is when they can be read. For a call that returns with everything it waited for, that is
//! the time of its return, as for any other reader. For a batch that is not full when its time is over, it is the
//! kernel's time stamp of its last packet (`SO_TIMESTAMPNS`). A time stamp alone would not do for all: it says when a
//! packet reached the host, but a packet that overtook a lost one can be read only after the retransmission, a round
//! trip or a time-out later.

use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd as _;
use std::time::Duration;

use libc::c_int;
use netwarp_core::clock::{self, Moment};
use netwarp_core::content_sink::Sink;

use super::error::{Context as _, Error, Result};
use super::socket::Socket;
use super::stamp::{Control, stamp_ns};
use super::system_call::{retry, size};

/// How long the kernel collects data. The kernel counts a socket's time-outs in ticks, so this cannot be less than a
/// tick, and up to one more tick may pass.
const BATCH: Duration = Duration::from_millis(10);

/// The most bytes that the kernel collects: about 5 ms at 100 Mbit/s.
const BATCH_BYTES: usize = 64 << 10;

/// Receives until the sink has all of its content.
///
/// # Errors
/// As `recvmsg(2)`; the peer closes before everything was received.
pub(super) fn receive_content(socket: &Socket, sink: &mut Sink) -> Result<()> {
    socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &c_int::from(true), "SO_TIMESTAMPNS")?;
    let received = receive_batches(socket, sink);
    socket.set_read_timeout(None).context("setting SO_RCVTIMEO")?;
    received
}

fn receive_batches(socket: &Socket, sink: &mut Sink) -> Result<()> {
    let lead_ns = clock::realtime_lead_ns();
    let mut block = vec![0; if sink.discards() { 0 } else { BATCH_BYTES }];
    let (mut timeout, mut previous) = (Duration::ZERO, None);
    // Every other call waits for the next packet, for as long as needed.
    let mut is_first = true;
    while let remaining @ 1.. = sink.remaining_bytes() {
        let wanted = sink.resolution().map_or(BATCH, |resolution| resolution.max(BATCH));
        if timeout != wanted {
            timeout = wanted;
            socket.set_read_timeout(Some(timeout)).context("setting SO_RCVTIMEO")?;
        }
        let length = remaining.min(BATCH_BYTES as u64) as usize;
        let flags = if is_first { 0 } else { libc::MSG_WAITALL };
        match receive(socket, &mut block, length, flags) {
            Ok((0, _)) => {
                let message = format!("the peer closed the connection when {remaining} bytes were to come");
                return Err(Error::closed(message));
            }
            Ok((received, stamp_ns)) => {
                let has_waited_for_all = is_first || received == length;
                let stamp_ns = stamp_ns.filter(|_| !has_waited_for_all);
                let at = stamp_ns.map_or_else(Moment::now, |stamp_ns| Moment::after(stamp_ns.saturating_sub(lead_ns)));
                let at = previous.map_or(at, |previous| at.max(previous));
                previous = Some(at);
                sink.keep(block.get(..received).unwrap_or_default())?;
                sink.record_arrival(received as u64, at, is_first)?;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock && is_first => {
                socket.await_readable().context("waiting for content")?;
                continue;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error).context("receiving"),
        }
        is_first = !is_first;
    }
    Ok(())
}

/// Receives into the block or, if the block is empty, discards the data (`recvmsg(2)`, `MSG_TRUNC` in tcp(7)). Returns
/// how many bytes were received, and when the last of them arrived, in nanoseconds of `CLOCK_REALTIME`; `None` for
/// packets that arrived before time stamps were switched on.
fn receive(socket: &Socket, block: &mut [u8], length: usize, flags: c_int) -> io::Result<(usize, Option<u64>)> {
    let (base, flags) = match block {
        [] => (std::ptr::null_mut(), flags | libc::MSG_TRUNC),
        block => (block.as_mut_ptr().cast(), flags),
    };
    let mut part = libc::iovec { iov_base: base, iov_len: length };
    let mut control = Control::EMPTY;
    // SAFETY: a msghdr is plain data, of which zeros are valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    (message.msg_control, message.msg_controllen) = ((&raw mut control).cast(), size_of::<Control>() as _);
    // SAFETY: the message's parts live until the call is over. The block is valid for writes of `length` bytes, which
    // callers keep within it; without one, TCP writes nothing.
    let received = retry(|| size(unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) }));
    let received = received.map_err(|error| socket.explained(error))?;
    // SAFETY: the kernel has filled the message, whose control is this function's.
    Ok((received, unsafe { stamp_ns(&message) }))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    use netwarp_core::arrival_log::SharedArrivalLog;
    use netwarp_core::content_sink::{Received, WatchedArrivals};

    use super::*;

    /// Returns what a sink receives from a peer that sends `parts` with pauses in between, and the sender's longest
    /// pause.
    fn received(parts: Vec<Vec<u8>>, pause: Duration, verify: bool) -> (Received, Duration) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut theirs = listener.accept().unwrap().0;
        let size_bytes = parts.iter().map(Vec::len).sum::<usize>() as u64;
        let sending = std::thread::spawn(move || {
            let mut slept = Duration::ZERO;
            for (number, part) in parts.iter().enumerate() {
                if number > 0 {
                    let start = std::time::Instant::now();
                    std::thread::sleep(pause);
                    slept = slept.max(start.elapsed());
                }
                theirs.write_all(part).unwrap();
            }
            slept
        });
        let socket = Socket::from(socket2::Socket::from(ours));
        let arrival_log = WatchedArrivals { arrival_log: SharedArrivalLog::default(), epoch_ns: 0, for_gaps: true };
        let mut sink = Sink::new(size_bytes, verify).watching_arrivals(Some(arrival_log));
        receive_content(&socket, &mut sink).unwrap();
        assert_eq!(socket.read_timeout().unwrap(), None, "later calls wait for as long as it takes");
        (sink.received().unwrap(), sending.join().unwrap())
    }

    #[test]
    fn every_byte_is_taken_and_hashed() {
        let parts: Vec<Vec<u8>> = (0..50_u8).map(|part| vec![part; 10_000]).collect();
        let mut whole = Sink::new(500_000, true);
        whole.consume(&parts.concat()).unwrap();
        let (hashed, _) = received(parts.clone(), Duration::ZERO, true);
        assert_eq!(hashed.sha256, whole.received().unwrap().sha256);
        assert!(received(parts, Duration::ZERO, false).0.sha256.is_none());
    }

    #[test]
    fn a_pause_longer_than_a_look_is_seen_whole() {
        for verify in [true, false] {
            let (seen, slept) = received(vec![vec![1; 5000]; 3], Duration::from_millis(150), verify);
            let gap = seen.longest_gap.expect("there were pauses");
            assert!(gap.length_ns > 140_000_000, "{gap:?} of {slept:?}");
            assert!(seen.first_byte < seen.last_byte && seen.last_byte <= Moment::now());
        }
    }
}
