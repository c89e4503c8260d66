//! The interface of a running role, wherever it runs.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::os::fd::AsFd;

use anyhow::{Context as _, Result};
use netwarp_wire::record::Side;
use netwarp_wire::role_protocol::{Message, Order};

/// A running role. Its file descriptor is readable when the role has sent something. The role is ended when this is
/// dropped.
pub(crate) trait Role: AsFd {
    /// Returns whether the role may still send messages.
    fn is_running(&self) -> bool;

    /// Sends the role an order. It is no error if the role has ended; [`Self::receive`] returns how it ended.
    fn order(&mut self, order: &Order) -> Result<()>;

    /// Receives the role's next messages, or its end; waits if there is nothing yet.
    fn receive(&mut self) -> Result<Vec<Event>>;

    /// Ends the role at once. It sends no more messages.
    fn stop(&mut self);
}

/// Writes an order to a role's pipe. It is no error if the role has ended.
pub(crate) fn give_order(pipe: &mut File, side: Side, order: &Order) -> Result<()> {
    let mut line = serde_json::to_vec(order).context("encode an order")?;
    line.push(b'\n');
    match pipe.write_all(&line) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.with_context(|| format!("give the {} an order", side.name())),
    }
}

/// An event of a role: a message, or its end.
#[derive(Debug)]
pub(crate) enum Event {
    /// The role sent a message.
    Said(Message),
    /// The role's process has ended: `None` if it was successful, otherwise a text that says how it failed.
    Gone(Option<String>),
}
