//! The end of a pipe or a socket from which a role's messages are read, one on each line.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};

use anyhow::{Context, Result, ensure};

use crate::control::Message;

/// The most bytes read in one call.
const READ_BYTES: usize = 16 * 1024;

/// The longest line that a role may send: a role on another host is not trusted.
const LONGEST_LINE_BYTES: usize = 64 << 20;

/// Reads a role's messages as they arrive.
#[derive(Debug)]
pub(crate) struct MessagePipe {
    pipe: File,
    /// How error messages call the role.
    role: &'static str,
    /// The beginning of a line whose end has not arrived yet.
    unread: Vec<u8>,
}

impl MessagePipe {
    /// Creates a reader of this descriptor.
    pub(crate) fn new(pipe: File, role: &'static str) -> Self {
        Self { pipe, role, unread: Vec::new() }
    }

    /// Returns whether only whole messages have been read.
    pub(crate) fn is_complete(&self) -> bool {
        self.unread.is_empty()
    }

    /// Reads what is available, and waits if there is nothing. Returns the complete messages; none at the end of the
    /// pipe.
    ///
    /// # Errors
    /// As `read(2)`; a line that is not a message.
    pub(crate) fn receive(&mut self) -> Result<Option<Vec<Message>>> {
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
