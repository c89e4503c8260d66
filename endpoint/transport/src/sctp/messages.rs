//! Flows in which each message is a separate SCTP message: unordered ones (RFC 9260, section 6.6), and those that are
//! abandoned after a time or a number of retransmissions (RFC 3758; RFC 7496, section 4).
//!
//! The receiver cannot know how many messages will arrive. So the sender waits until everything has been acknowledged
//! or abandoned, and then announces the end with a message that is delivered reliably.

use std::io::IoSlice;
use std::os::fd::AsRawFd as _;

use netwarp_core::clock::Moment;
use netwarp_core::flow::{HEADER_BYTES, MessageSink, Pacer, sleep_until};
use netwarp_wire::job::SctpOptions;

use super::api::{
    AssociationValue, Event, PartialReliability, SCTP_EVENT, SCTP_PR_SUPPORTED, SOL_SCTP, SendControl, receive_message,
};
use super::{SctpStream, ended, whole_message};
use crate::error::{Context as _, Result, ensure};
use crate::received_now;
use crate::socket::Socket;

/// The message that announces the end of the flow (ASCII's EOT). Messages of a flow are longer.
const END: [u8; 1] = [0x04];
const _: () = assert!(END.len() < HEADER_BYTES);

const NANOSECONDS_PER_MILLISECOND: u64 = 1_000_000;

/// The size of the buffer for the event that is subscribed to, in bytes.
const EVENT_BYTES: usize = 64;

/// Returns whether each message of a flow is a separate SCTP message, instead of bytes in an ordered stream.
pub(super) fn travel_alone(options: &SctpOptions) -> bool {
    options.unordered || reliability(options).is_some()
}

/// Checks that the peer supports partial reliability, if messages may be abandoned.
///
/// # Errors
/// The peer does not; as `getsockopt(2)`.
pub(super) fn check(socket: &Socket, options: &SctpOptions) -> Result<()> {
    if reliability(options).is_some() {
        let asked = AssociationValue { association: 0, value: 0 };
        let supported: AssociationValue = socket.get(SOL_SCTP, SCTP_PR_SUPPORTED, asked, "SCTP_PR_SUPPORTED")?;
        ensure!(supported.value == 1, "the association has no partial reliability (sysctl net.sctp.prsctp_enable)");
    }
    Ok(())
}

/// Sends the messages of a flow, each when it is due, and then announces the end.
pub(super) fn send(stream: &mut SctpStream, pacer: &mut Pacer) -> Result<()> {
    let options = &stream.options.sctp;
    let mut control = SendControl::on_stream(stream.number, options.unordered);
    if let Some(reliability) = reliability(options) {
        control = control.with(reliability);
    }
    while let Some(due_ns) = pacer.next_due_ns() {
        sleep_until(due_ns);
        if let Some(message) = pacer.due_message(Moment::now().since(0)) {
            stream.hand_over(&[IoSlice::new(message)], &control)?;
        }
    }
    wait_until_dry(&stream.socket)?;
    stream.hand_over(&[IoSlice::new(&END)], &SendControl::on_stream(stream.number, false))
}

/// Receives the messages of a flow until the sender announces the end.
pub(super) fn receive(stream: &SctpStream, sink: &mut MessageSink) -> Result<()> {
    let max_message_bytes = stream.options.sctp.max_message_bytes;
    loop {
        let message = stream.inbox.next(stream.number, || whole_message(&stream.socket, max_message_bytes))?;
        if message == END {
            return Ok(());
        }
        sink.arrived(received_now(&message)?);
    }
}

/// Returns when messages are abandoned; `None` for never.
fn reliability(options: &SctpOptions) -> Option<PartialReliability> {
    let lifetime_ms = |lifetime_ns: u64| lifetime_ns.div_ceil(NANOSECONDS_PER_MILLISECOND);
    let lifetime = options
        .message_lifetime_ns
        .map(|lifetime_ns| PartialReliability::lifetime(u32::try_from(lifetime_ms(lifetime_ns)).unwrap_or(u32::MAX)));
    lifetime.or(options.max_retransmissions.map(PartialReliability::max_retransmissions))
}

/// Waits until all data has been acknowledged or abandoned. The peer must have nothing to send.
fn wait_until_dry(socket: &Socket) -> Result<()> {
    socket.set(SOL_SCTP, SCTP_EVENT, &Event::sender_dry(true), "SCTP_EVENT")?;
    loop {
        match receive_message(socket.as_raw_fd(), &mut [0; EVENT_BYTES]) {
            Ok(piece) if piece.is_event => break,
            Ok(piece) if piece.length == 0 => return Err(ended()),
            Ok(_) => ensure!(false, "the receiver of a flow has sent something before its end"),
            Err(error) => return Err(error).context("waiting for the last messages to be acknowledged or given up"),
        }
    }
    socket.set(SOL_SCTP, SCTP_EVENT, &Event::sender_dry(false), "SCTP_EVENT")
}
