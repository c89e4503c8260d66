//! The messages of an association whose streams are read at once, each by a thread of its own.
//!
//! The kernel has one queue for all streams. So whichever thread finds nothing of its stream waits for the
//! association's next message, and puts by what is for others; those that come while it waits, wait for it.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};

use anyhow::{Result, anyhow, ensure};

use crate::transport::error::{Ended, Lost, lost};

/// Messages put by, for each stream.
#[derive(Debug)]
pub struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    waiting: Vec<VecDeque<Vec<u8>>>,
    /// Somebody waits for the association's next message.
    is_read: bool,
    /// Why there will be no more, and whether that is because the association ended.
    failure: Option<(bool, String)>,
}

impl Inbox {
    /// For this many streams.
    pub fn new(streams: u16) -> Self {
        let waiting = vec![VecDeque::new(); streams.into()];
        Self { state: Mutex::new(State { waiting, is_read: false, failure: None }), changed: Condvar::new() }
    }

    /// The next message of a stream.
    ///
    /// # Arguments
    /// * `receive` - waits for the association's next message; gives its stream too.
    ///
    /// # Errors
    /// As `receive`, whichever thread called it; a message on a stream there is not.
    pub fn next(&self, stream: u16, receive: impl Fn() -> Result<(u16, Vec<u8>)>) -> Result<Vec<u8>> {
        let mut state = self.state.lock().expect("no holder panics");
        loop {
            if let Some(message) = state.waiting[usize::from(stream)].pop_front() {
                return Ok(message);
            }
            match &state.failure {
                Some((true, ended)) => return Err(Ended(ended.clone()).into()),
                Some((false, failure)) => return Err(anyhow!("{failure}")),
                None => {}
            }
            if state.is_read {
                state = self.changed.wait(state).expect("no holder panics");
                continue;
            }
            state.is_read = true;
            drop(state);
            let received = receive();
            state = self.state.lock().expect("no holder panics");
            state.is_read = false;
            if let Err(error) = received.and_then(|(of, message)| state.put_by(of, message)) {
                state.failure = Some((lost(&error) == Some(Lost::Closed), format!("{error:#}")));
            }
            self.changed.notify_all();
        }
    }
}

impl State {
    fn put_by(&mut self, stream: u16, message: Vec<u8>) -> Result<()> {
        let streams = self.waiting.len();
        ensure!(usize::from(stream) < streams, "a message came on stream {stream} of {streams}");
        self.waiting[usize::from(stream)].push_back(message);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::{Sender, channel};

    use anyhow::Context as _;

    use super::*;

    type Message = (u16, Vec<u8>);
    type Reader = std::thread::JoinHandle<Result<Vec<Vec<u8>>>>;

    /// A way to send messages, and a thread for each stream that reads `count` of them.
    fn readers(streams: u16, count: usize) -> (Sender<Message>, Vec<Reader>) {
        let (sender, receiver) = channel::<Message>();
        let (inbox, receiver) = (Arc::new(Inbox::new(streams)), Arc::new(Mutex::new(receiver)));
        let threads = (0..streams)
            .map(|stream| {
                let (inbox, receiver) = (inbox.clone(), receiver.clone());
                std::thread::spawn(move || {
                    let receive = || receiver.try_lock().expect("one waits at a time").recv().context("the end");
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
}
