//! A request and its response, over whichever version of HTTP.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes};
use http::header::{ALT_SVC, HeaderMap};
use http_body::{Body, Frame, SizeHint};
use hyper::Request;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::task::JoinHandle;

use crate::clock::Moment;
use crate::job::Http;
use crate::sink::Sink;
use crate::transport::error::{Context as _, Error, Result, bail};
use crate::transport::{Carrier, Duplex, Http3Opener, Http3Streams};

/// What is asked for, and what becomes of the answer.
pub(super) struct Exchange {
    pub request: Request<()>,
    pub sink: Sink,
}

/// An answer, all of which has come.
pub(super) struct Response {
    pub status: u16,
    /// Whether the server says that it speaks HTTP/3, too (Alt-Svc, RFC 7838).
    pub advertises_http3: bool,
    /// Before the request was handed over.
    pub request_start: Moment,
    /// The head at hand.
    pub response_start: Moment,
    /// The last byte of the content at hand.
    pub response_end: Moment,
    pub sink: Sink,
}

/// What sends requests on one connection. It speaks while there is any: the task that does ends when all are dropped.
pub(super) enum Requester {
    /// Carries one request at a time.
    Http1(http1::SendRequest<Empty>),
    /// Carries any number at the same time.
    Http2(http2::SendRequest<Empty>),
    /// Carries any number at the same time.
    Http3(h3::client::SendRequest<Http3Opener, Bytes>),
}

/// Begins to speak HTTP. Gives the task that does, too: how it ends, the request that is under way tells. Must be called inside
/// the runtime.
///
/// # Errors
/// A carrier that this version does not run over; a connection that is lost.
pub(super) async fn connect(http: Http, carrier: Carrier, window_bytes: u64) -> Result<(Requester, JoinHandle<()>)> {
    match (http, carrier) {
        (Http::H1, Carrier::Bytes(bytes)) => connect_http1(bytes).await,
        (Http::H2, Carrier::Bytes(bytes)) => connect_http2(bytes, window_bytes).await,
        (Http::H3, Carrier::Quic(streams)) => connect_http3(streams).await,
        (http, _) => bail!("{http:?} does not run over the job's transport"),
    }
}

async fn connect_http1(bytes: Box<dyn Duplex>) -> Result<(Requester, JoinHandle<()>)> {
    let connected = http1::handshake(TokioIo::new(bytes)).await;
    let (sender, connection) = connected.context("beginning HTTP/1.1")?;
    Ok((Requester::Http1(sender), tokio::spawn(async { drop(connection.await) })))
}

/// With the transport's windows, as QUIC has them.
async fn connect_http2(bytes: Box<dyn Duplex>, window_bytes: u64) -> Result<(Requester, JoinHandle<()>)> {
    let connected = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(super::window(window_bytes))
        .initial_connection_window_size(super::window(window_bytes))
        .handshake(TokioIo::new(bytes))
        .await;
    let (sender, connection) = connected.context("beginning HTTP/2")?;
    Ok((Requester::Http2(sender), tokio::spawn(async { drop(connection.await) })))
}

async fn connect_http3(streams: Http3Streams) -> Result<(Requester, JoinHandle<()>)> {
    let connected = h3::client::builder().send_grease(false).build(streams).await;
    let (mut connection, sender) = connected.context("beginning HTTP/3")?;
    Ok((Requester::Http3(sender), tokio::spawn(async move { drop(connection.wait_idle().await) })))
}

impl Requester {
    /// One that can be used while this one is, where the protocol carries several requests at the same time.
    pub(super) fn another(&self) -> Option<Self> {
        match self {
            Self::Http1(_) => None,
            Self::Http2(sender) => Some(Self::Http2(sender.clone())),
            Self::Http3(sender) => Some(Self::Http3(sender.clone())),
        }
    }

    /// Asks, and takes the whole answer.
    ///
    /// # Errors
    /// A connection that is lost, or a server that does not keep to the protocol; more content than was expected.
    pub(super) async fn exchange(&mut self, Exchange { request, sink }: Exchange) -> Result<Response> {
        let request_start;
        let response = match self {
            Self::Http1(sender) => {
                sender.ready().await.context("waiting for the connection")?;
                request_start = Moment::now();
                sender.send_request(request.map(|()| Empty)).await
            }
            Self::Http2(sender) => {
                sender.ready().await.context("waiting for the connection")?;
                request_start = Moment::now();
                sender.send_request(request.map(|()| Empty)).await
            }
            Self::Http3(sender) => return exchange_http3(sender, request, sink).await,
        };
        received(request_start, response.context("asking")?, sink).await
    }
}

async fn exchange_http3(
    sender: &mut h3::client::SendRequest<Http3Opener, Bytes>,
    request: Request<()>,
    mut sink: Sink,
) -> Result<Response> {
    let request_start = Moment::now();
    let mut stream = sender.send_request(request).await.context("asking")?;
    stream.finish().await.context("asking")?;
    let response = stream.recv_response().await.context("receiving the head")?;
    let response_start = Moment::now();
    sink.begin();
    while let Some(mut bytes) = stream.recv_data().await.context("receiving the content")? {
        while bytes.has_remaining() {
            let chunk = bytes.chunk();
            sink.consume(chunk)?;
            let taken = chunk.len();
            bytes.advance(taken);
        }
    }
    let (status, advertises_http3) = (response.status().as_u16(), advertises_http3(response.headers()));
    Ok(Response { status, advertises_http3, request_start, response_start, response_end: Moment::now(), sink })
}

fn advertises_http3(fields: &HeaderMap) -> bool {
    fields.get(ALT_SVC).and_then(|value| value.to_str().ok()).is_some_and(|value| value.contains("h3="))
}

/// Takes the content of a response whose head has come.
async fn received(request_start: Moment, response: hyper::Response<Incoming>, mut sink: Sink) -> Result<Response> {
    let response_start = Moment::now();
    let (status, advertises_http3) = (response.status().as_u16(), advertises_http3(response.headers()));
    let mut content = response.into_body();
    sink.begin();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut content).poll_frame(context)).await {
        if let Ok(bytes) = frame.context("receiving the content")?.into_data() {
            sink.consume(&bytes)?;
        }
    }
    Ok(Response { status, advertises_http3, request_start, response_start, response_end: Moment::now(), sink })
}

/// The body of a message without content.
pub(super) struct Empty;

impl Body for Empty {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>>>> {
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        true
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(0)
    }
}
