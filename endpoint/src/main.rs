//! netwarp-endpoint: builds the path, moves the bytes, writes the records.
//!
//! It is PID 1 in a guest (`guest`), and an ordinary program on the host's own kernel (`native`). In both cases it
//! starts itself again as both roles (`server`, `client`).

mod backend;
mod check;
mod complain;
mod impair_incoming;
mod role;
mod run;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use netwarp_programs::{confine, reaper};
use netwarp_transport::Place;

use crate::backend::{guest, native, remote};
use crate::check::capabilities;
use crate::role::containment::{self, Hidden};

/// Both ends of a netwarp run.
#[derive(Debug, Parser)]
#[command(name = "netwarp-endpoint", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run as PID 1 of a guest: carry out RUN_DIR/job.json, write RUN_DIR/records.jsonl, power off.
    Guest {
        /// The run directory, as the host names it.
        run_dir: PathBuf,
        /// Options that the kernel adds to the arguments of its init, such as `root=98:0`.
        #[arg(hide = true, trailing_var_arg = true)]
        kernel_options: Vec<String>,
    },
    /// Carry out RUN_DIR/job.json on this host's kernel, in real time; write RUN_DIR/records.jsonl.
    Native {
        /// The run directory.
        run_dir: PathBuf,
    },
    /// Carry out RUN_DIR/job.json as its client, with a server on another host; write RUN_DIR/records.jsonl.
    Remote(remote::Arguments),
    /// Impair the incoming packets of one direction of a job, until standard input ends.
    Impose(impair_incoming::Arguments),
    /// Show what this host's kernel can do, for native runs and for guests.
    Capabilities {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Run as the server of a job, by the orders on standard input.
    Server {
        #[command(flatten)]
        role: Role,
        /// The only host whose packets are accepted.
        #[arg(long)]
        only_from: Option<IpAddr>,
        /// The host of the job's network whose program is run, where that is not the workload's server.
        #[arg(long)]
        host: Option<String>,
    },
    /// Run as the server of a job with programs from another host, contained, by the orders on standard input.
    ServeContained {
        #[command(flatten)]
        role: Role,
        /// The client's address.
        #[arg(long)]
        only_from: IpAddr,
        #[command(flatten)]
        hidden: Hidden,
    },
    /// Check whether programs from another host can be contained here.
    CheckContainment(Hidden),
    /// Run as the client of a job, by the orders on standard input.
    Client(Role),
    /// Run as the first process of a host's programs, for the role that starts them.
    #[command(hide = true)]
    Reap,
    /// Show what is wrong with jobs, if anything.
    Check {
        /// Job files; - reads jobs from standard input, one a line.
        #[arg(required = true)]
        jobs: Vec<PathBuf>,
    },
    /// Run a program that can write to the named directories and nowhere else.
    Confine(confine::Confinement),
    /// Show the version of the endpoint.
    Version {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, clap::Args)]
struct Role {
    /// The job file.
    #[arg(long)]
    job: PathBuf,
    /// The server's address.
    #[arg(long)]
    address: IpAddr,
    /// The server's port.
    #[arg(long, default_value_t = netwarp_transport::PORT)]
    port: u16,
}

impl Role {
    fn server(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.port)
    }
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Guest { run_dir, .. } => guest::run(&run_dir),
        Command::Native { run_dir } => native::run(&run_dir),
        Command::Capabilities { json } => capabilities::report(json),
        Command::Remote(arguments) => remote::run(&arguments),
        Command::Impose(arguments) => impair_incoming::run(&arguments),
        Command::Server { role, only_from, host } => {
            role::server(&role.job, Place { address: role.server(), only_from }, host.as_deref())
        }
        Command::ServeContained { role, only_from, hidden } => {
            let place = Place { address: role.server(), only_from: Some(only_from) };
            containment::serve(&role.job, place, &hidden)
        }
        Command::CheckContainment(hidden) => containment::check(&hidden),
        Command::Client(role) => role::client(&role.job, role.server()),
        Command::Reap => reaper::run(),
        Command::Check { jobs } => check_jobs(&jobs),
        Command::Confine(confinement) => confine::run(&confinement),
        Command::Version { json } => print_version(json),
    }
}

/// Checks job files. Exits with 2 for an unsound job, as for any other bad input.
fn check_jobs(jobs: &[PathBuf]) -> ExitCode {
    let refusals = check::refusals(jobs).unwrap_or_else(|error| vec![format!("{error:#}")]);
    for refusal in &refusals {
        complain::complain(refusal);
    }
    if refusals.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) }
}

fn print_version(json: bool) -> ExitCode {
    let endpoint = env!("CARGO_PKG_VERSION");
    if json {
        println!("{}", serde_json::json!({"endpoint": endpoint, "format": netwarp_wire::job::JOB_FORMAT}));
    } else {
        println!("netwarp-endpoint {endpoint}, job format {}", netwarp_wire::job::JOB_FORMAT);
    }
    ExitCode::SUCCESS
}
