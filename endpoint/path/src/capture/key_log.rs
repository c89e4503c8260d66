//! The TLS secrets of a captured run, in memory. They go into the capture's file, so that it can be read decrypted.
//!
//! Roles and the programs they start append lines of the NSS key log format (draft-ietf-tls-keylogfile) to it. They
//! find it through the environment variable SSLKEYLOGFILE, as browsers, curl and most QUIC stacks do.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsRawFd, RawFd};

use anyhow::{Context, Result};
use nix::sys::memfd::{MFdFlags, memfd_create};

/// The environment variable that names the file, for programs that log their secrets.
pub const VARIABLE: &str = "SSLKEYLOGFILE";

/// The descriptor through which roles and their programs inherit the file. None of them uses this number for something
/// else; browsers use 4, for instance.
pub const ROLE_FD: RawFd = 9;

/// The variable as roles receive it. It names [`ROLE_FD`].
pub const ROLE_ENVIRONMENT: &CStr = c"SSLKEYLOGFILE=/proc/self/fd/9";

/// A file of secrets in memory. Writing to it never blocks, so records do not change.
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
