//! Which stream of a connection carries the next segment.
//!
//! A switch of quality travels on another stream where the transport has several: on a new one if it can open as many as
//! it likes (`quic`), else on the one of the quality's number (`sctp`), or any that is idle if that one is not.

use crate::transport::error::Result;
use crate::transport::{Connection, Stream};

/// An idle stream.
pub(super) struct StreamSlot {
    pub stream: Box<dyn Stream>,
    /// Index of the quality it carried last, if any.
    pub quality: Option<u32>,
}

/// The idle streams of a connection.
pub(super) struct StreamSlots {
    /// How many streams a connection has; none if it can open any number.
    fixed: Option<u32>,
    idle: Vec<StreamSlot>,
    /// Number of the stream used last.
    current: Option<u32>,
}

impl StreamSlots {
    /// The slots of a connection just opened. Of a fixed number of streams all are opened, as the server awaits them all.
    ///
    /// # Errors
    /// As [`Connection::open_stream`].
    pub(super) async fn open(connection: &mut dyn Connection, fixed: Option<u32>) -> Result<Self> {
        let mut idle = Vec::new();
        for _ in 0..fixed.unwrap_or(0) {
            idle.push(StreamSlot { stream: connection.open_stream().await?, quality: None });
        }
        Ok(Self { fixed, idle, current: None })
    }

    /// Whether a segment could be asked for right now.
    pub(super) fn can_carry(&self) -> bool {
        self.fixed.is_none() || !self.idle.is_empty()
    }

    /// The stream for a segment of this quality, when there [is one](Self::can_carry).
    ///
    /// # Errors
    /// As [`Connection::open_stream`].
    pub(super) async fn take(&mut self, connection: &mut dyn Connection, quality: u32) -> Result<StreamSlot> {
        let idle: Vec<(u32, Option<u32>)> = self.idle.iter().map(|slot| (slot.stream.index(), slot.quality)).collect();
        let mut slot = match choose(&idle, self.fixed, self.current, quality) {
            Some(place) => self.idle.swap_remove(place),
            None => StreamSlot { stream: connection.open_stream().await?, quality: None },
        };
        (slot.quality, self.current) = (Some(quality), Some(slot.stream.index()));
        Ok(slot)
    }

    /// Takes back a stream that is idle again.
    pub(super) fn put_back(&mut self, slot: StreamSlot) {
        self.idle.push(slot);
    }

    /// Idle streams that will not be used again.
    pub(super) fn take_outdated(&mut self) -> Vec<StreamSlot> {
        let current = self.current.filter(|_| self.fixed.is_none());
        let is_outdated = |slot: &StreamSlot| current.is_some_and(|current| slot.stream.index() != current);
        let (outdated, idle) = std::mem::take(&mut self.idle).into_iter().partition(is_outdated);
        self.idle = idle;
        outdated
    }

    /// All idle streams.
    pub(super) fn take_idle(&mut self) -> Vec<StreamSlot> {
        std::mem::take(&mut self.idle)
    }
}

/// Place of the stream to use among the idle ones, each with its number and last quality; none: a new one.
fn choose(idle: &[(u32, Option<u32>)], fixed: Option<u32>, current: Option<u32>, quality: u32) -> Option<usize> {
    match fixed {
        Some(streams) => {
            let own = idle.iter().position(|(number, _)| *number == quality % streams);
            own.or_else(|| (0..idle.len()).min_by_key(|place| idle[*place].0))
        }
        None => idle.iter().position(|(number, last)| Some(*number) == current && *last == Some(quality)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_number_of_streams_is_shared_by_quality() {
        let idle = |numbers: &[u32]| -> Vec<(u32, Option<u32>)> { numbers.iter().map(|&one| (one, None)).collect() };
        let chosen = |numbers: &[u32], streams, quality| {
            choose(&idle(numbers), Some(streams), None, quality).map(|place| numbers[place])
        };
        assert_eq!(chosen(&[0], 1, 2), Some(0));
        assert_eq!(chosen(&[3, 2, 1, 0], 4, 2), Some(2));
        assert_eq!(chosen(&[1, 0], 2, 2), Some(0));
        assert_eq!(chosen(&[3, 1], 4, 2), Some(1), "its own is busy");
        assert_eq!(chosen(&[], 4, 2), None);
    }

    #[test]
    fn a_switch_opens_a_stream_where_any_number_can_be() {
        assert_eq!(choose(&[], None, None, 0), None);
        assert_eq!(choose(&[(0, Some(1))], None, Some(0), 1), Some(0));
        assert_eq!(choose(&[(0, Some(1))], None, Some(0), 2), None);
        assert_eq!(choose(&[(0, Some(1))], None, Some(1), 1), None, "not the one used last");
    }
}
