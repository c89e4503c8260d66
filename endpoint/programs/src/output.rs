//! Reads the output of a program: keeps a limited part of it in the run directory, and returns its lines, one of which
//! may show that the program is ready.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;

/// The most bytes of a stream that are kept in the run directory. A program that prints more loses the rest, but its
/// run continues.
pub(crate) const KEPT_BYTES: u64 = 64 << 20;
/// The most bytes of a stream that go into the record, from which metrics are read.
pub(crate) const RECORDED_BYTES: usize = 1 << 20;
/// The most characters of a line that an error message quotes.
const TOLD_CHARACTERS: usize = 1000;

const READ_BYTES: usize = 64 * 1024;

/// One output stream of a program.
#[derive(Debug)]
pub struct Output {
    pipe: Receiver,
    file: Option<File>,
    /// How many bytes were printed, kept or not.
    pub bytes: u64,
    /// The beginning of the output, which goes into the record.
    recorded: Vec<u8>,
    /// The bytes since the end of the last complete line.
    line: Vec<u8>,
}

impl Output {
    /// Begins to read a program's output from a pipe. With a path, the output is kept in a new file. Must be called
    /// inside the tokio runtime.
    ///
    /// # Errors
    /// The file cannot be created; the descriptor is not a pipe.
    pub fn new(pipe: impl Into<std::os::fd::OwnedFd>, path: Option<&Path>) -> Result<Self> {
        let pipe = Receiver::from_owned_fd(pipe.into()).context("watch a program's output")?;
        let create = |path: &Path| File::create(path).with_context(|| format!("create {}", path.display()));
        let file = path.map(create).transpose()?;
        Ok(Self { pipe, file, bytes: 0, recorded: Vec::new(), line: Vec::new() })
    }

    /// Waits for more output, and keeps it. Returns the lines that are now complete, or an empty list without
    /// `wants_lines`; `None` when the program has closed the stream. Dropping this future loses nothing.
    ///
    /// # Errors
    /// The pipe cannot be read; the disk of the run directory is full.
    pub async fn keep_next(&mut self, wants_lines: bool) -> Result<Option<Vec<String>>> {
        let mut bytes = [0; READ_BYTES];
        let count = self.pipe.read(&mut bytes).await.context("read a program's output")?;
        if count == 0 {
            return Ok(None);
        }
        self.keep(&bytes[..count]).context("keep a program's output")?;
        Ok(Some(if wants_lines { self.lines(&bytes[..count]) } else { Vec::new() }))
    }

    /// Returns the beginning of the output as text; bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.recorded).into_owned()
    }

    /// Returns the last line for error messages, shortened if it is long.
    pub fn last_line(&self) -> Option<String> {
        let text = self.text();
        let line = text.lines().rev().find(|line| !line.trim().is_empty())?.trim();
        let beginning: String = line.chars().take(TOLD_CHARACTERS).collect();
        Some(if beginning.len() < line.len() { beginning + "…" } else { beginning })
    }

    fn keep(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = usize::try_from(KEPT_BYTES.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
        if let Some(file) = &mut self.file {
            file.write_all(&bytes[..bytes.len().min(room)])?;
        }
        let room = RECORDED_BYTES - self.recorded.len();
        self.recorded.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn lines(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut ended = Vec::new();
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            // A line without an end must not exhaust memory.
            if self.line.len() + piece.len() <= RECORDED_BYTES {
                self.line.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                ended.push(String::from_utf8_lossy(&self.line).trim_end().to_owned());
                self.line.clear();
            }
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(work: impl AsyncFnOnce(Output, File)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        runtime.block_on(async {
            let (reader, writer) = nix::unistd::pipe().unwrap();
            let path = std::env::temp_dir().join(format!(
                "netwarp-output-{}-{:?}",
                std::process::id(),
                std::thread::current().id()
            ));
            let output = Output::new(reader, Some(&path)).unwrap();
            work(output, File::from(writer)).await;
            std::fs::remove_file(path).unwrap();
        });
    }

    #[test]
    fn lines_come_whole_whatever_the_pieces() {
        output(async |mut output, mut program| {
            program.write_all(b"list").unwrap();
            assert_eq!(output.keep_next(true).await.unwrap(), Some(vec![]));
            program.write_all(b"ening\r\non 80\nand").unwrap();
            let lines = output.keep_next(true).await.unwrap().unwrap();
            assert_eq!(lines, ["listening", "on 80"]);
            drop(program);
            assert_eq!(output.keep_next(true).await.unwrap(), None);
            assert_eq!(output.text(), "listening\r\non 80\nand");
            assert_eq!(output.last_line().as_deref(), Some("and"));
            assert_eq!(output.bytes, 20);
        });
    }

    #[test]
    fn of_a_long_last_line_the_beginning_is_told() {
        output(async |mut output, program| {
            drop(program);
            output.keep("ä".repeat(TOLD_CHARACTERS).as_bytes()).unwrap();
            assert_eq!(output.last_line().unwrap(), "ä".repeat(TOLD_CHARACTERS));
            output.keep("ä".repeat(100_000).as_bytes()).unwrap();
            assert_eq!(output.last_line().unwrap(), "ä".repeat(TOLD_CHARACTERS) + "…");
        });
    }

    #[test]
    fn a_record_holds_the_beginning_of_a_flood() {
        output(async |mut output, program| {
            drop(program);
            output.keep(&vec![b'x'; RECORDED_BYTES + 7]).unwrap();
            output.keep(b"more").unwrap();
            assert_eq!(output.text().len(), RECORDED_BYTES);
            assert_eq!(output.bytes, RECORDED_BYTES as u64 + 11);
        });
    }
}
