//! `sctp`: the kernel's SCTP with one-to-one sockets (RFC 6458, section 4), as an association with one stream or with
//! several, which then share the association.

mod api;
mod association;
mod batch;
mod inbox;
pub(crate) mod info;
mod messages;
mod migration;
mod multihoming;
mod protocol;
mod reassembly;
mod stack;

use std::io::{self, Cursor, IoSlice, Read as _};
use std::os::fd::AsRawFd as _;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netwarp_core::clock;
use netwarp_core::content_sink::Sink;
use netwarp_core::flow::{MessageSink, Pacer};
use netwarp_wire::content::Reader;
use netwarp_wire::job::{Resume, Transport, TransportKind};
use netwarp_wire::record::Settings;

use self::api::{AssociationStats, Piece, SCTP_GET_ASSOC_STATS, SOL_SCTP, SendControl, receive_message};
use self::association::{stats, status};
use self::inbox::Inbox;
use self::reassembly::{PLACE_BYTES, Reassembly, placed};
pub(super) use self::stack::SctpStack;
use super::Report;
use super::byte_stream::{self, ByteStream, ReadyStream, Turns};
use super::error::{Context as _, Error, Result, ensure};
use super::socket::{self, Socket};
use super::system_call::retry;

/// How many bytes of content are received from the kernel at once.
const RECEIVE_BLOCK_BYTES: u64 = 16 << 10;

/// A stream of an association, used as a stream of bytes.
#[derive(Debug)]
pub(super) struct SctpStream {
    socket: Arc<Socket>,
    options: Transport,
    /// The initial window that the kernel chose when the association was set up; no option sets it.
    initial_window_bytes: u32,
    /// The stream's number on the association.
    number: u16,
    /// The received messages of the association, shared by its streams.
    inbox: Arc<Inbox>,
    /// The message that is being read, if messages are ordered; else empty.
    begun: Cursor<Vec<u8>>,
    /// Puts messages in order, if they are unordered; else `None`.
    order: Option<Order>,
    /// Whether a part of a received message is left to read.
    has_rest: Arc<AtomicBool>,
}

/// Prefixes sent messages with their offsets, and puts the received ones in order.
#[derive(Debug, Default)]
struct Order {
    sent_bytes: u64,
    received: Reassembly,
}

impl Order {
    /// Returns the message for the next bytes to send: their offset, then the bytes.
    fn place(&mut self, bytes: &[u8]) -> Vec<u8> {
        let message = placed(self.sent_bytes, bytes);
        self.sent_bytes += bytes.len() as u64;
        message
    }
}

impl SctpStream {
    /// Returns how many bytes of content fit into a message.
    fn room_bytes(&self) -> usize {
        let message_bytes = self.options.sctp.max_message_bytes as usize;
        if self.order.is_some() { message_bytes - PLACE_BYTES } else { message_bytes }
    }

    /// Sends the bytes in as many messages as needed.
    fn send_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let control = SendControl::on_stream(self.number, self.options.sctp.unordered);
        let parts = bytes.chunks(self.room_bytes());
        let Some(order) = &mut self.order else {
            return self.hand_over(&parts.map(IoSlice::new).collect::<Vec<_>>(), &control);
        };
        let messages: Vec<_> = parts.map(|part| order.place(part)).collect();
        self.hand_over(&messages.iter().map(|message| IoSlice::new(message)).collect::<Vec<_>>(), &control)
    }

    fn hand_over(&self, mut messages: &[IoSlice<'_>], control: &SendControl) -> Result<()> {
        while !messages.is_empty() {
            let sent = retry(|| batch::send(self.socket.as_raw_fd(), messages, control));
            messages = &messages[sent.context("sending SCTP messages")?..];
        }
        Ok(())
    }

    /// Receives the next bytes: the rest of one message, or as much of it as fits into the buffer.
    fn receive_some(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if !self.shares_association() {
            let received = self.socket.receive(buffer, 0).context("receiving an SCTP message")?;
            return if received > 0 { Ok(received) } else { Err(ended()) };
        }
        let max_message_bytes = self.options.sctp.max_message_bytes;
        let next = || self.inbox.next(self.number, || whole_message(&self.socket, max_message_bytes));
        loop {
            let filled = match &mut self.order {
                Some(order) => order.received.read(buffer),
                None => self.begun.read(buffer).context("reading a message in memory")?,
            };
            match (filled, &mut self.order) {
                (0, Some(order)) => order.received.take(&next()?)?,
                (0, None) => self.begun = Cursor::new(next()?),
                (filled, order) => {
                    let has_rest = match order {
                        Some(order) => order.received.has_next(),
                        None => (self.begun.position() as usize) < self.begun.get_ref().len(),
                    };
                    self.has_rest.store(has_rest, Relaxed);
                    return Ok(filled);
                }
            }
        }
    }

    /// Receives `messages` messages, or parts of larger ones, into the sink.
    fn receive_batch(&self, messages: usize, block: &mut Vec<u8>, sink: &mut Sink) -> Result<()> {
        let slot_bytes = self.options.sctp.max_message_bytes.min(RECEIVE_BLOCK_BYTES as u32) as usize;
        block.resize(block.len().max(messages * slot_bytes), 0);
        let block = &mut block[..messages * slot_bytes];
        let lengths = retry(|| batch::receive(self.socket.as_raw_fd(), block, slot_bytes));
        for (slot, length) in block.chunks(slot_bytes).zip(lengths.context("receiving SCTP messages")?) {
            if length == 0 {
                return Err(ended());
            }
            sink.consume(&slot[..length])?;
        }
        Ok(())
    }

    /// Returns how many messages are passed in one system call: one if streams share the association, since they take
    /// turns.
    fn batch_messages(&self) -> usize {
        if self.shares_association() { 1 } else { batch::messages_of(self.options.sctp.max_message_bytes as usize) }
    }

    /// Returns whether messages are received through the inbox: with several streams, or unordered messages.
    fn shares_association(&self) -> bool {
        self.options.sctp.streams > 1 || self.order.is_some()
    }
}

fn ended() -> Error {
    Error::closed("the peer shut the association down in the middle of the content")
}

/// Waits for a whole message of any stream, and returns the stream and the message. A message may arrive in parts, but
/// never with other messages in between: they are interleaved (RFC 8260) only if a socket asks for it.
fn whole_message(socket: &Socket, max_message_bytes: u32) -> Result<(u16, Vec<u8>)> {
    let mut message = vec![0; max_message_bytes as usize];
    let mut filled = 0;
    loop {
        ensure!(filled < message.len(), "the peer sent a message of more than {max_message_bytes} bytes");
        match receive_message(socket.as_raw_fd(), &mut message[filled..]) {
            Ok(Piece { length: 0, .. }) => return Err(ended()),
            Ok(Piece { length, is_last, stream, .. }) => {
                filled += length;
                if is_last {
                    message.truncate(filled);
                    return Ok((stream.context("a message came without saying on which stream")?, message));
                }
            }
            Err(error) => return Err(error).context("receiving an SCTP message"),
        }
    }
}

/// For an association with one ordered stream: each call sends or receives one message.
impl ReadyStream for SctpStream {
    fn try_receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.try_receive(buffer)
    }

    fn try_send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.try_send(&bytes[..bytes.len().min(self.room_bytes())])
    }
}

impl ByteStream for SctpStream {
    fn send(&mut self, message: &[u8]) -> Result<()> {
        self.send_bytes(message)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            filled += self.receive_some(&mut buffer[filled..])?;
        }
        Ok(())
    }

    fn send_content(&mut self, content: &mut Reader) -> Result<()> {
        let batch_bytes = self.room_bytes() * self.batch_messages();
        let mut block = vec![0; content.remaining_bytes().min(batch_bytes as u64) as usize];
        while content.remaining_bytes() > 0 {
            self.send_bytes(content.read(&mut block)?)?;
        }
        Ok(())
    }

    fn receive_content(&mut self, sink: &mut Sink) -> Result<()> {
        let mut block = vec![0; sink.remaining_bytes().min(RECEIVE_BLOCK_BYTES) as usize];
        // The first message is received alone, because the time of its arrival is needed.
        let mut most = 1;
        while let remaining @ 1.. = sink.remaining_bytes() {
            // At least this many messages are still to come.
            let messages = most.min(remaining / u64::from(self.options.sctp.max_message_bytes));
            if messages > 1 {
                self.receive_batch(messages as usize, &mut block, sink)?;
            } else {
                let length = remaining.min(RECEIVE_BLOCK_BYTES) as usize;
                let received = self.receive_some(&mut block[..length])?;
                sink.consume(&block[..received])?;
            }
            most = if sink.watches_arrivals() { 1 } else { self.batch_messages() as u64 };
        }
        Ok(())
    }

    fn send_messages(&mut self, pacer: &mut Pacer) -> Result<()> {
        if messages::travel_alone(&self.options.sctp) {
            return messages::send(self, pacer);
        }
        byte_stream::send_in_order(self, pacer)
    }

    fn receive_messages(&mut self, sink: &mut MessageSink) -> Result<()> {
        if messages::travel_alone(&self.options.sctp) {
            return messages::receive(self, sink);
        }
        byte_stream::receive_in_order(self, sink)
    }

    fn turns(&self) -> Option<Turns> {
        let (inbox, number, has_rest) = (self.inbox.clone(), self.number, self.has_rest.clone());
        let turn = move || -> Pin<Box<dyn Future<Output = Box<dyn Send>> + Send>> {
            let (inbox, has_rest) = (inbox.clone(), has_rest.clone());
            Box::pin(async move {
                if has_rest.load(Relaxed) { Box::new(()) as Box<dyn Send> } else { Box::new(inbox.turn(number).await) }
            })
        };
        self.shares_association().then(|| Arc::new(turn) as Turns)
    }

    fn report(&self) -> Result<Report> {
        let status = status(&self.socket)?;
        let counters: AssociationStats =
            self.socket.get(SOL_SCTP, SCTP_GET_ASSOC_STATS, AssociationStats::default(), "SCTP_GET_ASSOC_STATS")?;
        let settings = Settings {
            transport: TransportKind::Sctp,
            congestion: self.options.congestion.clone(),
            initial_window_bytes: self.initial_window_bytes.into(),
            mss_bytes: status.fragmentation_point_bytes,
            send_buffer_bytes: socket::effective_send_bytes(&self.socket)?,
            receive_buffer_bytes: socket::effective_receive_bytes(&self.socket)?,
            paced: false,
        };
        Ok(Report { settings, stats: stats(&counters, &status.primary, clock::tick_ns()), resumed: Resume::None })
    }
}
