//! `traffic`: many flows from the server to the client, each over a separate connection, with random sizes and start
//! times.
//!
//! The client opens a connection when a flow is due, whether or not earlier ones are over, and asks for the flow by its
//! number. It confirms with one byte that the flow has arrived completely, as in [`super::bulk`], and closes the
//! connection.

mod draws;
mod request;

use std::sync::Arc;

use async_trait::async_trait;
use netwarp_core::clock::Moment;
use netwarp_core::content_sink::Sink;
use netwarp_core::deadline::Deadline;
use netwarp_transport::error::{Context as _, Result, ensure};
use netwarp_transport::{Connection, Dialer};
use netwarp_wire::content::{Part, Reader};
use netwarp_wire::job::{Content, Job, Traffic};
use netwarp_wire::problems::Problems;
use netwarp_wire::record::{FlowTableRecord, Record, Side};
use tokio::task::JoinSet;

use self::draws::{due_ns, size_bytes};
use self::request::{FlowRequest, PROTOCOL, REQUEST_BYTES};
use super::{End, Finish, Moves, OverConnections, Run, Workload, unless_finished};

/// The byte that confirms that a flow has arrived completely (ASCII's ACK).
const CONFIRMATION: u8 = 0x06;

/// The most flows of a workload: each needs a connection in the guest and room in the records.
const MOST_FLOWS: u32 = 20_000;

/// The most flows that may be in progress at once: each has a waiting thread at either end, and a guest of 1 GiB has
/// room for 8192 threads. On an overloaded path their number would grow without limit.
pub const MOST_OPEN: usize = 3000;

impl Workload for Traffic {
    fn end(&self, _job: &Job, _side: Side) -> End<'_> {
        End::Connections(self)
    }

    fn content_bytes(&self) -> u64 {
        (0..self.flows).map(|number| size_bytes(self, number)).fold(0, u64::saturating_add)
    }

    fn check(&self, _job: &Job, problems: &mut Problems) {
        problems.require((1..=MOST_FLOWS).contains(&self.flows), "workload.flows", || {
            format!("is {}, must lie between 1 and {MOST_FLOWS}", self.flows)
        });
        let is_distribution = self.sizes.first().is_some_and(|point| point.ratio == 0.0 && point.size_bytes > 0)
            && self.sizes.last().is_some_and(|point| point.ratio == 1.0)
            && self.sizes.is_sorted_by(|one, other| one.ratio <= other.ratio && one.size_bytes <= other.size_bytes);
        problems.require(is_distribution, "workload.sizes", || {
            "are no distribution: from a share of 0 to one of 1, and no smaller ones later".to_owned()
        });
    }
}

#[async_trait]
impl OverConnections for Traffic {
    async fn drive(&self, run: &Arc<Run>, dialer: &Arc<dyn Dialer>, _handovers: Moves) -> Result<Vec<Record>> {
        let start_ns = Moment::now().since(0);
        let deadline = Deadline::new()?;
        let mut due = (0..).zip(due_ns(self)).map(|(number, after_ns)| (number, start_ns.saturating_add(after_ns)));
        let mut next = due.next();
        let mut fetching = JoinSet::new();
        let mut table = FlowTableRecord::default();
        loop {
            tokio::select! {
                biased;
                Some(fetched) = fetching.join_next() => {
                    let (number, completed_ns): (u32, u64) = fetched.context("a task panicked")??;
                    table.completed_ns[number as usize] = completed_ns;
                }
                reached = deadline.wait_until(next.map(|(_, at_ns)| at_ns)), if next.is_some() => {
                    reached?;
                    let Some((number, at_ns)) = next else { continue };
                    next = due.next();
                    ensure!(
                        fetching.len() < MOST_OPEN,
                        "{MOST_OPEN} flows are under way at once: choose a smaller load, or fewer flows"
                    );
                    let request = FlowRequest { number, size_bytes: size_bytes(self, number) };
                    table.due_ns.push(at_ns.saturating_sub(run.epoch_ns));
                    table.size_bytes.push(request.size_bytes);
                    table.completed_ns.push(0);
                    fetching.spawn(fetch(run.clone(), dialer.clone(), request));
                }
                else => break,
            }
        }
        Ok(vec![Record::FlowTable(table)])
    }

    async fn serve(
        &self,
        run: &Arc<Run>,
        mut connection: Box<dyn Connection>,
        mut finish: Finish,
    ) -> Result<Vec<Record>> {
        unless_finished(&mut finish, supply(self, run, &mut *connection)).await?;
        unless_finished(&mut finish, connection.closed()).await?;
        Ok(Vec::new())
    }
}

/// Fetches a flow over a separate connection. Returns the flow's number, and when its last byte arrived, in nanoseconds
/// since the run's epoch.
async fn fetch(run: Arc<Run>, dialer: Arc<dyn Dialer>, flow: FlowRequest) -> Result<(u32, u64)> {
    let mut connection = dialer.dial(run.server, false).await?;
    let mut stream = connection.open_stream().await?;
    stream.send(&flow.encode(run.request_prefix(PROTOCOL))).await.context("asking for a flow")?;
    let sink = Sink::new(flow.size_bytes, false).watching_arrivals(run.watched_arrivals()).shared();
    sink.lock().expect("no holder panics").begin();
    stream.receive_content(sink.clone()).await.context("receiving a flow")?;
    stream.send(&[CONFIRMATION]).await.context("confirming a flow")?;
    let received = sink.lock().expect("no holder panics").received()?;
    stream.finish().await?;
    connection.close().await?;
    Ok((flow.number, received.last_byte.since(run.epoch_ns)))
}

/// Receives the request for a flow on a connection, and sends the flow.
async fn supply(traffic: &Traffic, run: &Run, connection: &mut dyn Connection) -> Result<()> {
    let mut stream = connection.accept_stream().await?.context("the client closed without asking for a flow")?;
    let mut encoded = [0; REQUEST_BYTES];
    stream.receive(&mut encoded).await.context("receiving the request for a flow")?;
    let asked = FlowRequest::decode(&encoded, run.request_prefix(PROTOCOL))?;
    let is_ours = asked.number < traffic.flows && asked.size_bytes == size_bytes(traffic, asked.number);
    ensure!(is_ours, "the client asks for {asked:?}, which is no flow of the server's job");
    let content = Content::Seeded { seed: traffic.seed, size_bytes: asked.size_bytes };
    let part = Part { offset_bytes: 0, length_bytes: asked.size_bytes };
    stream.send_content(Reader::open(&content, part, false)?).await.context("sending a flow")?;
    let mut confirmation = [0];
    stream.receive(&mut confirmation).await.context("waiting for the confirmation of a flow")?;
    ensure!(confirmation == [CONFIRMATION], "the client answered {confirmation:?}, which confirms nothing");
    stream.finish().await.map(drop)
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;
    use netwarp_wire::job::{self, SizePoint};

    use super::*;

    #[test]
    fn sizes_that_are_no_distribution_are_refused() {
        let job = golden::job("traffic");
        let job::Workload::Traffic(traffic) = &job.only().workload else { panic!("another workload") };
        let found = |change: fn(&mut Traffic)| {
            let (mut changed, mut problems) = (traffic.clone(), Problems::default());
            change(&mut changed);
            changed.check(&job, &mut problems);
            problems.into_list().len()
        };
        assert_eq!(found(|_| {}), 0);
        assert_eq!(found(|traffic| traffic.flows = MOST_FLOWS + 1), 1);
        assert_eq!(found(|traffic| traffic.sizes.reverse()), 1);
        assert_eq!(found(|traffic| traffic.sizes.push(SizePoint { size_bytes: 1, ratio: 1.0 })), 1);
    }
}
