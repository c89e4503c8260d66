//! quinn's UDP socket on tokio's event loop, for native runs, without system calls that are known to return nothing.
//!
//! quinn receives until the kernel returns `EAGAIN`. But a batch that is not full already means that the socket is
//! empty, so the call that would return `EAGAIN` is omitted. The event loop is edge-triggered: a datagram that arrives
//! in between wakes it again.
//!
//! A socket also becomes writable each time a datagram has left its buffer, and a loop that watches for this would wake
//! up once for every datagram sent. So only a sender that the kernel has refused watches the socket, until there is
//! buffer space.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
use quinn::{AsyncUdpSocket, UdpPoller};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A UDP socket for quinn.
#[derive(Debug)]
pub(crate) struct Datagrams {
    /// The socket, watched for datagrams to read.
    socket: AsyncFd<UdpSocket>,
    state: UdpSocketState,
    drained: AtomicBool,
    /// Whether the last datagram was refused for lack of buffer space.
    is_full: AtomicBool,
}

impl Datagrams {
    /// Takes over a bound socket. Must be called inside the tokio runtime.
    ///
    /// # Errors
    /// The socket does not take the options that QUIC needs.
    pub(crate) fn new(socket: UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new((&socket).into())?;
        let socket = watch(socket, Interest::READABLE)?;
        Ok(Self { socket, state, drained: AtomicBool::new(false), is_full: AtomicBool::new(false) })
    }
}

impl AsyncUdpSocket for Datagrams {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Poller { socket: self, waiting: None })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let sent = self.state.send(self.socket.get_ref().into(), transmit);
        if sent.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock) {
            self.is_full.store(true, Relaxed);
        }
        sent
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut readable = ready!(self.socket.poll_read_ready(context))?;
            let received = readable.try_io(|socket| {
                if self.drained.swap(false, Relaxed) {
                    return Err(ErrorKind::WouldBlock.into());
                }
                self.state.recv(socket.get_ref().into(), buffers, metas)
            });
            // Otherwise the call would block: wait for the next edge.
            if let Ok(received) = received {
                if let Ok(count) = received {
                    self.drained.store(count < buffers.len(), Relaxed);
                }
                return Poll::Ready(received);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.get_ref().local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.state.gro_segments()
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }
}

fn watch(socket: UdpSocket, interest: Interest) -> io::Result<AsyncFd<UdpSocket>> {
    // SAFETY: a UdpSocket owns its descriptor and never gives it up or changes it.
    unsafe { AsyncFd::register_with_interest(socket, interest) }.map_err(io::Error::from)
}

/// Waits for buffer space to send, for one task.
struct Poller {
    socket: Arc<Datagrams>,
    /// A second handle to the socket, watched for buffer space.
    waiting: Option<AsyncFd<UdpSocket>>,
}

impl UdpPoller for Poller {
    fn poll_writable(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.socket.is_full.swap(false, Relaxed) {
            let again = self.socket.socket.get_ref().try_clone()?;
            self.waiting = Some(watch(again, Interest::WRITABLE)?);
        }
        let Some(waiting) = &self.waiting else { return Poll::Ready(Ok(())) };
        let writable = ready!(waiting.poll_write_ready(context)).map(drop);
        self.waiting = None;
        Poll::Ready(writable)
    }
}

impl std::fmt::Debug for Poller {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Poller").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    fn bound() -> Arc<Datagrams> {
        Arc::new(Datagrams::new(UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap())
    }

    async fn receive(socket: &Datagrams) -> Vec<u8> {
        let (mut buffer, mut metas) = ([0; 2000], [RecvMeta::default()]);
        let count = poll_fn(|context| socket.poll_recv(context, &mut [IoSliceMut::new(&mut buffer)], &mut metas));
        assert_eq!(count.await.unwrap(), 1);
        buffer[..metas[0].len].to_vec()
    }

    fn send(from: &Datagrams, to: &Datagrams, contents: &[u8]) {
        let destination = to.local_addr().unwrap();
        let transmit = Transmit { destination, ecn: None, contents, segment_size: None, src_ip: None };
        from.try_send(&transmit).unwrap();
    }

    #[tokio::test]
    async fn whatever_is_there_is_received_and_whatever_comes_later() {
        let (from, to) = (bound(), bound());
        send(&from, &to, b"one");
        send(&from, &to, b"two");
        assert_eq!(receive(&to).await, b"one");
        assert_eq!(receive(&to).await, b"two");
        let later = receive(&to);
        let sending = async { send(&from, &to, b"three") };
        assert_eq!(tokio::join!(later, sending).0, b"three");
    }

    #[tokio::test]
    async fn only_a_sender_that_was_refused_waits_for_room() {
        let socket = bound();
        let mut poller = socket.clone().create_io_poller();
        let writable = |poller: &mut Pin<Box<dyn UdpPoller>>| {
            poller.as_mut().poll_writable(&mut Context::from_waker(std::task::Waker::noop()))
        };
        assert!(writable(&mut poller).is_ready());
        socket.is_full.store(true, Relaxed);
        assert!(writable(&mut poller).is_pending(), "only the event loop can tell");
        poll_fn(|context| poller.as_mut().poll_writable(context)).await.unwrap();
        assert!(writable(&mut poller).is_ready());
    }
}
