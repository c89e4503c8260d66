//! Carries out the client's half of a run between two hosts, in real time. The server's half is on another host,
//! reached through a descriptor.
//!
//! The process that starts this program has a connection to that host, and copies lines between it and the descriptor:
//! orders in one direction, messages in the other. The path exists already; this run neither builds nor changes it, and
//! does not read its counters.

use std::env;
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd as _, RawFd};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use netwarp_core::message_pipe::MessagePipe;
use netwarp_path::network::Network;
use netwarp_programs::on_host::NetworkOf;
use netwarp_wire::job::Job;
use netwarp_wire::record::{ClockKind, Side};
use netwarp_wire::request_prefix::RequestPrefix;
use netwarp_wire::role_protocol::Order;
use netwarp_workload::sandbox;

use super::native;
use super::role_process::{RoleProcess, RoleStart};
use crate::complain::complain;
use crate::run::host::{Host, Part, Shared};
use crate::run::running_role::{Event, Role, give_order};

/// The environment variable with the run's token: other users of the machine cannot read it there, unlike arguments.
const TOKEN: &str = "NETWARP_RUN_TOKEN";

/// The arguments of a run against another host.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The run directory.
    run_dir: PathBuf,
    /// The server's address.
    #[arg(long)]
    address: IpAddr,
    /// The server's port for data.
    #[arg(long)]
    port: u16,
    /// The open descriptor of a socket that takes orders to the server and gives its messages.
    #[arg(long)]
    server_fd: RawFd,
    /// What the server's `CLOCK_MONOTONIC` says when this host's says zero, in nanoseconds.
    #[arg(long, allow_negative_numbers = true)]
    server_clock_ns: i64,
}

/// Carries out `run_dir/job.json`. Failures are in the records and are printed on standard error as well.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    native::run_apart_if_of_programs(&arguments.run_dir, NetworkOf::Machine, || run_here(arguments))
}

fn run_here(arguments: &Arguments) -> ExitCode {
    match Remote::open(arguments) {
        Ok(mut host) => native::run_on(&arguments.run_dir, &mut host),
        Err(error) => complain(format_args!("{error:#}")),
    }
}

/// A pair of hosts: this one for the client, another one for the server.
struct Remote {
    run_directory: PathBuf,
    address: IpAddr,
    port: u16,
    /// The server's role, until the run takes it over.
    server: Option<ServerRole>,
    token: RequestPrefix,
}

impl Remote {
    fn open(arguments: &Arguments) -> Result<Self> {
        let token = env::var(TOKEN).with_context(|| format!("read the run's token from {TOKEN}"))?;
        let token = RequestPrefix::try_from(token).map_err(anyhow::Error::msg)?;
        let fd = arguments.server_fd;
        // SAFETY: only asks whether the descriptor is open.
        if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
            bail!("descriptor {fd} is not open: the remote backend starts this program, and has it open then");
        }
        // SAFETY: the descriptor is open, and the process that started this program opened it for this use alone.
        let socket = unsafe { File::from_raw_fd(fd) };
        let orders = socket.try_clone().context("copy the descriptor of the server")?;
        let messages = MessagePipe::new(socket, Side::Server.name());
        let clock_ns = arguments.server_clock_ns;
        let server = Some(ServerRole { orders, messages, clock_ns, is_running: true });
        let run_directory = arguments.run_dir.canonicalize().context("find the run directory")?;
        Ok(Self { run_directory, address: arguments.address, port: arguments.port, server, token })
    }

    /// Returns the host names that programs can resolve, with their addresses.
    fn names(&self) -> Result<[(&'static str, IpAddr); 2]> {
        Ok([("server", self.address), ("client", self.own_address().context("find this host's address")?)])
    }

    /// Returns this host's address for packets to the server, found by connecting a UDP socket, which sends nothing.
    fn own_address(&self) -> io::Result<IpAddr> {
        let any: IpAddr =
            if self.address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect((self.address, self.port))?;
        Ok(socket.local_addr()?.ip())
    }
}

impl Host for Remote {
    fn clock(&self) -> ClockKind {
        ClockKind::Real
    }

    fn token(&self) -> Option<RequestPrefix> {
        Some(self.token)
    }

    fn prepare(&mut self, job: &Job) -> Result<()> {
        native::refuse_kernel_parameters(job)?;
        match sandbox::of_run(job) {
            Some(sandbox) => sandbox::build_files(job, &self.run_directory, &sandbox, &self.names()?),
            None => Ok(()),
        }
    }

    fn build(&mut self, _job: &Job) -> Result<()> {
        Ok(())
    }

    fn network(&mut self) -> Option<&mut Network> {
        None
    }

    fn spawn(&mut self, part: Part<'_>, _job: &Job, job_file: &Path, shared: Shared<'_>) -> Result<Box<dyn Role>> {
        ensure!(part.further.is_none(), "there are two hosts, and a further program has none");
        match part.side {
            Side::Server => Ok(Box::new(self.server.take().context("the server was started already")?)),
            Side::Client => {
                let (address, port) = (self.address, Some(self.port));
                let start = RoleStart { part, program: None, job: job_file, address, port, shared };
                Ok(Box::new(RoleProcess::spawn(&start, false)?))
            }
        }
    }
}

/// The server's role on the other host. Its last message says how it ended; then the descriptor is closed.
struct ServerRole {
    orders: File,
    messages: MessagePipe,
    /// The server's `CLOCK_MONOTONIC` when this host's shows zero, in nanoseconds.
    clock_ns: i64,
    is_running: bool,
}

impl Role for ServerRole {
    fn is_running(&self) -> bool {
        self.is_running
    }

    fn order(&mut self, order: &Order) -> Result<()> {
        give_order(&mut self.orders, Side::Server, &on_clock(order.clone(), self.clock_ns)?)
    }

    fn receive(&mut self) -> Result<Vec<Event>> {
        if let Some(messages) = self.messages.receive()? {
            return Ok(messages.into_iter().map(Event::Said).collect());
        }
        self.is_running = false;
        let how = (!self.messages.is_complete()).then(|| "stopped in the middle of a message".to_owned());
        Ok(vec![Event::Gone(how)])
    }

    /// Stops reading the role's messages. Its host ends it when the run's connection is closed.
    fn stop(&mut self) {
        self.is_running = false;
    }
}

impl AsFd for ServerRole {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.messages.as_fd()
    }
}

/// Returns the order, with the run's epoch converted to another host's clock if it is the order to begin.
///
/// # Errors
/// The run's epoch lies before that clock's zero.
fn on_clock(order: Order, clock_ns: i64) -> Result<Order> {
    Ok(match order {
        Order::Begin { epoch_ns, certificate, token } => {
            let epoch_ns = epoch_ns
                .checked_add_signed(clock_ns)
                .context("the run begins before the server's clock does: the offset between the clocks is wrong")?;
            Order::Begin { epoch_ns, certificate, token }
        }
        order => order,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(epoch_ns: u64) -> Order {
        Order::Begin { epoch_ns, certificate: None, token: None }
    }

    #[test]
    fn the_server_begins_by_its_own_clock() {
        assert_eq!(on_clock(begin(10), 5).unwrap(), begin(15));
        assert_eq!(on_clock(begin(10), -5).unwrap(), begin(5));
        assert!(on_clock(begin(10), -11).is_err());
        assert_eq!(on_clock(Order::Finish {}, 5).unwrap(), Order::Finish {});
    }
}
