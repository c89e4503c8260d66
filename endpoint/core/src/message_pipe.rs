//! Reads the messages of a role, one per line, from a pipe or a socket. A role writes them to a separate file
//! descriptor, because standard output and standard error are its console.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};

use anyhow::{Context, Result, ensure};
use netwarp_wire::role_protocol::Message;

/// The descriptor to which a role writes its messages.
pub const MESSAGE_FD: i32 = 3;

/// The most bytes read in one call.
const READ_BYTES: usize = 16 * 1024;

/// The longest line that a role may send. The limit exists because a role on another host is not trusted.
const LONGEST_LINE_BYTES: usize = 64 << 20;

/// Reads a role's messages as they arrive.
#[derive(Debug)]
pub struct MessagePipe {
    pipe: File,
    /// The name of the role in error messages.
    role: &'static str,
    /// The beginning of a line whose end has not arrived yet.
    unread: Vec<u8>,
}

impl MessagePipe {
    /// Creates a reader of `pipe`.
    pub fn new(pipe: File, role: &'static str) -> Self {
        Self { pipe, role, unread: Vec::new() }
    }

    /// Returns whether the last message that has arrived is complete.
    pub fn is_complete(&self) -> bool {
        self.unread.is_empty()
    }

    /// Reads what is available, waiting if nothing is. Returns the messages that are now complete; `None` at the end of
    /// the pipe.
    ///
    /// # Errors
    /// As `read(2)`; or a line is not a message.
    pub fn receive(&mut self) -> Result<Option<Vec<Message>>> {
        let role = self.role;
        let mut bytes = [0; READ_BYTES];
        let count = self.pipe.read(&mut bytes).with_context(|| format!("read from the {role}"))?;
        if count == 0 {
            return Ok(None);
        }
        self.unread.extend_from_slice(&bytes[..count]);
        let mut messages = Vec::new();
        while let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            let message = serde_json::from_slice(&line)
                .with_context(|| format!("understand the {role}'s message {:?}", String::from_utf8_lossy(&line)))?;
            messages.push(message);
        }
        ensure!(
            self.unread.len() <= LONGEST_LINE_BYTES,
            "the {role} sends a line of more than {LONGEST_LINE_BYTES} bytes"
        );
        Ok(Some(messages))
    }
}

impl AsFd for MessagePipe {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use netwarp_wire::role_protocol::Order;

    use super::*;

    /// Orders and messages are, byte for byte, what the models of `src/netwarp/wire/role_protocol.py` write and read.
    #[test]
    fn orders_and_messages_are_those_of_the_golden_files() {
        for line in include_str!("../../../tests/golden/role-orders.jsonl").lines() {
            let order: Order = serde_json::from_str(line).unwrap();
            assert_eq!(serde_json::to_string(&order).unwrap(), line);
        }
        for line in include_str!("../../../tests/golden/role-messages.jsonl").lines() {
            let message: Message = serde_json::from_str(line).unwrap();
            assert_eq!(serde_json::to_string(&message).unwrap(), line);
        }
    }
}
