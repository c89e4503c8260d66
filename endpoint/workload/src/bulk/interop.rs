//! Transfer of content by two programs that follow the conventions of the QUIC interop runner
//! (<https://github.com/quic-interop/quic-interop-runner/blob/master/quic.md>): the server has the file in `/www`, the
//! client leaves it in `/downloads`, and environment variables tell both what to do.
//!
//! What the programs do meanwhile is not known. Whether the received file equals the content, and when the client's
//! packets were sent and received, is measured from outside.

use std::fs::{self, File, Permissions};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::ExitStatus;

use anyhow::{Context as _, Result};
use netwarp_core::addresses::Family;
use netwarp_core::orchestrator::{Begin, Orchestrator};
use netwarp_path::capture::key_log;
use netwarp_programs::files_of::{FilesOf, below_root};
use netwarp_wire::content::{self, Part, Reader, hex_digest, new_hasher};
use netwarp_wire::job::{Bulk, Command, Content, Contract, InteropCase, Job, Ready, Variable};
use netwarp_wire::record::{DownloadRecord, Record, Side};

use super::certificates::{self, IPV6_SERVER, SERVER};
use super::packet_times;
use crate::command::{self, RunPlace};
use crate::sandbox::Sandbox;

/// The test case that requests files over one connection, without special features.
const TEST_CASE: &str = "transfer";

/// The port on which a server listens by the runner's conventions.
const PORT: u16 = 443;

/// The common prefix of the names of the transferred files.
const FILE: &str = "content";

/// The directories that programs expect by the runner's conventions; empty except for the files described here.
const DIRECTORIES: [&str; 4] = ["www", "downloads", "certs", "logs"];

/// Scripts of the runner's base image that start scripts call; they set up its network and wait for its simulator.
const SCRIPTS: [&str; 2] = ["setup.sh", "wait-for-it.sh"];

/// The depth of subdirectories of a program's log directory from which logs are kept.
const LOGGED_DEPTH: u32 = 2;

/// The most bytes that the programs may log.
const LOGGED_BYTES: u64 = 1 << 30;

/// The size of the blocks in which a downloaded file is read, in bytes.
const BLOCK_BYTES: usize = 1 << 20;

/// The exit status by which an endpoint says that it does not support a test case.
const UNSUPPORTED: i32 = 127;

/// Returns what an exit status means by the runner's conventions; `None` if it has no special meaning.
fn meaning(status: ExitStatus) -> Option<&'static str> {
    (status.code() == Some(UNSUPPORTED)).then_some("it does not support the test case")
}

/// A run of two programs that follow the interop runner's conventions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interop<'a> {
    server: &'a str,
    client: &'a str,
    content: &'a Content,
    case: Option<&'a InteropCase>,
    is_captured: bool,
    /// The server's host name in the URLs of requests.
    names: &'static [&'static str; 1],
}

impl<'a> Interop<'a> {
    /// Returns the run of a job; `None` if one of its programs does not follow the conventions.
    pub(super) fn of(job: &'a Job, bulk: &'a Bulk) -> Option<Self> {
        let program_of = |side| {
            let stack = job.only().transport.stack_of(side)?;
            (stack.contract == Contract::Interop).then_some(stack.program.as_str())
        };
        let (server, client) = program_of(Side::Server).zip(program_of(Side::Client))?;
        let names = match Family::of(job) {
            Family::Ipv4 => &SERVER,
            Family::Ipv6 => &IPV6_SERVER,
        };
        let case = bulk.case.as_ref();
        Some(Self { server, client, content: &bulk.content, case, is_captured: job.capture, names })
    }

    /// Returns a job's run of two programs; an error if one of them does not follow the conventions.
    pub(super) fn required(job: &'a Job, bulk: &'a Bulk) -> Result<Self> {
        Self::of(job, bulk).context("the job's stack does not keep the interop runner's contract")
    }

    /// Returns the file systems that the programs see: each program has its own, as in the runner's containers.
    pub(super) fn sandbox(&self) -> Sandbox<'a> {
        let written_bytes = LOGGED_BYTES + 2 * self.content.size_bytes();
        let working_directory = self.directory(Side::Server);
        Sandbox { working_directory, is_shared: false, keep: false, written_bytes, server_names: self.names }
    }

    /// Writes the files that the programs need.
    ///
    /// # Errors
    /// The content cannot be read, or memory has no room for it.
    pub(super) fn fill_sandbox(&self) -> Result<()> {
        let certificates = certificates::issued(self.case.map_or(1, |case| case.certificates))?;
        for side in [Side::Server, Side::Client] {
            let files = FilesOf::One(side.name());
            DIRECTORIES.iter().try_for_each(|directory| files.mount_fresh("tmpfs", directory, None))?;
            let logs = files.below(Path::new(&logs(side)))?.join("qlog");
            fs::create_dir_all(&logs).with_context(|| format!("create {}", logs.display()))?;
            for script in SCRIPTS {
                let path = files.below(&Path::new("/").join(script))?;
                write(&path, b"#!/bin/sh\n")?;
                let allowed = fs::set_permissions(&path, Permissions::from_mode(0o755));
                allowed.with_context(|| format!("make {} executable", path.display()))?;
            }
            let directory = files.below(Path::new("/certs"))?;
            certificates.iter().try_for_each(|(file, text)| write(&directory.join(file), text.as_bytes()))?;
        }
        self.write_content()
    }

    fn program(&self, side: Side) -> &'a str {
        if side == Side::Server { self.server } else { self.client }
    }

    /// Returns the directory that contains a side's program: start scripts look there for the files that they start.
    fn directory(&self, side: Side) -> &'a Path {
        Path::new(self.program(side)).parent().unwrap_or(Path::new("/"))
    }

    /// Returns the names of the files to transfer, each with its part of the content, in order.
    fn files(&self) -> Vec<(String, Part)> {
        let Some(case) = self.case else {
            return vec![(FILE.to_owned(), self.content.whole())];
        };
        let mut offset_bytes = 0;
        let name = |place| format!("{FILE}-{place:x<width$}", width = (case.name_bytes as usize).saturating_sub(8));
        case.file_bytes
            .iter()
            .zip(1..)
            .map(|(&length_bytes, place)| {
                let part = Part { offset_bytes, length_bytes };
                offset_bytes = part.end_bytes();
                (name(place), part)
            })
            .collect()
    }

    fn write_content(&self) -> Result<()> {
        let directory = FilesOf::One(Side::Server.name()).below(Path::new("/www"))?;
        for (name, part) in self.files() {
            let path = directory.join(name);
            let attempt = || format!("write {} for the server's program", path.display());
            let mut file = File::create(&path).with_context(attempt)?;
            Reader::open(self.content, part, false)?.copy_to(&mut file).with_context(attempt)?;
        }
        Ok(())
    }

    /// Returns the total size and the hash of the files that the client's program downloaded, concatenated in order.
    fn downloaded(&self) -> Result<(u64, String)> {
        let directory = below_root(Path::new("/downloads"))?;
        let (mut bytes, mut hasher) = (0, new_hasher());
        let mut block = vec![0; BLOCK_BYTES];
        for (name, _) in self.files() {
            let attempt = || format!("the client's program ended well, but left no /downloads/{name}");
            let mut file = File::open(directory.join(&name)).with_context(attempt)?;
            loop {
                let count = file.read(&mut block).with_context(attempt)?;
                if count == 0 {
                    break;
                }
                bytes += count as u64;
                hasher.update(&block[..count]);
            }
        }
        Ok((bytes, hex_digest(hasher)))
    }

    /// Runs the server's program until the client's has ended.
    pub(super) async fn serve(&self, orchestrator: &mut Orchestrator, run: RunPlace<'_>) -> Result<()> {
        let served = command::serve(orchestrator, &self.command(Side::Server), run.by_contract(meaning), None).await;
        self.keep_logs(Side::Server, run)?;
        served
    }

    /// Runs the client's program to its end, and records the file that it left.
    ///
    /// # Errors
    /// As [`command::drive`]; there is no such file.
    pub(super) async fn drive(&self, orchestrator: &mut Orchestrator, run: RunPlace<'_>) -> Result<()> {
        let Begin { epoch_ns, .. } = orchestrator.begin().await?;
        let ring = packet_times::listen(self.content.size_bytes())?;
        let ran =
            command::run_client(orchestrator, &self.command(Side::Client), run.by_contract(meaning), epoch_ns).await;
        self.keep_logs(Side::Client, run)?;
        let ran = ran?;
        ring.stop()?;
        let (first_packet_ns, last_packet_ns) = packet_times::span(&ring, epoch_ns, ran.ended_ns)?;
        let (bytes, sha256) = self.downloaded()?;
        orchestrator.write(vec![Record::Download(DownloadRecord {
            started_ns: ran.started_ns,
            ended_ns: ran.ended_ns,
            first_packet_ns,
            last_packet_ns,
            bytes,
            sha256,
        })])
    }

    /// Keeps the logs of a side's program in the run directory, if the run is captured.
    fn keep_logs(&self, side: Side, run: RunPlace<'_>) -> Result<()> {
        let Some(directory) = run.directory.filter(|_| self.is_captured) else { return Ok(()) };
        let from = FilesOf::One(side.name()).below(Path::new(&logs(side)))?;
        copy_files(&from, &directory.join(logs(side).trim_start_matches('/')), LOGGED_DEPTH)
    }

    /// Returns the command that starts a side's program.
    fn command(&self, side: Side) -> Command {
        let (logs, role) = (logs(side), side.name());
        let case = self.case.map(|case| if side == Side::Server { &case.server } else { &case.client });
        let [host] = self.names;
        let requests: Vec<_> = self.files().iter().map(|(name, _)| format!("https://{host}:{PORT}/{name}")).collect();
        let variables = [
            ("ROLE", role.to_owned()),
            ("TESTCASE", case.map_or(TEST_CASE, String::as_str).to_owned()),
            ("REQUESTS", requests.join(" ")),
            (key_log::VARIABLE, format!("{logs}/keys.log")),
            ("QLOGDIR", format!("{logs}/qlog/")),
            ("CLIENT_PARAMS", String::new()),
            ("SERVER_PARAMS", String::new()),
        ];
        let others: &[&str] = if side == Side::Server { &["REQUESTS", "CLIENT_PARAMS"] } else { &["SERVER_PARAMS"] };
        // A captured run has one file for the secrets of all programs ([`key_log`]), which is already in the
        // environment.
        let is_given = |name| self.is_captured && name == key_log::VARIABLE;
        let told = variables.into_iter().filter(|(name, _)| !others.contains(name) && !is_given(*name));
        Command {
            server: vec![self.server.to_owned()],
            client: vec![self.client.to_owned()],
            ready: Ready::Listening { port: Some(PORT) },
            environment: told.map(|(name, value)| Variable { name: name.to_owned(), value }).collect(),
            working_directory: self.directory(side).display().to_string(),
            memory_bytes: 0,
            start_date_s: 0,
            exact_coarse_clocks: false,
            shared: false,
            keep: false,
            metrics: Vec::new(),
            programs: Vec::new(),
        }
    }
}

/// Returns how the file that a program left differs from the content; `None` if it does not.
pub(super) fn difference(content: &Content, left: &[Record]) -> Result<Option<String>> {
    let [Record::Download(left)] = left else {
        return Ok(Some(format!("{} records of files instead of one", left.len())));
    };
    let (size, found) = (content.size_bytes(), left.bytes);
    if size != found {
        return Ok(Some(format!("the client's program left {found} bytes of the file, which has {size}")));
    }
    let original = content::hash(content, content.whole())?;
    let differs = original != left.sha256;
    Ok(differs.then(|| format!("the client's program left a file whose SHA-256 is {}, not {original}", left.sha256)))
}

/// Copies the non-empty files of a directory, without following links.
///
/// # Arguments
/// * `depth` - how many directories below it are copied as well.
fn copy_files(from: &Path, to: &Path, depth: u32) -> Result<()> {
    let attempt = || format!("keep the logs of {}", from.display());
    for entry in fs::read_dir(from).with_context(attempt)? {
        let entry = entry.with_context(attempt)?;
        let about = entry.metadata().with_context(attempt)?;
        let target = to.join(entry.file_name());
        if about.is_dir() && depth > 0 {
            copy_files(&entry.path(), &target, depth - 1)?;
        } else if about.is_file() && about.len() > 0 {
            fs::create_dir_all(to).with_context(attempt)?;
            fs::copy(entry.path(), &target).with_context(attempt)?;
        }
    }
    Ok(())
}

/// Returns the directory to which a side's program writes its logs.
fn logs(side: Side) -> String {
    format!("/logs/{}", side.name())
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    fs::write(path, content).with_context(|| format!("write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interop(content: &Content) -> Interop<'_> {
        let program = "/opt/quic/run_endpoint.sh";
        Interop { server: program, client: program, content, case: None, is_captured: false, names: &SERVER }
    }

    #[test]
    fn each_side_is_told_what_the_runner_would_tell_it() {
        let content = Content::Seeded { seed: 1, size_bytes: 10 };
        let told = |side| {
            let command = interop(&content).command(side);
            let variables = command.environment.iter().map(|each| format!("{}={}", each.name, each.value));
            variables.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            told(Side::Client),
            "ROLE=client TESTCASE=transfer REQUESTS=https://server4:443/content SSLKEYLOGFILE=/logs/client/keys.log \
             QLOGDIR=/logs/client/qlog/ CLIENT_PARAMS="
        );
        assert_eq!(
            told(Side::Server),
            "ROLE=server TESTCASE=transfer SSLKEYLOGFILE=/logs/server/keys.log QLOGDIR=/logs/server/qlog/ SERVER_PARAMS="
        );
        assert_eq!(interop(&content).command(Side::Client).working_directory, "/opt/quic");
    }

    #[test]
    fn each_side_of_a_test_case_is_told_its_own_and_all_files() {
        let content = Content::Seeded { seed: 1, size_bytes: 7 };
        let (server, client) = ("transfer".to_owned(), "keyupdate".to_owned());
        let case = InteropCase { server, client, file_bytes: vec![4, 3], name_bytes: 12, certificates: 1 };
        let client = "/opt/other/run_endpoint.sh";
        let interop = Interop { case: Some(&case), client, ..interop(&content) };
        let told = |side, name: &str| {
            let command = interop.command(side);
            command.environment.iter().find(|each| each.name == name).map(|each| each.value.clone())
        };
        assert_eq!(told(Side::Server, "TESTCASE").as_deref(), Some("transfer"));
        assert_eq!(told(Side::Client, "TESTCASE").as_deref(), Some("keyupdate"));
        assert_eq!(
            told(Side::Client, "REQUESTS").as_deref(),
            Some("https://server4:443/content-1xxx https://server4:443/content-2xxx")
        );
        assert_eq!(interop.command(Side::Client).client, ["/opt/other/run_endpoint.sh"]);
        assert_eq!(interop.command(Side::Client).working_directory, "/opt/other");
        let parts: Vec<_> = interop.files().iter().map(|(_, part)| (part.offset_bytes, part.length_bytes)).collect();
        assert_eq!(parts, [(0, 4), (4, 3)]);
    }

    #[test]
    fn a_file_that_is_not_the_content_is_told() {
        let content = Content::Seeded { seed: 1, size_bytes: 10 };
        let right = content::hash(&content, content.whole()).unwrap();
        let told = |bytes, sha256: &str| {
            let left = DownloadRecord {
                started_ns: 1,
                ended_ns: 9,
                first_packet_ns: 2,
                last_packet_ns: 8,
                bytes,
                sha256: sha256.to_owned(),
            };
            difference(&content, &[Record::Download(left)]).unwrap()
        };
        assert_eq!(told(10, &right), None);
        assert!(told(9, &right).unwrap().contains("left 9 bytes of the file, which has 10"));
        assert!(told(10, "ab").unwrap().contains("SHA-256 is ab, not"));
        assert!(difference(&content, &[]).unwrap().unwrap().contains("0 records"));
    }
}
