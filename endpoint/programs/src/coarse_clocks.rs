//! Makes coarse clocks exact: when a program reads a coarse clock, its role answers with the time of the exact clock
//! (seccomp_unotify(2)).
//!
//! The kernel advances a coarse clock at its ticks. There are none while a program in a guest computes, so a program
//! that polls the clock would see it stand still forever. An exact clock advances when it is read
//! (`arch/um/kernel/time.c`, `timer_read`).

use std::fs::OpenOptions;
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;

use anyhow::{Context as _, Result};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::privileges::{NUMBER_AT, jump, load, statement};

/// The offset of the lower half of the first argument in `struct seccomp_data`.
const FIRST_ARGUMENT_AT: u32 = 16;

/// Makes the programs that this thread starts from now on get the exact time when they read coarse clocks. Must be
/// called inside the tokio runtime, which answers their system calls.
///
/// # Errors
/// The kernel has no seccomp filters that notify, or the caller may not install one.
pub fn make_exact() -> Result<()> {
    // SAFETY: an OwnedFd is one descriptor until it is dropped, and this one is never replaced.
    let listener = unsafe { AsyncFd::register_with_interest(install()?, Interest::READABLE) };
    let listener = listener.map_err(io::Error::from).context("watch what programs ask")?;
    tokio::spawn(async move {
        // This ends with the runtime, after the programs.
        while let Ok(mut ready) = listener.readable().await {
            while is_asked(ready.get_inner()) {
                // A program that has ended meanwhile needs no answer.
                let _ = answer(ready.get_inner());
            }
            ready.clear_ready();
        }
    });
    Ok(())
}

/// Installs the seccomp filter, and returns the descriptor from which the intercepted system calls are received.
fn install() -> Result<OwnedFd> {
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let reply = |action| statement(libc::BPF_RET | libc::BPF_K, action);
    let instructions = [
        load(NUMBER_AT),
        jump(equal, libc::SYS_clock_gettime as u32, 0, 4),
        load(FIRST_ARGUMENT_AT),
        jump(equal, libc::CLOCK_REALTIME_COARSE as u32, 1, 0),
        jump(equal, libc::CLOCK_MONOTONIC_COARSE as u32, 0, 1),
        reply(libc::SECCOMP_RET_USER_NOTIF),
        reply(libc::SECCOMP_RET_ALLOW),
    ];
    let program =
        libc::sock_fprog { len: instructions.len() as libc::c_ushort, filter: instructions.as_ptr().cast_mut() };
    let (set, flags) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
    // SAFETY: the program and its instructions are valid for reads during the call.
    let listener = unsafe { libc::syscall(libc::SYS_seccomp, set, flags, &raw const program) };
    let listener = Errno::result(listener).context("answer reads of coarse clocks (seccomp)")?;
    // SAFETY: the descriptor is new, and nothing else uses it.
    Ok(unsafe { OwnedFd::from_raw_fd(listener as i32) })
}

/// Returns whether a program waits for the answer to a system call. If none does, receiving would block.
fn is_asked(listener: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
    matches!(poll(&mut polled, PollTimeout::ZERO), Ok(1))
        && polled[0].revents().is_some_and(|events| events.contains(PollFlags::POLLIN))
}

/// Receives one intercepted system call and answers it.
fn answer(listener: &OwnedFd) -> io::Result<()> {
    // SAFETY: a structure of numbers, which the kernel wants to be zeros.
    let mut asked: libc::seccomp_notif = unsafe { zeroed() };
    notify(listener, libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut asked)?;
    let [clock, address, ..] = asked.data.args;
    let exact = match clock as libc::clockid_t {
        libc::CLOCK_REALTIME_COARSE => ClockId::CLOCK_REALTIME,
        _ => ClockId::CLOCK_MONOTONIC,
    };
    let time = clock_gettime(exact)?;
    let written = write_time(listener, &mut asked, address, time);
    let error = if written.is_ok() { 0 } else { -libc::EFAULT };
    let mut given = libc::seccomp_notif_resp { id: asked.id, val: 0, error, flags: 0 };
    notify(listener, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut given)
}

/// Writes a time to the memory of the program that reads the clock.
fn write_time(listener: &OwnedFd, asked: &mut libc::seccomp_notif, address: u64, time: TimeSpec) -> io::Result<()> {
    let memory = OpenOptions::new().write(true).open(format!("/proc/{}/mem", asked.pid))?;
    // Only if the system call still waits is it certain that the opened process is the one that made it.
    notify(listener, libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw mut asked.id)?;
    let words = [time.tv_sec().to_ne_bytes(), time.tv_nsec().to_ne_bytes()].concat();
    memory.write_all_at(&words, address)
}

fn notify<T>(listener: &OwnedFd, request: libc::Ioctl, argument: *mut T) -> io::Result<()> {
    // SAFETY: each request reads or writes the structure that its callers pass, which they own.
    Errno::result(unsafe { libc::ioctl(listener.as_raw_fd(), request, argument) })?;
    Ok(())
}
