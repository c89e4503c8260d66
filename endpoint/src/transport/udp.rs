//! quinn's UDP socket on tokio, with one system call less for each wake-up.
//!
//! quinn receives until the kernel says `EAGAIN`. But a batch that came back less than full already says that the
//! socket is empty, so the call that would only hear `EAGAIN` is left out. The event loop watches edges: a datagram
//! that arrives in between wakes it again.

use std::future::Future;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
use quinn::{AsyncUdpSocket, UdpPoller};
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// A UDP socket for quinn.
#[derive(Debug)]
pub struct Datagrams {
    socket: UdpSocket,
    state: UdpSocketState,
    drained: AtomicBool,
}

impl Datagrams {
    /// Takes over a bound socket. Must be called inside the runtime.
    ///
    /// # Errors
    /// A socket that does not take the options QUIC needs.
    pub fn new(socket: std::net::UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Self { state, socket: UdpSocket::from_std(socket)?, drained: AtomicBool::new(false) })
    }
}

impl AsyncUdpSocket for Datagrams {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Poller { socket: self, waiting: None })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.socket.try_io(Interest::WRITABLE, || self.state.send((&self.socket).into(), transmit))
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.socket.poll_recv_ready(context))?;
            let received = self.socket.try_io(Interest::READABLE, || {
                if self.drained.swap(false, Relaxed) {
                    return Err(ErrorKind::WouldBlock.into());
                }
                self.state.recv((&self.socket).into(), buffers, metas)
            });
            match received {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Ok(count) => {
                    self.drained.store(count < buffers.len(), Relaxed);
                    return Poll::Ready(Ok(count));
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
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

type Waiting = Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>>;

/// Waits for room to send, for one task.
struct Poller {
    socket: Arc<Datagrams>,
    waiting: Option<Waiting>,
}

impl UdpPoller for Poller {
    fn poll_writable(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let socket = self.socket.clone();
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(async move { socket.socket.writable().await }));
        let writable = ready!(waiting.as_mut().poll(context));
        self.waiting = None;
        Poll::Ready(writable)
    }
}

impl std::fmt::Debug for Poller {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Poller").finish_non_exhaustive()
    }
}
