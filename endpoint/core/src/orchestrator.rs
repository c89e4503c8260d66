//! The orchestrator, as a role sees it: [`Order`]s come from standard input, [`Message`]s go to descriptor 3.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, FromRawFd as _};

use anyhow::{Context as _, Result, bail};
use netwarp_wire::record::{Record, Side};
use netwarp_wire::request_prefix::RequestPrefix;
use netwarp_wire::role_protocol::{Message, Order};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::net::unix::pipe::Receiver;

use crate::clock;
use crate::message_pipe::MESSAGE_FD;
use crate::usage::Usage;

/// The contents of the order to begin.
#[derive(Debug)]
pub struct Begin {
    /// The run's epoch, in nanoseconds of `CLOCK_MONOTONIC`.
    pub epoch_ns: u64,
    /// Hex DER of the server's certificate, for a client that needs it.
    pub certificate: Option<String>,
    /// The run's token, with which every request begins; `None` if no host outside the run can reach the server.
    pub token: Option<RequestPrefix>,
}

/// The pipes to and from the orchestrator.
pub struct Orchestrator {
    orders: Lines<BufReader<Receiver>>,
    messages: File,
    /// The CPU time that this process had used when the order to begin arrived.
    usage: Option<Usage>,
}

impl Orchestrator {
    /// Opens standard input and descriptor 3 as the pipes that the orchestrator made for this role.
    ///
    /// # Errors
    /// The role was not started by an orchestrator.
    pub fn open() -> Result<Self> {
        let orders = std::io::stdin().as_fd().try_clone_to_owned().context("taking standard input")?;
        let orders = Receiver::from_owned_fd(orders)
            .context("standard input is not a pipe of orders: roles are started by the orchestrator, not by hand")?;
        // Programs that a role starts must not be able to write to its pipe.
        // SAFETY: the call takes numbers, and fails where the descriptor is not open.
        if unsafe { libc::fcntl(MESSAGE_FD, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
            bail!("descriptor {MESSAGE_FD} is not open: roles are started by the orchestrator, not by hand");
        }
        // SAFETY: the descriptor is open, and the orchestrator opened it for this role to own.
        let messages = unsafe { File::from_raw_fd(MESSAGE_FD) };
        Ok(Self { orders: BufReader::new(orders).lines(), messages, usage: None })
    }

    /// Waits for the order to begin.
    ///
    /// # Errors
    /// The orchestrator gives another order, or is gone.
    pub async fn begin(&mut self) -> Result<Begin> {
        match self.next().await? {
            Some(Order::Begin { epoch_ns, certificate, token }) => {
                self.usage = Some(Usage::now()?);
                let token = token.map(RequestPrefix::try_from).transpose().map_err(anyhow::Error::msg)?;
                Ok(Begin { epoch_ns, certificate, token })
            }
            Some(order) => bail!("ordered to {order:?} before having begun"),
            None => bail!("standard input closed before the order to begin"),
        }
    }

    /// Returns the next order; `None` when the orchestrator has closed the pipe. Dropping this future loses no order.
    ///
    /// # Errors
    /// The orchestrator sends something that is not an order.
    pub async fn next(&mut self) -> Result<Option<Order>> {
        let Some(line) = self.orders.next_line().await.context("reading an order")? else { return Ok(None) };
        serde_json::from_str(&line).map(Some).with_context(|| format!("reading the order {line:?}"))
    }

    /// Sends records to the orchestrator, which writes them to `records.jsonl`.
    pub fn write(&mut self, records: Vec<Record>) -> Result<()> {
        records.into_iter().try_for_each(|record| self.send(&Message::Write { line: Box::new(record) }))
    }

    /// Sends a record of the CPU time that this side has used since the order to begin. In virtual time, where
    /// computing takes no time, it sends nothing.
    pub fn write_usage(&mut self, side: Side) -> Result<()> {
        match self.usage.filter(|_| !clock::is_virtual()) {
            Some(start) => self.write(vec![Usage::now()?.since(start, side)]),
            None => Ok(()),
        }
    }

    /// Sends the orchestrator a message.
    pub fn send(&mut self, message: &Message) -> Result<()> {
        let mut line = serde_json::to_vec(message).context("encoding a message")?;
        line.push(b'\n');
        self.messages.write_all(&line).with_context(|| format!("writing a message to descriptor {MESSAGE_FD}"))
    }
}
