//! The player and its viewer: a state machine whose caller passes the time, in nanoseconds since the run's epoch. Pure.
//!
//! The buffer's level follows from what arrived and what was played, so every event has its exact time, whenever the
//! caller asks. The viewer's seeks are drawn at full seconds of the viewer's clock: the n-th second has the same draw
//! in every run of a seed, with any transport.
//!
//! The medium repeats: after its last segment comes its first. Segments beyond the play time that the viewer will watch
//! are not requested.

use std::mem::take;

use netwarp_wire::job::{Stream, ViewerClock};
use netwarp_wire::record::{Action, CutCause, CutSegmentRecord};
use netwarp_wire::seeded::splitmix64;

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// The player's next action, or the event for which it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextAction {
    /// Request this segment, as soon as a stream is free for it.
    Request(WantedSegment),
    /// Wait for the requested segment, or for room in the buffer: before `until_ns` nothing changes unless a segment
    /// arrives.
    Wait {
        /// The time until which nothing changes, in nanoseconds since the run's epoch; `None` if nothing changes before
        /// a segment arrives.
        until_ns: Option<u64>,
    },
    /// The viewer has watched for as long as the job says.
    Done,
}

/// A segment that the player requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WantedSegment {
    /// The index of the segment in the medium.
    pub segment: u32,
    /// When the player began to want the segment, in nanoseconds since the run's epoch.
    pub since_ns: u64,
    /// The play time that was buffered at that time, in nanoseconds.
    pub ahead_ns: u64,
    /// Whether the segment is the first of the session or after a seek.
    pub is_first: bool,
}

/// Identifies a request that was sent, so that the player recognises segments that it no longer wants after a seek.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestId(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The player waits until enough is buffered to start or resume playback.
    Waiting,
    Playing,
    Ended,
}

/// A request that was sent and has not been answered.
#[derive(Debug, Clone, Copy)]
struct SentRequest {
    id: RequestId,
    wanted: WantedSegment,
    quality: u32,
}

/// The state machine of a player and its viewer.
#[derive(Debug)]
pub(super) struct Player {
    media: Stream,
    draws: Draws,
    phase: Phase,
    /// When the session began, in nanoseconds since the run's epoch.
    begin_ns: u64,
    /// The time up to which the state has been advanced, in nanoseconds since the run's epoch.
    now_ns: u64,
    /// The buffered play time, in nanoseconds.
    ahead_ns: u64,
    watched_ns: u64,
    /// The viewer's time, in nanoseconds, of the next draw that decides whether the viewer seeks.
    next_draw_ns: u64,
    /// The index of the segment that is being fetched or is fetched next.
    segment: u32,
    /// Whether nothing has been requested since the session began or since the viewer's last seek.
    is_new_place: bool,
    wanted: Option<WantedSegment>,
    sent: Option<SentRequest>,
    tickets: u32,
    actions: Vec<(u64, Action)>,
    cut: Vec<CutSegmentRecord>,
}

impl Player {
    /// Creates a player at the medium's first segment, with an empty buffer.
    ///
    /// # Arguments
    /// * `media` - the medium of a valid job.
    /// * `seed` - the seed from which the viewer's seeks are drawn.
    /// * `begin_ns` - when the session begins, in nanoseconds after the run's epoch.
    pub(super) fn new(media: &Stream, seed: u64, begin_ns: u64) -> Self {
        Self {
            media: media.clone(),
            draws: Draws { seed, drawn: 0 },
            phase: Phase::Waiting,
            begin_ns,
            now_ns: begin_ns,
            ahead_ns: 0,
            watched_ns: 0,
            next_draw_ns: NANOSECONDS_PER_SECOND,
            segment: 0,
            is_new_place: true,
            wanted: None,
            sent: None,
            tickets: 0,
            actions: Vec::new(),
            cut: Vec::new(),
        }
    }

    /// Returns the client's next action at `now_ns`, which must not decrease from call to call.
    pub(super) fn next(&mut self, now_ns: u64) -> NextAction {
        self.advance(now_ns, true);
        if self.phase == Phase::Ended {
            return NextAction::Done;
        }
        let until_ns = self.next_change_ns();
        if self.sent.is_some() || self.ahead_ns >= self.unwatched_ns() {
            return NextAction::Wait { until_ns };
        }
        let beyond_ns = (self.ahead_ns + self.media.segment_ns).saturating_sub(self.media.buffer_ns);
        if beyond_ns > 0 {
            let room_ns = self.now_ns + beyond_ns;
            return NextAction::Wait { until_ns: Some(until_ns.map_or(room_ns, |until_ns| until_ns.min(room_ns))) };
        }
        let (segment, is_first) = (self.segment, self.is_new_place);
        let wanted = WantedSegment { segment, since_ns: self.now_ns, ahead_ns: self.ahead_ns, is_first };
        NextAction::Request(*self.wanted.get_or_insert(wanted))
    }

    /// Returns when a seek or the end of the session can next change the player's request, if no segment arrives
    /// before; `None` if playback stalls before.
    pub(super) fn next_change_ns(&self) -> Option<u64> {
        let draws_ns = if self.media.seek_ratio > 0.0 { self.until_draw_ns() } else { u64::MAX };
        let next_ns = draws_ns.min(self.unwatched_ns());
        let is_reached = match self.media.viewer_clock {
            ViewerClock::Wall => self.phase != Phase::Ended,
            ViewerClock::Play => self.phase == Phase::Playing && next_ns <= self.ahead_ns,
        };
        is_reached.then_some(self.now_ns + next_ns)
    }

    /// Records that the request for the wanted segment has been sent, in this quality.
    ///
    /// # Panics
    /// [`next`](Self::next) has not returned a request since the last one was sent.
    pub(super) fn sent(&mut self, quality: u32) -> RequestId {
        let id = RequestId(self.tickets);
        self.tickets += 1;
        let wanted = self.wanted.take().expect("the player wants what is requested");
        (self.sent, self.is_new_place) = (Some(SentRequest { id, wanted, quality }), false);
        id
    }

    /// Returns whether the player still wants the segment of this request.
    pub(super) fn wants(&self, request_id: RequestId) -> bool {
        self.sent.is_some_and(|sent| sent.id == request_id)
    }

    /// Records a change of the requested quality, as an action of the player.
    pub(super) fn switched(&mut self, quality: u32) {
        self.act(Action::Switch { quality });
    }

    /// Puts a segment that has arrived into the buffer. It is in time even if the buffer runs out at exactly `now_ns`.
    pub(super) fn arrived(&mut self, request_id: RequestId, now_ns: u64) {
        self.advance(now_ns, false);
        if !self.wants(request_id) {
            return;
        }
        self.sent = None;
        self.ahead_ns += self.media.segment_ns;
        self.segment = (self.segment + 1) % self.media.segments;
        let enough_ns = self.media.start_buffer_ns.min(self.unwatched_ns());
        if self.phase == Phase::Waiting && self.ahead_ns >= enough_ns {
            self.phase = Phase::Playing;
            self.act(Action::Play { segment: self.first_at_hand() });
        }
    }

    /// Returns the player's actions since the last call, in order of time.
    pub(super) fn take_actions(&mut self) -> Vec<(u64, Action)> {
        take(&mut self.actions)
    }

    /// Returns the segments that seeks and the end of the session have cut off since the last call, in order of time.
    pub(super) fn take_cut(&mut self) -> Vec<CutSegmentRecord> {
        take(&mut self.cut)
    }

    /// Advances the state to `now_ns`: plays, stalls, seeks, or ends the session.
    ///
    /// # Arguments
    /// * `included` - whether events at exactly `now_ns` are handled too.
    fn advance(&mut self, now_ns: u64, included: bool) {
        while self.phase != Phase::Ended {
            let is_playing = self.phase == Phase::Playing;
            let is_counting = is_playing || self.media.viewer_clock == ViewerClock::Wall;
            let buffer_ns = if is_playing { self.ahead_ns } else { u64::MAX };
            let viewer_ns = if is_counting { self.unwatched_ns().min(self.until_draw_ns()) } else { u64::MAX };
            let passing_ns = buffer_ns.min(viewer_ns);
            let left_ns = now_ns.saturating_sub(self.now_ns);
            if passing_ns > left_ns || passing_ns == left_ns && !included {
                self.pass(left_ns);
                break;
            }
            self.pass(passing_ns);
            if is_counting && self.unwatched_ns() == 0 {
                self.phase = Phase::Ended;
                self.cut_off(CutCause::End);
                self.act(Action::End {});
            } else if is_counting && self.until_draw_ns() == 0 {
                self.next_draw_ns += NANOSECONDS_PER_SECOND;
                self.seek_if_drawn();
            } else {
                self.phase = Phase::Waiting;
                self.act(Action::Stall {});
            }
        }
    }

    fn pass(&mut self, duration_ns: u64) {
        self.now_ns += duration_ns;
        if self.phase == Phase::Playing {
            self.watched_ns += duration_ns;
            self.ahead_ns -= duration_ns;
        }
    }

    fn seek_if_drawn(&mut self) {
        if self.draws.share() >= self.media.seek_ratio {
            return;
        }
        self.cut_off(CutCause::Seek);
        self.segment = self.draws.below(self.media.segments);
        (self.phase, self.ahead_ns, self.is_new_place) = (Phase::Waiting, 0, true);
        self.act(Action::Seek { segment: self.segment });
    }

    /// Gives up the segment that is wanted, whether or not it has been requested, and records that.
    fn cut_off(&mut self, cause: CutCause) {
        let (wanted, sent) = (self.wanted.take(), self.sent.take());
        if let Some(wanted) = sent.map(|sent| sent.wanted).or(wanted) {
            self.cut.push(CutSegmentRecord {
                request: sent.map(|sent| sent.id.0),
                segment: wanted.segment,
                quality: sent.map(|sent| sent.quality),
                requested_ns: wanted.since_ns,
                cut_ns: self.now_ns,
                cause,
            });
        }
    }

    /// Returns the viewer's time since the session began, in nanoseconds: time played or time passed, as the job says.
    fn viewer_ns(&self) -> u64 {
        match self.media.viewer_clock {
            ViewerClock::Play => self.watched_ns,
            ViewerClock::Wall => self.now_ns - self.begin_ns,
        }
    }

    fn until_draw_ns(&self) -> u64 {
        self.next_draw_ns - self.viewer_ns()
    }

    /// Returns how much of the viewer's time is left until the end of the session, in nanoseconds.
    fn unwatched_ns(&self) -> u64 {
        self.media.watch_ns - self.viewer_ns()
    }

    /// Returns the index of the first buffered segment, when playback starts: then the buffer contains whole segments.
    fn first_at_hand(&self) -> u32 {
        let at_hand = self.ahead_ns / self.media.segment_ns % u64::from(self.media.segments);
        ((u64::from(self.segment + self.media.segments) - at_hand) % u64::from(self.media.segments)) as u32
    }

    fn act(&mut self, action: Action) {
        self.actions.push((self.now_ns, action));
    }
}

/// The random numbers that determine the viewer's seeks.
#[derive(Debug)]
struct Draws {
    seed: u64,
    drawn: u64,
}

impl Draws {
    fn next(&mut self) -> u64 {
        self.drawn += 1;
        splitmix64(self.seed, self.drawn - 1)
    }

    /// Draws a number from 0 (included) to 1 (excluded), from the upper 53 bits of a random number.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws an integer below `end`, uniformly except for a bias of 2⁻³²: the upper half of the product of `end` and a
    /// random number (Lemire: Fast Random Integer Generation in an Interval, 2019).
    fn below(&mut self, end: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u32
    }
}

#[cfg(test)]
mod tests;
