//! Timers of a thread's event loop that are set without a system call.
//!
//! tokio's own timers wake their event loop whenever one is set to an earlier time than the loop last waited for (a
//! write to an eventfd, and a wait that returns at once), and once more on the way to a distant time (its timer wheel
//! has levels). A QUIC stack sets its timer several times for each packet, and in a guest each system call costs as
//! much as the rest of a packet.
//!
//! These timers are checked only where the loop waits, in `epoll_wait`: the linker redirects its calls to
//! [`crate::clock`], which shortens the wait to the first deadline ([`bounded_ms`]) and wakes the tasks that are due
//! after it ([`wake_due`]). The wait is in whole milliseconds, rounded up, as in tokio.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use libc::c_int;

thread_local! {
    /// The timers of this thread, one for each connection; a list is fast enough for so few.
    static TIMERS: RefCell<Vec<Arc<Mutex<Setting>>>> = const { RefCell::new(Vec::new()) };
}

/// A timer that wakes a task of the thread that made it.
#[derive(Debug)]
pub struct Timer(Arc<Mutex<Setting>>);

#[derive(Debug)]
struct Setting {
    deadline: Instant,
    /// The waker of the waiting task, if there is one.
    waiting: Option<Waker>,
}

impl Timer {
    /// Creates a timer that is due at `deadline`, for a task of this thread's event loop.
    pub fn new(deadline: Instant) -> Self {
        let setting = Arc::new(Mutex::new(Setting { deadline, waiting: None }));
        TIMERS.with_borrow_mut(|timers| {
            timers.retain(|setting| Arc::strong_count(setting) > 1);
            timers.push(setting.clone());
        });
        Self(setting)
    }

    /// Sets the timer to another time.
    pub fn reset(&self, deadline: Instant) {
        lock(&self.0).deadline = deadline;
    }

    /// Returns `Ready` once the timer is due; before that, registers the task to be woken then.
    pub fn poll(&self, context: &Context<'_>) -> Poll<()> {
        let mut setting = lock(&self.0);
        if Instant::now() >= setting.deadline {
            setting.waiting = None;
            return Poll::Ready(());
        }
        match &mut setting.waiting {
            Some(waiting) => waiting.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}

/// Returns how long this thread's event loop may wait until its next timer is due, in milliseconds.
///
/// # Arguments
/// * `timeout_ms` - how long it would wait without these timers; -1 is forever, as for `epoll_wait(2)`.
pub(crate) fn bounded_ms(timeout_ms: c_int) -> c_int {
    let Some(deadline) = first_deadline().filter(|_| timeout_ms != 0) else { return timeout_ms };
    let ahead = deadline.saturating_duration_since(Instant::now());
    let ahead_ms = ahead.as_nanos().div_ceil(Duration::from_millis(1).as_nanos());
    let ahead_ms = c_int::try_from(ahead_ms).unwrap_or(c_int::MAX);
    if timeout_ms < 0 { ahead_ms } else { timeout_ms.min(ahead_ms) }
}

/// Wakes the tasks of this thread whose timers are due.
pub(crate) fn wake_due() {
    let Some(deadline) = first_deadline() else { return };
    let now = Instant::now();
    if deadline > now {
        return;
    }
    let due = TIMERS.with_borrow(|timers| {
        let take = |timer: &Arc<Mutex<Setting>>| {
            let mut setting = lock(timer);
            if setting.deadline <= now { setting.waiting.take() } else { None }
        };
        timers.iter().filter_map(take).collect::<Vec<Waker>>()
    });
    due.into_iter().for_each(Waker::wake);
}

/// Returns when this thread's next timer is due, in nanoseconds of the clock that now shows `now_ns`; `None` if no
/// timer is set.
pub(crate) fn first_deadline_ns(now_ns: u64) -> Option<u64> {
    let ahead = first_deadline()?.saturating_duration_since(Instant::now());
    Some(now_ns.saturating_add(u64::try_from(ahead.as_nanos()).unwrap_or(u64::MAX)))
}

fn first_deadline() -> Option<Instant> {
    let awaited = |timer: &Arc<Mutex<Setting>>| {
        let setting = lock(timer);
        setting.waiting.is_some().then_some(setting.deadline)
    };
    TIMERS.with_borrow(|timers| timers.iter().filter_map(awaited).min())
}

fn lock(setting: &Mutex<Setting>) -> MutexGuard<'_, Setting> {
    setting.lock().expect("no holder panics")
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    const SHORT: Duration = Duration::from_millis(3);
    const LONG: Duration = Duration::from_secs(3600);

    fn ahead(time: Duration) -> Timer {
        Timer::new(Instant::now() + time)
    }

    /// Returns whether the timer is due. The waker does nothing: these tests poll the timers themselves.
    fn is_due(timer: &Timer) -> bool {
        timer.poll(&Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_wait_ends_with_the_first_timer_that_is_awaited() {
        assert_eq!([-1, 0, 7].map(bounded_ms), [-1, 0, 7], "there is none");
        let (hour, minute) = (ahead(LONG), ahead(LONG / 60));
        assert_eq!(bounded_ms(-1), -1, "none is awaited");
        assert!(!is_due(&hour));
        assert!((3_599_000..=3_600_000).contains(&bounded_ms(-1)), "{}", bounded_ms(-1));
        assert!(!is_due(&minute));
        assert!((59_000..=60_000).contains(&bounded_ms(-1)), "{}", bounded_ms(-1));
        assert_eq!([0, 7].map(bounded_ms), [0, 7], "the loop's own wait is shorter");
        hour.reset(Instant::now());
        assert_eq!(bounded_ms(7), 0, "its time has come");
        assert!(is_due(&hour));
        drop((hour, minute));
        drop(ahead(LONG));
        assert_eq!(bounded_ms(-1), -1, "all are gone");
    }

    #[tokio::test]
    async fn an_event_loop_wakes_what_waits_and_not_before() {
        let begun = Instant::now();
        let far = ahead(LONG);
        let near = ahead(LONG);
        near.reset(begun + SHORT);
        poll_fn(|context| {
            assert!(far.poll(context).is_pending());
            near.poll(context)
        })
        .await;
        assert!((SHORT..LONG).contains(&begun.elapsed()));
    }
}
