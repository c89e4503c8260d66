//! Impairs the incoming packets of a run between two hosts, and reliably removes the impairments at the end.
//!
//! The receiving host does this, because netem at a sender changes the sender (TCP small queues, large segments). An
//! ingress qdisc has filters (`netwarp_path::netlink::redirect`) that redirect the packets of the run, and no others,
//! through an ifb with the queueing disciplines that a router's device would have ([`ImpairedIngress`]).
//!
//! This runs as a separate process, which reads a job and then orders from the process that started it. It removes
//! everything when that pipe closes, for whatever reason the other process ended.

use std::io::{self, BufRead, Write};
use std::net::IpAddr;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use netwarp_path::impaired_ingress::ImpairedIngress;
use netwarp_path::netlink::redirect::{DataPort, Incoming};
use netwarp_wire::job::{Direction, Impairments};
use netwarp_wire::record::Record;
use nix::sys::signal::{SigHandler, Signal, signal};
use serde_json::json;

use crate::check;
use crate::complain::complain;

/// The order to report the counters.
const COUNT: &str = "count";

/// The packets to impair, from the command line.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// This host's address of the run.
    #[arg(long)]
    address: IpAddr,
    /// The other host's address.
    #[arg(long)]
    peer: IpAddr,
    /// The server's port for data.
    #[arg(long)]
    data_port: u16,
    /// The direction that arrives at this host: down at the client's, up at the server's.
    #[arg(long, value_parser = direction)]
    direction: Direction,
    /// Only try whether this host can, and leave nothing behind.
    #[arg(long)]
    check: bool,
}

fn direction(text: &str) -> Result<Direction, serde_json::Error> {
    serde_json::from_value(json!(text))
}

impl Arguments {
    fn incoming(&self) -> Incoming {
        let (peer, address) = (self.peer.to_canonical(), self.address.to_canonical());
        let port = match self.direction {
            Direction::Down => DataPort::Source(self.data_port),
            Direction::Up => DataPort::Destination(self.data_port),
        };
        Incoming { peer, address, port }
    }
}

/// Impairs one direction as the job on standard input asks, until standard input ends. Writes JSON objects to standard
/// output, one per line: first the qdiscs in force, then the counters for each order to report them.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    match impair(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(format_args!("{error:#}")),
    }
}

fn impair(arguments: &Arguments) -> Result<()> {
    ignore_signals()?;
    let (incoming, direction) = (arguments.incoming(), arguments.direction);
    if arguments.check {
        return ImpairedIngress::begin(incoming, direction, &Impairments::nothing(), 0)?.remove();
    }
    let mut lines = io::stdin().lock().lines();
    let text = lines.next().context("no job came on standard input")?.context("read the job")?;
    let job = check::understand(&text, "on standard input")?;
    let path = job.paths.first().context("the job has no path")?;
    let impairments = path.toward(direction);
    ensure!(
        impairments.corrupt_ratio == 0.0 && impairments.discipline.is_none(),
        "neither corruption nor disciplines are imposed: checksums were verified before, and queues are first in, first out"
    );
    let mut impaired = ImpairedIngress::begin(incoming, direction, impairments, path.mtu_bytes)?;
    let obeyed = obey(&mut impaired, lines);
    impaired.remove().and(obeyed)
}

/// Prints the qdiscs in force, then carries out orders until the pipe closes.
fn obey(impaired: &mut ImpairedIngress<'_>, orders: impl Iterator<Item = io::Result<String>>) -> Result<()> {
    let mut output = io::stdout();
    let mut say = |record: &Record| writeln!(output, "{}", json!(record)).context("say what is in force");
    say(&Record::Imposed(impaired.record()?))?;
    for order in orders {
        match order.context("read an order")?.as_str() {
            COUNT => say(&Record::Calibration(impaired.count()?))?,
            other => bail!("{other:?} is no order"),
        }
    }
    Ok(())
}

/// Ignores the signals that would end this process: it must end only when the pipe closes, and not by a signal that is
/// meant for the other process.
fn ignore_signals() -> Result<()> {
    for each in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        // SAFETY: no handler is installed that could interrupt anything.
        unsafe { signal(each, SigHandler::SigIgn) }.with_context(|| format!("ignore {each} (signal)"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(address: &str, direction: Direction) -> Arguments {
        let parsed = || address.parse().unwrap();
        Arguments { address: parsed(), peer: parsed(), data_port: 4433, direction, check: false }
    }

    #[test]
    fn the_servers_port_is_where_a_client_sends_to_and_where_its_packets_come_from() {
        let port = |direction| arguments("192.0.2.7", direction).incoming().port;
        assert_eq!(port(Direction::Down), DataPort::Source(4433));
        assert_eq!(port(Direction::Up), DataPort::Destination(4433));
    }

    #[test]
    fn an_ipv4_host_seen_by_an_ipv6_socket_sends_ipv4_packets() {
        let incoming = arguments("::ffff:192.0.2.7", Direction::Up).incoming();
        assert!(incoming.peer.is_ipv4() && incoming.address.is_ipv4());
        assert!(arguments("2001:db8::7", Direction::Up).incoming().peer.is_ipv6());
    }
}
