//! Sends a request and receives its response, over any version of HTTP.

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
use netwarp_core::clock::Moment;
use netwarp_core::content_sink::Sink;
use netwarp_transport::error::{Context as _, Error, Result, bail};
use netwarp_transport::{Carrier, Duplex, Http3Opener, Http3Streams};
use netwarp_wire::job::Http;
use tokio::task::JoinHandle;

/// A request, and the sink that receives the content of its response.
pub(super) struct Exchange {
    pub request: Request<()>,
    pub sink: Sink,
}

/// A response that has arrived completely.
pub(super) struct Response {
    pub status: u16,
    /// Whether the server advertises HTTP/3 (Alt-Svc, RFC 7838).
    pub advertises_http3: bool,
    /// When the request was about to be passed to HTTP.
    pub request_start: Moment,
    /// When the header section of the response had arrived.
    pub response_start: Moment,
    /// When the last byte of the content had arrived.
    pub response_end: Moment,
    pub sink: Sink,
}

/// The sender of requests on one connection. The task that runs HTTP ends when all senders are dropped.
pub(super) enum Requester {
    /// HTTP/1.1, which carries one request at a time.
    Http1(http1::SendRequest<Empty>),
    /// HTTP/2, which carries any number of requests at the same time.
    Http2(http2::SendRequest<Empty>),
    /// HTTP/3, which carries any number of requests at the same time.
    Http3(h3::client::SendRequest<Http3Opener, Bytes>),
}

/// Starts HTTP on a connection. Also returns the task that runs it; if the task fails, pending requests report the
/// error. Must be called inside the tokio runtime.
///
/// # Errors
/// The carrier does not support this version of HTTP; the connection is lost.
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

/// Starts HTTP/2 with the same flow-control windows as QUIC has in the job.
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
    /// Returns another sender of requests on the same connection, if the protocol carries several requests at a time.
    pub(super) fn another(&self) -> Option<Self> {
        match self {
            Self::Http1(_) => None,
            Self::Http2(sender) => Some(Self::Http2(sender.clone())),
            Self::Http3(sender) => Some(Self::Http3(sender.clone())),
        }
    }

    /// Sends the request and receives the whole response.
    ///
    /// # Errors
    /// The connection is lost, the server violates the protocol, or there is more content than expected.
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

/// Receives the content of a response whose header section has arrived.
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
