//! The order of responses (RFC 9218): the priority of a request, and which response may send now.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// The urgency of a request without a priority (RFC 9218, section 4.1).
const DEFAULT_URGENCY: u8 = 3;
const LEAST_URGENT: u8 = 7;

/// The number of ranks for the responses of one urgency.
const RANKS: i32 = 1 << 16;

/// A request's priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Priority {
    /// The urgency: 0 is the most urgent, 7 the least.
    pub urgency: u8,
    /// Whether the client can use the response before it is complete.
    pub incremental: bool,
}

impl Priority {
    /// Returns the value of a request's `priority` field.
    pub(super) fn to_field(self) -> String {
        let incremental = if self.incremental { ", i" } else { "" };
        format!("u={}{incremental}", self.urgency)
    }

    /// Parses the `priority` field of a request. Unknown parameters are ignored, as RFC 9218 requires (section 4).
    pub(super) fn of_field(field: &str) -> Self {
        let mut priority = Self { urgency: DEFAULT_URGENCY, incremental: false };
        for member in field.split(',').map(str::trim) {
            match member.split_once('=') {
                None if member == "i" => priority.incremental = true,
                Some(("i", value)) => priority.incremental = value == "?1",
                Some(("u", value)) => match value.parse() {
                    Ok(urgency) if urgency <= LEAST_URGENT => priority.urgency = urgency,
                    _ => {}
                },
                _ => {}
            }
        }
        priority
    }

    /// Returns the rank of the `order`-th response of a connection: responses of higher rank are sent first, and those
    /// of equal rank take turns. Non-incremental responses of the same urgency are sent one after another in the order
    /// of their requests; then incremental ones share the rest (RFC 9218, section 10).
    pub(super) fn rank(self, order: u32) -> i32 {
        let in_order = i32::try_from(order).map_or(1, |order| (RANKS - 1 - order).max(1));
        i32::from(LEAST_URGENT - self.urgency.min(LEAST_URGENT)) * RANKS + if self.incremental { 0 } else { in_order }
    }
}

/// The responses that are being sent on a connection, in the order in which they may send.
#[derive(Debug, Clone, Default)]
pub(super) struct Responses(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    begun: u32,
    sending: BTreeMap<u32, Waiting>,
}

#[derive(Debug)]
struct Waiting {
    rank: i32,
    waker: Option<Waker>,
}

impl Responses {
    /// Adds a response. It may send while no response of a higher rank has anything left to send.
    pub(super) fn begin(&self, priority: Priority) -> Turn {
        let mut state = self.state();
        let order = state.begun;
        state.begun += 1;
        state.sending.insert(order, Waiting { rank: priority.rank(order), waker: None });
        Turn { responses: self.clone(), order }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no holder panics")
    }
}

/// A response's place among the responses being sent on a connection; dropping it removes the response.
#[derive(Debug)]
pub(super) struct Turn {
    responses: Responses,
    order: u32,
}

impl Turn {
    /// Returns `Ready` if the response may send now. Otherwise the task is woken when that may have changed.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.responses.state();
        let highest = state.sending.values().map(|waiting| waiting.rank).max();
        let own = state.sending.get_mut(&self.order).expect("a turn is there until it is dropped");
        if Some(own.rank) == highest {
            return Poll::Ready(());
        }
        own.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.responses.state();
        state.sending.remove(&self.order);
        let wakers: Vec<Waker> = state.sending.values_mut().filter_map(|waiting| waiting.waker.take()).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn of(urgency: u8, incremental: bool) -> Priority {
        Priority { urgency, incremental }
    }

    #[test]
    fn fields_survive_the_round_trip() {
        for priority in [of(0, false), of(5, true), of(7, false)] {
            assert_eq!(Priority::of_field(&priority.to_field()), priority);
        }
    }

    #[test]
    fn what_is_not_understood_is_passed_over() {
        for (field, expected) in [
            ("", of(3, false)),
            ("u=8, i=?0", of(3, false)),
            ("i=?1,u=1", of(1, true)),
            ("u=x, future=2;a, i", of(3, true)),
        ] {
            assert_eq!(Priority::of_field(field), expected, "{field:?}");
        }
    }

    #[test]
    fn ranks_are_by_urgency_then_wholes_in_order_then_parts_together() {
        let ranks = [of(0, true).rank(9), of(3, false).rank(0), of(3, false).rank(1), of(3, true).rank(2)];
        assert!(ranks.is_sorted_by(|before, after| before > after), "{ranks:?}");
        assert_eq!(of(3, true).rank(2), of(3, true).rank(5));
        assert!(of(3, false).rank(u32::MAX) > of(3, true).rank(0));
    }

    #[test]
    fn the_less_urgent_waits_until_the_more_urgent_is_sent() {
        let responses = Responses::default();
        let context = Context::from_waker(Waker::noop());
        let image = responses.begin(of(5, true));
        assert!(image.poll(&context).is_ready());
        let style = responses.begin(of(0, false));
        let other_image = responses.begin(of(5, true));
        assert!(image.poll(&context).is_pending() && style.poll(&context).is_ready());
        drop(style);
        assert!(image.poll(&context).is_ready() && other_image.poll(&context).is_ready());
    }
}
