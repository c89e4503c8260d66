//! Starts a role's process in its network namespace, gives it orders and reads its messages.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use netwarp_core::connection_gauges;
use netwarp_core::message_pipe::{MESSAGE_FD, MessagePipe};
use netwarp_path::capture::key_log;
use netwarp_transport::QLOG_VARIABLE;
use netwarp_wire::record::Side;
use netwarp_wire::role_protocol::Order;
use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, pipe2};

use crate::run::host::{Part, Shared};
use crate::run::running_role::{Event, Role, give_order};

/// The path of this program's executable, whatever its file is called.
const OURSELVES: &str = "/proc/self/exe";

/// The `PATH` of a role that is a script.
const PATH: &CStr = c"PATH=/usr/local/bin:/usr/bin:/bin";

/// A running role. It is killed when this is dropped.
#[derive(Debug)]
pub(super) struct RoleProcess {
    side: Side,
    process: Option<Pid>,
    orders: File,
    messages: MessagePipe,
}

/// The parameters for starting a role.
#[derive(Clone, Copy)]
pub(super) struct RoleStart<'a> {
    /// The part of the workload that the role carries out.
    pub part: Part<'a>,
    /// The program to start as the role; `None` for netwarp-endpoint itself.
    pub program: Option<&'a str>,
    /// The path of the role's job file.
    pub job: &'a Path,
    /// The server's address.
    pub address: IpAddr,
    /// The server's port; `None` for the default port.
    pub port: Option<u16>,
    /// The memory and files that the role shares with this process.
    pub shared: Shared<'a>,
}

impl RoleProcess {
    /// Starts a role in the caller's network namespace.
    pub(super) fn spawn(start: &RoleStart<'_>, virtual_clock: bool) -> Result<Self> {
        let RoleStart { part, program, job, address, port, shared: Shared { keys, gauges, qlog } } = *start;
        let Part { side, further } = part;
        let name = side.name();
        let (their_orders, our_orders) = pipe2(OFlag::O_CLOEXEC).context("make a pipe")?;
        let (our_messages, their_messages) = pipe2(OFlag::O_CLOEXEC).context("make a pipe")?;
        let job = CString::new(job.as_os_str().as_bytes()).context("the job's path contains a NUL byte")?;
        let address = CString::new(address.to_string()).context("an address contains a NUL byte")?;
        let name_argument = CString::new(name).context("a role's name contains a NUL byte")?;
        let is_ours = program.is_none();
        let program = CString::new(program.unwrap_or(OURSELVES)).context("a program's path contains a NUL byte")?;
        let called = if is_ours { c"netwarp-endpoint" } else { &program };
        let port = port.map(|port| CString::new(port.to_string())).transpose().context("a port contains a NUL byte")?;
        let mut arguments = vec![called, &name_argument, c"--job", &job, c"--address", &address];
        arguments.extend(port.iter().flat_map(|port| [c"--port", port]));
        let further = further.map(CString::new).transpose().context("a host's name contains a NUL byte")?;
        arguments.extend(further.iter().flat_map(|host| [c"--host", host]));
        let clock = virtual_clock.then_some(c"NETWARP_CLOCK=virtual");
        let path = (!is_ours).then_some(PATH);
        let secrets = keys.map(|_| key_log::ROLE_ENVIRONMENT);
        let board = gauges.map(|_| connection_gauges::ROLE_ENVIRONMENT);
        let qlog = qlog.map(qlog_environment).transpose()?;
        let environment: Vec<_> =
            clock.into_iter().chain(path).chain(secrets).chain(board).chain(qlog.as_deref()).collect();

        // posix_spawn shares the memory until exec: a plain fork would copy page tables for nothing.
        let mut actions = nix::spawn::PosixSpawnFileActions::init().context("prepare a process")?;
        actions.add_dup2(their_orders.as_raw_fd(), libc::STDIN_FILENO).context("prepare a process")?;
        actions.add_dup2(their_messages.as_raw_fd(), MESSAGE_FD).context("prepare a process")?;
        if let Some(keys) = keys {
            actions.add_dup2(keys.as_raw_fd(), key_log::ROLE_FD).context("prepare a process")?;
        }
        if let Some(gauges) = gauges {
            actions.add_dup2(gauges.as_raw_fd(), connection_gauges::ROLE_FD).context("prepare a process")?;
        }
        let attributes = nix::spawn::PosixSpawnAttr::init().context("prepare a process")?;
        let process = nix::spawn::posix_spawn(&*program, &actions, &attributes, &arguments, &environment)
            .with_context(|| format!("start the {name}, {}", program.to_string_lossy()))?;
        Ok(Self {
            side,
            process: Some(process),
            orders: our_orders.into(),
            messages: MessagePipe::new(our_messages.into(), name),
        })
    }

    /// Waits for the process to end. Returns how it failed; `None` if it was successful.
    fn reap(&mut self) -> Result<Option<String>> {
        let Some(process) = self.process.take() else { bail!("the {} was waited for twice", self.side.name()) };
        let status = waitpid(process, None).with_context(|| format!("wait for the {}", self.side.name()))?;
        Ok(ending(status, self.messages.is_complete()))
    }
}

impl Role for RoleProcess {
    fn is_running(&self) -> bool {
        self.process.is_some()
    }

    fn order(&mut self, order: &Order) -> Result<()> {
        give_order(&mut self.orders, self.side, order)
    }

    fn receive(&mut self) -> Result<Vec<Event>> {
        match self.messages.receive()? {
            Some(messages) => Ok(messages.into_iter().map(Event::Said).collect()),
            None => Ok(vec![Event::Gone(self.reap()?)]),
        }
    }

    fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            // Both calls fail only if the process has ended already.
            let _ = kill(process, Signal::SIGKILL);
            let _ = waitpid(process, None);
        }
    }
}

/// Returns the environment variable that names the directory of the qlog files.
fn qlog_environment(directory: &Path) -> Result<CString> {
    let value = [QLOG_VARIABLE.as_bytes(), b"=", directory.as_os_str().as_bytes()].concat();
    CString::new(value).context("the run's directory contains a NUL byte")
}

/// Returns a text that says how a process failed; `None` if it was successful and its last message was complete.
fn ending(status: WaitStatus, messages_complete: bool) -> Option<String> {
    match status {
        WaitStatus::Exited(_, 0) if messages_complete => None,
        WaitStatus::Exited(_, 0) => Some("stopped in the middle of a message".to_owned()),
        WaitStatus::Exited(_, status) => Some(format!("exited with status {status}")),
        WaitStatus::Signaled(_, signal, _) => Some(format!("was killed by {signal}")),
        other => Some(format!("ended as {other:?}")),
    }
}

impl AsFd for RoleProcess {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.messages.as_fd()
    }
}

impl Drop for RoleProcess {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_unless_it_is_a_good_one() {
        let process = Pid::from_raw(1);
        assert_eq!(ending(WaitStatus::Exited(process, 0), true), None);
        let told = |status, complete| ending(status, complete).expect("this is no good end");
        assert_eq!(told(WaitStatus::Exited(process, 0), false), "stopped in the middle of a message");
        assert_eq!(told(WaitStatus::Exited(process, 101), true), "exited with status 101");
        assert_eq!(told(WaitStatus::Signaled(process, Signal::SIGSEGV, true), true), "was killed by SIGSEGV");
    }

    /// `/proc/self/exe` is the test runner here, which does not know a role's arguments.
    #[test]
    fn a_process_that_exits_without_a_message_is_gone() {
        let address = std::net::Ipv4Addr::LOCALHOST.into();
        let job = Path::new("/none");
        let part = Part { side: Side::Server, further: None };
        let start = RoleStart { part, program: None, job, address, port: None, shared: Shared::default() };
        let mut role = RoleProcess::spawn(&start, false).unwrap();
        let events = role.receive().unwrap();
        assert!(matches!(&events[..], [Event::Gone(Some(how))] if how.starts_with("exited with status")), "{events:?}");
        assert!(!role.is_running());
    }
}
