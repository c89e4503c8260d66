//! The division of content into chunks, and the stream and the connection that carries each. Pure.
//!
//! Chunk i of n is the i-th of n equal parts; the last also takes the remainder. A transfer has as many *stream slots*
//! (streams that are open at the same time) as it has chunks. Where a connection carries one stream, each slot has its
//! own connection; otherwise all slots are on one connection. Where that connection has fewer streams than the transfer
//! has chunks (SCTP), a slot carries several chunks, one after another: chunk i is on stream i modulo the number of
//! streams.

use netwarp_transport::stack_of;
use netwarp_wire::content::Part;
use netwarp_wire::job::{Bulk, Transport};

/// The stream slots of every transfer of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    size_bytes: u64,
    chunks: u32,
    /// The number of connections of a transfer.
    pub connections: u32,
    /// The number of streams of a connection that carry chunks.
    pub streams: u32,
    /// Whether a connection has more than one stream.
    pub is_multiplexed: bool,
}

impl Layout {
    /// Returns the layout of a bulk workload over a transport.
    pub(super) fn of(bulk: &Bulk, transport: &Transport) -> Self {
        let chunks = bulk.chunks;
        let most_streams = stack_of(transport.kind).most_streams(transport);
        let (connections, streams) = match most_streams {
            1 => (chunks, 1),
            streams => (1, streams.min(chunks)),
        };
        let (size_bytes, is_multiplexed) = (bulk.content.size_bytes(), most_streams > 1);
        Self { size_bytes, chunks, connections, streams, is_multiplexed }
    }

    /// Returns the offset and the length of a chunk in the content.
    pub(super) fn part(&self, chunk: u32) -> Part {
        Part::of_chunk(self.size_bytes, self.chunks, chunk)
    }

    /// Returns the parts of all chunks in order; together they are the content.
    pub(super) fn parts(&self) -> Vec<Part> {
        (0..self.chunks).map(|chunk| self.part(chunk)).collect()
    }

    /// Returns the numbers of the chunks of a slot. The first equals the slot's number.
    pub(super) fn chunks_of(&self, slot: u32) -> impl Iterator<Item = u32> + use<> {
        (slot..self.chunks).step_by(self.slots() as usize)
    }

    /// Returns the number of stream slots of a transfer, which carry its chunks.
    pub(super) fn slots(&self) -> u32 {
        self.connections * self.streams
    }

    /// Returns the number of the connection that carries a slot, counted over the whole run.
    ///
    /// # Arguments
    /// * `attempt` - how often in the run the client had reconnected before.
    pub(super) fn connection(&self, transfer: u32, attempt: u32, slot: u32) -> u32 {
        (transfer + attempt) * self.connections + slot / self.streams
    }
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;
    use netwarp_wire::job::{TransportKind, Workload};

    use super::*;

    fn layout(kind: TransportKind, sctp_streams: u16, chunks: u32) -> Layout {
        let mut job = golden::job("bulk-quic");
        job.only_mut().transport.kind = kind;
        job.only_mut().transport.sctp.streams = sctp_streams;
        let Workload::Bulk(bulk) = &mut job.only_mut().workload else { panic!("the golden job is bulk") };
        bulk.content = netwarp_wire::job::Content::Seeded { seed: 1, size_bytes: 1000 };
        bulk.chunks = chunks;
        let bulk = bulk.clone();
        Layout::of(&bulk, &job.only().transport)
    }

    #[test]
    fn parts_tile_the_content() {
        for chunks in [1, 2, 3, 7, 100] {
            let parts = layout(TransportKind::Tcp, 1, chunks).parts();
            let mut end_bytes = 0;
            for part in &parts {
                assert_eq!(part.offset_bytes, end_bytes);
                assert!(part.length_bytes >= parts[0].length_bytes);
                end_bytes += part.length_bytes;
            }
            assert_eq!((parts.len(), end_bytes), (chunks as usize, 1000));
        }
        assert_eq!(layout(TransportKind::Tcp, 1, 7).part(6), Part { offset_bytes: 852, length_bytes: 148 });
    }

    #[test]
    fn slots_are_connections_or_streams_and_carry_every_chunk_once() {
        let cases = [
            (TransportKind::Tcp, 1, 5, (5, 1)),
            (TransportKind::Tls, 1, 1, (1, 1)),
            (TransportKind::Sctp, 1, 5, (5, 1)),
            (TransportKind::Sctp, 2, 5, (1, 2)),
            (TransportKind::Sctp, 9, 5, (1, 5)),
            (TransportKind::Quic, 1, 5, (1, 5)),
        ];
        for (kind, sctp_streams, chunks, expected) in cases {
            let of_job = layout(kind, sctp_streams, chunks);
            assert_eq!((of_job.connections, of_job.streams), expected, "{kind:?}");
            let mut carried: Vec<u32> = (0..of_job.slots()).flat_map(|slot| of_job.chunks_of(slot)).collect();
            carried.sort_unstable();
            assert_eq!(carried, (0..chunks).collect::<Vec<_>>(), "{kind:?}");
        }
        let two_streams = layout(TransportKind::Sctp, 2, 5);
        assert_eq!(two_streams.chunks_of(1).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn connections_are_numbered_through_the_run() {
        let apart = layout(TransportKind::Tcp, 1, 3);
        assert_eq!((apart.connection(0, 0, 2), apart.connection(2, 0, 1)), (2, 7));
        // The connection of a transfer that was dialled again, and that of the next transfer.
        assert_eq!((apart.connection(0, 1, 0), apart.connection(1, 1, 0)), (3, 6));
        let together = layout(TransportKind::Quic, 1, 3);
        assert_eq!((together.connection(0, 0, 2), together.connection(2, 0, 1)), (0, 2));
    }
}
