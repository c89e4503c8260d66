//! The client of `stream`: sends the requests that the player decides on.
//!
//! One segment is fetched at a time, but a segment that a seek makes useless cannot be cancelled. If there is another
//! stream, the segment at the new position is requested at once and shares the path with the rest of the useless one;
//! otherwise it is requested once that has arrived. For a useless segment the records say when it was wanted and when
//! it was cut off; what still arrives of it counts as goodput.
//!
//! If a connection does not continue at the client's new address after a handover, it is given up. The segment that the
//! player wants is requested again over the next connection, from the byte reached; others are dropped.

use std::sync::Arc;

use netwarp_core::clock::Moment;
use netwarp_core::content_sink::{Received, SharedSink, Sink};
use netwarp_core::deadline::Deadline;
use netwarp_transport::error::{Context as _, Error, Kind, Result};
use netwarp_transport::{Connection, Dialer};
use netwarp_wire::job;
use netwarp_wire::record::{PlayerRecord, Record, SegmentRecord};
use netwarp_wire::request_prefix::RequestPrefix;
use tokio::task::JoinSet;

use super::client_connection::ClientConnection;
use super::media::Media;
use super::player::{NextAction, Player, RequestId, WantedSegment};
use super::request::{MediaRequest, MediaRequestKind, PROTOCOL};
use super::rule::{Chooser, Fetched};
use super::stream_slots::StreamSlot;
use crate::{Moves, Run, unless_handed_over};

/// The client of a streaming session: one viewer, one player, one connection at a time.
pub(super) struct Client<'a> {
    run: Arc<Run>,
    dialer: Arc<dyn Dialer>,
    handovers: Moves,
    verify: bool,
    media: Media,
    player: Player,
    chooser: Chooser<'a>,
    deadline: Deadline,
    /// The connection in use; `None` while the client connects.
    connection: Option<ClientConnection>,
    dialing: JoinSet<Result<Box<dyn Connection>>>,
    dialled: Moment,
    /// When the client first tried to open the next connection, if handovers interrupted that attempt.
    first_try: Option<Moment>,
    /// How many connections have been established.
    connections: u32,
    fetching: JoinSet<(Fetch, Result<StreamSlot>)>,
    /// The segment that was being fetched when its connection was given up, if the player still wants it.
    interrupted: Option<Fetch>,
    requests: u32,
    /// The quality of the last request; `None` before the first.
    quality: Option<u32>,
    records: Vec<Record>,
}

/// A segment that has been requested and is being received.
struct Fetch {
    request_id: RequestId,
    wanted: WantedSegment,
    /// The number of the request, in the order of sending.
    request: u32,
    quality: u32,
    bytes: u64,
    sent: Moment,
    sink: SharedSink,
}

impl<'a> Client<'a> {
    /// Creates a client that has not connected yet; its session begins now. Must be called inside the tokio runtime.
    pub(super) fn new(
        run: &'a Arc<Run>,
        requested: &job::Stream,
        dialer: &Arc<dyn Dialer>,
        handovers: Moves,
    ) -> Result<Self> {
        let begin = Moment::now();
        Ok(Self {
            run: run.clone(),
            dialer: dialer.clone(),
            handovers,
            verify: requested.verify,
            media: Media::of(requested),
            player: Player::new(requested, run.job.seed, begin.since(run.epoch_ns)),
            chooser: Chooser::new(requested, &run.job),
            deadline: Deadline::new()?,
            connection: None,
            dialing: JoinSet::new(),
            dialled: begin,
            first_try: None,
            connections: 0,
            fetching: JoinSet::new(),
            interrupted: None,
            requests: 0,
            quality: None,
            records: Vec::new(),
        })
    }

    /// Fetches and plays until the viewer has watched for as long as the job says.
    pub(super) async fn watch(&mut self) -> Result<()> {
        self.dial();
        loop {
            let until_ns = match self.player.next(Moment::now().since(self.run.epoch_ns)) {
                NextAction::Done => break,
                NextAction::Request(wanted) => {
                    if self.ask(wanted).await? {
                        continue;
                    }
                    self.player.next_change_ns()
                }
                NextAction::Wait { until_ns } => until_ns,
            };
            self.wait(until_ns.map(|until_ns| self.run.epoch_ns + until_ns)).await?;
        }
        self.records.extend(self.player.take_cut().into_iter().map(Record::CutSegment));
        let actions = self.player.take_actions();
        self.records.extend(actions.into_iter().map(|(at_ns, action)| Record::Player(PlayerRecord { at_ns, action })));
        Ok(())
    }

    /// Waits until all requested segments have arrived and the streams are closed, but no longer than until a handover,
    /// as the session is over. Returns all records.
    pub(super) async fn close(mut self) -> Result<Vec<Record>> {
        if let Some(mut connection) = self.connection.take() {
            let migrates = connection.migrates();
            match unless_lost(&mut self.handovers, migrates, finish_fetching(&mut connection, &mut self.fetching)).await
            {
                // The connection could not be set up, as the client has no address: it has carried nothing.
                Some(Err(error)) => self.until_handover(error)?,
                Some(Ok(())) => {
                    self.records.extend(connection.record(&self.run, false)?);
                    unless_lost(&mut self.handovers, migrates, connection.close()).await.transpose()?;
                }
                None => self.give_up(&mut connection).await?,
            }
        }
        Ok(self.records)
    }

    /// Waits for the next event (a handover, an arrived segment, a connection, a closed stream) or until `at_ns` of
    /// `CLOCK_MONOTONIC`, and handles it.
    async fn wait(&mut self, at_ns: Option<u64>) -> Result<()> {
        let connection = self.connection.as_mut();
        let closed_stream = async {
            match connection {
                Some(connection) => connection.next_closed_stream().await,
                None => None,
            }
        };
        tokio::select! {
            biased;
            Ok(()) = self.handovers.changed() => self.on_handover().await,
            Some(fetched) = self.fetching.join_next() => {
                let (fetch, slot) = fetched.context("a task panicked")?;
                match slot {
                    Ok(slot) => self.fetched(fetch, slot),
                    Err(error) => {
                        self.interrupted = Some(fetch).filter(|fetch| self.player.wants(fetch.request_id));
                        self.until_handover(error)
                    }
                }
            }
            Some(dialled) = self.dialing.join_next() => {
                self.dialled(dialled.context("a task panicked")?).await
            }
            Some(closed) = closed_stream => closed,
            reached = self.deadline.wait_until(at_ns) => Ok(reached?),
        }
    }

    /// Starts to connect in the background, replacing an earlier attempt.
    fn dial(&mut self) {
        let may_resume = self.connections > 0 || self.handovers.borrow().count > 0;
        let (dialer, server) = (self.dialer.clone(), self.run.server);
        self.dialing = JoinSet::new();
        self.dialled = Moment::now();
        self.dialing.spawn(async move { dialer.dial(server, may_resume).await });
    }

    async fn dialled(&mut self, dialled: Result<Box<dyn Connection>>) -> Result<()> {
        let connection = match dialled {
            Ok(connection) => connection,
            Err(error) => return self.until_handover(error),
        };
        let fixed = super::fixed_streams(&self.run.job.only().transport);
        let prefix = self.run.request_prefix(PROTOCOL);
        let mut connection =
            ClientConnection::over(connection, self.connections, prefix, fixed, self.first_try.take()).await?;
        self.connections += 1;
        self.chooser.start_over();
        if let Some(fetch) = self.interrupted.take().filter(|fetch| self.player.wants(fetch.request_id)) {
            let slot = connection.take(fetch.quality).await?;
            self.fetching.spawn(fetch_over(slot, fetch, connection.number, self.run.request_prefix(PROTOCOL)));
        }
        self.connection = Some(connection);
        Ok(())
    }

    /// Ignores an error if the server is unreachable and another handover follows: until then the client is between two
    /// paths and has no address. Returns any other error.
    fn until_handover(&self, error: Error) -> Result<()> {
        let is_awaited = self.handovers.has_changed()? || self.run.hands_over_after(*self.handovers.borrow());
        if is_awaited && error.kind() == Kind::Unreachable { Ok(()) } else { Err(error) }
    }

    /// Continues after a handover: over the same connection if it migrates, otherwise over a new one.
    async fn on_handover(&mut self) -> Result<()> {
        match self.connection.take() {
            Some(connection) if connection.migrates() => self.connection = Some(connection),
            Some(mut connection) => {
                self.give_up(&mut connection).await?;
                self.dial();
            }
            None => {
                self.first_try.get_or_insert(self.dialled);
                self.dial();
            }
        }
        Ok(())
    }

    /// Gives a connection up, and keeps the segment being fetched for the next connection if the player wants it.
    async fn give_up(&mut self, connection: &mut ClientConnection) -> Result<()> {
        connection.abandon();
        while let Some(fetched) = self.fetching.join_next().await {
            let (fetch, slot) = fetched.context("a task panicked")?;
            match slot {
                Ok(slot) => self.arrived(fetch, connection.number, slot.stream.index())?,
                Err(_) if self.player.wants(fetch.request_id) => self.interrupted = Some(fetch),
                Err(_) => {}
            }
        }
        // A connection that was given up before its handshake was complete has no record.
        self.records.extend(connection.record(&self.run, true)?);
        Ok(())
    }

    /// Requests a segment, if a stream is free for it. Returns whether it was requested.
    async fn ask(&mut self, wanted: WantedSegment) -> Result<bool> {
        let Some(connection) = self.connection.as_mut().filter(|connection| connection.can_carry()) else {
            return Ok(false);
        };
        if wanted.is_first {
            self.chooser.start_over();
        }
        let now_ns = Moment::now().since(self.run.epoch_ns);
        let quality = self.chooser.choose(wanted.ahead_ns, now_ns) as u32;
        if self.quality.replace(quality).is_some_and(|before| before != quality) {
            self.player.switched(quality);
        }
        let part = self.media.part(quality, wanted.segment).context("the player left the medium")?;
        let sink = Sink::new(part.length_bytes, self.verify).watching_arrivals(self.run.watched_arrivals()).shared();
        let (request_id, request) = (self.player.sent(quality), self.requests);
        self.requests += 1;
        let slot = connection.take(quality).await?;
        let fetch = Fetch { request_id, wanted, request, quality, bytes: part.length_bytes, sent: Moment::now(), sink };
        self.fetching.spawn(fetch_over(slot, fetch, connection.number, self.run.request_prefix(PROTOCOL)));
        Ok(true)
    }

    /// Handles a segment that has arrived over the current connection, and puts its stream back among the idle ones.
    fn fetched(&mut self, fetch: Fetch, slot: StreamSlot) -> Result<()> {
        let connection = self.connection.as_mut().context("a segment came over no connection")?;
        let (number, stream) = (connection.number, slot.stream.index());
        connection.put_back(slot);
        self.arrived(fetch, number, stream)
    }

    /// Records a segment that has arrived and gives it to the player, if the player still wants it.
    fn arrived(&mut self, fetch: Fetch, connection: u32, stream: u32) -> Result<()> {
        let Fetch { request_id, wanted, request, quality, bytes, sent, sink } = fetch;
        if !self.player.wants(request_id) {
            return Ok(());
        }
        let Received { first_byte, last_byte, sha256, .. } = sink.lock().expect("no holder panics").received()?;
        let [sent_ns, first_byte_ns, last_byte_ns] =
            [sent, first_byte, last_byte].map(|moment| moment.since(self.run.epoch_ns));
        let (first_byte_delay_ns, duration_ns) = (first_byte_ns - sent_ns, last_byte_ns - sent_ns);
        self.chooser.record(Fetched { bytes, first_byte_delay_ns, duration_ns });
        self.records.push(Record::Segment(SegmentRecord {
            request,
            segment: wanted.segment,
            quality,
            connection,
            stream,
            bytes,
            requested_ns: wanted.since_ns,
            first_byte_ns,
            last_byte_ns,
            buffer_ns: wanted.ahead_ns,
            sha256,
        }));
        self.player.arrived(request_id, last_byte_ns);
        Ok(())
    }
}

/// Waits for all requested segments, then closes the streams. The future may be dropped, and the function called again.
async fn finish_fetching(
    connection: &mut ClientConnection,
    fetching: &mut JoinSet<(Fetch, Result<StreamSlot>)>,
) -> Result<()> {
    while let Some(fetched) = fetching.join_next().await {
        let (_, slot) = fetched.context("a task panicked")?;
        connection.put_back(slot?);
    }
    connection.say_farewell().await
}

/// Returns the result of `work`, or `None` if a handover occurs first and the connection does not migrate.
async fn unless_lost<T>(handovers: &mut Moves, migrates: bool, work: impl Future<Output = T>) -> Option<T> {
    match migrates {
        true => Some(work.await),
        false => unless_handed_over(handovers, work).await,
    }
}

/// Requests and receives the bytes of a segment that are still missing. Returns the segment, and its stream for the
/// next one.
async fn fetch_over(
    slot: StreamSlot,
    fetch: Fetch,
    connection: u32,
    prefix: RequestPrefix,
) -> (Fetch, Result<StreamSlot>) {
    let slot = fill(slot, &fetch, connection, prefix).await;
    (fetch, slot)
}

async fn fill(mut slot: StreamSlot, fetch: &Fetch, connection: u32, prefix: RequestPrefix) -> Result<StreamSlot> {
    let (quality, segment) = (fetch.quality, fetch.wanted.segment);
    let offset_bytes = fetch.sink.lock().expect("no holder panics").position_bytes();
    let request = MediaRequest { connection, what: MediaRequestKind::Segment { quality, segment, offset_bytes } };
    slot.stream.send(&request.encode(prefix)).await.with_context(|| format!("requesting for segment {segment}"))?;
    let received = slot.stream.receive_content(fetch.sink.clone()).await;
    received.with_context(|| format!("receiving segment {segment}"))?;
    Ok(slot)
}
