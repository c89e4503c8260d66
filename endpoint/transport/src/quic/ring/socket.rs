//! A UDP socket for quinn that sends and receives through a thread's io_uring.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use netwarp_virtual_time::{Arrival, Copied};
use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
use quinn::{AsyncUdpSocket, UdpPoller};

use super::{start, with_ring};

/// A UDP socket whose datagrams are received and sent when this thread's event loop waits.
#[derive(Debug)]
pub(crate) struct RingSocket {
    number: u32,
    shared: Arc<Shared>,
}

/// The state that the socket and the ring share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub socket: Arc<UdpSocket>,
    state: UdpSocketState,
    inbox: Mutex<Inbox>,
}

impl RingSocket {
    /// Takes over a bound socket.
    ///
    /// # Arguments
    /// * `datagram_bytes` - the size of the largest datagram that may arrive.
    ///
    /// # Errors
    /// The kernel lacks what the ring needs; the socket does not take the options that QUIC needs.
    pub(crate) fn new(socket: UdpSocket, datagram_bytes: usize) -> io::Result<Self> {
        start(datagram_bytes)?;
        let state = UdpSocketState::new((&socket).into())?;
        let shared = Arc::new(Shared { socket: Arc::new(socket), state, inbox: Mutex::default() });
        let number = with_ring(|thread| thread.open(shared.clone()))?;
        Ok(Self { number, shared })
    }
}

impl Drop for RingSocket {
    fn drop(&mut self) {
        with_ring(|thread| thread.close(self.number));
    }
}

impl Shared {
    pub(crate) fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().expect("no holder panics")
    }

    /// Handles a datagram that the kernel refused to send. One refused for lack of buffer space is kept, and from then
    /// on the socket sends without the ring, so that quinn learns of a full buffer at once. On other errors this does
    /// what quinn does: stops using segmentation offload, and drops the datagram. Returns whether the ring must begin
    /// to watch the socket for buffer space.
    pub(crate) fn refused(&self, sent: &Copied, error: io::Error) -> bool {
        if error.kind() == ErrorKind::WouldBlock {
            let mut inbox = self.inbox();
            (inbox.is_direct, inbox.is_full) = (true, true);
            inbox.refused.push_back(sent.clone());
            return !std::mem::replace(&mut inbox.is_watched, true);
        }
        if let Some(libc::EIO | libc::EINVAL) = error.raw_os_error() {
            let _ = self.send(&sent.whole());
            sent.datagrams().for_each(|transmit| _ = self.send(&transmit));
        }
        false
    }

    /// Sends the refused datagrams, when there is buffer space again. Returns the tasks that wait to send more; `None`
    /// if the buffer has filled up again.
    pub(crate) fn use_room(&self) -> Option<Vec<Waker>> {
        let mut inbox = self.inbox();
        self.send_refused(&mut inbox).ok()?;
        (inbox.is_full, inbox.is_watched) = (false, false);
        Some(std::mem::take(&mut inbox.writers))
    }

    fn send_refused(&self, inbox: &mut Inbox) -> io::Result<()> {
        while let Some(refused) = inbox.refused.front() {
            self.send(&refused.whole())?;
            inbox.refused.pop_front();
        }
        Ok(())
    }

    fn send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.state.send((&*self.socket).into(), transmit)
    }

    /// Sends a datagram without the ring, after those that were refused before.
    fn send_directly(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let mut inbox = self.inbox();
        let sent = self.send_refused(&mut inbox).and_then(|()| self.send(transmit));
        inbox.is_full = sent.is_err();
        sent
    }
}

impl AsyncUdpSocket for RingSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Poller { socket: self })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        if self.shared.inbox().is_direct {
            return self.shared.send_directly(transmit);
        }
        with_ring(|thread| thread.ring.send(self.number, transmit))
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let mut inbox = self.shared.inbox();
        let count = inbox.arrived.len().min(buffers.len()).min(metas.len());
        if count == 0 {
            inbox.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        let taken = inbox.arrived.drain(..count);
        with_ring(|thread| {
            for ((arrival, buffer), meta) in taken.zip(buffers).zip(metas) {
                let contents = thread.ring.contents(&arrival);
                let length = contents.len().min(buffer.len());
                buffer[..length].copy_from_slice(&contents[..length]);
                *meta = RecvMeta { len: length, stride: length, ..arrival.meta };
                thread.ring.give_back(arrival);
            }
        });
        Poll::Ready(Ok(count))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.shared.socket.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.shared.state.max_gso_segments()
    }

    fn max_receive_segments(&self) -> usize {
        1
    }

    fn may_fragment(&self) -> bool {
        self.shared.state.may_fragment()
    }
}

/// A socket's received datagrams, those that wait to be sent, and the tasks that wait to read or send.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    arrived: VecDeque<Arrival>,
    /// The task that waits for datagrams.
    reader: Option<Waker>,
    /// Datagrams that wait to be sent because the kernel had no buffer space, in order.
    refused: VecDeque<Copied>,
    /// Whether datagrams are passed to the kernel at once, without the ring, as they are after the first refusal.
    is_direct: bool,
    /// Whether the kernel had no buffer space for the last datagram.
    is_full: bool,
    /// Whether the ring watches the socket for buffer space.
    is_watched: bool,
    /// The tasks that wait for buffer space.
    writers: Vec<Waker>,
}

impl Inbox {
    /// Adds a received datagram. Returns the task to wake, if one waits.
    pub(crate) fn put(&mut self, arrival: Arrival) -> Option<Waker> {
        self.arrived.push_back(arrival);
        self.reader.take()
    }

    /// Removes and returns all received datagrams that have not been read.
    pub(crate) fn take_all(&mut self) -> VecDeque<Arrival> {
        std::mem::take(&mut self.arrived)
    }
}

/// Waits for buffer space to send, for one task.
#[derive(Debug)]
struct Poller {
    socket: Arc<RingSocket>,
}

impl UdpPoller for Poller {
    fn poll_writable(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let RingSocket { number, shared } = &*self.socket;
        let mut inbox = shared.inbox();
        if !inbox.is_full {
            return Poll::Ready(Ok(()));
        }
        inbox.writers.push(context.waker().clone());
        let is_watched = std::mem::replace(&mut inbox.is_watched, true);
        drop(inbox);
        if !is_watched {
            with_ring(|thread| thread.ring.watch_room(*number))?;
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::os::fd::AsRawFd as _;

    use super::*;

    /// Runs `test` with two sockets in a new event loop; skips it where the machine forbids rings.
    fn with_sockets(test: impl AsyncFnOnce(Arc<RingSocket>, Arc<RingSocket>)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        runtime.block_on(async {
            let open = || RingSocket::new(UdpSocket::bind("127.0.0.1:0").unwrap(), 1500).map(Arc::new);
            match open() {
                Ok(first) => test(first, open().unwrap()).await,
                Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) => {}
                Err(error) => panic!("{error}"),
            }
        });
    }

    async fn receive(socket: &RingSocket) -> (Vec<u8>, RecvMeta) {
        let (mut buffer, mut metas) = ([0; 1500], [RecvMeta::default()]);
        let count = poll_fn(|context| socket.poll_recv(context, &mut [IoSliceMut::new(&mut buffer)], &mut metas));
        assert_eq!(count.await.unwrap(), 1);
        (buffer[..metas[0].len].to_vec(), metas[0])
    }

    fn send(from: &RingSocket, to: &RingSocket, contents: &[u8], segment_size: Option<usize>) {
        let destination = to.local_addr().unwrap();
        let ecn = Some(quinn::udp::EcnCodepoint::Ect0);
        from.try_send(&Transmit { destination, ecn, contents, segment_size, src_ip: None }).unwrap();
    }

    #[test]
    fn datagrams_come_in_order_with_what_is_beside_them() {
        with_sockets(async |from, to| {
            for round in 0..200_u16 {
                send(&from, &to, &round.to_ne_bytes(), None);
            }
            for round in 0..200_u16 {
                let (contents, meta) = receive(&to).await;
                assert_eq!(contents, round.to_ne_bytes());
                assert_eq!((meta.addr, meta.ecn.unwrap() as u8), (from.local_addr().unwrap(), 0b10));
            }
        });
    }

    fn send_without_checksums(socket: &UdpSocket) {
        let is_on: libc::c_int = 1;
        crate::system_call::set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_NO_CHECK, &is_on).unwrap();
    }

    #[test]
    fn what_the_kernel_does_not_split_goes_one_by_one() {
        with_sockets(async |from, to| {
            // UDP_SEGMENT needs checksums (udp_send_skb), so sending segments fails.
            send_without_checksums(&from.shared.socket);
            assert!(from.max_transmit_segments() > 1, "this kernel splits nothing");
            send(&from, &to, b"aabbc", Some(2));
            for expected in [&b"aa"[..], b"bb", b"c"] {
                assert_eq!(receive(&to).await.0, expected);
            }
            assert_eq!(from.max_transmit_segments(), 1, "quinn is to ask for it no more");
        });
    }

    #[test]
    fn what_was_refused_is_sent_first_when_there_is_room() {
        with_sockets(async |from, to| {
            let destination = to.local_addr().unwrap();
            let first = Transmit { destination, ecn: None, contents: b"first", segment_size: None, src_ip: None };
            assert!(from.shared.refused(&Copied::from(&first), ErrorKind::WouldBlock.into()));
            from.shared.inbox().is_watched = false;
            let mut poller = from.clone().create_io_poller();
            let noop = &mut Context::from_waker(Waker::noop());
            assert!(poller.as_mut().poll_writable(noop).is_pending(), "only the event loop can tell");
            poll_fn(|context| poller.as_mut().poll_writable(context)).await.unwrap();
            send(&from, &to, b"second", None);
            assert_eq!(receive(&to).await.0, b"first");
            assert_eq!(receive(&to).await.0, b"second");
        });
    }

    #[test]
    fn a_socket_that_is_closed_leaves_the_others_in_peace() {
        with_sockets(async |from, to| {
            send(&from, &to, b"lost", None);
            drop(to);
            let again = Arc::new(RingSocket::new(UdpSocket::bind("127.0.0.1:0").unwrap(), 1500).unwrap());
            send(&from, &again, b"kept", None);
            assert_eq!(receive(&again).await.0, b"kept");
        });
    }
}
