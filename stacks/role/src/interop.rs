//! The conventions of the QUIC interop runner
//! (<https://github.com/quic-interop/quic-interop-runner/blob/master/quic.md>), which tells an endpoint what to do in
//! environment variables. Files are fetched by HTTP/0.9 over QUIC: the request is a line, and the answer is the file.

use std::env;
use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};
use netwarp_wire::record::Side;

use crate::environment::without_cpu_randomness;

/// The application protocol (ALPN) of HTTP/0.9 over QUIC.
pub const HQ: &str = "hq-interop";

/// The port at which servers listen by the interop runner's conventions.
pub const PORT: u16 = 443;

/// The smallest length of a request that a server refuses, in bytes.
pub const MOST_REQUEST_BYTES: usize = 4096;

/// The file with the certificates that the server sends.
pub const CERTIFICATE_FILE: &str = "/certs/cert.pem";
/// The file with the key of the server's certificate.
pub const KEY_FILE: &str = "/certs/priv.key";
/// The file with the certificate of the authority that the client trusts.
pub const AUTHORITY_FILE: &str = "/certs/ca.pem";
/// The directory whose files the server sends.
pub const SERVED: &str = "/www";
/// The directory to which the client writes the files that it fetches.
const DOWNLOADED: &str = "/downloads";

/// The exit status by which an endpoint says that it does not support a test case.
const UNSUPPORTED: u8 = 127;

/// The task that the runner gives to this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// Serve files until the program is killed.
    Serve,
    /// Fetch files: the requests, separated by spaces ([`requests`]).
    Fetch(String),
}

/// Carries out the task that the environment variables describe, and returns the program's exit status.
///
/// # Arguments
/// * `test_cases` - the test cases that the program supports; for others the exit status says that they are not
///   supported.
/// * `work` - carries out a task in the test case of this name.
pub fn run(test_cases: &[&str], work: impl FnOnce(&str, Task) -> Result<()>) -> ExitCode {
    let asked = env::var("TESTCASE").unwrap_or_default();
    if !test_cases.contains(&asked.as_str()) {
        eprintln!("the test case {asked:?} is not supported");
        return ExitCode::from(UNSUPPORTED);
    }
    match without_cpu_randomness().and_then(|()| task()).and_then(|task| work(&asked, task)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn task() -> Result<Task> {
    match side()? {
        Side::Server => Ok(Task::Serve),
        Side::Client => Ok(Task::Fetch(env::var("REQUESTS").context("read REQUESTS")?)),
    }
}

fn side() -> Result<Side> {
    match env::var("ROLE").as_deref() {
        Ok("server") => Ok(Side::Server),
        Ok("client") => Ok(Side::Client),
        other => bail!("ROLE is server or client, not {other:?}"),
    }
}

/// Returns the unspecified address at which a server listens: IPv6 if the host has no IPv4 route, otherwise IPv4.
pub fn listening_address() -> SocketAddr {
    // The first line is a heading. A socket for both families would need the options for ECN and path MTU discovery of
    // both.
    let has_ipv4 = fs::read_to_string("/proc/net/route").is_ok_and(|routes| routes.lines().count() > 1);
    let any: IpAddr = if has_ipv4 { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    (any, PORT).into()
}

/// A request, such as `https://server4:443/file`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The server's host and port.
    pub authority: &'a str,
    /// The file's path at the server, without the slash at its beginning.
    pub path: &'a str,
}

/// Parses requests that are separated by spaces.
///
/// # Errors
/// There is no request, or one of them names no file.
pub fn requests(text: &str) -> Result<Vec<Request<'_>>> {
    let requests: Vec<_> = text.split_whitespace().map(Request::parse).collect::<Result<_>>()?;
    ensure!(!requests.is_empty(), "REQUESTS names no file");
    Ok(requests)
}

impl<'a> Request<'a> {
    fn parse(text: &'a str) -> Result<Self> {
        let parts = text.strip_prefix("https://").and_then(|rest| rest.split_once('/'));
        let (authority, path) = parts.with_context(|| format!("{text} names no file"))?;
        Ok(Self { authority, path })
    }

    /// Returns the server's host name, without the port.
    pub fn host(&self) -> &'a str {
        self.authority.rsplit_once(':').map_or(self.authority, |(host, _)| host)
    }

    /// Returns the server's address and port; an IPv4 address if the name has one.
    ///
    /// # Errors
    /// The name has no address.
    pub fn server(&self) -> Result<SocketAddr> {
        let found = self.authority.to_socket_addrs().with_context(|| format!("find {}", self.authority))?;
        found.min_by_key(SocketAddr::is_ipv6).with_context(|| format!("{} has no address", self.authority))
    }

    /// Returns the request line for the file in HTTP/0.9.
    pub fn line(&self) -> String {
        format!("GET /{}\r\n", self.path)
    }

    /// Creates the file to which the response is written.
    ///
    /// # Errors
    /// The path does not end with a file name; as `open(2)`.
    pub fn file(&self) -> Result<File> {
        let name = Path::new(self.path).file_name();
        let place = Path::new(DOWNLOADED).join(name.with_context(|| format!("{} is no file", self.path))?);
        File::create(&place).with_context(|| format!("create {}", place.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_a_host_and_a_file() {
        let request = Request::parse("https://server4:443/a/b").unwrap();
        assert_eq!((request.authority, request.host(), request.path), ("server4:443", "server4", "a/b"));
        assert_eq!(request.line(), "GET /a/b\r\n");
        assert!(Request::parse("server4").is_err());
        assert!(Request::parse("https://server4:443/").unwrap().file().is_err());
    }

    #[test]
    fn requests_are_separated_by_spaces_and_at_least_one() {
        let paths: Vec<_> = requests("https://a:1/x https://a:1/y").unwrap().iter().map(|each| each.path).collect();
        assert_eq!(paths, ["x", "y"]);
        assert!(requests(" ").unwrap_err().to_string().contains("names no file"));
    }
}
