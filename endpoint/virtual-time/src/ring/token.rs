//! What the kernel gives back with each result, so that it is known what the result is of.

/// What a result is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// The watch over the other descriptor.
    Watch,
    /// Receiving on this socket.
    Receive(u32),
    /// Sending what lies here.
    Send(u32),
    /// The watch for room to send on this socket.
    Room(u32),
    /// Calling an operation off.
    Cancel,
}

impl Token {
    /// As the kernel carries it.
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

    /// From what the kernel gives back.
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
