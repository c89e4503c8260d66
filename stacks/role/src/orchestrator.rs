//! The pipes to and from the orchestrator: orders on standard input, messages on descriptor 3, one JSON object on each
//! line.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, RawFd};

use anyhow::{Context as _, Result, bail, ensure};
use netwarp_wire::record::{Failure, Record, Side};
use netwarp_wire::role_protocol::{Message, Order};

/// The descriptor on which messages go to the orchestrator.
const MESSAGE_FD: RawFd = 3;

/// The order to begin.
#[derive(Debug)]
pub struct Begin {
    /// The run's epoch, in nanoseconds of `CLOCK_MONOTONIC`.
    pub epoch_ns: u64,
    /// The hex DER of the server's certificate, which the client trusts.
    pub certificate: Option<String>,
}

/// The pipes to and from the orchestrator.
#[derive(Debug)]
pub struct Orchestrator {
    messages: File,
    unread: Vec<u8>,
    is_open: bool,
}

impl Orchestrator {
    /// Opens the pipes that the orchestrator has made for this role.
    ///
    /// # Errors
    /// There are no pipes: the role was started by hand.
    pub(crate) fn open() -> Result<Self> {
        // SAFETY: only asks whether the descriptor is open.
        let flags = unsafe { libc::fcntl(MESSAGE_FD, libc::F_GETFD) };
        ensure!(flags >= 0, "descriptor {MESSAGE_FD} is not open: roles are started by the orchestrator, not by hand");
        // SAFETY: the descriptor is open, and the orchestrator opened it for this role to own.
        let messages = unsafe { File::from_raw_fd(MESSAGE_FD) };
        Ok(Self { messages, unread: Vec::new(), is_open: true })
    }

    /// Returns the file descriptor that is readable when there is an order.
    pub fn descriptor(&self) -> RawFd {
        io::stdin().as_raw_fd()
    }

    /// Waits for the order to begin.
    ///
    /// # Errors
    /// The orchestrator gives another order, or is gone.
    pub fn begin(&mut self) -> Result<Begin> {
        match self.next_order()? {
            Some(Order::Begin { epoch_ns, certificate, token: _ }) => Ok(Begin { epoch_ns, certificate }),
            other => bail!("ordered to {other:?} before having begun"),
        }
    }

    /// Reads the order to finish. It is also time to finish if the orchestrator is gone.
    ///
    /// # Errors
    /// The orchestrator gives another order.
    pub fn finish(&mut self) -> Result<()> {
        match self.next_order()? {
            None | Some(Order::Finish {}) => Ok(()),
            Some(order) => bail!("a server is only ordered to finish, not to {order:?}"),
        }
    }

    /// Waits for the next order; `None` when the orchestrator is gone.
    ///
    /// # Errors
    /// A line is not an order.
    pub fn next_order(&mut self) -> Result<Option<Order>> {
        loop {
            if let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                let order = serde_json::from_slice(&line);
                return order.map(Some).with_context(|| format!("understand {:?}", String::from_utf8_lossy(&line)));
            }
            if !self.is_open {
                return Ok(None);
            }
            let mut bytes = [0; 4096];
            let count = io::stdin().read(&mut bytes).context("read an order")?;
            self.is_open = count > 0;
            self.unread.extend_from_slice(&bytes[..count]);
        }
    }

    /// Reports to the orchestrator that the server listens, with the server's certificate.
    pub fn ready(&mut self, certificate: &str) -> Result<()> {
        self.say(&Message::Ready { certificate: Some(certificate.to_owned()) })
    }

    /// Sends a record to the orchestrator.
    pub fn write(&mut self, record: Record) -> Result<()> {
        self.say(&Message::Write { line: Box::new(record) })
    }

    /// Sends the last message to the orchestrator: how the work ended.
    pub(crate) fn end(&mut self, side: Side, worked: &Result<()>) -> Result<()> {
        let failed = |error| Failure { stage: side.name().to_owned(), message: format!("{error:#}") };
        self.say(
            &worked.as_ref().map_or_else(|error| Message::Failed { failure: failed(error) }, |()| Message::Done {}),
        )
    }

    fn say(&mut self, message: &Message) -> Result<()> {
        let mut line = serde_json::to_vec(message).context("word a message")?;
        line.push(b'\n');
        self.messages.write_all(&line).context("tell the orchestrator")
    }
}
