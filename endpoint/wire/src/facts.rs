//! What is asked of jobs and records beyond their fields.

use crate::job::{
    Change, Competing, Content, Contract, Direction, Flow, Http, Impairments, Job, Loss, Page, Reconnect, Rr, Timeline,
    Workload,
};
use crate::record::Side;

impl Side {
    /// The name of the side's role, which is also its subcommand and the stage of its failures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

impl Job {
    /// The job of each of the run's workloads, as if it were alone on the path.
    pub fn workloads(&self) -> Vec<Self> {
        let first = Self { competing: Vec::new(), ..self.clone() };
        let other = |competing: &Competing| {
            let Competing { name, port, transport, workload, start_ns } = competing.clone();
            Self { name: Some(name), port: Some(port), transport, workload, start_ns, ..first.clone() }
        };
        let others: Vec<Self> = self.competing.iter().map(other).collect();
        std::iter::once(first).chain(others).collect()
    }

    /// Whether programs of the machine are at an end, or at both.
    pub fn has_programs(&self) -> bool {
        match &self.workload {
            Workload::Command(_) => true,
            Workload::Page(page) => page.has_programs(),
            Workload::Bulk(_) => self.transport.stack.as_ref().is_some_and(|stack| stack.contract == Contract::Interop),
            Workload::Stream(_) | Workload::Flow(_) | Workload::Rr(_) => false,
        }
    }

    /// Whether content may go on over another connection where one was given up.
    pub fn resumes(&self) -> bool {
        self.timeline.has_handovers() && self.transport.reconnect == Reconnect::New
    }
}

impl Workload {
    /// The registered name of the application protocol that it speaks, if it has one
    /// (<https://www.iana.org/assignments/tls-extensiontype-values>).
    pub fn alpn(&self) -> Option<&'static [u8]> {
        match self {
            Self::Page(page) => Some(page.http.name().as_bytes()),
            Self::Bulk(_) | Self::Stream(_) | Self::Command(_) | Self::Flow(_) | Self::Rr(_) => None,
        }
    }
}

impl Http {
    /// Its registered name, which browsers give it too.
    pub fn name(self) -> &'static str {
        match self {
            Self::H1 => "http/1.1",
            Self::H2 => "h2",
            Self::H3 => "h3",
        }
    }
}

impl Impairments {
    /// Whether packets meet anything but the links: otherwise no netem is needed, and `limit_packets` bounds nothing.
    pub fn impairs(&self) -> bool {
        // Without `..`: a field that is new does not compile until it is said here whether it impairs.
        let Self {
            delay_ns,
            jitter_ns,
            loss,
            rate_bit_s,
            shaper_queue_bytes,
            reorder,
            duplicate_ratio,
            corrupt_ratio,
            jitter_correlation: _,
            distribution: _,
            limit_packets: _,
            discipline: _,
            seed: _,
        } = self;
        *delay_ns > 0
            || *jitter_ns > 0
            || *loss != Loss::None {}
            || rate_bit_s.is_some()
            || shaper_queue_bytes.is_some()
            || reorder.ratio > 0.0
            || *duplicate_ratio > 0.0
            || *corrupt_ratio > 0.0
    }
}

impl Timeline {
    /// Whether nothing happens.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.redraws.is_empty() && self.traces.is_empty()
    }

    /// Whether the client moves between paths.
    pub fn has_handovers(&self) -> bool {
        self.events.iter().any(|event| matches!(event.change, Change::Attach {} | Change::Detach {}))
    }

    /// Whether nothing may come for a while: the client moves, a path is out, or a trace has next to no rate.
    pub fn interrupts(&self) -> bool {
        let is_out = self.events.iter().any(|event| event.change == Change::Outage {});
        is_out || self.has_handovers() || !self.traces.is_empty()
    }
}

impl Content {
    /// Number of bytes.
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::Seeded { size_bytes, .. } | Self::File { size_bytes, .. } => *size_bytes,
        }
    }
}

impl Rr {
    /// The requests, as a flow.
    pub fn requests(&self) -> Flow {
        self.flow(Direction::Up, self.request_bytes)
    }

    /// The responses, as a flow.
    pub fn responses(&self) -> Flow {
        self.flow(Direction::Down, self.response_bytes)
    }

    fn flow(&self, direction: Direction, message_bytes: u16) -> Flow {
        let (arrivals, messages, duration_ns) = (self.arrivals.clone(), self.messages, self.duration_ns);
        Flow { seed: self.seed, direction, message_bytes, arrivals, messages, duration_ns, packet_table: false }
    }
}

impl Page {
    /// Whether a program of the machine is at either end.
    pub fn has_programs(&self) -> bool {
        self.client.is_some() || self.server.is_some()
    }

    /// Whether the last visit asks for a resource; one that is in the cache it does not.
    pub fn is_fetched(&self, index: usize) -> bool {
        index == 0 || !self.cache || self.visits == 1
    }

    /// Whether a resource may come over this version of HTTP.
    pub fn may_use(&self, http: Http) -> bool {
        http == self.http || (self.discovers_http3 && http == Http::H2)
    }

    /// Whether the client hashes what it gets. A browser does not.
    pub fn is_hashed(&self) -> bool {
        self.verify && self.client.is_none()
    }
}
