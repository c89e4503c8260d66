//! A qlog file (draft-ietf-quic-qlog-main-schema) for each connection: packets sent, received and lost, and the state
//! of congestion control, as JSON text sequences, which qvis opens.
//!
//! The environment variable QLOGDIR, which QUIC implementations share, names the directory. Data is written when a
//! connection ends or a megabyte has accumulated; that takes no virtual time.

use std::fs::{File, create_dir_all};
use std::io::{BufWriter, ErrorKind};
use std::path::Path;
use std::time::Instant;

use netwarp_wire::job::Transport;
use netwarp_wire::record::Side;
use quinn::{QlogConfig, QlogStream};

use crate::error::{Context as _, Result};

/// The environment variable that names the directory of the files.
pub const VARIABLE: &str = "QLOGDIR";

/// How many bytes are kept in memory before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// Returns the stream for a new connection's events: a new file in the directory that the environment variable names;
/// `None` if the variable is not set.
pub(super) fn stream(options: &Transport, side: Side) -> Result<Option<QlogStream>> {
    if !options.quic.qlog {
        return Ok(None);
    }
    let directory = std::env::var_os(VARIABLE).context("QLOGDIR does not say where qlog files go")?;
    let side = side.name();
    let file = next_file(directory.as_ref(), side).with_context(|| format!("making a file in {directory:?}"))?;
    let mut config = QlogConfig::default();
    config
        .writer(Box::new(BufWriter::with_capacity(BUFFER_BYTES, file)))
        .title(Some(format!("netwarp, {side}")))
        .start_time(Instant::now());
    Ok(config.into_stream())
}

/// Creates a new qlog file for a connection, under the first of the numbered names that is not in use.
fn next_file(directory: &Path, side: &str) -> std::io::Result<File> {
    create_dir_all(directory)?;
    let mut number = 0;
    loop {
        match File::create_new(directory.join(format!("{side}-{number}.sqlog"))) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            made => return made,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_has_a_file_of_its_own() {
        let directory = std::env::temp_dir().join(format!("netwarp-qlog-{}", std::process::id()));
        for _ in 0..2 {
            next_file(&directory, "server").unwrap();
        }
        next_file(&directory, "client").unwrap();
        let mut names: Vec<_> = std::fs::read_dir(&directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(names, ["client-0.sqlog", "server-0.sqlog", "server-1.sqlog"]);
    }
}
