//! QUIC streams with the interface of the `h3` crate, for HTTP/3.
//!
//! `h3-quinn` does the same, but does not set priorities of streams, and lets quinn put bytes in order; quinn closes
//! connections with too many gaps ([`super::receive`]).

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use quinn::{ConnectionError, ReadError, VarInt, WriteError};

use super::receive::Receiver;

/// A pending operation, if there is one.
type Waiting<T> = Option<Pin<Box<dyn Future<Output = T> + Send + Sync>>>;
type Received = (Receiver, Result<Option<Bytes>, ReadError>);
type Opened = Result<(quinn::SendStream, quinn::RecvStream), ConnectionError>;

/// Polls the pending operation; begins one if there is none.
fn poll_one<T>(
    waiting: &mut Waiting<T>,
    operation: impl Future<Output = T> + Send + Sync + 'static,
    context: &mut Context<'_>,
) -> Poll<T> {
    let done = ready!(waiting.get_or_insert_with(|| Box::pin(operation)).as_mut().poll(context));
    *waiting = None;
    Poll::Ready(done)
}

/// A connection whose streams carry HTTP/3.
pub struct Http3Streams {
    connection: quinn::Connection,
    priorities: StreamPriorities,
    window_bytes: u64,
    accepting_request: Waiting<Opened>,
    accepting_other: Waiting<Result<quinn::RecvStream, ConnectionError>>,
    opening: Http3Opener,
}

/// The priorities of a connection's streams, as HTTP/3 sets them. quinn sends the data of the stream with the highest
/// priority; streams with equal priority take turns.
#[derive(Debug, Clone, Default)]
pub struct StreamPriorities(Arc<Mutex<HashMap<StreamId, i32>>>);

impl StreamPriorities {
    /// Sets the priority of a stream for its further data.
    pub fn set(&self, stream: StreamId, priority: i32) {
        self.0.lock().expect("no holder panics").insert(stream, priority);
    }

    fn take(&self, stream: StreamId) -> Option<i32> {
        self.0.lock().expect("no holder panics").remove(&stream)
    }
}

impl Http3Streams {
    /// Wraps a connection on which no stream has been opened.
    pub(super) fn new(connection: quinn::Connection, window_bytes: u64) -> Self {
        let priorities = StreamPriorities::default();
        let opening = Http3Opener::new(connection.clone(), priorities.clone(), window_bytes);
        Self { connection, priorities, window_bytes, accepting_request: None, accepting_other: None, opening }
    }

    /// Returns a handle for setting the priorities of the connection's streams.
    pub fn priorities(&self) -> StreamPriorities {
        self.priorities.clone()
    }
}

impl<B: Buf> h3::quic::Connection<B> for Http3Streams {
    type RecvStream = ReceivingStream;
    type OpenStreams = Http3Opener;

    fn poll_accept_recv(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<ReceivingStream, ConnectionErrorIncoming>> {
        let connection = self.connection.clone();
        let accepting = async move { connection.accept_uni().await };
        let accepted = ready!(poll_one(&mut self.accepting_other, accepting, context));
        Poll::Ready(accepted.map(|stream| ReceivingStream::new(stream, self.window_bytes)).map_err(lost))
    }

    fn poll_accept_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<RequestStream<B>, ConnectionErrorIncoming>> {
        let connection = self.connection.clone();
        let accepting = async move { connection.accept_bi().await };
        let accepted = ready!(poll_one(&mut self.accepting_request, accepting, context));
        let stream = |streams| RequestStream::new(streams, self.priorities.clone(), self.window_bytes);
        Poll::Ready(accepted.map(stream).map_err(lost))
    }

    fn opener(&self) -> Http3Opener {
        self.opening.clone()
    }
}

impl<B: Buf> h3::quic::OpenStreams<B> for Http3Streams {
    type BidiStream = RequestStream<B>;
    type SendStream = SendingStream<B>;

    fn poll_open_bidi(&mut self, context: &mut Context<'_>) -> Poll<Result<RequestStream<B>, StreamErrorIncoming>> {
        self.opening.poll_open_bidi(context)
    }

    fn poll_open_send(&mut self, context: &mut Context<'_>) -> Poll<Result<SendingStream<B>, StreamErrorIncoming>> {
        self.opening.poll_open_send(context)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        h3::quic::OpenStreams::<B>::close(&mut self.opening, code, reason);
    }
}

/// Opens streams of a connection.
pub struct Http3Opener {
    connection: quinn::Connection,
    priorities: StreamPriorities,
    window_bytes: u64,
    opening_request: Waiting<Opened>,
    opening_other: Waiting<Result<quinn::SendStream, ConnectionError>>,
}

impl Http3Opener {
    fn new(connection: quinn::Connection, priorities: StreamPriorities, window_bytes: u64) -> Self {
        Self { connection, priorities, window_bytes, opening_request: None, opening_other: None }
    }
}

impl Clone for Http3Opener {
    fn clone(&self) -> Self {
        Self::new(self.connection.clone(), self.priorities.clone(), self.window_bytes)
    }
}

impl<B: Buf> h3::quic::OpenStreams<B> for Http3Opener {
    type BidiStream = RequestStream<B>;
    type SendStream = SendingStream<B>;

    fn poll_open_bidi(&mut self, context: &mut Context<'_>) -> Poll<Result<RequestStream<B>, StreamErrorIncoming>> {
        let connection = self.connection.clone();
        let opening = async move { connection.open_bi().await };
        let opened = ready!(poll_one(&mut self.opening_request, opening, context));
        let stream = |streams| RequestStream::new(streams, self.priorities.clone(), self.window_bytes);
        Poll::Ready(opened.map(stream).map_err(of_connection))
    }

    fn poll_open_send(&mut self, context: &mut Context<'_>) -> Poll<Result<SendingStream<B>, StreamErrorIncoming>> {
        let connection = self.connection.clone();
        let opening = async move { connection.open_uni().await };
        let opened = ready!(poll_one(&mut self.opening_other, opening, context));
        Poll::Ready(opened.map(|stream| SendingStream::new(stream, self.priorities.clone())).map_err(of_connection))
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.connection.close(VarInt::from_u64(code.value()).unwrap_or(VarInt::MAX), reason);
    }
}

/// The sending half of a stream.
pub struct SendingStream<B: Buf> {
    stream: quinn::SendStream,
    priorities: StreamPriorities,
    /// Data that must be sent before more is accepted.
    unsent: Option<WriteBuf<B>>,
}

impl<B: Buf> SendingStream<B> {
    fn new(stream: quinn::SendStream, priorities: StreamPriorities) -> Self {
        Self { stream, priorities, unsent: None }
    }
}

impl<B: Buf> h3::quic::SendStream<B> for SendingStream<B> {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if let Some(priority) = self.priorities.take(self.send_id()) {
            // It fails for a stream that has ended, where priority no longer matters.
            let _ = self.stream.set_priority(priority);
        }
        while let Some(unsent) = self.unsent.as_mut().filter(|unsent| unsent.has_remaining()) {
            let written = ready!(Pin::new(&mut self.stream).poll_write(context, unsent.chunk()));
            unsent.advance(written.map_err(of_write)?);
        }
        self.unsent = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if self.unsent.is_some() {
            let message = "data was given to a stream that was not ready".to_owned();
            let connection_error = ConnectionErrorIncoming::InternalError(message);
            return Err(StreamErrorIncoming::ConnectionErrorIncoming { connection_error });
        }
        self.unsent = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        Poll::Ready(self.stream.finish().map_err(|error| StreamErrorIncoming::Unknown(Box::new(error))))
    }

    fn reset(&mut self, code: u64) {
        // It fails for a stream that has ended already.
        let _ = self.stream.reset(VarInt::from_u64(code).unwrap_or(VarInt::MAX));
    }

    fn send_id(&self) -> StreamId {
        stream_id(self.stream.id())
    }
}

/// The receiving half of a stream.
pub struct ReceivingStream {
    id: StreamId,
    state: Receiving,
}

enum Receiving {
    Idle(Receiver),
    /// A read is in progress; it returns the receiver with the data.
    Waiting(Pin<Box<dyn Future<Output = Received> + Send + Sync>>),
    /// The reader wants no more data; the peer was notified when the receiver was dropped.
    Stopped,
}

impl ReceivingStream {
    fn new(stream: quinn::RecvStream, window_bytes: u64) -> Self {
        Self { id: stream_id(stream.id()), state: Receiving::Idle(Receiver::new(stream, window_bytes)) }
    }
}

impl h3::quic::RecvStream for ReceivingStream {
    type Buf = Bytes;

    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let mut waiting = match std::mem::replace(&mut self.state, Receiving::Stopped) {
            Receiving::Idle(mut receiver) => Box::pin(async move {
                let bytes = receiver.next(usize::MAX).await;
                (receiver, bytes)
            }),
            Receiving::Waiting(waiting) => waiting,
            Receiving::Stopped => return Poll::Ready(Ok(None)),
        };
        let Poll::Ready((receiver, bytes)) = waiting.as_mut().poll(context) else {
            self.state = Receiving::Waiting(waiting);
            return Poll::Pending;
        };
        self.state = Receiving::Idle(receiver);
        Poll::Ready(bytes.map_err(of_read))
    }

    fn stop_sending(&mut self, _code: u64) {
        self.state = Receiving::Stopped;
    }

    fn recv_id(&self) -> StreamId {
        self.id
    }
}

/// A stream that carries a request and its response.
pub struct RequestStream<B: Buf> {
    sending: SendingStream<B>,
    receiving: ReceivingStream,
}

impl<B: Buf> RequestStream<B> {
    fn new(
        (send, receive): (quinn::SendStream, quinn::RecvStream),
        priorities: StreamPriorities,
        window_bytes: u64,
    ) -> Self {
        let receiving = ReceivingStream::new(receive, window_bytes);
        Self { sending: SendingStream::new(send, priorities), receiving }
    }
}

impl<B: Buf> h3::quic::BidiStream<B> for RequestStream<B> {
    type SendStream = SendingStream<B>;
    type RecvStream = ReceivingStream;

    fn split(self) -> (SendingStream<B>, ReceivingStream) {
        (self.sending, self.receiving)
    }
}

impl<B: Buf> h3::quic::SendStream<B> for RequestStream<B> {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.sending.poll_ready(context)
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.sending.send_data(data)
    }

    fn poll_finish(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.sending.poll_finish(context)
    }

    fn reset(&mut self, code: u64) {
        self.sending.reset(code);
    }

    fn send_id(&self) -> StreamId {
        self.sending.send_id()
    }
}

impl<B: Buf> h3::quic::RecvStream for RequestStream<B> {
    type Buf = Bytes;

    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.receiving.poll_data(context)
    }

    fn stop_sending(&mut self, code: u64) {
        self.receiving.stop_sending(code);
    }

    fn recv_id(&self) -> StreamId {
        self.receiving.recv_id()
    }
}

fn stream_id(id: quinn::StreamId) -> StreamId {
    StreamId::try_from(VarInt::from(id).into_inner()).expect("both have 62 bits")
}

fn lost(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into_inner() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        error => ConnectionErrorIncoming::Undefined(Arc::new(error)),
    }
}

fn of_connection(error: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error: lost(error) }
}

fn of_write(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::ConnectionLost(error) => of_connection(error),
        WriteError::Stopped(code) => StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() },
        error => StreamErrorIncoming::Unknown(Box::new(error)),
    }
}

fn of_read(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::ConnectionLost(error) => of_connection(error),
        ReadError::Reset(code) => StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() },
        error => StreamErrorIncoming::Unknown(Box::new(error)),
    }
}
