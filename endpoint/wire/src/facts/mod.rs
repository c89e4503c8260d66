//! Methods of jobs and records for properties that follow from their fields.

mod path;

use std::time::Duration;

use crate::job::{
    Change, Content, Contract, Direction, Ends, Event, Exchange, Flow, Http, Impairments, Job, Network, Page, Path,
    Reconnect, Redraw, Rr, Stack, Timeline, Trace, Transport, Workload,
};
use crate::record::Side;

pub use self::path::MOST_REPAIRS;

/// A bound of the deviation of a delay from its mean, in units of the jitter. netem's tables end at half of it
/// ([`Impairments::longest_delay_ns`](crate::job::Impairments::longest_delay_ns)); drawn delays have no end.
const DEVIATIONS: u32 = 8;

impl Side {
    /// Returns the side's name, which is also the subcommand of its role and the stage of its failures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

impl Direction {
    /// Returns the side that sends in this direction.
    pub fn sender(self) -> Side {
        match self {
            Self::Down => Side::Server,
            Self::Up => Side::Client,
        }
    }

    /// Returns the other direction.
    pub fn opposite(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }

    /// Returns the side that receives in this direction.
    pub fn receiver(self) -> Side {
        match self {
            Self::Down => Side::Client,
            Self::Up => Side::Server,
        }
    }
}

impl Job {
    /// Returns the job's workload if it has exactly one; otherwise `None`.
    pub fn alone(&self) -> Option<&Exchange> {
        match &self.workloads[..] {
            [one] => Some(one),
            _ => None,
        }
    }

    /// Returns the workload of a job with exactly one workload, as every role's job is.
    ///
    /// # Panics
    /// The job has several workloads: the caller must use [`Self::each_alone`] first.
    pub fn only(&self) -> &Exchange {
        self.alone().expect("a job of one workload is asked for its workload")
    }

    /// Returns what [`Self::only`] returns, as mutable.
    pub fn only_mut(&mut self) -> &mut Exchange {
        match &mut self.workloads[..] {
            [one] => one,
            _ => panic!("a job of one workload is asked for its workload"),
        }
    }

    /// Returns whether the job switches CUBIC's HyStart on or off; `None` if it leaves it as it is.
    pub fn hystart(&self) -> Option<bool> {
        self.workloads.iter().find_map(|each| each.transport.tcp.hystart)
    }

    /// Returns how many packets TCP may pass to a device as one large segment; `None` if the job does not limit that.
    pub fn tso_packets(&self) -> Option<u32> {
        self.workloads.iter().find_map(|each| each.transport.tcp.tso_packets)
    }

    /// Returns a job for each workload, with only this workload. In a described network, the job's path is made of the
    /// links between the workload's client and server.
    pub fn each_alone(&self) -> Vec<Self> {
        let alone = |one: &Exchange| {
            let ends = one.ends.as_ref();
            let between = ends.zip(self.network.as_ref()).and_then(|(ends, network)| self.path_between(network, ends));
            let (paths, timeline) = match between {
                Some((slowest, path)) => (vec![path], self.timeline.of_path(slowest)),
                None => (self.paths.clone(), self.timeline.clone()),
            };
            Self {
                format: self.format,
                run: self.run.clone(),
                seed: self.seed,
                paths,
                workloads: vec![one.clone()],
                timeline,
                capture: self.capture,
                sampling: self.sampling.clone(),
                limits: self.limits.clone(),
                network: None,
                kernel: self.kernel.clone(),
            }
        };
        self.workloads.iter().map(alone).collect()
    }

    /// Combines the links between a client and a server into a single path: the slowest link, with the delays of all
    /// links. Also returns the number of the slowest link.
    fn path_between(&self, network: &Network, ends: &Ends) -> Option<(u32, Path)> {
        let mut at = &ends.client;
        let mut crossed = Vec::new();
        for &number in &ends.links {
            let (link, path) = (network.links.get(number as usize)?, self.paths.get(number as usize)?.clone());
            let is_forward = link.first == *at;
            at = if is_forward { &link.second } else { &link.first };
            let turned = |path: Path| Path { down: path.up, up: path.down, ..path };
            crossed.push((number, if is_forward { path } else { turned(path) }));
        }
        let rate_bit_s = |path: &Path| {
            let rates = path.directions().map(|(_, impairments)| impairments.rate_bit_s.unwrap_or(u64::MAX));
            rates[0].min(rates[1])
        };
        let (slowest, base) = crossed.iter().min_by_key(|(_, path)| rate_bit_s(path))?;
        let of_all = |direction| {
            let delay_ns = crossed.iter().map(|(_, path)| path.toward(direction).delay_ns).sum();
            Impairments { delay_ns, ..base.toward(direction).clone() }
        };
        let mtu_bytes = crossed.iter().map(|(_, path)| path.mtu_bytes).min()?;
        let path = Path { mtu_bytes, down: of_all(Direction::Down), up: of_all(Direction::Up), ..base.clone() };
        Some((*slowest, path))
    }

    /// Returns whether an installed program is at either end of any workload.
    pub fn has_programs(&self) -> bool {
        self.workloads.iter().any(Exchange::has_programs)
    }

    /// Returns whether a transfer may have to continue over another connection, because connections are given up at
    /// handovers.
    pub fn resumes(&self) -> bool {
        self.timeline.has_handovers() && self.only().transport.reconnect == Reconnect::New
    }

    /// Returns the longest time that a packet may travel in one direction: the longest delay of all paths, plus the
    /// time to empty the largest queue at the lowest rate.
    pub fn longest_way(&self) -> Duration {
        let events = self.timeline.events.iter();
        let of_events = events.clone().filter_map(|event| match event.change {
            Change::Delay { down_ns, up_ns } => Some(down_ns.max(up_ns)),
            _ => None,
        });
        let redraws = self.timeline.redraws.iter();
        let of_redraws = redraws.map(|redraw| redraw.mean_ns + u64::from(DEVIATIONS) * redraw.deviation_ns);
        let directions =
            || self.paths.iter().flat_map(|path| [(path.mtu_bytes, &path.down), (path.mtu_bytes, &path.up)]);
        let of_paths = directions().map(|(_, each)| {
            let spread_ns = u64::from(DEVIATIONS) * each.jitter_ns + each.longest_repair_ns();
            each.delay_ns + spread_ns + each.aggregate_ns
        });
        let delay_ns = of_events.chain(of_redraws).chain(of_paths).max().unwrap_or(0);
        let changed_bit_s = events.filter_map(|event| match event.change {
            Change::Rate { rate_bit_s, .. } => Some(rate_bit_s),
            _ => None,
        });
        let traced_bit_s = self.timeline.traces.iter().flat_map(|trace| trace.rates_bit_s.iter().copied());
        let rates_bit_s = changed_bit_s.chain(traced_bit_s).chain(directions().filter_map(|(_, each)| each.rate_bit_s));
        let slowest_bit_s = rates_bit_s.filter(|rate_bit_s| *rate_bit_s > 0).min();
        let queue_bytes = directions().map(|(mtu_bytes, each)| each.queue_bytes(mtu_bytes)).max().unwrap_or(0);
        let queued_s = slowest_bit_s.map_or(0.0, |rate_bit_s| 8.0 * queue_bytes as f64 / rate_bit_s as f64);
        Duration::from_nanos(delay_ns) + Duration::from_secs_f64(queued_s)
    }
}

impl Exchange {
    /// Returns whether the host of this name is the workload's client or server, or runs one of its programs. In a job
    /// without a described network, that holds for every host.
    pub fn is_of(&self, host: &str) -> bool {
        let runs_there = || match &self.workload {
            Workload::Command(command) => command.programs.iter().any(|program| program.host == host),
            _ => false,
        };
        self.ends.as_ref().is_none_or(|ends| ends.client == host || ends.server == host || runs_there())
    }

    fn has_programs(&self) -> bool {
        match &self.workload {
            Workload::Command(_) => true,
            Workload::Page(page) => page.has_programs(),
            Workload::Bulk(_) => self.transport.stack.as_ref().is_some_and(|stack| stack.contract == Contract::Interop),
            Workload::Stream(_) | Workload::Flow(_) | Workload::Rr(_) | Workload::Traffic(_) => false,
        }
    }
}

impl Transport {
    /// Returns the third-party implementation that a side uses; `None` if it uses netwarp's own.
    pub fn stack_of(&self, side: Side) -> Option<&Stack> {
        let client = self.client.as_ref().filter(|_| side == Side::Client);
        client.map(|end| &end.stack).or(self.stack.as_ref())
    }
}

impl Workload {
    /// Returns the registered ALPN name of the workload's application protocol, if it has one
    /// (<https://www.iana.org/assignments/tls-extensiontype-values>).
    pub fn alpn(&self) -> Option<&'static [u8]> {
        match self {
            Self::Page(page) => Some(page.http.name().as_bytes()),
            Self::Bulk(_) | Self::Stream(_) | Self::Command(_) | Self::Flow(_) | Self::Rr(_) | Self::Traffic(_) => None,
        }
    }
}

impl Http {
    /// Returns the registered ALPN name of the version, which browsers also report.
    pub fn name(self) -> &'static str {
        match self {
            Self::H1 => "http/1.1",
            Self::H2 => "h2",
            Self::H3 => "h3",
        }
    }
}

impl Timeline {
    /// Returns the part of the timeline that concerns one path, for a job that has only that path.
    fn of_path(&self, path: u32) -> Self {
        let events = self.events.iter().filter(|each| each.path == path);
        let redraws = self.redraws.iter().filter(|each| each.path == path);
        let traces = self.traces.iter().filter(|each| each.path == path);
        Self {
            events: events.map(|each| Event { path: 0, ..each.clone() }).collect(),
            redraws: redraws.map(|each| Redraw { path: 0, ..each.clone() }).collect(),
            traces: traces.map(|each| Trace { path: 0, ..each.clone() }).collect(),
        }
    }

    /// Returns whether the paths stay unchanged during the run.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.redraws.is_empty() && self.traces.is_empty()
    }

    /// Returns whether the client moves between paths.
    pub fn has_handovers(&self) -> bool {
        self.events.iter().any(|event| matches!(event.change, Change::Attach {} | Change::Detach {}))
    }

    /// Returns whether no packets may arrive for a while: because the client moves, a path has an outage, or a trace's
    /// rate may be close to 0.
    pub fn interrupts(&self) -> bool {
        let is_out = self.events.iter().any(|event| event.change == Change::Outage {});
        is_out || self.has_handovers() || !self.traces.is_empty()
    }
}

impl Content {
    /// Returns the size of the content, in bytes.
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::Seeded { size_bytes, .. } | Self::File { size_bytes, .. } => *size_bytes,
        }
    }
}

impl Rr {
    /// Returns the requests as a flow from client to server.
    pub fn requests(&self) -> Flow {
        self.flow(Direction::Up, self.request_bytes)
    }

    /// Returns the responses as a flow from server to client.
    pub fn responses(&self) -> Flow {
        self.flow(Direction::Down, self.response_bytes)
    }

    fn flow(&self, direction: Direction, message_bytes: u16) -> Flow {
        let (arrivals, messages, duration_ns) = (self.arrivals.clone(), self.messages, self.duration_ns);
        Flow { seed: self.seed, direction, message_bytes, arrivals, messages, duration_ns, packet_table: false }
    }
}

impl Page {
    /// Returns whether an installed program is at either end.
    pub fn has_programs(&self) -> bool {
        self.client.is_some() || self.server.is_some()
    }

    /// Returns whether the last visit requests this resource, because it is not in the client's cache.
    pub fn is_fetched(&self, index: usize) -> bool {
        index == 0 || !self.cache || self.visits == 1
    }

    /// Returns whether a resource may be fetched by this version of HTTP.
    pub fn may_use(&self, http: Http) -> bool {
        http == self.http || (self.discovers_http3 && http == Http::H2)
    }

    /// Returns whether the client hashes the received content. Browsers do not.
    pub fn is_hashed(&self) -> bool {
        self.verify && self.client.is_none()
    }
}
