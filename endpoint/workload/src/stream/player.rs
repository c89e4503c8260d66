//! The player and its viewer: a state machine whose caller gives the time. Pure.
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

/// What the player does next, or waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextAction {
    /// It requests a segment, as soon as a stream can carry the request.
    Request(WantedSegment),
    /// It waits for the requested segment, or for room in the buffer: nothing changes before this time unless a segment
    /// arrives.
    Wait {
        /// None if nothing changes by itself.
        until_ns: Option<u64>,
    },
    /// The viewer has seen enough.
    Done,
}

/// A segment that the player requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WantedSegment {
    /// The index of the segment in the medium.
    pub segment: u32,
    /// When the player began to want it, in nanoseconds.
    pub since_ns: u64,
    /// The play time that was buffered then, in nanoseconds.
    pub ahead_ns: u64,
    /// Whether it is the first at a new position: at the beginning, and after a seek.
    pub is_first: bool,
}

/// Identifies a request that was sent. After a seek, the player no longer wants what it requested before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestId(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It waits for enough content to play.
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

/// A player and its viewer.
#[derive(Debug)]
pub(super) struct Player {
    media: Stream,
    draws: Draws,
    phase: Phase,
    /// The time at which the session began, in nanoseconds.
    begin_ns: u64,
    /// The time up to which everything has been accounted for.
    now_ns: u64,
    /// The buffered play time, in nanoseconds.
    ahead_ns: u64,
    watched_ns: u64,
    /// The time of the viewer's clock at which the viewer next draws whether to seek.
    next_draw_ns: u64,
    /// The next segment to arrive.
    segment: u32,
    /// Whether nothing has been requested since the viewer came to this position.
    is_new_place: bool,
    wanted: Option<WantedSegment>,
    sent: Option<SentRequest>,
    tickets: u32,
    actions: Vec<(u64, Action)>,
    cut: Vec<CutSegmentRecord>,
}

impl Player {
    /// Creates a player at the medium's first segment, which plays nothing yet.
    ///
    /// # Arguments
    /// * `medium` - the medium of a sound job.
    /// * `seed` - the seed of the viewer's seeks.
    /// * `begin_ns` - when the session begins, in nanoseconds after the epoch.
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

    /// Returns what the player does next at this time, or waits for. Times must not decrease.
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

    /// Returns when the player's requests next change if nothing arrives. A stall does not change them.
    pub(super) fn next_change_ns(&self) -> Option<u64> {
        let draws_ns = if self.media.seek_ratio > 0.0 { self.until_draw_ns() } else { u64::MAX };
        let next_ns = draws_ns.min(self.unwatched_ns());
        let is_reached = match self.media.viewer_clock {
            ViewerClock::Wall => self.phase != Phase::Ended,
            ViewerClock::Play => self.phase == Phase::Playing && next_ns <= self.ahead_ns,
        };
        is_reached.then_some(self.now_ns + next_ns)
    }

    /// Notes that the request for the wanted segment has been sent, in this quality.
    ///
    /// # Panics
    /// [`next`](Self::next) did not ask for it.
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

    /// Notes that the requested quality has changed.
    pub(super) fn switched(&mut self, quality: u32) {
        self.act(Action::Switch { quality });
    }

    /// Notes that a segment has arrived. It is in time even if the buffer runs out at the same moment.
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

    /// Returns the segments that the viewer's moves and end cut off since the last call, in order of time.
    pub(super) fn take_cut(&mut self) -> Vec<CutSegmentRecord> {
        take(&mut self.cut)
    }

    /// Lets the time pass up to this one.
    ///
    /// # Arguments
    /// * `included` - whether events at exactly this time are handled too.
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

    /// Gives up the segment that is wanted, requested or not.
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

    /// Returns the viewer's time since the beginning of the session.
    fn viewer_ns(&self) -> u64 {
        match self.media.viewer_clock {
            ViewerClock::Play => self.watched_ns,
            ViewerClock::Wall => self.now_ns - self.begin_ns,
        }
    }

    fn until_draw_ns(&self) -> u64 {
        self.next_draw_ns - self.viewer_ns()
    }

    /// Returns the viewer's time that is left.
    fn unwatched_ns(&self) -> u64 {
        self.media.watch_ns - self.viewer_ns()
    }

    /// Returns the first buffered segment. When playing starts, whole segments are buffered.
    fn first_at_hand(&self) -> u32 {
        let at_hand = self.ahead_ns / self.media.segment_ns % u64::from(self.media.segments);
        ((u64::from(self.segment + self.media.segments) - at_hand) % u64::from(self.media.segments)) as u32
    }

    fn act(&mut self, action: Action) {
        self.actions.push((self.now_ns, action));
    }
}

/// The viewer's random numbers.
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

    /// Draws a number of at least 0 and less than 1: the upper 53 bits.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws a number below `end`, uniformly: the upper half of the product (Lemire: Fast Random Integer Generation in
    /// an Interval, 2019, whose bias of 2⁻³² is accepted).
    fn below(&mut self, end: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u32
    }
}

#[cfg(test)]
mod tests;
