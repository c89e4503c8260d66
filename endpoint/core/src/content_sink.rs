//! The receiving end of a transfer: counts and hashes the content's bytes as they arrive, records when they arrive, and
//! can write them to a file.

use std::fs::File;
use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use netwarp_wire::content::{hex_digest, new_hasher};
use ring::digest::Context as Hasher;

use crate::arrival_log::SharedArrivalLog;
use crate::clock::Moment;

const TOO_MUCH: &str = "the peer sent more content than it was asked for";

/// A sink that several connections can fill one after another: when one is given up, the next continues.
pub type SharedSink = Arc<Mutex<Sink>>;

/// Consumes received bytes: hashes them if the content is verified, writes them if they are kept, otherwise only counts
/// them.
pub struct Sink {
    size_bytes: u64,
    remaining_bytes: u64,
    hasher: Option<Hasher>,
    file: Option<File>,
    first_byte: Option<Moment>,
    last_byte: Option<Moment>,
    arrivals: Option<Arrivals>,
}

/// The arrival times, longest gap and hash of received content.
#[derive(Debug)]
pub struct Received {
    /// When the first byte was received; for an empty content, when it was expected.
    pub first_byte: Moment,
    /// When the last byte was received.
    pub last_byte: Moment,
    /// The longest gap between two arrivals; `None` if it was not measured or there was none.
    pub longest_gap: Option<Gap>,
    /// The hex SHA-256 of the content, if the sink hashes it.
    pub sha256: Option<String>,
}

impl Sink {
    /// Creates a sink for content of `size_bytes`, which is hashed if `verify`.
    pub fn new(size_bytes: u64, verify: bool) -> Self {
        let hasher = verify.then(new_hasher);
        let (remaining_bytes, first_byte, last_byte, arrivals) = (size_bytes, None, None, None);
        Self { size_bytes, remaining_bytes, hasher, file: None, first_byte, last_byte, arrivals }
    }

    /// Sets the file to which the content is written; with `None` it is not written.
    pub fn writing_to(self, file: Option<File>) -> Self {
        Self { file, ..self }
    }

    /// Sets the log in which arrivals are recorded. With a log, bytes must be passed to the sink as they arrive.
    pub fn watching_arrivals(mut self, arrival_log: Option<WatchedArrivals>) -> Self {
        self.arrivals = arrival_log.map(|arrival_log| Arrivals { arrival_log, last: None, longest: None });
        self
    }

    /// Returns the sink in a form that several connections can fill, one after the other.
    pub fn shared(self) -> SharedSink {
        Arc::new(Mutex::new(self))
    }

    /// Starts the measurement: the content is expected from now on. Empty content counts as received at once.
    pub fn begin(&mut self) {
        if self.size_bytes == 0 && self.first_byte.is_none() {
            let now = Moment::now();
            (self.first_byte, self.last_byte) = (Some(now), Some(now));
        }
    }

    /// Returns whether arrivals are recorded, so that bytes must be passed to the sink as they arrive rather than many
    /// at once.
    pub fn watches_arrivals(&self) -> bool {
        self.arrivals.is_some()
    }

    /// Returns the time within which several arrivals may be passed to the sink as one; `None` if gaps are measured,
    /// which needs every arrival, or if arrivals are not recorded.
    pub fn resolution(&self) -> Option<Duration> {
        let watched = self.arrivals.as_ref().filter(|arrivals| !arrivals.arrival_log.for_gaps)?;
        Some(watched.arrival_log.arrival_log.lock().expect("no holder panics").step() / 2)
    }

    /// Returns the number of bytes received so far.
    pub fn position_bytes(&self) -> u64 {
        self.size_bytes - self.remaining_bytes
    }

    /// Returns the number of bytes still to come.
    pub fn remaining_bytes(&self) -> u64 {
        self.remaining_bytes
    }

    /// Returns whether bytes are neither hashed nor kept, so that the kernel may discard them without copying
    /// ([`Self::discard`]).
    pub fn discards(&self) -> bool {
        self.hasher.is_none() && self.file.is_none()
    }

    /// Counts the next bytes, and hashes or writes them as required.
    ///
    /// # Errors
    /// More bytes arrived than were announced; as [`Self::keep`].
    pub fn consume(&mut self, bytes: &[u8]) -> Result<()> {
        self.keep(bytes)?;
        self.discard(bytes.len() as u64)
    }

    /// Counts bytes that arrived and that the kernel discarded.
    ///
    /// # Errors
    /// More bytes arrived than were announced.
    pub fn discard(&mut self, bytes: u64) -> Result<()> {
        self.remaining_bytes = self.remaining_bytes.checked_sub(bytes).context(TOO_MUCH)?;
        let needs_time = self.first_byte.is_none() || self.remaining_bytes == 0 || self.arrivals.is_some();
        if needs_time && bytes > 0 {
            self.record(Moment::now(), bytes, true);
        }
        Ok(())
    }

    /// Hashes the next bytes if the content is verified, and writes them if it is kept. It does not count them;
    /// [`Self::record_arrival`] does.
    ///
    /// # Errors
    /// As `write(2)`.
    pub fn keep(&mut self, bytes: &[u8]) -> Result<()> {
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes);
        }
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes)).context("writing what arrived to a file")
    }

    /// Counts bytes, the last of which arrived at `at`.
    ///
    /// # Arguments
    /// * `awaited` - whether the receiver was ready for data since the last arrival; if not, the time since then is not
    ///   counted as a gap.
    ///
    /// # Errors
    /// More bytes arrived than were announced.
    pub fn record_arrival(&mut self, bytes: u64, at: Moment, awaited: bool) -> Result<()> {
        self.remaining_bytes = self.remaining_bytes.checked_sub(bytes).context(TOO_MUCH)?;
        self.record(at, bytes, awaited);
        Ok(())
    }

    fn record(&mut self, at: Moment, bytes: u64, awaited: bool) {
        self.first_byte.get_or_insert(at);
        self.last_byte = Some(at);
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.record(at, bytes, awaited);
        }
    }

    /// Returns times, longest gap and hash of the part of the content that has arrived before its transfer was broken
    /// off. If nothing has arrived, both times are the current time.
    pub fn arrived(&self) -> Received {
        Received {
            first_byte: self.first_byte.unwrap_or_else(Moment::now),
            last_byte: self.last_byte.unwrap_or_else(Moment::now),
            longest_gap: self.arrivals.as_ref().and_then(|arrivals| arrivals.longest),
            sha256: None,
        }
    }

    /// Returns times, longest gap and hash of content that has arrived completely.
    ///
    /// # Errors
    /// The content has not arrived completely.
    pub fn received(&self) -> Result<Received> {
        ensure!(self.remaining_bytes == 0, "{} bytes of the content have not come", self.remaining_bytes);
        Ok(Received {
            first_byte: self.first_byte.context("nothing has come")?,
            last_byte: self.last_byte.context("nothing has come")?,
            longest_gap: self.arrivals.as_ref().and_then(|arrivals| arrivals.longest),
            sha256: self.hasher.clone().map(hex_digest),
        })
    }
}

/// The log in which a sink records arrivals, and whether it measures gaps.
#[derive(Debug, Clone)]
pub struct WatchedArrivals {
    /// The log, which all sinks of this end share.
    pub arrival_log: SharedArrivalLog,
    /// The run's epoch, in nanoseconds of `CLOCK_MONOTONIC`.
    pub epoch_ns: u64,
    /// Whether gaps in arrivals are measured, and not only goodput over time.
    pub for_gaps: bool,
}

/// An interval in which no content arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The time of the last arrival before the gap.
    pub start: Moment,
    /// The length of the gap, until the next arrival, in nanoseconds.
    pub length_ns: u64,
}

/// Records a sink's arrivals in a log; keeps the time of the last one and the longest gap so far.
#[derive(Debug)]
struct Arrivals {
    arrival_log: WatchedArrivals,
    last: Option<Moment>,
    longest: Option<Gap>,
}

impl Arrivals {
    /// Records an arrival in the log, and the gap before it if that is the longest so far.
    fn record(&mut self, now: Moment, bytes: u64, awaited: bool) {
        let WatchedArrivals { arrival_log, epoch_ns, for_gaps } = &self.arrival_log;
        arrival_log.lock().expect("no holder panics").record_arrival(now.since(*epoch_ns), bytes, awaited);
        if let Some(start) = self.last.replace(now).filter(|_| awaited && *for_gaps) {
            let length_ns = now.since(start.since(0));
            if self.longest.is_none_or(|longest| length_ns > longest.length_ns) {
                self.longest = Some(Gap { start, length_ns });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use netwarp_wire::content::{Part, Reader};
    use netwarp_wire::job::Content;
    use netwarp_wire::record::{GoodputRecord, Record};

    use super::*;

    fn arrival_log() -> WatchedArrivals {
        WatchedArrivals { arrival_log: SharedArrivalLog::default(), epoch_ns: 0, for_gaps: true }
    }

    #[test]
    fn the_first_of_the_longest_gaps_is_told() {
        let moment = |ms: u64| Moment::after(ms * 1_000_000);
        let mut arrivals = Arrivals { arrival_log: arrival_log(), last: None, longest: None };
        arrivals.record(moment(5), 1, true);
        assert_eq!(arrivals.longest, None, "one arrival is no gap");
        [6, 9, 10, 13].into_iter().for_each(|ms| arrivals.record(moment(ms), 1, true));
        arrivals.record(moment(30), 1, false);
        assert_eq!(arrivals.longest, Some(Gap { start: moment(6), length_ns: 3_000_000 }));
    }

    #[test]
    fn a_sink_watches_only_when_asked_to() {
        let gap = |arrival_log| {
            let mut sink = Sink::new(2, false).watching_arrivals(arrival_log);
            sink.discard(1).unwrap();
            sink.discard(1).unwrap();
            sink.received().unwrap().longest_gap
        };
        assert!(gap(Some(arrival_log())).is_some());
        assert_eq!(gap(Some(WatchedArrivals { for_gaps: false, ..arrival_log() })), None);
        assert_eq!(gap(None), None);
    }

    #[test]
    fn arrivals_without_gaps_are_told_apart_as_finely_as_the_goodput() {
        let (exact, rough) = (arrival_log(), WatchedArrivals { for_gaps: false, ..arrival_log() });
        let resolution = |arrival_log: &WatchedArrivals| {
            Sink::new(1, false).watching_arrivals(Some(arrival_log.clone())).resolution()
        };
        assert_eq!(resolution(&exact), None);
        assert_eq!(resolution(&rough), Some(Duration::from_millis(5)));
        rough.arrival_log.lock().unwrap().record_arrival(25_000_000_000, 1, true);
        assert_eq!(resolution(&rough), Some(Duration::from_millis(10)), "2000 steps are not enough");
    }

    #[test]
    fn sinks_of_a_run_note_what_comes_in_one_flow() {
        let arrival_log = arrival_log();
        for bytes in [3, 4] {
            Sink::new(bytes, false).watching_arrivals(Some(arrival_log.clone())).discard(bytes).unwrap();
        }
        let records = arrival_log.arrival_log.lock().unwrap().records();
        assert!(
            matches!(&records[..], [Record::Goodput(GoodputRecord { bytes, .. })] if bytes.iter().sum::<u64>() == 7)
        );
    }

    #[test]
    fn a_sink_hashes_as_the_reader_does_whoever_fills_it() {
        let content = Content::Seeded { seed: 3, size_bytes: 999 };
        let mut reader = Reader::open(&content, Part { offset_bytes: 0, length_bytes: 999 }, true).unwrap();
        let mut buffer = [0; 999];
        let bytes = reader.read(&mut buffer).unwrap().to_vec();
        let sink = Sink::new(999, true).shared();
        for chunk in bytes.chunks(33) {
            sink.lock().unwrap().consume(chunk).unwrap();
        }
        let sink = sink.lock().unwrap();
        assert_eq!((sink.position_bytes(), sink.remaining_bytes()), (999, 0));
        assert_eq!(sink.received().unwrap().sha256, reader.into_sha256());
    }

    #[test]
    fn of_a_content_that_is_broken_off_there_is_what_came() {
        let mut sink = Sink::new(9, false);
        sink.discard(4).unwrap();
        sink.discard(2).unwrap();
        assert!(sink.received().is_err(), "it is not whole");
        let Received { first_byte, last_byte, sha256, .. } = sink.arrived();
        assert!(first_byte.since(0) <= last_byte.since(0));
        assert_eq!((sink.position_bytes(), sha256), (6, None));
    }

    #[test]
    fn sha256_is_the_standard_one() {
        // FIPS 180-2, appendix B.1.
        let mut sink = Sink::new(3, true);
        assert!(sink.received().is_err(), "nothing has come yet");
        sink.consume(b"abc").unwrap();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sink.received().unwrap().sha256.as_deref(), Some(expected));
    }

    #[test]
    fn more_than_announced_is_refused() {
        assert!(Sink::new(2, false).consume(b"abc").is_err());
    }

    #[test]
    fn an_empty_content_is_there_at_once() {
        let mut sink = Sink::new(0, true);
        sink.begin();
        assert!(sink.received().is_ok());
    }
}
