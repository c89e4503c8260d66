//! PID 1 of the guest: mounts file systems, raises limits, carries out one run and powers off. Nothing else runs in the
//! guest.

use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use netwarp_path::netns::write_sysctl;
use netwarp_programs::files_of::FilesOf;
use netwarp_programs::root::{self, Base};
use netwarp_transport::stack_of;
use netwarp_wire::job::Job;
use netwarp_wire::record::{ClockKind, Failure};
use netwarp_workload::sandbox;
use nix::mount::{MsFlags, mount};
use nix::sys::prctl::set_timerslack;
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_getres, clock_nanosleep, clock_settime};
use nix::unistd::sync;

use super::namespaces::Namespaces;
use crate::complain::complain;
use crate::run;
use crate::run::record_writer::RecordWriter;

const TMP: &str = "/tmp";
const RUN_DIRECTORY: &str = "/tmp/run";
const HYSTART: &str = "/sys/module/tcp_cubic/parameters/hystart";
const HOST_TMP: &str = "/tmp/host";

/// How long the guest must have been up when installed programs start: more than five minutes, after which the kernel's
/// counter of ticks has wrapped around (`INITIAL_JIFFIES`).
const UPTIME: Duration = Duration::from_secs(600);

/// Carries out a run as PID 1 and powers off. `run_directory` is the path on the host.
pub(crate) fn run(run_directory: &Path) -> ! {
    std::panic::set_hook(Box::new(|panic| {
        complain(panic);
        let failure = Failure { stage: "teardown".to_owned(), message: format!("the orchestrator broke: {panic}") };
        report(RecordWriter::open(Path::new(RUN_DIRECTORY)).and_then(|records| records.end(Some(failure))));
        power_off();
    }));
    report(live(run_directory));
    power_off()
}

fn live(run_directory: &Path) -> Result<()> {
    // This holds for this process and all that it starts. With the default slack, sleeps may end 50 µs late, and an
    // idle guest's clock would jump over that time.
    set_timerslack(1).context("ask for exact timers (prctl PR_SET_TIMERSLACK)")?;
    mount_all(run_directory)?;
    await_fine_timers()?;
    let prepared = run_directory.to_owned();
    let mut host = Namespaces::new(ClockKind::Virtual, move |job| prepare(job, &prepared));
    run::run_directory(Path::new(RUN_DIRECTORY), &mut host).map(drop)
}

fn prepare(job: &Job, run_directory: &Path) -> Result<()> {
    raise_limits(job)?;
    if let Some(wanted) = job.hystart() {
        set_hystart(wanted)?;
    }
    reveal_content(job)?;
    let Some(sandbox) = sandbox::of_run(job) else { return Ok(()) };
    let workload = netwarp_workload::of(&job.only().workload);
    stay_up()?;
    if let Some(start_date_s) = workload.start_date_s() {
        set_date(start_date_s)?;
    }
    let names = sandbox.names(job);
    for files in FilesOf::run(sandbox.is_shared, &sandbox::hosts_of(job)) {
        root::build(files, &Base::Guest, sandbox.working_directory, &names)?;
    }
    sandbox.hide(job, run_directory)?;
    workload.fill_sandbox(job)
}

/// Mounts the guest's file systems. The root is the host's, read-only; the run directory is the only place on the host
/// that is written to.
fn mount_all(run_directory: &Path) -> Result<()> {
    mount_one("proc", Path::new("/proc"), MsFlags::empty(), None)?;
    mount_one("sysfs", Path::new("/sys"), MsFlags::empty(), None)?;
    mount_one("tmpfs", Path::new(TMP), MsFlags::empty(), None)?;
    fs::create_dir(RUN_DIRECTORY).with_context(|| format!("create {RUN_DIRECTORY}"))?;
    mount_one("hostfs", Path::new(RUN_DIRECTORY), MsFlags::empty(), Some(run_directory))
}

fn mount_one(kind: &str, target: &Path, flags: MsFlags, option: Option<&Path>) -> Result<()> {
    mount(Some(kind), target, Some(kind), flags, option).with_context(|| {
        let of = option.map(|option| format!(" of the host's {}", option.display())).unwrap_or_default();
        format!("mount {kind}{of} on {}", target.display())
    })
}

/// Switches CUBIC's HyStart on or off, a parameter of the whole kernel (`net/ipv4/tcp_cubic.c`), and reads it back.
fn set_hystart(wanted: bool) -> Result<()> {
    let value = u8::from(wanted).to_string();
    fs::write(HYSTART, &value).with_context(|| format!("write {value} to {HYSTART}"))?;
    let found = fs::read_to_string(HYSTART).with_context(|| format!("read {HYSTART} back"))?;
    ensure!(found.trim() == value, "{HYSTART} is {:?} after {value} was written", found.trim());
    Ok(())
}

/// Waits, in virtual time, until the kernel uses high-resolution timers.
///
/// The kernel switches to them at its first tick (`kernel/time/tick-oneshot.c`), and this code is reached before that.
/// Until then netem would hold packets until the next tick, for up to 10 ms, and the delay of short paths would be too
/// long.
fn await_fine_timers() -> Result<()> {
    const TICKS_AT_MOST: u32 = 100;
    for _ in 0..TICKS_AT_MOST {
        let resolution = clock_getres(ClockId::CLOCK_MONOTONIC).context("ask for the timers' resolution")?;
        if resolution.tv_sec() == 0 && resolution.tv_nsec() == 1 {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    bail!("timers stay as coarse as the kernel's tick: build the guest kernel with CONFIG_HIGH_RES_TIMERS")
}

/// Waits, in virtual time, until the guest has been up for [`UPTIME`], as a usual machine has been when programs start.
///
/// Some programs, such as `ping`, treat a `CLOCK_MONOTONIC` of 0 seconds as a time that was never set.
fn stay_up() -> Result<()> {
    let then = TimeSpec::from(UPTIME);
    clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &then)
        .map(drop)
        .context("wait until the guest has been up for a while (clock_nanosleep)")
}

/// Sets the guest's date, in seconds since 1970, just before programs start.
fn set_date(start_date_s: u64) -> Result<()> {
    clock_settime(ClockId::CLOCK_REALTIME, TimeSpec::from(Duration::from_secs(start_date_s)))
        .with_context(|| format!("set the guest's clock to {start_date_s} seconds after 1970 (clock_settime)"))
}

/// Raises the limits that hold for the whole kernel, or that can be set only in its first network namespace.
fn raise_limits(job: &Job) -> Result<()> {
    let write = |key: &str, value: &str| {
        write_sysctl(key, value).with_context(|| format!("write {value:?} to the sysctl {key}"))
    };
    // The limits of SO_RCVBUF and SO_SNDBUF.
    let buffer_bytes = job.workloads.iter().map(|each| each.transport.buffer_bytes).max().unwrap_or(0).to_string();
    write("net/core/rmem_max", &buffer_bytes)?;
    write("net/core/wmem_max", &buffer_bytes)?;
    // The pages that all sockets together may use before the kernel shrinks windows. They are set to half the memory,
    // so that a buffer is as large as the job says, whatever else is in flight.
    let memory = nix::sys::sysinfo::sysinfo().context("ask for the memory's size (sysinfo)")?;
    let pages = memory.ram_total() / 4096 / 2;
    let triple = format!("{pages} {pages} {pages}");
    write("net/ipv4/tcp_mem", &triple)?;
    write("net/ipv4/udp_mem", &triple)?;
    let sysctls = job.workloads.iter().filter_map(|each| stack_of(each.transport.kind).memory_sysctl());
    sysctls.into_iter().try_for_each(|key| write(key, &triple))
}

/// Makes the host's files whose content is sent visible, if they are below the host's `/tmp`, which the guest's own
/// `/tmp` hides.
fn reveal_content(job: &Job) -> Result<()> {
    let files: Vec<_> = job.workloads.iter().flat_map(|each| netwarp_workload::of(&each.workload).files()).collect();
    let hidden: Vec<_> = files.iter().filter_map(|file| file.strip_prefix(TMP).ok()).collect();
    if hidden.is_empty() {
        return Ok(());
    }
    lay_over_tmp()?;
    fs::create_dir(HOST_TMP).with_context(|| format!("create {HOST_TMP}"))?;
    mount_one("hostfs", Path::new(HOST_TMP), MsFlags::MS_RDONLY, Some(Path::new(TMP)))?;
    hidden.into_iter().try_for_each(reveal)
}

/// Mounts an empty ramfs over the guest's own `/tmp`, because creating files in a ramfs draws no random numbers.
///
/// Each file and directory that is created in a tmpfs draws one (`mm/shmem.c`, `__shmem_get_inode`), so the records
/// would depend on how deep below `/tmp` a file lies.
fn lay_over_tmp() -> Result<()> {
    let run_directory = File::open(RUN_DIRECTORY).with_context(|| format!("open {RUN_DIRECTORY}"))?;
    mount_one("ramfs", Path::new(TMP), MsFlags::empty(), Some(Path::new("mode=1777")))?;
    fs::create_dir(RUN_DIRECTORY).with_context(|| format!("create {RUN_DIRECTORY}"))?;
    let opened = format!("/proc/self/fd/{}", run_directory.as_raw_fd());
    mount(Some(opened.as_str()), RUN_DIRECTORY, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        .with_context(|| format!("bring {RUN_DIRECTORY} into the empty {TMP}"))
}

/// Makes a file below the host's `/tmp` visible in the guest, by a bind mount of the first part of its path: a
/// directory with everything in it, or the file itself.
///
/// So the directories on the way to the file are the host's, and the number of directories that are created here does
/// not depend on how deep it lies.
fn reveal(relative: &Path) -> Result<()> {
    let file = Path::new(HOST_TMP).join(relative);
    ensure!(file.is_file(), "{} is not a file", Path::new(TMP).join(relative).display());
    let first = relative.iter().next().map_or(relative, Path::new);
    let is_ours = [RUN_DIRECTORY, HOST_TMP].map(Path::new).contains(&Path::new(TMP).join(first).as_path());
    let shown = if is_ours { relative } else { first };
    let (hidden, path) = (Path::new(HOST_TMP).join(shown), Path::new(TMP).join(shown));
    if path.exists() {
        return Ok(()); // with another file
    }
    let attempt = || format!("bring the host's {} into the guest", path.display());
    fs::create_dir_all(path.parent().unwrap_or(Path::new(TMP))).with_context(attempt)?;
    if hidden.is_dir() {
        fs::create_dir(&path).with_context(attempt)?;
    } else {
        File::create(&path).with_context(attempt)?;
    }
    mount(Some(&hidden), &path, None::<&str>, MsFlags::MS_BIND, None::<&str>).with_context(attempt)
}

/// Prints an error that cannot be recorded; the host keeps the guest's console.
fn report(result: Result<()>) {
    if let Err(error) = result {
        complain(format_args!("{error:#}"));
    }
}

fn power_off() -> ! {
    sync();
    let Err(errno) = reboot(RebootMode::RB_POWER_OFF);
    complain(format_args!("cannot power off: {errno}"));
    // When PID 1 exits, the kernel panics.
    std::process::exit(1)
}
