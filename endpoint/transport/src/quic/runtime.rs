//! quinn's interface to the event loop: tokio's, with timers that need no system calls ([`netwarp_core::timers`]).

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use netwarp_core::timers::Timer;
use quinn::{AsyncTimer, AsyncUdpSocket, Runtime};

use super::udp::Datagrams;

/// The event loop of the calling thread.
#[derive(Debug)]
pub(crate) struct EventLoop;

impl Runtime for EventLoop {
    fn new_timer(&self, deadline: Instant) -> Pin<Box<dyn AsyncTimer>> {
        Box::pin(QuinnTimer(Timer::new(deadline)))
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        tokio::spawn(future);
    }

    fn wrap_udp_socket(&self, socket: std::net::UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        Ok(Arc::new(Datagrams::new(socket)?))
    }
}

/// A timer with quinn's interface.
#[derive(Debug)]
struct QuinnTimer(Timer);

impl AsyncTimer for QuinnTimer {
    fn reset(self: Pin<&mut Self>, deadline: Instant) {
        self.0.reset(deadline);
    }

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.poll(context)
    }
}
