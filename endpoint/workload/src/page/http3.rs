//! HTTP/3 at the server: one task for each request, scheduled by the priorities of QUIC's streams.

use std::future::poll_fn;
use std::sync::Arc;

use bytes::Bytes;
use h3::server::RequestResolver;
use netwarp_transport::Http3Streams;
use netwarp_transport::error::{Context as _, Result};
use tokio::task::JoinSet;

use super::request;
use super::response::Answers;

/// Serves a connection until its client has closed it.
///
/// # Errors
/// A resource cannot be read; the client violates the protocol.
pub(super) async fn speak(streams: Http3Streams, answers: Answers) -> Result<()> {
    let (priorities, answers) = (streams.priorities(), Arc::new(answers));
    let mut connection = h3::server::builder().send_grease(false).build(streams).await.context("beginning HTTP/3")?;
    let mut answering = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            Some(answered) = answering.join_next() => answered.context("a task panicked")??,
            accepted = connection.accept() => match accepted {
                Ok(Some(resolver)) => {
                    let (answers, priorities) = (answers.clone(), priorities.clone());
                    answering.spawn(answer(resolver, answers, move |stream, rank| priorities.set(stream, rank)));
                }
                Ok(None) => return Ok(()),
                Err(error) if error.is_h3_no_error() => return Ok(()),
                Err(error) => return Err(error).context("serving HTTP/3"),
            },
        }
    }
}

/// Answers one request. The stream gets the request's priority, so that QUIC sends more urgent data first.
async fn answer(
    resolver: RequestResolver<Http3Streams, Bytes>,
    answers: Arc<Answers>,
    prioritise: impl Fn(h3::quic::StreamId, i32),
) -> Result<()> {
    let (request, mut stream) = resolver.resolve_request().await.context("receiving a request")?;
    let path = request.uri().path_and_query().map_or("", |path| path.as_str());
    let (head, mut content) = answers.answer(path, request.headers())?;
    let order = (stream.id().into_inner() / STREAMS_APART) as u32;
    prioritise(stream.id(), request::priority(request.headers()).rank(order));
    stream.send_response(head).await.context("answering")?;
    while let Some(block) = poll_fn(|context| content.poll_block(context)).await {
        stream.send_data(block?).await.context("answering")?;
    }
    stream.finish().await.context("ending an answer")
}

/// The difference between the numbers of two consecutive streams that a client opens (RFC 9000, section 2.1).
const STREAMS_APART: u64 = 4;
