//! Chooses the stream of a connection for the next segment.
//!
//! After a switch of quality the next segment uses another stream, where the transport has several: a new one if it can
//! open any number (`quic`), otherwise the one with the quality's number (`sctp`), or any idle one if that is busy.

use netwarp_transport::error::Result;
use netwarp_transport::{Connection, Stream};

/// A stream that is idle, so that the next request can be sent on it.
pub(super) struct StreamSlot {
    pub stream: Box<dyn Stream>,
    /// The quality of the last segment on the stream, if there was one.
    pub quality: Option<u32>,
}

/// The idle streams of a connection.
pub(super) struct StreamSlots {
    /// How many streams the connection has from its start; `None` if it can open any number.
    fixed: Option<u32>,
    idle: Vec<StreamSlot>,
    /// The number of the stream that was used last.
    current: Option<u32>,
}

impl StreamSlots {
    /// Opens all streams of a new connection if their number is fixed, because the server waits for all of them.
    pub(super) async fn open(connection: &mut dyn Connection, fixed: Option<u32>) -> Result<Self> {
        let mut idle = Vec::new();
        for _ in 0..fixed.unwrap_or(0) {
            idle.push(StreamSlot { stream: connection.open_stream().await?, quality: None });
        }
        Ok(Self { fixed, idle, current: None })
    }

    /// Returns whether a segment can be requested now.
    pub(super) fn can_carry(&self) -> bool {
        self.fixed.is_none() || !self.idle.is_empty()
    }

    /// Returns a stream for a segment of this quality; one must be [available](Self::can_carry).
    pub(super) async fn take(&mut self, connection: &mut dyn Connection, quality: u32) -> Result<StreamSlot> {
        let idle: Vec<(u32, Option<u32>)> = self.idle.iter().map(|slot| (slot.stream.index(), slot.quality)).collect();
        let mut slot = match choose(&idle, self.fixed, self.current, quality) {
            Some(place) => self.idle.swap_remove(place),
            None => StreamSlot { stream: connection.open_stream().await?, quality: None },
        };
        (slot.quality, self.current) = (Some(quality), Some(slot.stream.index()));
        Ok(slot)
    }

    /// Puts a stream back that is idle again.
    pub(super) fn put_back(&mut self, slot: StreamSlot) {
        self.idle.push(slot);
    }

    /// Removes and returns the idle streams that will not be used again.
    pub(super) fn take_outdated(&mut self) -> Vec<StreamSlot> {
        let current = self.current.filter(|_| self.fixed.is_none());
        let is_outdated = |slot: &StreamSlot| current.is_some_and(|current| slot.stream.index() != current);
        let (outdated, idle) = std::mem::take(&mut self.idle).into_iter().partition(is_outdated);
        self.idle = idle;
        outdated
    }

    /// Removes and returns all idle streams.
    pub(super) fn take_idle(&mut self) -> Vec<StreamSlot> {
        std::mem::take(&mut self.idle)
    }
}

/// Returns the index of the stream to use among the idle ones, each given by its number and last quality; `None` for a
/// new stream.
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
