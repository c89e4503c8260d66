//! Starts a program on one host of a run, reads its output, and records how it ended.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;

use anyhow::{Context as _, Error, Result, anyhow};
use netwarp_core::clock::{self, Moment};
use netwarp_path::capture::key_log;
use netwarp_path::topology::host_of;
use netwarp_programs::coarse_clocks;
use netwarp_programs::files_of::FilesOf;
use netwarp_programs::process::{Hold, Program, Start, how_it_ended};
use netwarp_programs::reaper::Reaper;
use netwarp_programs::root::HOME;
use netwarp_wire::job::{Command, HostProgram, Job, Ready};
use netwarp_wire::record::{ProgramRecord, Side};

/// The search path for programs.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The default environment of programs: nothing of the user's own environment.
const ENVIRONMENT: [(&str, &str); 6] =
    [("PATH", PATH), ("HOME", HOME), ("LANG", "C.UTF-8"), ("TERM", "dumb"), ("USER", "root"), ("LOGNAME", "root")];

/// The run, and the host in it, for which a program is started.
#[derive(Debug, Clone, Copy)]
pub struct RunPlace<'a> {
    /// The job that is carried out.
    pub job: &'a Job,
    /// The run directory; `None` on the other host of a remote run, where programs are contained and leave nothing
    /// behind.
    pub directory: Option<&'a Path>,
    /// Whether all hosts' programs see the same files.
    is_shared: bool,
    /// The name of the network's host, if the program is neither the server nor the client.
    further: Option<&'a str>,
    meaning: Meaning,
}

/// A program to start on a host.
pub(crate) struct ProgramOf<'a> {
    argv: &'a [String],
    /// How to detect that the program is ready; not used for a client.
    pub ready: &'a Ready,
}

/// Returns the special meaning of an exit status; `None` if it has none.
type Meaning = fn(ExitStatus) -> Option<&'static str>;

impl<'a> RunPlace<'a> {
    /// Creates the place of the workload's server and client in a run; exit statuses have no special meaning.
    ///
    /// # Arguments
    /// * `is_shared` - whether all hosts' programs see the same files.
    pub fn new(job: &'a Job, directory: Option<&'a Path>, is_shared: bool) -> Self {
        Self { job, directory, is_shared, further: None, meaning: |_| None }
    }

    /// Returns the same run, for the program of a further host of its network; with `None`, for the server or client.
    pub fn on(self, further: Option<&'a str>) -> Self {
        Self { further, ..self }
    }

    /// Returns the same place, for programs whose exit statuses can have the special meanings that `meaning` returns.
    pub(crate) fn by_contract(self, meaning: Meaning) -> Self {
        Self { meaning, ..self }
    }

    /// Returns the directory in which programs start: the job's, or the home directory on the other host of a remote
    /// run, where the job's path need not exist.
    fn working_directory(self, command: &Command) -> &str {
        if self.directory.is_some() { &command.working_directory } else { HOME }
    }

    /// Returns the name of the host on which a side's program runs.
    fn host(self, side: Side) -> &'a str {
        self.further.unwrap_or_else(|| host_of(self.job.only(), side))
    }

    /// Returns the file system that the programs of a host see.
    fn files(self, host: &str) -> FilesOf<'_> {
        FilesOf::host(host, self.is_shared)
    }

    /// Returns the program to start on this host.
    ///
    /// # Errors
    /// The job has no program for it.
    pub(crate) fn program_of(self, command: &Command, side: Side) -> Result<ProgramOf<'_>> {
        let Some(host) = self.further else {
            let argv = if side == Side::Server { &command.server } else { &command.client };
            return Ok(ProgramOf { argv, ready: &command.ready });
        };
        let found = command.programs.iter().find(|program| program.host == host);
        let HostProgram { command, ready, .. } =
            found.with_context(|| format!("the job has no program for the host {host}"))?;
        Ok(ProgramOf { argv: command, ready })
    }

    fn hold(self) -> Hold {
        match self.directory {
            _ if clock::is_virtual() => Hold::Guest,
            Some(_) => Hold::Layers,
            None => Hold::Contained,
        }
    }

    /// Replaces the placeholder `{run}` in a text by the run's name.
    fn named_in(self, text: &str) -> String {
        text.replace("{run}", &self.job.run)
    }
}

/// A host's program that was started, with its output and its end.
pub(crate) struct Host {
    side: Side,
    /// The host's name, if it is a further host of a network.
    name: Option<String>,
    meaning: Meaning,
    /// The program, with its output.
    pub program: Program,
    reaper: Reaper,
    epoch_ns: u64,
    started_ns: u64,
    /// When the server was ready, in nanoseconds since the run's epoch.
    pub ready_ns: Option<u64>,
    ended: Option<(u64, ExitStatus)>,
    is_stdout_open: bool,
    is_stderr_open: bool,
}

/// An event of a program: output, or its end.
pub(crate) enum Event {
    /// The program printed these complete lines.
    Lines(Vec<String>),
    /// The program's first process ended with this status.
    Ended(ExitStatus),
}

impl Host {
    /// Starts a side's program.
    ///
    /// # Arguments
    /// * `control` - pipe ends for programs that are controlled over pipes, as Chromium is; see [`Start::control`].
    pub(crate) fn start(
        side: Side,
        command: &Command,
        run: RunPlace<'_>,
        epoch_ns: u64,
        control: Option<(OwnedFd, OwnedFd)>,
    ) -> Result<Self> {
        let name = run.host(side);
        let argv = run.program_of(command, side)?.argv;
        let reaper = Reaper::start(name, run.files(name))?;
        let defaults = ENVIRONMENT.iter().map(|&(key, value)| (key.to_owned(), value.to_owned()));
        let named = command.environment.iter().map(|variable| (variable.name.clone(), run.named_in(&variable.value)));
        let secrets = std::env::var(key_log::VARIABLE).map(|file| (key_log::VARIABLE.to_owned(), file));
        let environment: Vec<_> = defaults.chain(secrets).chain(named).collect();
        let argv: Vec<_> = argv.iter().map(|word| run.named_in(word)).collect();
        if command.exact_coarse_clocks {
            coarse_clocks::make_exact()?;
        }
        // This is read before the program runs: one that reads clocks and never waits would use up its time slice, and
        // move the clock by it, before this process runs again.
        let started_ns = Moment::now().since(epoch_ns);
        let program = Program::start(&Start {
            argv: &argv,
            environment: &environment,
            working_directory: Path::new(run.working_directory(command)),
            output_directory: run.directory,
            name,
            control,
            hold: run.hold(),
        })?;
        Ok(Self {
            side,
            name: run.job.network.as_ref().map(|_| name.to_owned()),
            meaning: run.meaning,
            program,
            reaper,
            epoch_ns,
            started_ns,
            ready_ns: None,
            ended: None,
            is_stdout_open: true,
            is_stderr_open: true,
        })
    }

    /// Waits for the program's next event; it waits forever when the program has ended and its output is closed.
    /// Dropping this future loses nothing.
    ///
    /// # Arguments
    /// * `wants_lines` - whether printed lines are returned as events, or only kept.
    pub(crate) async fn next_event(&mut self, wants_lines: bool) -> Result<Event> {
        let Program { process, stdout, stderr } = &mut self.program;
        tokio::select! {
            biased;
            lines = stdout.keep_next(wants_lines), if self.is_stdout_open => {
                let lines = lines?;
                self.is_stdout_open = lines.is_some();
                Ok(Event::Lines(lines.unwrap_or_default()))
            }
            lines = stderr.keep_next(wants_lines), if self.is_stderr_open => {
                let lines = lines?;
                self.is_stderr_open = lines.is_some();
                Ok(Event::Lines(lines.unwrap_or_default()))
            }
            status = process.ended(), if self.ended.is_none() => {
                let status = status?;
                self.ended = Some((Moment::now().since(self.epoch_ns), status));
                Ok(Event::Ended(status))
            }
            else => std::future::pending().await,
        }
    }

    /// Returns whether the program's first process has ended; its descendants may still run.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Returns whether the program's first process has ended with a status that has a special meaning.
    pub(crate) fn has_ended_with_meaning(&self) -> bool {
        self.ended.is_some_and(|(_, status)| (self.meaning)(status).is_some())
    }

    /// Waits for the program's end, keeping its output, and returns its exit status. Dropping this future loses
    /// nothing.
    pub(crate) async fn ended(&mut self) -> Result<ExitStatus> {
        loop {
            if let Event::Ended(status) = self.next_event(false).await? {
                return Ok(status);
            }
        }
    }

    /// Returns the error for a program that ended too early; `when` says before what.
    pub(crate) fn ended_early(&self, status: ExitStatus, when: &str) -> Error {
        self.describe(&format!("{} {when}", self.ending(status)))
    }

    /// Returns the error for a program that failed.
    pub(crate) fn failed(&self, status: ExitStatus) -> Error {
        self.describe(&self.ending(status))
    }

    /// Returns a text that says how the program ended, with the special meaning of its status.
    fn ending(&self, status: ExitStatus) -> String {
        let ending = how_it_ended(status);
        match (self.meaning)(status) {
            Some(meaning) => format!("{ending}, by which it says that {meaning},"),
            None => ending,
        }
    }

    /// Returns the error for a server that was not ready in time.
    pub(crate) fn never_ready(&self, wanted: &str, within_ns: u64) -> Error {
        let within_s = within_ns / 1_000_000_000;
        let ended = self.ended.map_or_else(String::new, |(_, status)| {
            format!(", and its own process had ended ({})", how_it_ended(status))
        });
        self.describe(&format!(
            "was not ready after {within_s} seconds of the run's clock: {wanted} was waited for{ended}"
        ))
    }

    /// Returns an error that says how the program ended, with the last line that it printed.
    pub(crate) fn describe(&self, ending: &str) -> Error {
        let last = self.program.stderr.last_line().or_else(|| self.program.stdout.last_line());
        let said = last.map_or_else(|| "it said nothing".to_owned(), |line| format!("the last it said: {line}"));
        match &self.name {
            Some(host) => anyhow!("the program of the host {host} {ending}; {said}"),
            None => anyhow!("the {}'s program {ending}; {said}", self.side.name()),
        }
    }

    /// Kills the processes that the program has left behind, keeps the rest of its output, and returns its record.
    pub(crate) async fn into_record(mut self) -> Result<ProgramRecord> {
        let (ended_ns, status) = self.ended.context("the program has not ended")?;
        // Descendants may hold the output open forever.
        drop(self.reaper);
        for output in [&mut self.program.stdout, &mut self.program.stderr] {
            while output.keep_next(false).await?.is_some() {}
        }
        Ok(ProgramRecord {
            side: self.side,
            started_ns: self.started_ns,
            ready_ns: self.ready_ns,
            ended_ns,
            exit_status: status.code().and_then(|code| u8::try_from(code).ok()),
            signal: status.signal().and_then(|signal| u8::try_from(signal).ok()),
            stdout_bytes: self.program.stdout.bytes,
            stderr_bytes: self.program.stderr.bytes,
            stdout: self.program.stdout.text(),
            host: self.name,
        })
    }
}
