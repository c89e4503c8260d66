//! The client of `bulk`: opens the connections of each transfer, and divides its chunks among them.

use std::sync::Arc;

use netwarp_core::clock::Moment;
use netwarp_core::content_sink::Sink;
use netwarp_transport::error::{Context as _, Kind, Result};
use netwarp_transport::{Connection, Dialer};
use netwarp_wire::job::{self, Dial};
use netwarp_wire::record::{Record, Side};
use tokio::task::JoinSet;

use super::share::{Chunk, Share, StreamSlot};
use super::{Bulk, join_all, time_over};
use crate::{Moves, Run, unless_handed_over};

/// Carries out the client's part of the workload.
pub(super) async fn drive(
    run: &Arc<Run>,
    requested: &job::Bulk,
    dialer: &Arc<dyn Dialer>,
    handovers: Moves,
) -> Result<Vec<Record>> {
    let until_ns = requested.duration_ns.map(|duration_ns| Moment::now().since(0).saturating_add(duration_ns));
    let bulk = Bulk { until_ns, ..Bulk::of(run, requested, Side::Client) };
    let mut client = Client { bulk, dialer: dialer.clone(), handovers, attempt: 0 };
    let mut records = Vec::new();
    for transfer in 0..requested.transfers {
        records.append(&mut client.transfer(transfer).await?);
    }
    Ok(records)
}

struct Client {
    bulk: Bulk,
    dialer: Arc<dyn Dialer>,
    handovers: Moves,
    /// How often in the run the client has given up connections with requests and reconnected.
    attempt: u32,
}

/// The outcome of opening the connections of a transfer.
enum Dialled {
    /// All are established, in order.
    Connected(Vec<Box<dyn Connection>>),
    /// A handover occurred before all were established.
    Moved,
    /// The transfer's time was over before all were established.
    TimeOver,
}

impl Client {
    /// Carries out one transfer, over as many connections as the client's handovers make necessary.
    async fn transfer(&mut self, transfer: u32) -> Result<Vec<Record>> {
        let shares = (0..self.bulk.layout.connections).map(|number| self.share(transfer, number));
        let mut remaining: Vec<Share> = shares.collect::<Result<_>>()?;
        let mut records = Vec::new();
        while !remaining.is_empty() {
            // The dialer already knows of the handovers so far.
            self.handovers.mark_unchanged();
            let dialled = Moment::now();
            let connections = match self.dial(transfer, remaining.len()).await? {
                Dialled::Connected(connections) => connections,
                Dialled::Moved => {
                    remaining.iter_mut().for_each(|share| _ = share.first_try.get_or_insert(dialled));
                    continue;
                }
                Dialled::TimeOver => {
                    records.extend(remaining.iter().flat_map(|share| self.not_connected(share, transfer)));
                    return Ok(records);
                }
            };
            let mut requesting = JoinSet::new();
            for (share, connection) in remaining.drain(..).zip(connections) {
                requesting.spawn(self.bulk.clone().run_share(
                    connection,
                    share,
                    (transfer, self.attempt),
                    self.handovers.clone(),
                ));
            }
            let mut requested = join_all(requesting).await?;
            requested.sort_by_key(|requested| requested.number);
            for requested in requested {
                records.extend(requested.records);
                remaining.extend(requested.remaining);
            }
            self.attempt += u32::from(!remaining.is_empty());
        }
        records.extend(self.bulk.merge(transfer)?);
        Ok(records)
    }

    /// Returns the records of a share if the transfer's time was over before its connection was established: nothing
    /// has arrived.
    fn not_connected(&self, share: &Share, transfer: u32) -> Vec<Record> {
        let broken_off = |slot| self.bulk.broken_off(slot, 0, (transfer, self.attempt)).records;
        share.slots.iter().flat_map(broken_off).collect()
    }

    fn share(&self, transfer: u32, number: u32) -> Result<Share> {
        let Bulk { layout, requested, run, .. } = &self.bulk;
        let chunk = |chunk| {
            let sink =
                Sink::new(layout.part(chunk).length_bytes, requested.verify).watching_arrivals(run.watched_arrivals());
            let sink = sink.writing_to(self.bulk.chunk_file(transfer, chunk)?);
            Ok(Chunk { number: chunk, sink: sink.shared() })
        };
        let slot = |slot| {
            let chunks = layout.chunks_of(slot).map(chunk).collect::<Result<_>>()?;
            Ok(StreamSlot { number: slot, chunks })
        };
        let slots = (number * layout.streams..(number + 1) * layout.streams).map(slot).collect::<Result<_>>()?;
        Ok(Share { number, slots, first_try: None })
    }

    /// Opens `count` connections and returns them in order once all are connected. They may resume sessions (TLS, QUIC)
    /// of earlier transfers, but not each other's; after a handover, they may resume any. Stops if a handover occurs,
    /// or if the transfer's time is over.
    async fn dial(&mut self, transfer: u32, count: usize) -> Result<Dialled> {
        let may_resume = transfer > 0 || self.handovers.borrow().count > 0;
        let (dialer, server, order) = (self.dialer.clone(), self.bulk.run.server, self.bulk.requested.dial);
        let until_ns = self.bulk.until_ns;
        let dialling = async {
            tokio::select! {
                biased;
                dialled = dial_all(dialer, server, count, may_resume, order) => dialled.map(Dialled::Connected),
                over = time_over(until_ns) => over.map(|()| Dialled::TimeOver),
            }
        };
        match unless_handed_over(&mut self.handovers, dialling).await {
            None => Ok(Dialled::Moved),
            Some(Ok(dialled)) => Ok(dialled),
            Some(Err(error)) => {
                let is_awaited =
                    self.handovers.has_changed()? || self.bulk.run.hands_over_after(*self.handovers.borrow());
                if !is_awaited || error.kind() != Kind::Unreachable {
                    return Err(error);
                }
                // The client has no address between two paths: nothing can be done before the next handover.
                self.handovers.changed().await.context("waiting for the next path")?;
                Ok(Dialled::Moved)
            }
        }
    }
}

async fn dial_all(
    dialer: Arc<dyn Dialer>,
    server: std::net::SocketAddr,
    count: usize,
    may_resume: bool,
    order: Dial,
) -> Result<Vec<Box<dyn Connection>>> {
    let mut connections = Vec::new();
    match order {
        Dial::Sequential => {
            for _ in 0..count {
                connections.push(dialer.dial(server, may_resume).await?);
            }
        }
        Dial::Parallel => {
            let mut dialling = JoinSet::new();
            for number in 0..count {
                let dialer = dialer.clone();
                dialling.spawn(async move { Ok((number, dialer.dial(server, may_resume).await?)) });
            }
            let mut dialled = join_all(dialling).await?;
            dialled.sort_by_key(|(number, _)| *number);
            connections.extend(dialled.into_iter().map(|(_, connection)| connection));
        }
    }
    Ok(connections)
}
