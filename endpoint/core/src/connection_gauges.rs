//! The current state of QUIC connections (congestion window, RTT, …), as values in memory that a role shares with the
//! orchestrator: *gauges*. QUIC runs in the role's process, so the kernel's `sock_diag` does not know its state.
//!
//! The QUIC stack writes a gauge whenever its value changes, which takes no system call; the orchestrator reads the
//! gauges when it takes a sample.

use std::ffi::CStr;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, Result};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap};

use crate::connection_sample::{Activity, ConnectionSample, ConnectionState, Limits, Repair};

/// The file descriptor of the shared memory, which a role inherits.
pub const ROLE_FD: RawFd = 5;

/// The environment variable that tells a role that it has inherited [`ROLE_FD`].
pub const ROLE_ENVIRONMENT: &CStr = c"NETWARP_GAUGES=5";
const VARIABLE: &str = "NETWARP_GAUGES";

/// The largest number of connections that have gauges at the same time; further ones have none, and so no samples.
const CONNECTIONS: usize = 1024;

/// quinn's pacing rate, in quarters of a congestion window per round-trip time (its `pacing.rs`, as RFC 9002, section
/// 7.7, suggests).
const PACED_QUARTERS: u64 = 5;

const BITS_PER_BYTE: u64 = 8;
const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// The layout of the shared memory: the gauges of all connections of a role.
#[repr(C)]
struct Board {
    /// How many entries of `gauges` have been in use so far.
    places: AtomicU64,
    /// How many connections have had gauges so far.
    connections: AtomicU64,
    gauges: [Gauges; CONNECTIONS],
}

/// The current state of one connection. The entry is free while the port is 0.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Gauges {
    port: AtomicU64,
    peer_port: AtomicU64,
    /// The connection's number: how many connections had gauges before it.
    number: AtomicU64,
    /// The congestion window, in bytes.
    pub cwnd_bytes: AtomicU64,
    /// The slow start threshold, in bytes; 0 until it is set.
    pub ssthresh_bytes: AtomicU64,
    /// The smoothed round-trip time, in nanoseconds; 0 before the first measurement.
    pub rtt_ns: AtomicU64,
    /// Bytes sent and neither acknowledged nor declared lost.
    pub unacked_bytes: AtomicU64,
    /// Bytes acknowledged since the connection was set up.
    pub acked_bytes: AtomicU64,
    /// Packets declared lost since the connection was set up.
    pub lost_packets: AtomicU64,
    /// The size of the send buffer: the most unacknowledged bytes that the sender keeps.
    pub send_window_bytes: AtomicU64,
    /// 1 when all data that the application has written has been sent.
    pub has_sent_all: AtomicU64,
    /// How many of the application's writes wait for room in the send buffer.
    pub waiting_writes: AtomicU64,
}

impl Gauges {
    /// Returns this end's port and the peer's.
    fn ports(&self) -> (u16, u16) {
        (self.port.load(Relaxed) as u16, self.peer_port.load(Relaxed) as u16)
    }

    /// Returns the current state of the connection as a sample.
    pub fn sample(&self) -> ConnectionSample {
        let (port, peer_port) = self.ports();
        let [cwnd_bytes, rtt_ns, unacked_bytes] =
            [&self.cwnd_bytes, &self.rtt_ns, &self.unacked_bytes].map(|gauge| gauge.load(Relaxed));
        let is_waiting = self.waiting_writes.load(Relaxed) > 0;
        let has_sent_all = self.has_sent_all.load(Relaxed) > 0;
        let activity = match (is_waiting, has_sent_all, unacked_bytes) {
            (false, _, 0) => Activity::Idle,
            // quinn accepts no more data than the peer's window and its own send window have room for. Its own is full
            // when that many bytes are unacknowledged.
            (true, true, _) if unacked_bytes >= self.send_window_bytes.load(Relaxed) => Activity::BufferFull,
            (true, true, _) => Activity::PeerFull,
            _ => Activity::Busy,
        };
        let state = ConnectionState {
            cwnd_bytes,
            ssthresh_bytes: self.ssthresh_bytes.load(Relaxed),
            rtt_ns,
            unacked_bytes,
            acked_bytes: Some(self.acked_bytes.load(Relaxed)),
            retrans_packets: self.lost_packets.load(Relaxed),
            pacing_rate_bit_s: paced_bit_s(cwnd_bytes, rtt_ns),
            delivery_rate_bit_s: 0,
            limits: Limits::Now(activity),
            has_sent_all: has_sent_all && !is_waiting,
            repair: Repair::default(),
        };
        ConnectionSample { port, peer_port, number: self.number.load(Relaxed), state }
    }
}

/// Returns quinn's pacing rate in bit/s; 0 before the first round-trip time is measured.
fn paced_bit_s(cwnd_bytes: u64, rtt_ns: u64) -> u64 {
    let bits = u128::from(cwnd_bytes * BITS_PER_BYTE * PACED_QUARTERS / 4) * u128::from(NANOSECONDS_PER_SECOND);
    bits.checked_div(rtt_ns.into()).map_or(0, |bit_s| u64::try_from(bit_s).unwrap_or(u64::MAX))
}

impl Board {
    /// Maps the shared memory for the lifetime of the process.
    fn map(memory: impl AsFd) -> Result<&'static Self> {
        let length = NonZeroUsize::new(size_of::<Self>()).context("gauges have no size")?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: memory of its own, at no address in particular.
        let address = unsafe { mmap(None, length, access, MapFlags::MAP_SHARED, memory, 0) };
        let board: NonNull<Self> = address.context("map the memory of gauges (mmap)")?.cast();
        // SAFETY: page-aligned, as long as a board, zeroed at first, never unmapped, and written as atomics alone.
        Ok(unsafe { board.as_ref() })
    }

    /// Returns the gauges of the connections that are open now.
    fn open_connections(&self) -> impl Iterator<Item = &Gauges> {
        let places = self.places.load(Relaxed) as usize;
        self.gauges.iter().take(places).filter(|gauges| gauges.port.load(Relaxed) != 0)
    }

    /// Assigns a free entry to a connection between these ports; `None` if all are in use.
    fn take(&self, port: u16, peer_port: u16) -> Option<&Gauges> {
        let takes = |gauges: &Gauges| gauges.port.compare_exchange(0, port.into(), Relaxed, Relaxed).is_ok();
        let (place, gauges) = self.gauges.iter().enumerate().find(|(_, gauges)| takes(gauges))?;
        gauges.peer_port.store(peer_port.into(), Relaxed);
        gauges.number.store(self.connections.fetch_add(1, Relaxed), Relaxed);
        self.places.fetch_max(place as u64 + 1, Relaxed);
        Some(gauges)
    }
}

/// The orchestrator's end of a role's gauges.
pub struct SharedGauges {
    memory: OwnedFd,
    board: &'static Board,
}

impl SharedGauges {
    /// Creates the shared memory, without connections.
    pub fn new() -> Result<Self> {
        let attempt = "make memory for the gauges of connections";
        let memory = memfd_create(c"gauges", MFdFlags::MFD_CLOEXEC).context(attempt)?;
        nix::unistd::ftruncate(&memory, size_of::<Board>() as i64).context(attempt)?;
        let board = Board::map(&memory)?;
        Ok(Self { memory, board })
    }

    /// Returns the gauges of the connections that are open now.
    pub fn open_connections(&self) -> impl Iterator<Item = &Gauges> {
        self.board.open_connections()
    }
}

impl AsRawFd for SharedGauges {
    fn as_raw_fd(&self) -> RawFd {
        self.memory.as_raw_fd()
    }
}

static INHERITED: OnceLock<&'static Board> = OnceLock::new();

/// Maps the shared memory, if the orchestrator has passed it to this process.
pub fn inherit() -> Result<()> {
    if std::env::var_os(VARIABLE).is_some() {
        // SAFETY: the orchestrator opened it for this role.
        let board = Board::map(unsafe { BorrowedFd::borrow_raw(ROLE_FD) })?;
        let _ = INHERITED.set(board);
    }
    Ok(())
}

/// The gauges of one connection, at its role; dropping this frees their entry.
#[derive(Debug)]
pub struct ConnectionGauges(&'static Gauges);

impl ConnectionGauges {
    /// Assigns gauges to a new connection; `None` if connections are not sampled, or all gauges are in use.
    pub fn of(port: u16, peer_port: u16) -> Option<Arc<Self>> {
        INHERITED.get()?.take(port, peer_port).map(|gauges| Arc::new(Self(gauges)))
    }

    /// Counts one more write that waits for room in the send buffer, until the returned value is dropped.
    pub fn waiting(self: &Arc<Self>) -> WaitingWrite {
        self.waiting_writes.fetch_add(1, Relaxed);
        WaitingWrite(self.clone())
    }
}

impl std::ops::Deref for ConnectionGauges {
    type Target = Gauges;

    fn deref(&self) -> &Gauges {
        self.0
    }
}

impl Drop for ConnectionGauges {
    fn drop(&mut self) {
        let Gauges { port, peer_port, number, cwnd_bytes, ssthresh_bytes, rtt_ns, unacked_bytes, acked_bytes, .. } =
            self.0;
        let Gauges { lost_packets, send_window_bytes, has_sent_all, waiting_writes, .. } = self.0;
        // The port is reset last: 0 marks the place as free.
        let all = [peer_port, number, cwnd_bytes, ssthresh_bytes, rtt_ns, unacked_bytes, acked_bytes, lost_packets];
        let all = all.into_iter().chain([send_window_bytes, has_sent_all, waiting_writes, port]);
        all.for_each(|gauge| gauge.store(0, Relaxed));
    }
}

/// A write that counts as waiting for room in the send buffer.
#[derive(Debug)]
pub struct WaitingWrite(Arc<ConnectionGauges>);

impl Drop for WaitingWrite {
    fn drop(&mut self) {
        self.0.waiting_writes.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_see_the_connections_that_stand() {
        let ours = SharedGauges::new().unwrap();
        let theirs = Board::map(&ours.memory).unwrap();
        let ports = || ours.open_connections().map(Gauges::ports).collect::<Vec<_>>();
        let first = Arc::new(ConnectionGauges(theirs.take(4433, 1).unwrap()));
        let second = ConnectionGauges(theirs.take(4433, 2).unwrap());
        assert_eq!(ports(), [(4433, 1), (4433, 2)]);
        first.cwnd_bytes.store(7, Relaxed);
        let waiting = first.waiting();
        let seen = ours.open_connections().next().unwrap();
        assert_eq!((seen.cwnd_bytes.load(Relaxed), seen.waiting_writes.load(Relaxed)), (7, 1));
        drop(first);
        assert_eq!(ports().len(), 2, "its write still waits");
        drop(waiting);
        assert_eq!(ports(), [(4433, 2)]);
        let third = ConnectionGauges(theirs.take(4433, 3).unwrap());
        assert_eq!(ports(), [(4433, 3), (4433, 2)], "the free place is taken again");
        assert_eq!((third.cwnd_bytes.load(Relaxed), third.number.load(Relaxed)), (0, 2));
        drop((second, third));
    }
}
