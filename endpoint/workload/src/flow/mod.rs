//! `flow`: messages of one size, each sent when it is due, over one connection.
//!
//! If the client is the sender, it begins at once. If it is the receiver, it first sends a request of one byte. Where
//! messages may be lost, nothing is confirmed: after the last message is due, the receiver waits for as long as a
//! packet may be in flight ([`drain`]), and so does a client that has sent. Otherwise the receiver confirms with one
//! byte that it has received everything, as in [`super::bulk`].
//!
//! Where hosts outside the run could reach the server, a client always sends a request, which begins with the run's
//! token. A client that sends messages first waits until the server permits it, so that no message arrives before the
//! server has checked the token.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use netwarp_core::clock::Moment;
use netwarp_core::deadline::Deadline;
use netwarp_core::flow::{MessageSink, Pacer, Schedule};
use netwarp_transport::error::{Context as _, Kind, Result, ensure};
use netwarp_transport::stack_of;
use netwarp_transport::{Connection, Dialer, Stream};
use netwarp_wire::job::{Direction, Flow, Job};
use netwarp_wire::record::{Record, Side};
use netwarp_wire::request_prefix::RequestPrefix;

use super::{End, Finish, Moves, OverConnections, Run, Workload, connection_record, unless_finished};

/// The byte that requests the flow, or permission to send it (ASCII's ENQ).
const REQUEST: u8 = 0x05;

/// The byte that confirms that all messages have arrived, or permits the client to send (ASCII's ACK).
const CONFIRMATION: u8 = 0x06;

/// How many times a server sends its permission to send, where packets may be lost.
const PERMISSIONS: usize = 3;

/// How much longer than the longest possible delay of the path the receiver waits for a message.
const DRAIN_MARGIN: Duration = Duration::from_secs(1);

impl Workload for Flow {
    fn end(&self, _job: &Job, _side: Side) -> End<'_> {
        End::Connections(self)
    }

    fn content_bytes(&self) -> u64 {
        self.messages().saturating_mul(self.message_bytes.into())
    }

    fn messages(&self) -> u64 {
        let (messages, _) = Schedule::of(self).extent();
        messages
    }

    fn direction(&self) -> Direction {
        self.direction
    }

    /// Returns the direction in which the router must record packets: the flow's, if its receiver cannot see single
    /// packets and the run has one path; otherwise `None`.
    fn watched_direction(&self, job: &Job) -> Option<Direction> {
        let is_seen = stack_of(job.only().transport.kind).has_message_packets() || job.paths.len() > 1;
        (!is_seen).then_some(self.direction)
    }
}

#[async_trait]
impl OverConnections for Flow {
    async fn drive(&self, run: &Arc<Run>, dialer: &Arc<dyn Dialer>, _handovers: Moves) -> Result<Vec<Record>> {
        let mut connection = dialer.dial(run.server, false).await?;
        let mut stream = connection.open_stream().await?;
        let mut records = match self.direction {
            Direction::Up => {
                if run.token.is_some() {
                    stream.request(&request(run.token), Duration::ZERO).await.context("asking to send the flow")?;
                    stream.receive(&mut [0]).await.context("waiting for the server to agree")?;
                }
                send(self, run, Side::Client, &mut *stream).await?
            }
            Direction::Down => {
                match stream.request(&request(run.token), later(self, &run.job)).await.context("asking for the flow") {
                    // Nothing has arrived, and nothing will.
                    Err(error)
                        if error.kind() == Kind::TimedOut
                            && stream.packet_header_bytes().is_some()
                            && run.token.is_none() =>
                    {
                        sink(self, run, stream.packet_header_bytes()).finish(&run.directory)?
                    }
                    asked => {
                        asked?;
                        receive(self, run, &mut *stream).await?
                    }
                }
            }
        };
        if self.direction == Direction::Up && stream.packet_header_bytes().is_some() {
            let at_ns = Moment::now().since(0) + nanoseconds(drain(&run.job));
            Deadline::new()?.wait_until(Some(at_ns)).await?;
        }
        records.splice(0..0, connection_record(run, Side::Client, &*connection, false)?.map(Record::Connection));
        stream.finish().await?;
        connection.close().await?;
        Ok(records)
    }

    async fn serve(
        &self,
        run: &Arc<Run>,
        mut connection: Box<dyn Connection>,
        mut finish: Finish,
    ) -> Result<Vec<Record>> {
        let mut stream = connection.accept_stream().await?.context("the client closed without opening a stream")?;
        let mut records = match self.direction {
            Direction::Up => {
                if run.token.is_some() {
                    accept_request(run.token, &mut *stream).await?;
                    permit(&mut *stream).await?;
                }
                receive(self, run, &mut *stream).await?
            }
            Direction::Down => {
                accept_request(run.token, &mut *stream).await?;
                send(self, run, Side::Server, &mut *stream).await?
            }
        };
        // The record is taken now: an SCTP association has no state left once its peer has shut it down.
        records.splice(0..0, connection_record(run, Side::Server, &*connection, false)?.map(Record::Connection));
        unless_finished(&mut finish, stream.finish()).await?;
        unless_finished(&mut finish, connection.closed()).await?;
        Ok(records)
    }

    fn unreached(&self, run: &Run) -> Result<Vec<Record>> {
        let may_be_lost = stack_of(run.job.only().transport.kind).has_message_packets();
        if self.direction == Direction::Down || !may_be_lost {
            return Ok(Vec::new());
        }
        Ok(sink(self, run, Some(0)).finish(&run.directory)?)
    }
}

/// Returns the request for a flow as sent: the run's token, if it has one, and [`REQUEST`].
fn request(token: Option<RequestPrefix>) -> Vec<u8> {
    token.map_or_else(Vec::new, |token| token.0.to_vec()).into_iter().chain([REQUEST]).collect()
}

/// Receives the request for the flow.
///
/// # Errors
/// The request does not have the run's token.
async fn accept_request(token: Option<RequestPrefix>, stream: &mut dyn Stream) -> Result<()> {
    let mut asked = request(token);
    stream.receive(&mut asked).await.context("receiving the request")?;
    let (prefix, _) = asked.split_at(asked.len() - 1);
    ensure!(token.is_none_or(|token| token.is(prefix)), "who asks for the flow is a stranger");
    Ok(())
}

/// Sends the client the permission to send.
async fn permit(stream: &mut dyn Stream) -> Result<()> {
    let times = if stream.packet_header_bytes().is_some() { PERMISSIONS } else { 1 };
    for _ in 0..times {
        stream.send(&[CONFIRMATION]).await.context("agreeing to the flow")?;
    }
    Ok(())
}

async fn send(flow: &Flow, run: &Run, side: Side, stream: &mut dyn Stream) -> Result<Vec<Record>> {
    let pacer = stream.send_messages(Pacer::of(flow, run.epoch_ns)).await.context("sending the flow")?;
    if stream.packet_header_bytes().is_none() {
        stream.receive(&mut [0]).await.context("waiting for the receiver's confirmation")?;
    }
    Ok(vec![Record::FlowSent(pacer.record(side))])
}

async fn receive(flow: &Flow, run: &Run, stream: &mut dyn Stream) -> Result<Vec<Record>> {
    let sink = sink(flow, run, stream.packet_header_bytes());
    let sink = stream.receive_messages(sink, drain(&run.job)).await.context("receiving the flow")?;
    if stream.packet_header_bytes().is_none() {
        stream.send(&[CONFIRMATION]).await.context("confirming the flow")?;
    }
    Ok(sink.finish(&run.directory)?)
}

/// Returns an empty sink for the flow's messages.
///
/// # Arguments
/// * `packet_header_bytes` - the size of a packet's headers, if each message is a packet.
fn sink(flow: &Flow, run: &Run, packet_header_bytes: Option<u64>) -> MessageSink {
    let sink = MessageSink::of(flow, run.epoch_ns, packet_header_bytes);
    // Arrivals are logged over time only beside other workloads.
    sink.watching_arrivals(run.watched_arrivals().filter(|_| run.job.only().name.is_some()))
}

/// Returns how long after the request the first message of a flow may arrive: the first may be due late, and the path
/// may be interrupted until the last change of the timeline.
fn later(flow: &Flow, job: &Job) -> Duration {
    let first_ns = Schedule::of(flow).next().unwrap_or(0);
    let changed_ns = job.timeline.events.iter().map(|event| event.at_ns).max().unwrap_or(0);
    Duration::from_nanos(first_ns.saturating_add(changed_ns)) + drain(job)
}

/// Returns how long the receiver waits for a message after it was due. A message that takes longer counts as lost.
pub(super) fn drain(job: &Job) -> Duration {
    job.longest_way() + DRAIN_MARGIN
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
