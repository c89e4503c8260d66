//! Runs the endpoint's roles as the orchestrator does, over loopback: starts them, sends their orders, and reads their
//! messages and records.

#![allow(dead_code, reason = "not every test file uses all of it")]

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// How long a role may send nothing before the test fails: longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The descriptor to which roles write their messages.
const MESSAGE_FD: i32 = 3;

/// Returns a loopback address that no other test uses, as every server has the same port.
pub(crate) fn fresh_address() -> IpAddr {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let process = std::process::id() % 0x7fff;
    let (high, low) = ((process >> 8) as u8 + 1, process as u8);
    Ipv4Addr::new(127, high, low, NEXT.fetch_add(1, Ordering::Relaxed)).into()
}

/// Returns the golden job with this transport, and with this content and direction in its `bulk` workload.
pub(crate) fn job(transport: &str, direction: &str, content: Value, verify: bool) -> Value {
    let mut job: Value = serde_json::from_str(include_str!("../../../tests/golden/job-bulk-quic.json")).unwrap();
    job["workloads"][0]["transport"]["kind"] = json!(transport);
    // Every host allows ordinary users this congestion control (net.ipv4.tcp_allowed_congestion_control).
    job["workloads"][0]["transport"]["congestion"] = json!("reno");
    job["workloads"][0]["workload"] = json!({"kind": "bulk", "direction": direction, "content": content, "verify": verify,
        "chunks": 1, "dial": "sequential", "transfers": 1, "merge": false, "done": "chunk"});
    job["limits"]["virtual_ns"] = json!(PATIENCE.as_nanos() as u64);
    job
}

pub(crate) fn seeded(size_bytes: u64) -> Value {
    json!({"kind": "seeded", "seed": 17_909_611_376_780_542_444_u64, "size_bytes": size_bytes})
}

/// Returns a path for a file that only this test uses.
pub(crate) fn scratch(name: &str) -> PathBuf {
    static NEXT: AtomicU8 = AtomicU8::new(0);
    let unique = format!("{}-{}-{name}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(unique)
}

/// A running server or client.
pub(crate) struct Role {
    child: Child,
    orders: Option<ChildStdin>,
    messages: Receiver<Value>,
}

impl Role {
    pub(crate) fn start(role: &str, job: &Value, address: IpAddr) -> Self {
        let file = scratch("job.json");
        fs::write(&file, job.to_string()).unwrap();
        let (ours, theirs) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_netwarp-endpoint"));
        command.arg(role).arg("--job").arg(&file).arg("--address").arg(address.to_string()).stdin(Stdio::piped());
        let descriptor = theirs.as_raw_fd();
        // SAFETY: dup2 and fcntl are async-signal-safe, and nothing else is called.
        unsafe {
            command.pre_exec(move || {
                let duplicated = match descriptor {
                    // dup2 onto itself would keep close-on-exec.
                    MESSAGE_FD => libc::fcntl(MESSAGE_FD, libc::F_SETFD, 0),
                    _ => libc::dup2(descriptor, MESSAGE_FD),
                };
                if duplicated < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
            });
        }
        let mut child = command.spawn().unwrap();
        drop(theirs);
        Self { orders: child.stdin.take(), child, messages: read_lines(ours) }
    }

    pub(crate) fn begin(&mut self, certificate: &Value) {
        self.order(&json!({"order": "begin", "epoch_ns": 0, "certificate": certificate}));
    }

    /// Sends the role an order; it is no error if the role has ended.
    pub(crate) fn order(&mut self, order: &Value) {
        match writeln!(self.orders.as_mut().unwrap(), "{order}") {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            told => told.unwrap(),
        }
    }

    pub(crate) fn close_orders(&mut self) {
        self.orders = None;
    }

    /// Waits for the next message.
    pub(crate) fn message(&self) -> Value {
        self.messages.recv_timeout(PATIENCE).expect("the role neither spoke nor ended")
    }

    /// Reads to the role's last message. Returns the records before it, and that message, after checking that the exit
    /// status agrees with it.
    pub(crate) fn finish(mut self) -> (Vec<Value>, Value) {
        let mut records = Vec::new();
        loop {
            let message = self.message();
            if message["message"] == "write" {
                records.push(message["line"].clone());
                continue;
            }
            assert_eq!(self.child.wait().unwrap().success(), message["message"] == "done", "{message}");
            return (records, message);
        }
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        // It fails only if the role has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_lines(pipe: OwnedFd) -> Receiver<Value> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(File::from(pipe)).lines() {
            // The test may have ended already.
            let _ = sender.send(serde_json::from_str(&line.unwrap()).unwrap());
        }
    });
    receiver
}

/// Starts a server and waits until it listens. Returns it, and its certificate in hex, or null if it has none.
pub(crate) fn start_server(job: &Value, address: IpAddr) -> (Role, Value) {
    let mut server = Role::start("server", job, address);
    server.begin(&Value::Null);
    let ready = server.message();
    assert_eq!(ready["message"], "ready", "{ready}");
    (server, ready["certificate"].clone())
}

/// Starts a client and orders it to begin.
pub(crate) fn start_client(job: &Value, address: IpAddr, certificate: &Value) -> Role {
    let mut client = Role::start("client", job, address);
    client.begin(certificate);
    client
}

/// Runs a job, which must succeed. Returns the client's and the server's records.
pub(crate) fn run(job: &Value) -> (Vec<Value>, Vec<Value>) {
    let address = fresh_address();
    let (mut server, certificate) = start_server(job, address);
    let (client_records, last) = start_client(job, address, &certificate).finish();
    assert_eq!(last["message"], "done", "{last} of {job}");
    server.order(&json!({"order": "finish"}));
    let (server_records, last) = server.finish();
    assert_eq!(last["message"], "done", "{last} of {job}");
    (client_records, server_records)
}

/// Waits until a role fails in the given stage, and returns the reason.
pub(crate) fn failure(role: Role, stage: &str) -> String {
    let (_, last) = role.finish();
    assert_eq!((&last["message"], &last["failure"]["stage"]), (&json!("failed"), &json!(stage)), "{last}");
    last["failure"]["message"].as_str().unwrap().to_owned()
}
