//! The player and its viewer: a state machine whose caller gives the time. Pure.
//!
//! The buffer's level follows from what arrived and what was played, so everything happens at its exact time, whenever
//! somebody asks. The viewer's seeks are drawn at full seconds of play time: the n-th second brings the same in every run
//! of a seed, whatever the transport.
//!
//! The medium goes round: after its last segment comes its first. What lies beyond the play time that the viewer will
//! watch is not asked for.

use std::mem::take;

use crate::job::Stream;
use crate::record::Action;
use crate::seeded::splitmix64;

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// What the player does next, or waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextAction {
    /// It asks for a segment, as soon as something can carry the request.
    Request(WantedSegment),
    /// What it asked for, or room for more: nothing changes before this time unless something arrives.
    Wait {
        /// None: nothing changes by itself.
        until_ns: Option<u64>,
    },
    /// The viewer has seen enough.
    Done,
}

/// A segment the player asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WantedSegment {
    /// Place in the medium.
    pub segment: u32,
    /// When the player began to want it.
    pub since_ns: u64,
    /// Play time that was ahead then.
    pub ahead_ns: u64,
    /// Whether it is the first at a new place: at the beginning, and after a seek.
    pub is_first: bool,
}

/// A request that was sent. After a seek, the player no longer wants what it asked for before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestId(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Waiting for enough content to play.
    Waiting,
    Playing,
    Ended,
}

/// A player and its viewer.
#[derive(Debug)]
pub(super) struct Player {
    media: Stream,
    draws: Draws,
    phase: Phase,
    /// All that happened before this time has been accounted for.
    now_ns: u64,
    /// Play time at hand.
    ahead_ns: u64,
    watched_ns: u64,
    /// Play time watched at which the viewer next thinks of seeking.
    next_draw_ns: u64,
    /// The next to arrive.
    segment: u32,
    /// Whether nothing has been asked for since the viewer came to this place.
    is_new_place: bool,
    wanted: Option<WantedSegment>,
    sent: Option<RequestId>,
    tickets: u32,
    actions: Vec<(u64, Action)>,
}

impl Player {
    /// A player at rest at the epoch, at the medium's first segment.
    ///
    /// # Arguments
    /// * `medium` - of a sound job.
    /// * `seed` - of the viewer's seeks.
    pub(super) fn new(media: &Stream, seed: u64) -> Self {
        Self {
            media: media.clone(),
            draws: Draws { seed, drawn: 0 },
            phase: Phase::Waiting,
            now_ns: 0,
            ahead_ns: 0,
            watched_ns: 0,
            next_draw_ns: NANOSECONDS_PER_SECOND,
            segment: 0,
            is_new_place: true,
            wanted: None,
            sent: None,
            tickets: 0,
            actions: Vec::new(),
        }
    }

    /// What the player does next at this time, or waits for. Times must not go back.
    pub(super) fn next(&mut self, now_ns: u64) -> NextAction {
        self.finish_fetching(now_ns, true);
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

    /// When something happens that changes what it asks for, if nothing arrives. That is not so of a stall.
    pub(super) fn next_change_ns(&self) -> Option<u64> {
        let draws_ns = if self.media.seek_ratio > 0.0 { self.next_draw_ns - self.watched_ns } else { u64::MAX };
        let next_ns = draws_ns.min(self.unwatched_ns());
        (self.phase == Phase::Playing && next_ns <= self.ahead_ns).then_some(self.now_ns + next_ns)
    }

    /// The request for what it asked for has been sent.
    pub(super) fn sent(&mut self) -> RequestId {
        let request_id = RequestId(self.tickets);
        self.tickets += 1;
        (self.wanted, self.sent, self.is_new_place) = (None, Some(request_id), false);
        request_id
    }

    /// Whether it still wants what this request was for.
    pub(super) fn wants(&self, request_id: RequestId) -> bool {
        self.sent == Some(request_id)
    }

    /// The quality asked for changed.
    pub(super) fn switched(&mut self, quality: u32) {
        self.act(Action::Switch { quality });
    }

    /// Takes note that a segment arrived: in time, also if the buffer runs out at this very moment.
    pub(super) fn arrived(&mut self, request_id: RequestId, now_ns: u64) {
        self.finish_fetching(now_ns, false);
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

    /// Gives what it did since the last call, in order of time.
    pub(super) fn take_actions(&mut self) -> Vec<(u64, Action)> {
        take(&mut self.actions)
    }

    /// Plays up to this time.
    ///
    /// # Arguments
    /// * `included` - whether what happens at this very time is settled too.
    fn finish_fetching(&mut self, now_ns: u64, included: bool) {
        while self.phase == Phase::Playing {
            let passing_ns = self.ahead_ns.min(self.unwatched_ns()).min(self.next_draw_ns - self.watched_ns);
            let left_ns = now_ns.saturating_sub(self.now_ns);
            if passing_ns > left_ns || passing_ns == left_ns && !included {
                self.play(left_ns);
                break;
            }
            self.play(passing_ns);
            if self.watched_ns == self.media.watch_ns {
                self.phase = Phase::Ended;
                self.act(Action::End {});
            } else if self.watched_ns == self.next_draw_ns {
                self.next_draw_ns += NANOSECONDS_PER_SECOND;
                self.seek_if_drawn();
            } else {
                self.phase = Phase::Waiting;
                self.act(Action::Stall {});
            }
        }
        self.now_ns = self.now_ns.max(now_ns);
    }

    fn play(&mut self, duration_ns: u64) {
        self.now_ns += duration_ns;
        self.watched_ns += duration_ns;
        self.ahead_ns -= duration_ns;
    }

    fn seek_if_drawn(&mut self) {
        if self.draws.share() >= self.media.seek_ratio {
            return;
        }
        self.segment = self.draws.below(self.media.segments);
        (self.phase, self.ahead_ns, self.is_new_place) = (Phase::Waiting, 0, true);
        (self.wanted, self.sent) = (None, None);
        self.act(Action::Seek { segment: self.segment });
    }

    fn unwatched_ns(&self) -> u64 {
        self.media.watch_ns - self.watched_ns
    }

    /// When playing starts, there are whole segments at hand.
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

    /// At least 0, less than 1: the upper 53 bits.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number below `end`, evenly: the upper half of the product (Lemire: Fast Random Integer Generation in an Interval,
    /// 2019, whose bias of 2⁻³² is left in).
    fn below(&mut self, end: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u32
    }
}

#[cfg(test)]
mod tests;
