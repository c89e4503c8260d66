//! The environment of a role: its command line, clock, random numbers and heap.

use std::env;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use netwarp_wire::record::Side;

/// The environment variable that makes BoringSSL and AWS-LC ignore features of the CPU.
const CPU_FEATURES: &str = "OPENSSL_ia32cap";

/// The value with which BoringSSL and AWS-LC ignore the instruction RDRAND, whose numbers do not depend on the run's
/// seed.
const WITHOUT_RDRAND: &str = "~0x4000000000000000";

/// The arguments of a role's command line.
#[derive(Debug)]
pub(crate) struct Arguments {
    /// The role's side of the run.
    pub(crate) side: Side,
    /// The path of the job file.
    pub(crate) job: PathBuf,
    /// The server's address and port.
    pub(crate) server: SocketAddr,
}

/// The UDP port at which the server listens by default.
const USUAL_PORT: u16 = 4433;

impl Arguments {
    /// Parses the command line `server|client --job FILE --address ADDRESS [--port PORT]`.
    pub(crate) fn read() -> Result<Self> {
        let words: Vec<String> = env::args().skip(1).collect();
        Self::of(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn of(words: &[&str]) -> Result<Self> {
        let (side, job, address, port) = match *words {
            [side, "--job", job, "--address", address] => (side, job, address, USUAL_PORT),
            [side, "--job", job, "--address", address, "--port", port] => {
                (side, job, address, port.parse().with_context(|| format!("{port} is no port"))?)
            }
            _ => bail!("usage: role server|client --job FILE --address ADDRESS [--port PORT]"),
        };
        let side = match side {
            "server" => Side::Server,
            "client" => Side::Client,
            other => bail!("a role is server or client, not {other}"),
        };
        let address: IpAddr = address.parse().with_context(|| format!("{address} is no IP address"))?;
        Ok(Self { side, job: job.into(), server: (address, port).into() })
    }
}

/// Returns the address to which a client's socket is bound: the unspecified address of the server's family, any port.
pub fn anywhere(server: SocketAddr) -> SocketAddr {
    let any: IpAddr = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    (any, 0).into()
}

/// Makes the TLS library take its random numbers only from `getrandom(2)`, which the run's seed determines: restarts
/// the program with the CPU's generator switched off, or returns if it is switched off already.
///
/// # Errors
/// The program cannot be restarted.
pub fn without_cpu_randomness() -> Result<()> {
    if env::var_os(CPU_FEATURES).is_some() {
        return Ok(());
    }
    let error = Command::new("/proc/self/exe").args(env::args_os().skip(1)).env(CPU_FEATURES, WITHOUT_RDRAND).exec();
    Err(error).context("start anew without the CPU's random numbers")
}

/// Returns the current time in nanoseconds of `CLOCK_MONOTONIC`, the clock of the run's epoch.
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes; the clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Converts a duration to nanoseconds.
pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The smallest step in which the heap grows: 256 pages.
const STEP_BYTES: libc::c_int = 1 << 20;

/// Makes the heap grow in large steps whose pages are mapped at once, and keeps freed memory: in a guest, the first
/// access to a page costs more than a system call. Only for processes that start no threads.
pub fn grow_heap_by_large_steps() -> Result<()> {
    let values = [
        (libc::M_TOP_PAD, STEP_BYTES),
        (libc::M_TRIM_THRESHOLD, libc::c_int::MAX),
        (libc::M_MMAP_THRESHOLD, libc::c_int::MAX),
    ];
    for (parameter, value) in values {
        // SAFETY: plain numbers, and no other thread.
        anyhow::ensure!(unsafe { libc::mallopt(parameter, value) } != 0, "set how the heap grows (mallopt)");
    }
    // SAFETY: a plain number.
    let locked = unsafe { libc::mlockall(libc::MCL_FUTURE) };
    anyhow::ensure!(
        locked == 0,
        "have the heap's pages mapped at once (mlockall): {}",
        std::io::Error::last_os_error()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_told_where_several_servers_share_a_host() {
        let usual = ["server", "--job", "/j", "--address", "10.0.2.1"];
        let server = |words: &[&str]| Arguments::of(words).unwrap().server.to_string();
        assert_eq!(server(&usual), "10.0.2.1:4433");
        assert_eq!(server(&[&usual[..], &["--port", "4434"]].concat()), "10.0.2.1:4434");
        for wrong in [&usual[..4], &["proxy", "--job", "/j", "--address", "10.0.2.1"][..]] {
            assert!(Arguments::of(wrong).is_err(), "{wrong:?}");
        }
        assert!(Arguments::of(&[&usual[..], &["--port", "many"]].concat()).is_err());
    }
}
