//! Contains programs that this host runs for another host, as far as a process without privileges can.
//!
//! All restrictions of programs on a host apply ([`netwarp_programs::on_host`]), and more: a process of root becomes
//! the user nobody first; the number of processes is limited; programs have no capabilities, cannot create user
//! namespaces, and reach no sockets of the user's; and they read only the files that they are shown, of which
//! some are hidden ([`netwarp_programs::process::Hold::Contained`]). If a restriction is not available, that is an
//! error, so nothing runs without it. The network is the machine's.

use std::fmt;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};
use netwarp_programs::files_of::FilesOf;
use netwarp_programs::on_host::{self, NetworkOf};
use netwarp_programs::privileges::{become_nobody, uid_map};
use netwarp_programs::process::{Hold, Program, Start, how_it_ended};
use netwarp_programs::reaper::Reaper;
use netwarp_programs::root::{self, HOME};
use netwarp_transport::Place;
use netwarp_workload::sandbox;
use nix::sys::resource::{Resource, setrlimit};

use super::contained_server;
use crate::check;
use crate::check::capabilities::kernel_release;
use crate::complain::complain;

/// The most processes and threads that the programs may have at the same time.
const MOST_PROCESSES: u64 = 512;
/// The first kernel with a separate limit on process IDs in each PID namespace.
const PROCESS_NUMBERS_APART: (u32, u32) = (6, 14);
/// How many of the lowest process IDs are not reused after a wrap-around (`RESERVED_PIDS` of `kernel/pid.c`).
const NUMBERS_USED_ONCE: u64 = 300;
/// The size of a page, the unit of `kernel.shmall`, in bytes.
const PAGE_BYTES: u64 = 4096;
/// The most System V message queues, each of at most 16 KiB of text and as many messages (proc_sys_kernel(5)).
const MOST_QUEUES: u64 = 32;
/// `kernel.sem`: the most semaphores per set, semaphores in all sets, operations per call, and sets, as in Linux before
/// 3.19.
const SEMAPHORES: &str = "250 32000 32 128";
/// The memory for files when the containment is only checked, in bytes.
const TRIED_BYTES: u64 = 16 << 20;

/// The options of the containment.
#[derive(Debug, clap::Args)]
pub(crate) struct Hidden {
    /// A directory of the machine that programs see as empty.
    #[arg(long)]
    hidden: Vec<PathBuf>,
}

/// Runs the server's program of a job for a client on another host, contained, until the order to finish.
///
/// # Arguments
/// * `place` - this host's address, and the address of the client.
pub(crate) fn serve(job_file: &Path, place: Place, hidden: &Hidden) -> ExitCode {
    ended(|| {
        let job = check::load(job_file)?;
        let Some(sandbox) = sandbox::of_run(&job) else { bail!("the job runs no programs") };
        let client = place.only_from.context("programs are run for one client only: name it with --only-from")?;
        // A server that listens on IPv6 sees an IPv4 client under an IPv6 address.
        let names = [("server", place.address.ip().to_canonical()), ("client", client.to_canonical())];
        apart(|| {
            contain(sandbox.written_bytes, &names, hidden)?;
            Ok(contained_server(&job))
        })
    })
}

/// Checks whether this host can contain programs, by containing one that does nothing.
pub(crate) fn check(hidden: &Hidden) -> ExitCode {
    ended(|| {
        apart(|| {
            contain(TRIED_BYTES, &[], hidden)?;
            try_program().map(|()| ExitCode::SUCCESS)
        })
    })
}

fn ended(work: impl FnOnce() -> Result<ExitCode>) -> ExitCode {
    work().unwrap_or_else(|error| complain(format_args!("{error:#}")))
}

/// Calls `run` as the user nobody, in a child process with new namespaces ([`on_host::apart`]).
fn apart(run: impl FnOnce() -> Result<ExitCode>) -> Result<ExitCode> {
    become_nobody(&[])?;
    on_host::apart(NetworkOf::Machine, || ended(run))
}

/// Contains this process, the first of its PID namespace, and every process that it will start.
fn contain(written_bytes: u64, names: &[(&str, IpAddr)], hidden: &Hidden) -> Result<()> {
    bound_processes()?;
    // In a user namespace a program would have capabilities again.
    write_setting("/proc/sys/user/max_user_namespaces", 0)?;
    // The kernel kills these processes first when the machine runs out of memory.
    write_setting("/proc/self/oom_score_adj", 1000)?;
    // Only one host's programs run here.
    on_host::lay_files(&[FilesOf::All], written_bytes, Path::new("/"), &[], names)?;
    bound_shared_memory(written_bytes)?;
    hidden.hidden.iter().try_for_each(|directory| root::hide(FilesOf::All, directory))
}

/// Limits the number of processes: by a resource limit and, if the kernel can, by the PID namespace, because resource
/// limits do not apply to the machine's root, which the root of a user namespace may be.
fn bound_processes() -> Result<()> {
    setrlimit(Resource::RLIMIT_NPROC, MOST_PROCESSES, MOST_PROCESSES).context("bound the processes (RLIMIT_NPROC)")?;
    if kernel_release()? >= PROCESS_NUMBERS_APART {
        return write_setting("/proc/sys/kernel/pid_max", NUMBERS_USED_ONCE + MOST_PROCESSES);
    }
    ensure!(
        uid_map()?.split_whitespace().nth(1) != Some("0"),
        "the root of a user namespace may be the machine's root, whose processes this kernel does not bound (Linux 6.14 does): start \
         the server as another user, or as root outside of user namespaces"
    );
    Ok(())
}

/// Limits the System V objects of programs (shared memory, queues, semaphores), which outlive the process that created
/// them and count towards no process's limits. The caller must be in a separate IPC namespace.
///
/// # Arguments
/// * `most_bytes` - the most shared memory of all programs together, in bytes.
fn bound_shared_memory(most_bytes: u64) -> Result<()> {
    write_setting("/proc/sys/kernel/shmall", most_bytes / PAGE_BYTES)?;
    write_setting("/proc/sys/kernel/msgmni", MOST_QUEUES)?;
    write_setting("/proc/sys/kernel/sem", SEMAPHORES)
}

fn write_setting(file: &str, value: impl fmt::Display) -> Result<()> {
    fs::write(file, value.to_string()).with_context(|| format!("write {value} to {file}"))
}

fn try_program() -> Result<()> {
    let _reaper = Reaper::start("server", FilesOf::All)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().context("start the event loop")?;
    runtime.block_on(async {
        let mut program = Program::start(&Start {
            argv: &["/bin/true".to_owned()],
            environment: &[],
            working_directory: Path::new(HOME),
            output_directory: None,
            name: "server",
            control: None,
            hold: Hold::Contained,
        })?;
        let status = program.process.ended().await?;
        ensure!(status.success(), "a program that does nothing, contained: {}", how_it_ended(status));
        Ok(())
    })
}
