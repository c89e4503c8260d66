//! The received messages of an association whose streams are read concurrently.
//!
//! The kernel has one queue for all streams. So a reader that finds no message of its stream waits for the
//! association's next message, and queues messages of other streams for their readers. Streams in the middle of a
//! transfer wait on separate threads ([`Inbox::next`]); streams that wait for a transfer to begin, of which there may
//! be thousands, wait as tasks ([`Inbox::turn`]).

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use crate::error::{Error, Result, ensure};

/// Received messages that have not been read, for each stream.
#[derive(Debug)]
pub(super) struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    waiting: Vec<VecDeque<Vec<u8>>>,
    reader: Reader,
    /// For each stream that waits for its turn: the task to wake.
    tasks: BTreeMap<u16, Waker>,
    /// The error after which no more messages arrive.
    failure: Option<Error>,
}

/// Who waits for the association's next message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    Nobody,
    /// The thread of this stream, once it runs.
    Next(u16),
    /// A thread that is waiting now.
    Thread,
}

/// The right of a stream to take a message, or to wait for the association's next one; dropping it gives it up.
#[derive(Debug)]
pub(super) struct Turn {
    inbox: Arc<Inbox>,
    stream: u16,
}

impl Inbox {
    /// Creates an empty inbox for this many streams.
    pub(super) fn new(streams: u16) -> Self {
        let waiting = vec![VecDeque::new(); streams.into()];
        let state = State { waiting, reader: Reader::Nobody, tasks: BTreeMap::new(), failure: None };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Waits, without a thread, until a call of [`Self::next`] would find a message, or would be the call that waits
    /// for the association's next message. Dropping this future, or its result, passes the turn to another stream.
    pub(super) async fn turn(self: Arc<Self>, stream: u16) -> Turn {
        let turn = Turn { inbox: self, stream };
        poll_fn(|context| turn.inbox.lock().poll_turn(stream, context)).await;
        turn
    }

    /// Returns the next message of a stream.
    ///
    /// # Arguments
    /// * `receive` - waits for the association's next message of any stream; returns the stream and the message.
    ///
    /// # Errors
    /// As `receive`, also if another thread called it; a message arrived on a stream that does not exist.
    pub(super) fn next(&self, stream: u16, receive: impl Fn() -> Result<(u16, Vec<u8>)>) -> Result<Vec<u8>> {
        let mut state = self.lock();
        loop {
            if let Some(message) = state.waiting[usize::from(stream)].pop_front() {
                return Ok(message);
            }
            if let Some(failure) = &state.failure {
                return Err(failure.shared());
            }
            if state.reader != Reader::Nobody && state.reader != Reader::Next(stream) {
                state = self.changed.wait(state).expect("no holder panics");
                continue;
            }
            state.reader = Reader::Thread;
            drop(state);
            let received = receive();
            state = self.lock();
            state.reader = Reader::Nobody;
            if let Err(error) = received.and_then(|(of, message)| state.put_by(of, message)) {
                state.failure = Some(error);
                std::mem::take(&mut state.tasks).into_values().for_each(Waker::wake);
            }
            state.offer();
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }
}

impl State {
    fn poll_turn(&mut self, stream: u16, context: &Context<'_>) -> Poll<()> {
        if self.failure.is_none() && self.waiting[usize::from(stream)].is_empty() {
            if self.reader != Reader::Nobody {
                self.tasks.insert(stream, context.waker().clone());
                return Poll::Pending;
            }
            self.reader = Reader::Next(stream);
        }
        Poll::Ready(())
    }

    fn put_by(&mut self, stream: u16, message: Vec<u8>) -> Result<()> {
        let streams = self.waiting.len();
        ensure!(usize::from(stream) < streams, "a message came on stream {stream} of {streams}");
        self.waiting[usize::from(stream)].push_back(message);
        if let Some(task) = self.tasks.remove(&stream) {
            task.wake();
        }
        Ok(())
    }

    /// Wakes a task to take over if nobody waits for the association's next message.
    fn offer(&mut self) {
        if self.reader == Reader::Nobody
            && let Some((_, task)) = self.tasks.pop_first()
        {
            task.wake();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.inbox.lock();
        state.tasks.remove(&self.stream);
        if state.reader == Reader::Next(self.stream) {
            state.reader = Reader::Nobody;
        }
        state.offer();
        self.inbox.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;
    use crate::error::Context as _;

    type Message = (u16, Vec<u8>);
    type Thread = std::thread::JoinHandle<Result<Vec<Vec<u8>>>>;

    /// Returns a sender of messages, and a thread for each stream that reads `count` of them.
    fn readers(streams: u16, count: usize) -> (Sender<Message>, Vec<Thread>) {
        let (sender, receiver) = channel::<Message>();
        let (inbox, receiver) = (Arc::new(Inbox::new(streams)), Arc::new(Mutex::new(receiver)));
        let threads = (0..streams)
            .map(|stream| {
                let (inbox, receiver) = (inbox.clone(), receiver.clone());
                std::thread::spawn(move || {
                    let receive = || receiver.try_lock().expect("one waits at a time").recv().ok().context("the end");
                    (0..count).map(|_| inbox.next(stream, receive)).collect()
                })
            })
            .collect();
        (sender, threads)
    }

    #[test]
    fn every_stream_gets_its_messages_in_order() {
        let (sender, threads) = readers(3, 100);
        for number in 0..100_u8 {
            for stream in [2, 0, 1] {
                sender.send((stream, vec![stream as u8, number])).unwrap();
            }
        }
        for (stream, thread) in (0..).zip(threads) {
            let expected: Vec<Vec<u8>> = (0..100).map(|number| vec![stream, number]).collect();
            assert_eq!(thread.join().unwrap().unwrap(), expected);
        }
    }

    #[test]
    fn an_end_is_told_to_all() {
        let (sender, threads) = readers(3, 2);
        sender.send((1, vec![1])).unwrap();
        drop(sender);
        for thread in threads {
            assert!(thread.join().unwrap().unwrap_err().to_string().contains("the end"));
        }
    }

    #[test]
    fn a_stream_there_is_not_is_refused() {
        let error = Inbox::new(2).next(0, || Ok((2, vec![1]))).unwrap_err();
        assert!(error.to_string().contains("stream 2 of 2"), "{error}");
    }

    /// Polls the turn of a stream once.
    fn poll(turn: &mut std::pin::Pin<Box<impl Future<Output = Turn>>>) -> Poll<Turn> {
        turn.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn one_stream_at_a_time_has_its_turn_until_a_message_comes_for_another() {
        let inbox = Arc::new(Inbox::new(3));
        let mut turns: Vec<_> = (0..3).map(|stream| Box::pin(inbox.clone().turn(stream))).collect();
        let Poll::Ready(first) = poll(&mut turns[0]) else { panic!("nobody else waits") };
        assert!(poll(&mut turns[1]).is_pending() && poll(&mut turns[2]).is_pending());
        let messages = Mutex::new(VecDeque::from([(2, vec![2]), (0, vec![0])]));
        let receive = || messages.lock().unwrap().pop_front().context("the end");
        assert_eq!(inbox.next(0, receive).unwrap(), [0]);
        let Poll::Ready(last) = poll(&mut turns[2]) else { panic!("its message is here") };
        assert_eq!(inbox.next(2, receive).unwrap(), [2]);
        drop((first, last));
        assert!(poll(&mut turns[1]).is_ready());
    }

    #[test]
    fn a_turn_that_is_given_up_is_another_streams() {
        let inbox = Arc::new(Inbox::new(2));
        let mut turns: Vec<_> = (0..2).map(|stream| Box::pin(inbox.clone().turn(stream))).collect();
        let first = poll(&mut turns[0]);
        assert!(first.is_ready() && poll(&mut turns[1]).is_pending());
        drop(first);
        assert!(poll(&mut turns[1]).is_ready());
    }
}
