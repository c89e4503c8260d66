//! Identifies the ring's operations, by a number that the kernel returns with each result.

/// An operation of the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// Watching the descriptor that is no socket.
    Watch,
    /// Receiving on this socket.
    Receive(u32),
    /// Sending the datagram in this slot.
    Send(u32),
    /// Watching this socket for buffer space to send.
    Room(u32),
    /// Cancelling an operation.
    Cancel,
}

impl Token {
    /// Returns the operation as the number that is passed to the kernel.
    pub(crate) fn encode(self) -> u64 {
        let (kind, index) = match self {
            Self::Watch => (0, 0),
            Self::Receive(index) => (1, index),
            Self::Send(index) => (2, index),
            Self::Room(index) => (3, index),
            Self::Cancel => (4, 0),
        };
        kind << 32 | u64::from(index)
    }

    /// Decodes the number of an operation, which the kernel returns with the operation's result.
    pub(crate) fn decode(data: u64) -> Self {
        let index = data as u32;
        match data >> 32 {
            0 => Self::Watch,
            1 => Self::Receive(index),
            2 => Self::Send(index),
            3 => Self::Room(index),
            _ => Self::Cancel,
        }
    }
}
