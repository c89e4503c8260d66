//! Finds out which features for native runs and guests this host's kernel has, by trying them in namespaces that end
//! with this process.

use std::fs;
use std::os::fd::FromRawFd as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use landlock::CompatLevel;
use netwarp_path::netlink::NetlinkError;
use netwarp_path::network::{BuildError, Network};
use netwarp_path::topology::{BuildStep, CLIENT, Device, Node, Place, Shaper};
use netwarp_path::userns::{self, Privilege};
use netwarp_programs::confine::restriction;
use netwarp_programs::files_of::{FilesOf, USUAL_HOSTS};
use netwarp_programs::guest_memory::{Pages, file_system};
use netwarp_programs::on_host;
use netwarp_transport::socket;
use netwarp_wire::job::Impairments;
use nix::errno::Errno;
use serde::Serialize;

use crate::complain::complain;

/// The first kernel whose netem takes a seed (`TCA_NETEM_PRNG_SEED`); older kernels silently ignore it.
const SEEDED_NETEM: (u32, u32) = (6, 6);

/// The largest socket buffer that Linux can be asked for: it keeps twice the size in an `int`.
const BUFFER_MAX_BYTES: u64 = i32::MAX as u64 / 2;
/// The size of the file system with huge pages that is tried, in bytes.
const TRIED_BYTES: u64 = 4 << 20;

/// The size of the file system for programs that is tried, in bytes.
const PROGRAMS_BYTES: u64 = 16 << 20;

const NO_NETEM: &str = "the host's kernel has no netem: `modprobe sch_netem` as root (on Ubuntu it is in the package \
                        linux-modules-extra-$(uname -r)), or use the virtual backend";

/// The router's device in the smallest path, which is built to try features.
const BOTTLENECK: Device = Device::of(Node(2), 0);

const NO_SHAPER: &str = "the host's kernel lacks some of what keeps a rate that changes or has a queueing discipline: \
                         `modprobe -a ifb sch_htb sch_prio sch_tbf sch_ingress cls_matchall act_mirred` as root, or use the virtual backend";

/// The features that native runs and guests can use on this host.
#[derive(Debug, Serialize)]
struct Capabilities {
    /// The kernel's release, as `uname -r` prints it.
    kernel: String,
    /// Whether the caller needs a user namespace, because it is not root.
    rootless: bool,
    /// The features that this host lacks.
    missing: Missing,
    /// The kernel's TCP congestion controls that are loaded.
    congestion: Vec<String>,
    /// The largest buffer that a UDP or SCTP socket is granted in each direction. TCP's limits are separate sysctls.
    socket_buffer_bytes: u64,
}

/// The features that this host lacks. Each is `None` if the host has it, otherwise the reason and the remedy.
#[derive(Debug, Default, Serialize)]
struct Missing {
    /// Network namespaces, veth pairs and sysctls: no run works without them.
    path: Option<String>,
    /// netem, for the impairments of a path: delay, rate, loss and others.
    netem: Option<String>,
    /// The devices and queueing disciplines for a rate that netem cannot enforce: one that changes, or that is behind a
    /// queueing discipline.
    shaper: Option<String>,
    sctp: Option<String>,
    mptcp: Option<String>,
    /// The file system for installed programs, with layers in memory for the files that they write.
    programs: Option<String>,
    /// Huge pages for a guest's memory.
    huge_pages: Option<String>,
}

/// Tries every feature and prints the result, as one JSON object or one line each.
pub(crate) fn report(json: bool) -> ExitCode {
    let capabilities = match examine() {
        Ok(capabilities) => capabilities,
        Err(error) => return complain(format_args!("{error:#}")),
    };
    if json {
        println!("{}", serde_json::json!(capabilities));
        return ExitCode::SUCCESS;
    }
    let missing = &capabilities.missing;
    for (name, lack) in [
        ("path", &missing.path),
        ("netem", &missing.netem),
        ("shaper", &missing.shaper),
        ("sctp", &missing.sctp),
        ("mptcp", &missing.mptcp),
        ("programs", &missing.programs),
        ("huge pages", &missing.huge_pages),
    ] {
        println!("{name}: {}", lack.as_deref().unwrap_or("yes"));
    }
    println!("congestion: {}", capabilities.congestion.join(" "));
    println!("socket buffers: {} bytes", capabilities.socket_buffer_bytes);
    ExitCode::SUCCESS
}

fn examine() -> Result<Capabilities> {
    // This is tried first, before this process enters namespaces itself.
    let refused = |(attempt, errno): (&str, Errno)| format!("cannot {attempt}: {}", errno.desc());
    let huge_pages = file_system(Pages::Huge, TRIED_BYTES).err().map(refused);
    let mut capabilities = examine_native()?;
    capabilities.missing.huge_pages = huge_pages;
    Ok(capabilities)
}

/// Returns why a feature is missing, given the result of trying it; `None` if the host has the feature. If trying
/// failed for an unknown reason, the feature counts as missing, with the kernel's error as the reason: only runs that
/// need it are affected.
fn missing(tried: Result<Option<String>>) -> Option<String> {
    tried.unwrap_or_else(|error| Some(format!("{error:#}")))
}

/// Returns the first two numbers of the kernel's release.
pub(crate) fn kernel_release() -> Result<(u32, u32)> {
    Ok(release(&kernel_version()?))
}

fn kernel_version() -> Result<String> {
    let kernel = nix::sys::utsname::uname().context("ask for the kernel's version (uname)")?;
    Ok(kernel.release().to_string_lossy().into_owned())
}

fn examine_native() -> Result<Capabilities> {
    let kernel = kernel_version()?;
    let nothing = |path| Capabilities {
        kernel: kernel.clone(),
        rootless: false,
        missing: Missing { path: Some(path), ..Missing::default() },
        congestion: Vec::new(),
        socket_buffer_bytes: 0,
    };
    let privilege = match userns::enter_private_netns() {
        Ok(privilege) => privilege,
        Err(error) => return Ok(nothing(format!("{error:#}"))),
    };
    let network = match Network::build(&smallest_path()) {
        Ok(network) => network,
        Err(error) => return Ok(nothing(path_remedy(error))),
    };
    let mut capabilities = network.within(CLIENT, || look_around(&kernel))?;
    capabilities.rootless = privilege == Privilege::UserNamespace;
    capabilities.missing.netem = missing(netem(&kernel));
    // A shaper has netems before it and behind it.
    capabilities.missing.shaper = match &capabilities.missing.netem {
        Some(lack) => Some(lack.clone()),
        None => missing(shaper()),
    };
    // This is tried last, because mounts over this process's files remain.
    capabilities.missing.programs = programs().err().map(|error| {
        format!("programs cannot be kept from writing to this machine's files here: {error:#}: use the virtual backend")
    });
    Ok(capabilities)
}

/// Builds the smallest path, and finds the features that are visible from inside its host.
fn look_around(kernel: &str) -> Result<Capabilities> {
    let file = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let congestion = fs::read_to_string(file).with_context(|| format!("read {file}"))?;
    Ok(Capabilities {
        kernel: kernel.to_owned(),
        rootless: false,
        missing: Missing {
            sctp: protocol(libc::IPPROTO_SCTP, "SCTP", "modprobe sctp"),
            mptcp: protocol(libc::IPPROTO_MPTCP, "MPTCP", "sysctl -w net.mptcp.enabled=1"),
            ..Missing::default()
        },
        congestion: congestion.split_whitespace().map(str::to_owned).collect(),
        socket_buffer_bytes: socket_buffer_bytes()?,
    })
}

fn protocol(number: libc::c_int, name: &str, remedy: &str) -> Option<String> {
    // SAFETY: plain numbers; the descriptor is owned right away.
    let descriptor = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, number) };
    if descriptor >= 0 {
        // SAFETY: just opened, nobody else has it.
        drop(unsafe { std::os::fd::OwnedFd::from_raw_fd(descriptor) });
        return None;
    }
    let reason = Errno::last().desc();
    Some(format!("the host's kernel has no {name} ({reason}): `{remedy}`, or use the virtual backend"))
}

fn socket_buffer_bytes() -> Result<u64> {
    let socket =
        socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None).context("open a UDP socket")?;
    socket::set_buffers(&socket, BUFFER_MAX_BYTES)?;
    Ok(socket::effective_send_bytes(&socket)?.min(socket::effective_receive_bytes(&socket)?))
}

/// Tries to build the file system for installed programs.
fn programs() -> Result<()> {
    userns::enter_private_userns()?;
    on_host::lay_files(&FilesOf::run(false, &USUAL_HOSTS), PROGRAMS_BYTES, Path::new("/"), &[], &[])?;
    restriction(&[], CompatLevel::HardRequirement, true).map(drop)
}

/// Tries netem with the options of an example path, on a new smallest path. Returns why it cannot be used; `None` if it
/// can.
fn netem(kernel: &str) -> Result<Option<String>> {
    let device = BOTTLENECK;
    let mut steps = smallest_path();
    steps.push(BuildStep::Netem { device, impairments: Impairments::nothing() });
    match Network::build(&steps) {
        Ok(_) if release(kernel) < SEEDED_NETEM => Ok(Some(format!(
            "the netem of Linux {kernel} cannot be seeded, so that losses would differ from one transport to the next: \
             use Linux 6.6 or later, or the virtual backend"
        ))),
        Ok(_) => Ok(None),
        Err(error) => lacking(error, "try netem", NO_NETEM).map(Some),
    }
}

/// Tries the devices and queueing disciplines for a rate that netem cannot enforce, with a queueing discipline that
/// every kernel has. Returns why they cannot be used; `None` if they can.
fn shaper() -> Result<Option<String>> {
    let device = BOTTLENECK;
    let impairments = Impairments::nothing();
    let shaper = Shaper {
        rate_bit_s: 1_000_000,
        frame_bytes: 1514,
        queue_bytes: 15_140,
        queue_packets: None,
        place: Place::BehindNetem,
        burst_bytes: 0,
    };
    let mut steps = smallest_path();
    steps.push(BuildStep::ShapedNetem { device, impairments, shaper, mtu_bytes: 1500 });
    match Network::build(&steps) {
        Ok(_) => Ok(None),
        Err(error) => lacking(error, "try a shaper", NO_SHAPER).map(Some),
    }
}

/// Returns `message` if the error means that the kernel does not have the feature.
///
/// # Errors
/// The feature was refused for another reason.
fn lacking(error: BuildError, attempt: &'static str, message: &str) -> Result<String> {
    match error {
        BuildError::Refused {
            source: NetlinkError::Refused { errno: Errno::ENOENT | Errno::EOPNOTSUPP, .. }, ..
        } => Ok(message.to_owned()),
        error => Err(error).context(attempt),
    }
}

fn release(kernel: &str) -> (u32, u32) {
    let mut numbers = kernel.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Returns the steps that build a host and a router with a veth pair between them, and set a sysctl that hosts need.
fn smallest_path() -> Vec<BuildStep> {
    let (host, router) = (Device::of(CLIENT, 0), BOTTLENECK);
    vec![
        BuildStep::Create(CLIENT, "client".to_owned()),
        BuildStep::Sysctl { key: "net/ipv4/tcp_no_metrics_save", value: "1".to_owned(), optional: false },
        BuildStep::Create(router.node, "router".to_owned()),
        BuildStep::Veth { ends: [(host, "path0".to_owned()), (router, "to-client".to_owned())], mtu_bytes: 1500 },
        BuildStep::Offloads { device: host, software_segmentation: true },
        BuildStep::Offloads { device: router, software_segmentation: false },
        BuildStep::Up(host),
        BuildStep::Up(router),
    ]
}

/// Returns the likely reason, with a remedy, why a path cannot be built although its namespaces could be created.
fn path_remedy(error: BuildError) -> String {
    let remedy = match &error {
        BuildError::Sysctl(_) => {
            "make /proc/sys writable (in a container: `--privileged`, or `--security-opt systempaths=unconfined`)"
        }
        BuildError::Veth(_) => "`modprobe veth` as root",
        BuildError::Refused { .. } | BuildError::Other(_) => "run on another host",
    };
    format!("cannot build a path: {:#}: {remedy}, or use the virtual backend", anyhow::Error::from(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_as_numbers() {
        assert_eq!(release("6.18.44-fc-v669"), (6, 18));
        assert!(release("6.1.0-13-amd64") < SEEDED_NETEM);
        assert!(release("7.2") > SEEDED_NETEM);
    }

    #[test]
    fn a_probe_that_is_refused_leaves_the_runs_that_do_not_need_it() {
        let tried = |errno| {
            let source = NetlinkError::Refused { attempt: "add a qdisc".to_owned(), errno, detail: String::new() };
            let refused = BuildError::Refused { node: "client".to_owned(), source };
            missing(lacking(refused, "try a shaper", NO_SHAPER).map(Some))
        };
        assert_eq!(tried(Errno::ENOENT).as_deref(), Some(NO_SHAPER));
        let reason = tried(Errno::EPERM).expect("it was refused");
        assert!(reason.starts_with("try a shaper: ") && reason.contains("add a qdisc"), "{reason}");
        assert_eq!(missing(Ok(None)), None);
    }

    #[test]
    fn a_path_that_cannot_be_built_says_what_to_do() {
        let read_only = anyhow::Error::msg("Read-only file system").context("write \"1\" to the sysctl net/x");
        let said = path_remedy(BuildError::Sysctl(read_only));
        assert!(said.contains("net/x: Read-only file system: make /proc/sys writable"), "{said}");
        let unknown = anyhow::Error::msg("cannot create a veth pair: Operation not supported");
        assert!(path_remedy(BuildError::Veth(unknown)).contains("modprobe veth"));
    }
}
