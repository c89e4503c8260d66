//! The server's part: answers requests on every stream of a connection, until the client says farewell on all.

use std::sync::{Arc, OnceLock};

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::FAREWELL;
use super::media::Media;
use super::request::{MediaRequest, MediaRequestKind, PROTOCOL, REQUEST_BYTES};
use crate::transport::error::{Context as _, Error, Result, ensure};
use crate::transport::{Connection, Stream};
use crate::workload::{Run, finished};

/// The streams of a connection that is being served.
pub(super) struct MediaServer {
    media: Arc<Media>,
    /// How many streams the client uses, if it uses them all.
    fixed: Option<u32>,
    accepted: u32,
    answering: JoinSet<Result<Box<dyn Stream>>>,
    /// Streams whose farewell is not confirmed yet.
    ended: Vec<Box<dyn Stream>>,
    confirming: JoinSet<Result<()>>,
    number: Arc<OnceLock<u32>>,
    is_lost: bool,
}

impl MediaServer {
    /// A server of this medium's segments.
    pub(super) fn new(media: &Arc<Media>, fixed: Option<u32>) -> Self {
        Self {
            media: media.clone(),
            fixed,
            accepted: 0,
            answering: JoinSet::new(),
            ended: Vec::new(),
            confirming: JoinSet::new(),
            number: Arc::default(),
            is_lost: false,
        }
    }

    /// Answers until every stream has ended, or the client has given the connection up, or needs nothing any more. Gives
    /// whether anything is left to say on the connection: not so if streams are still at work.
    ///
    /// # Errors
    /// Whatever kept a request from being answered. That a client gives the connection up after a handover is none.
    pub(super) async fn serve(
        &mut self,
        run: &Arc<Run>,
        connection: &mut dyn Connection,
        finish: &mut watch::Receiver<bool>,
    ) -> Result<bool> {
        while !self.is_over() {
            let takes_more = !self.is_lost && self.fixed.is_none_or(|streams| self.accepted < streams);
            tokio::select! {
                accepted = connection.accept_stream(), if takes_more => match accepted {
                    Ok(Some(stream)) => {
                        self.accepted += 1;
                        self.answering.spawn(answer(run.clone(), self.media.clone(), self.number.clone(), stream));
                    }
                    Ok(None) => break,
                    Err(error) => self.lose(run, error)?,
                },
                Some(ended) = self.answering.join_next() => match ended.context("a task panicked")? {
                    Ok(stream) => {
                        self.ended.push(stream);
                        if self.fixed.is_none() {
                            self.confirm();
                        }
                    }
                    Err(error) => self.lose(run, error)?,
                },
                Some(confirmed) = self.confirming.join_next() => {
                    confirmed.context("a task panicked")?.or_else(|error| self.lose(run, error))?;
                }
                () = finished(finish) => return Ok(self.answering.is_empty()),
            }
        }
        Ok(true)
    }

    /// Whether the client has given the connection up.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// The client's number of the connection, if it has asked for anything.
    pub(super) fn number(&self) -> Option<u32> {
        self.number.get().copied()
    }

    /// Confirms the farewells. A connection's report must be taken before: an SCTP association
    /// has nothing left to say once its peer has shut it down.
    pub(super) fn confirm(&mut self) {
        for mut stream in self.ended.drain(..) {
            self.confirming.spawn(async move {
                stream.send(&[FAREWELL]).await.context("confirming the farewell")?;
                stream.finish().await.map(drop)
            });
        }
    }

    /// Waits until the client has all confirmations.
    ///
    /// # Errors
    /// As [`Stream::send`] and [`Stream::finish`].
    pub(super) async fn confirmed(&mut self) -> Result<()> {
        while let Some(confirmed) = self.confirming.join_next().await {
            confirmed.context("a task panicked")??;
        }
        Ok(())
    }

    fn lose(&mut self, run: &Run, error: Error) -> Result<()> {
        self.is_lost = true;
        run.ignore_if_abandoned(error, self.number())
    }

    /// A connection that can open any number of streams is over when it is closed.
    fn is_over(&self) -> bool {
        self.fixed == Some(self.ended.len() as u32) || self.is_lost && self.answering.is_empty()
    }
}

/// Gives the stream back when the client has said farewell on it.
async fn answer(
    run: Arc<Run>,
    media: Arc<Media>,
    number: Arc<OnceLock<u32>>,
    mut stream: Box<dyn Stream>,
) -> Result<Box<dyn Stream>> {
    let mut encoded = [0; REQUEST_BYTES];
    loop {
        stream.receive(&mut encoded).await.context("receiving a request")?;
        let MediaRequest { connection, what } = MediaRequest::decode(&encoded, run.request_prefix(PROTOCOL))?;
        run.attempts.record_attempt(connection);
        let known = *number.get_or_init(|| connection);
        ensure!(known == connection, "one connection has the numbers {known} and {connection}");
        let MediaRequestKind::Segment { quality, segment, offset_bytes } = what else { return Ok(stream) };
        let content = media.open_from(quality, segment, offset_bytes)?;
        stream.send_content(content).await.with_context(|| format!("sending segment {segment}"))?;
    }
}
