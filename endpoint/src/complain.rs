//! How commands report errors.

use std::fmt::Display;
use std::process::ExitCode;

/// Prints an error on standard error, and returns the exit status for it.
pub(crate) fn complain(message: impl Display) -> ExitCode {
    eprintln!("netwarp-endpoint: {message}");
    ExitCode::FAILURE
}
