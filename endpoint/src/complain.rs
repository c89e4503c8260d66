//! How commands tell errors.

use std::fmt::Display;
use std::process::ExitCode;

/// Prints an error on standard error.
pub(crate) fn complain(message: impl Display) -> ExitCode {
    eprintln!("netwarp-endpoint: {message}");
    ExitCode::FAILURE
}
