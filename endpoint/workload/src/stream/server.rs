//! The server of `stream`: answers requests for segments on every stream of a connection, until the client has ended
//! all streams.

use std::sync::{Arc, OnceLock};

use netwarp_transport::error::{Context as _, Error, Result, ensure};
use netwarp_transport::{Connection, Stream};
use tokio::task::JoinSet;

use super::FAREWELL;
use super::media::Media;
use super::request::{MediaRequest, MediaRequestKind, PROTOCOL, REQUEST_BYTES};
use crate::{Finish, Run, finished};

/// The state of a server on one connection, with the connection's streams.
pub(super) struct MediaServer {
    media: Arc<Media>,
    /// How many streams the connection has from its start; `None` if the client can open any number.
    fixed: Option<u32>,
    accepted: u32,
    answering: JoinSet<Result<Box<dyn Stream>>>,
    /// Streams on which the client has sent its last message, which the server has not confirmed yet.
    ended: Vec<Box<dyn Stream>>,
    confirming: JoinSet<Result<()>>,
    number: Arc<OnceLock<u32>>,
    is_lost: bool,
}

impl MediaServer {
    /// Creates the server for a new connection.
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

    /// Answers requests until every stream has ended, the client has given the connection up, or the client is done.
    /// Returns true if no request is still being answered, so that the connection can be recorded and ended.
    ///
    /// # Errors
    /// A request was not answered. It is no error if a client gives the connection up after a handover.
    pub(super) async fn serve(
        &mut self,
        run: &Arc<Run>,
        connection: &mut dyn Connection,
        finish: &mut Finish,
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

    /// Returns whether the client has given the connection up.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Returns the client's number for the connection, if it has sent a message on it.
    pub(super) fn number(&self) -> Option<u32> {
        self.number.get().copied()
    }

    /// Sends the confirmations that streams have ended. The connection must be recorded before: an SCTP association has
    /// no state left once its peer has shut it down.
    pub(super) fn confirm(&mut self) {
        for mut stream in self.ended.drain(..) {
            self.confirming.spawn(async move {
                stream.send(&[FAREWELL]).await.context("confirming the farewell")?;
                stream.finish().await.map(drop)
            });
        }
    }

    /// Waits until the client has received all confirmations.
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

    /// Returns whether there is nothing left to serve: all of a fixed number of streams have ended, or the connection
    /// is lost and all answers are sent.
    fn is_over(&self) -> bool {
        self.fixed == Some(self.ended.len() as u32) || self.is_lost && self.answering.is_empty()
    }
}

/// Answers the requests on a stream. Returns the stream when the client has sent its last message on it.
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
