//! `sctp`: the kernel's, one-to-one sockets (RFC 6458, section 4).

use std::io::{ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use libc::c_int;
use socket2::{Domain, Type};

use super::Report;
use super::kernel::{ByteStream, Protocol};
use super::sctp_api::{
    AssociationStats, AssociationStatus, AssociationValue, InitMessage, PeerAddress, SCTP_GET_ASSOC_STATS,
    SCTP_INITMSG, SCTP_MAXSEG, SCTP_NODELAY, SCTP_STATUS, SOL_SCTP, SendInfo, send_info_message,
};
use super::socket::{self, Socket};
use crate::clock::{self, Moment};
use crate::content::{Reader, Sink};
use crate::job::{Job, Transport, TransportKind};
use crate::record::{Settings, Stats};

/// Congestion control as RFC 9260, section 7, has it: the only one of the kernel's SCTP.
const CONGESTION: &str = "rfc9260";

/// Largest message content is cut into. A message larger than the peer's window would be delivered in parts only,
/// and a send buffer takes whole messages.
const MESSAGE_BYTES: u64 = 16 << 10;

/// Streams asked for each way.
const STREAMS: u16 = 1;

/// SCTP with a job's options.
#[derive(Debug, Clone)]
pub struct Sctp {
    options: Transport,
}

impl Sctp {
    /// Takes the options from the job.
    ///
    /// # Errors
    /// A congestion control SCTP does not have.
    pub fn new(job: &Job) -> Result<Self> {
        let options = job.transport.clone();
        ensure!(
            options.congestion == CONGESTION,
            "SCTP has no congestion control {:?}: the kernel's one is {CONGESTION:?}",
            options.congestion
        );
        Ok(Self { options })
    }
}

impl Protocol for Sctp {
    type Stream = SctpStream;

    const NAME: &'static str = "sctp";

    fn socket(&self, peer: SocketAddr) -> Result<Socket> {
        let protocol = socket2::Protocol::from(libc::IPPROTO_SCTP);
        let socket = socket2::Socket::new(Domain::for_address(peer), Type::STREAM, Some(protocol));
        let socket = Socket::from(socket.context("creating an SCTP socket (the kernel needs CONFIG_IP_SCTP)")?);
        let streams = InitMessage { outbound_streams: STREAMS, inbound_streams: STREAMS, ..InitMessage::default() };
        socket.set(SOL_SCTP, SCTP_INITMSG, &streams, "SCTP_INITMSG")?;
        socket.set(SOL_SCTP, SCTP_NODELAY, &c_int::from(self.options.nodelay), "SCTP_NODELAY")?;
        if let Some(mss_bytes) = self.options.mss_bytes {
            let fragment = AssociationValue { association: 0, value: mss_bytes };
            socket.set(SOL_SCTP, SCTP_MAXSEG, &fragment, "SCTP_MAXSEG")?;
        }
        socket::set_buffers(&socket, self.options.buffer_bytes)?;
        Ok(socket)
    }

    fn establish(&self, socket: Arc<Socket>) -> Result<SctpStream> {
        let initial_window_bytes = PeerAddress::of(&status(&socket)?).congestion_window_bytes;
        Ok(SctpStream { socket, options: self.options.clone(), initial_window_bytes })
    }
}

/// An association, used as one stream of bytes.
#[derive(Debug)]
pub struct SctpStream {
    socket: Arc<Socket>,
    options: Transport,
    /// As the kernel set it when the association came up: no option chooses it.
    initial_window_bytes: u32,
}

impl SctpStream {
    fn send_message(&self, message: &[u8]) -> Result<()> {
        let info = SendInfo::on_stream(0);
        loop {
            let sent = send_info_message(self.socket.as_raw_fd(), &IoSlice::new(message), &info);
            match sent {
                Ok(sent) if sent == message.len() => return Ok(()),
                Ok(sent) => bail!("SCTP took {sent} of a message of {} bytes", message.len()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("sending an SCTP message"),
            }
        }
    }

    /// Takes the next bytes: at most one message's, a part of it if the buffer is smaller.
    fn receive_some(&self, buffer: &mut [u8]) -> Result<usize> {
        match self.socket.receive(buffer, 0).context("receiving an SCTP message")? {
            0 => bail!("the peer shut the association down in the middle of the content"),
            received => Ok(received),
        }
    }
}

impl ByteStream for SctpStream {
    fn send(&mut self, message: &[u8]) -> Result<()> {
        self.send_message(message)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            filled += self.receive_some(&mut buffer[filled..])?;
        }
        Ok(())
    }

    fn send_content(&mut self, content: &mut Reader) -> Result<()> {
        let mut block = vec![0; content.remaining_bytes().min(MESSAGE_BYTES) as usize];
        while content.remaining_bytes() > 0 {
            self.send_message(content.read(&mut block)?)?;
        }
        Ok(())
    }

    fn receive_content(&mut self, sink: &mut Sink) -> Result<Moment> {
        let mut block = vec![0; sink.remaining_bytes().min(MESSAGE_BYTES) as usize];
        let mut first_byte = None;
        while let remaining @ 1.. = sink.remaining_bytes() {
            let length = remaining.min(MESSAGE_BYTES) as usize;
            let received = self.receive_some(&mut block[..length])?;
            first_byte.get_or_insert_with(Moment::now);
            sink.take(&block[..received])?;
        }
        first_byte.context("there was no content to receive")
    }

    fn report(&self) -> Result<Report> {
        let status = status(&self.socket)?;
        let peer = PeerAddress::of(&status);
        let counters: AssociationStats =
            self.socket.get(SOL_SCTP, SCTP_GET_ASSOC_STATS, AssociationStats::default(), "SCTP_GET_ASSOC_STATS")?;
        let settings = Settings {
            transport: TransportKind::Sctp,
            congestion: self.options.congestion.clone(),
            initial_window_bytes: self.initial_window_bytes.into(),
            mss_bytes: status.fragmentation_point_bytes,
            send_buffer_bytes: socket::granted_send_bytes(&self.socket)?,
            receive_buffer_bytes: socket::granted_receive_bytes(&self.socket)?,
            paced: false,
        };
        Ok(Report { settings, stats: stats(&counters, &peer, clock::tick_ns()) })
    }
}

fn status(socket: &Socket) -> Result<AssociationStatus> {
    socket.get(SOL_SCTP, SCTP_STATUS, AssociationStatus::default(), "SCTP_STATUS")
}

fn stats(counters: &AssociationStats, peer: &PeerAddress, tick_ns: u64) -> Stats {
    Stats {
        retransmitted_packets: Some(counters.retransmitted_chunks),
        smoothed_rtt_ns: (peer.smoothed_rtt_ticks > 0).then(|| u64::from(peer.smoothed_rtt_ticks) * tick_ns),
        congestion_window_bytes: Some(peer.congestion_window_bytes.into()),
        ..Stats::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guest's, whose HZ is 100.
    const TICK_NS: u64 = 10_000_000;

    #[test]
    fn any_other_congestion_control_is_refused() {
        let mut job: Job = serde_json::from_str(include_str!("../../../tests/golden/job-bulk-quic.json")).unwrap();
        let refused = format!("{:#}", Sctp::new(&job).unwrap_err());
        assert!(refused.contains("cubic") && refused.contains(CONGESTION), "{refused}");
        job.transport.congestion = CONGESTION.to_owned();
        Sctp::new(&job).unwrap();
    }

    #[test]
    fn what_was_not_measured_is_none() {
        let unmeasured = stats(&AssociationStats::default(), &PeerAddress::default(), TICK_NS);
        assert_eq!((unmeasured.smoothed_rtt_ns, unmeasured.busy_ns), (None, None));
        let (mut peer, mut counters) = (PeerAddress::default(), AssociationStats::default());
        (peer.smoothed_rtt_ticks, peer.congestion_window_bytes) = (10, 4380);
        counters.retransmitted_chunks = 3;
        let measured = stats(&counters, &peer, TICK_NS);
        assert_eq!(measured.smoothed_rtt_ns, Some(100_000_000));
        assert_eq!((measured.retransmitted_packets, measured.congestion_window_bytes), (Some(3), Some(4380)));
    }
}
