//! The TLS secrets of a captured run, kept in memory and then written into the capture file, so that tools can decrypt
//! it.
//!
//! Roles and the programs they start append lines of the NSS key log format (draft-ietf-tls-keylogfile) to this file in
//! memory. They find it through the environment variable SSLKEYLOGFILE, as browsers, curl and most QUIC stacks do.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsRawFd, RawFd};

use anyhow::{Context, Result};
use nix::sys::memfd::{MFdFlags, memfd_create};

/// The environment variable by which programs find the file for their TLS secrets.
pub const VARIABLE: &str = "SSLKEYLOGFILE";

/// The file descriptor through which roles and their programs inherit the file. They use no descriptor of this number
/// themselves; browsers use 4, for instance.
pub const ROLE_FD: RawFd = 9;

/// The environment variable that roles receive: its value names [`ROLE_FD`].
pub const ROLE_ENVIRONMENT: &CStr = c"SSLKEYLOGFILE=/proc/self/fd/9";

/// A file in memory for TLS secrets. Writing to it never blocks, so it does not change what a run measures.
#[derive(Debug)]
pub struct KeyLog(File);

impl KeyLog {
    /// Creates an empty file.
    pub fn new() -> Result<Self> {
        let file = memfd_create(c"key-log", MFdFlags::MFD_CLOEXEC).context("make a file in memory for TLS secrets")?;
        Ok(Self(file.into()))
    }

    /// Returns all lines written so far.
    pub fn lines(&mut self) -> io::Result<Vec<u8>> {
        let mut lines = Vec::new();
        self.0.rewind()?;
        self.0.read_to_end(&mut lines)?;
        Ok(lines)
    }
}

impl AsRawFd for KeyLog {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
