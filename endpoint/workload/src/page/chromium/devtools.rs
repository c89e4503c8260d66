//! Chromium's DevTools protocol over a pipe: commands with answers, and events. Messages are JSON, each ended by a zero
//! byte.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use anyhow::{Context as _, Result, bail};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::pipe2;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};

const READ_BYTES: usize = 1 << 16;

/// The lowest descriptor number to use: those below are set up for the browser when it starts.
const LOWEST_FD: i32 = 10;

/// An event that the browser reports without being asked.
#[derive(Debug)]
pub(super) struct Event {
    /// The name of the event, such as `Network.responseReceived`.
    pub method: String,
    /// The event's parameters, by their names in the protocol.
    pub parameters: Value,
}

/// A DevTools connection to a browser: netwarp's ends of the pipes, and the events that have not been taken yet.
pub(super) struct DevTools {
    orders: Sender,
    answers: Receiver,
    unread: Vec<u8>,
    events: VecDeque<Event>,
    last_id: u64,
    /// The id of the DevTools session of the page, once attached.
    session: Option<String>,
}

impl DevTools {
    /// Creates the pipes. Also returns the browser's ends: the first for reading commands, the second for writing
    /// answers. Must be called inside the tokio runtime.
    pub(super) fn open() -> Result<(Self, (OwnedFd, OwnedFd))> {
        let (their_orders, orders) = pipe2(OFlag::O_CLOEXEC).context("make a pipe to the browser")?;
        let (answers, their_answers) = pipe2(OFlag::O_CLOEXEC).context("make a pipe from the browser")?;
        for ours in [&orders, &answers] {
            fcntl(ours, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).context("prepare a pipe to the browser")?;
        }
        let devtools = Self {
            orders: Sender::from_owned_fd(orders).context("watch a pipe to the browser")?,
            answers: Receiver::from_owned_fd(answers).context("watch a pipe from the browser")?,
            unread: Vec::new(),
            events: VecDeque::new(),
            last_id: 0,
            session: None,
        };
        Ok((devtools, (above_others(&their_orders)?, above_others(&their_answers)?)))
    }

    /// Attaches to the page that the browser opened when it started. All further commands go to that page.
    pub(super) async fn attach(&mut self) -> Result<()> {
        self.order("Target.setDiscoverTargets", json!({ "discover": true })).await?;
        let page = loop {
            let Event { method, mut parameters } = self.event().await?;
            if method == "Target.targetCreated" && parameters["targetInfo"]["type"] == "page" {
                break parameters["targetInfo"]["targetId"].take();
            }
        };
        self.order("Target.setDiscoverTargets", json!({ "discover": false })).await?;
        let target = json!({ "targetId": page, "flatten": true });
        let attached = self.order("Target.attachToTarget", target).await?;
        self.session = Some(attached["sessionId"].as_str().context("the browser gave no session")?.to_owned());
        Ok(())
    }

    /// Sends a command and waits for its answer, keeping events that arrive before it.
    pub(super) async fn order(&mut self, method: &str, parameters: Value) -> Result<Value> {
        self.last_id += 1;
        let mut order = json!({ "id": self.last_id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            order["sessionId"] = json!(session);
        }
        let mut text = order.to_string().into_bytes();
        text.push(0);
        let attempt = || format!("order the browser to {method}");
        self.orders.write_all(&text).await.with_context(attempt)?;
        loop {
            let mut message = self.message().await.with_context(attempt)?;
            if message["id"] == self.last_id {
                if let Some(error) = message.get("error") {
                    bail!(
                        "the browser refuses {method}: {}",
                        error["message"].as_str().unwrap_or("it does not say why")
                    );
                }
                return Ok(message["result"].take());
            }
            self.events.extend(event(message));
        }
    }

    /// Waits for the next event. Dropping this future loses no event.
    ///
    /// # Errors
    /// The browser has ended, or sent something that is not a DevTools message.
    pub(super) async fn event(&mut self) -> Result<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(event);
            }
            let message = self.message().await?;
            self.events.extend(event(message));
        }
    }

    async fn message(&mut self) -> Result<Value> {
        loop {
            if let Some(end) = self.unread.iter().position(|&byte| byte == 0) {
                let message: Vec<u8> = self.unread.drain(..=end).collect();
                return serde_json::from_slice(&message[..end]).context("understand what the browser tells");
            }
            let mut bytes = [0; READ_BYTES];
            let count = self.answers.read(&mut bytes).await.context("listen to the browser")?;
            if count == 0 {
                bail!("the browser has closed its pipe");
            }
            self.unread.extend_from_slice(&bytes[..count]);
        }
    }
}

fn event(mut message: Value) -> Option<Event> {
    let method = message["method"].as_str()?.to_owned();
    Some(Event { method, parameters: message["params"].take() })
}

fn above_others(descriptor: &OwnedFd) -> Result<OwnedFd> {
    use std::os::fd::FromRawFd as _;
    let copy = fcntl(descriptor, FcntlArg::F_DUPFD_CLOEXEC(LOWEST_FD)).context("prepare a pipe to the browser")?;
    // SAFETY: the descriptor is new, and nothing else uses it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read as _, Write as _};

    use super::*;

    fn with_browser(test: impl AsyncFnOnce(DevTools, File, File)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        runtime.block_on(async {
            let (devtools, (orders, answers)) = DevTools::open().unwrap();
            test(devtools, orders.into(), answers.into()).await;
        });
    }

    #[test]
    fn an_answer_is_found_among_events() {
        with_browser(async |mut devtools, mut orders, mut answers| {
            answers
                .write_all(b"{\"method\":\"Page.x\",\"params\":{\"a\":1}}\0{\"id\":1,\"result\":{\"b\":2}}\0")
                .unwrap();
            let answer = devtools.order("Page.enable", json!({})).await.unwrap();
            assert_eq!(answer, json!({ "b": 2 }));
            let mut order = [0; 100];
            let length = orders.read(&mut order).unwrap();
            assert_eq!(&order[..length], b"{\"id\":1,\"method\":\"Page.enable\",\"params\":{}}\0");
            let event = devtools.event().await.unwrap();
            assert_eq!((event.method.as_str(), &event.parameters["a"]), ("Page.x", &json!(1)));
        });
    }

    #[test]
    fn the_page_is_the_one_that_the_browser_has_opened() {
        with_browser(async |mut devtools, mut orders, mut answers| {
            answers
                .write_all(
                    b"{\"method\":\"Target.targetCreated\",\"params\":{\"targetInfo\":{\"type\":\"tab\",\"targetId\":\"T\"}}}\0\
                      {\"id\":1,\"result\":{}}\0\
                      {\"method\":\"Target.targetCreated\",\"params\":{\"targetInfo\":{\"type\":\"page\",\"targetId\":\"P\"}}}\0\
                      {\"id\":2,\"result\":{}}\0{\"id\":3,\"result\":{\"sessionId\":\"S\"}}\0{\"id\":4,\"result\":{}}\0",
                )
                .unwrap();
            devtools.attach().await.unwrap();
            devtools.order("Page.enable", json!({})).await.unwrap();
            let mut told = vec![0; 1000];
            let length = orders.read(&mut told).unwrap();
            let told = String::from_utf8_lossy(&told[..length]);
            assert!(told.contains("\"targetId\":\"P\""), "{told}");
            assert!(told.ends_with("\"method\":\"Page.enable\",\"params\":{},\"sessionId\":\"S\"}\0"), "{told}");
        });
    }

    #[test]
    fn a_refusal_and_a_browser_that_goes_are_errors() {
        with_browser(async |mut devtools, _orders, mut answers| {
            answers.write_all(b"{\"id\":1,\"error\":{\"message\":\"no such thing\"}}\0{\"id\"").unwrap();
            let refused = devtools.order("Page.nothing", json!({})).await.unwrap_err().to_string();
            assert_eq!(refused, "the browser refuses Page.nothing: no such thing");
            drop(answers);
            assert_eq!(devtools.event().await.unwrap_err().to_string(), "the browser has closed its pipe");
        });
    }
}
