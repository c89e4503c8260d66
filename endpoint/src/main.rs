//! netwarp-endpoint: builds the path, moves the bytes, writes the records.
//!
//! In a guest it is PID 1 (`guest`), on the host's own kernel a program like any other (`native`). Either starts itself
//! again as both roles (`server`, `client`).

mod backend;
mod check;
mod complain;
mod impose;
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
    /// Be PID 1 of a guest: carry out RUN_DIR/job.json, write RUN_DIR/records.jsonl, power off.
    Guest {
        /// The run directory, as the host names it.
        run_dir: PathBuf,
        /// What the kernel appends to its init's arguments of its own accord, such as `root=98:0`.
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
    /// Impose what a job asks of one direction on its packets that come in, until standard input ends.
    Impose(impose::Arguments),
    /// Say what this host's kernel can do, for native runs and for guests.
    Capabilities {
        /// As one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Be the server of a job, as its orchestrator says on standard input.
    Server {
        #[command(flatten)]
        role: Role,
        /// Take packets of this host only.
        #[arg(long)]
        only_from: Option<IpAddr>,
    },
    /// Be the server of a job of programs that came from another host, contained, as its orchestrator says on standard input.
    ServeContained {
        #[command(flatten)]
        role: Role,
        /// The client's address.
        #[arg(long)]
        only_from: IpAddr,
        #[command(flatten)]
        hidden: Hidden,
    },
    /// See whether programs that came from another host can be contained here.
    CheckContainment(Hidden),
    /// Be the client of a job, as its orchestrator says on standard input.
    Client(Role),
    /// Be the first process of a host's programs, as the role that starts them asks.
    #[command(hide = true)]
    Reap,
    /// Say what is wrong with jobs, if anything.
    Check {
        /// Job files; - reads jobs from standard input, one a line.
        #[arg(required = true)]
        jobs: Vec<PathBuf>,
    },
    /// Run a program that can write to the named directories and nowhere else.
    Confine(confine::Confinement),
    /// Say which endpoint this is.
    Version {
        /// As one JSON object.
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
        Command::Impose(arguments) => impose::run(&arguments),
        Command::Server { role, only_from } => role::server(&role.job, Place { address: role.server(), only_from }),
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
