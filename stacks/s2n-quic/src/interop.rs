//! An endpoint by the contract of the QUIC interop runner, which tells it in environment variables what to do. Files
//! are fetched by HTTP/0.9 over QUIC (`hq-interop`): the request is a line, and the answer is the file.

use std::env;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use netwarp_role::without_cpu_randomness;
use s2n_quic::client::Connect;
use s2n_quic::provider::endpoint_limits;
use s2n_quic::provider::tls::s2n_tls as tls;
use s2n_quic::stream::BidirectionalStream;
use s2n_quic::{Client, Connection, Server};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

/// The application protocol (ALPN).
const HQ: &str = "hq-interop";

/// The exit status by which an endpoint says that it does not support a test case.
const UNSUPPORTED: u8 = 127;

/// The test cases that this program supports. S2n-quic resumes no sessions and chooses no cipher suite without features
/// that it calls unstable, has version 1 alone, and HTTP/3 is not a part of it.
const TEST_CASES: [&str; 5] = ["handshake", "transfer", "multiconnect", "retry", "ecn"];

/// The runner's files and directories.
const CERTIFICATE_FILE: &str = "/certs/cert.pem";
const KEY_FILE: &str = "/certs/priv.key";
const AUTHORITY_FILE: &str = "/certs/ca.pem";
const SERVED: &str = "/www";
const DOWNLOADED: &str = "/downloads";

/// The length from which a request is refused, in bytes.
const MOST_REQUEST_BYTES: usize = 4096;

/// How many handshakes may go on before the server sends Retries, except for the test case `retry`.
const USUAL_HANDSHAKES: usize = 1000;

/// Does what the environment asks for, and returns the program's status.
pub(crate) fn run() -> ExitCode {
    let asked = env::var("TESTCASE").unwrap_or_default();
    if !TEST_CASES.contains(&asked.as_str()) {
        eprintln!("the test case {asked:?} is not supported");
        return ExitCode::from(UNSUPPORTED);
    }
    match without_cpu_randomness().and_then(|()| work(&asked)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn work(test_case: &str) -> Result<()> {
    let event_loop = Builder::new_current_thread().enable_io().enable_time().build();
    event_loop.context("start the event loop")?.block_on(async {
        match env::var("ROLE").as_deref() {
            Ok("server") => serve(test_case).await,
            Ok("client") => fetch(test_case, &env::var("REQUESTS").context("read REQUESTS")?).await,
            other => bail!("ROLE is server or client, not {other:?}"),
        }
    })
}

/// Serves until the program is killed.
async fn serve(test_case: &str) -> Result<()> {
    let security = tls::Server::builder()
        .with_certificate(Path::new(CERTIFICATE_FILE), Path::new(KEY_FILE))
        .and_then(|builder| builder.with_application_protocols([HQ]))
        .and_then(tls::server::Builder::with_key_logging)
        .and_then(tls::server::Builder::build)
        .map_err(|error| anyhow!("use the certificate: {error}"))?;
    let handshakes = if test_case == "retry" { 0 } else { USUAL_HANDSHAKES };
    let admission = endpoint_limits::Default::builder()
        .with_inflight_handshake_limit(handshakes)
        .context("limit the handshakes")?
        .build()
        .context("limit the handshakes")?;
    let never = "this cannot fail";
    let mut server = Server::builder()
        .with_tls(security)
        .context(never)?
        .with_io("0.0.0.0:443")
        .context("listen")?
        .with_endpoint_limits(admission)
        .context(never)?
        .start()
        .context("start s2n-quic")?;
    while let Some(connection) = server.accept().await {
        tokio::spawn(answer_all(connection));
    }
    Ok(())
}

/// Answers the requests of a connection until the client has closed it.
async fn answer_all(mut connection: Connection) {
    while let Ok(Some(stream)) = connection.accept_bidirectional_stream().await {
        tokio::spawn(async move {
            if let Err(error) = answer(stream).await {
                eprintln!("{error:#}");
            }
        });
    }
}

/// Sends the file that a request (`GET /name`) asks for, which is never outside the directory.
async fn answer(mut stream: BidirectionalStream) -> Result<()> {
    let mut asked = Vec::new();
    while !asked.contains(&b'\n') {
        ensure!(asked.len() < MOST_REQUEST_BYTES, "the request is too long");
        let Some(bytes) = stream.receive().await.context("read a request")? else {
            break;
        };
        asked.extend_from_slice(&bytes);
    }
    let line = String::from_utf8(asked).context("understand a request")?;
    let name = Path::new(line.trim_start_matches("GET ").trim()).file_name().map(ToOwned::to_owned);
    let place = Path::new(SERVED).join(name.with_context(|| format!("{line:?} names no file"))?);
    let content = fs::read(&place).with_context(|| format!("read {}", place.display()))?;
    stream.send(content.into()).await.context("send a file")?;
    stream.close().await.context("end a stream")
}

/// Fetches the files of REQUESTS, which are separated by spaces.
async fn fetch(test_case: &str, requests: &str) -> Result<()> {
    let requests: Vec<_> = requests.split_whitespace().map(parsed).collect::<Result<_>>()?;
    let security = tls::Client::builder()
        .with_certificate(Path::new(AUTHORITY_FILE))
        .and_then(|builder| builder.with_application_protocols([HQ]))
        .and_then(tls::client::Builder::with_key_logging)
        .and_then(tls::client::Builder::build)
        .map_err(|error| anyhow!("trust the authority's certificate: {error}"))?;
    let never = "this cannot fail";
    let mut client = Client::builder()
        .with_tls(security)
        .context(never)?
        .with_io("0.0.0.0:0")
        .context("open a socket")?
        .start()
        .context("start s2n-quic")?;
    let at_once = if test_case == "multiconnect" { 1 } else { requests.len().max(1) };
    for some in requests.chunks(at_once) {
        fetch_over(&client, some).await?;
    }
    client.wait_idle().await.context("end the connections")
}

/// Returns a request's server, such as `server4:443`, and the name of its file.
fn parsed(request: &str) -> Result<(&str, &str)> {
    let parts = request.strip_prefix("https://").and_then(|rest| rest.split_once('/'));
    parts.with_context(|| format!("{request} names no file"))
}

/// Fetches files at once over one connection.
async fn fetch_over(client: &Client, requests: &[(&str, &str)]) -> Result<()> {
    let (authority, _) = requests.first().context("REQUESTS names no file")?;
    let mut found = authority.to_socket_addrs().with_context(|| format!("find {authority}"))?;
    let server = found.find(SocketAddr::is_ipv4).with_context(|| format!("{authority} has no IPv4 address"))?;
    let host = authority.rsplit_once(':').map_or(*authority, |(host, _)| host);
    let dialled = client.connect(Connect::new(server).with_server_name(host));
    let mut connection = dialled.await.context("connect")?;
    let mut downloads = JoinSet::new();
    for (_, name) in requests {
        let stream = connection.open_bidirectional_stream().await.context("open a stream")?;
        downloads.spawn(download(stream, (*name).to_owned()));
    }
    while let Some(done) = downloads.join_next().await {
        done.context("download a file")??;
    }
    connection.close(0_u32.into());
    Ok(())
}

async fn download(stream: BidirectionalStream, name: String) -> Result<()> {
    let (mut incoming, mut outgoing) = stream.split();
    outgoing.send(format!("GET /{name}\r\n").into_bytes().into()).await.with_context(|| format!("ask for {name}"))?;
    outgoing.finish().with_context(|| format!("ask for {name}"))?;
    let place = Path::new(&name).file_name().with_context(|| format!("{name} is no file"))?;
    let mut file = File::create(Path::new(DOWNLOADED).join(place)).with_context(|| format!("create {name}"))?;
    while let Some(bytes) = incoming.receive().await.with_context(|| format!("download {name}"))? {
        file.write_all(&bytes).with_context(|| format!("keep {name}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_a_server_and_a_file() {
        assert_eq!(parsed("https://server4:443/a").unwrap(), ("server4:443", "a"));
        assert!(parsed("server4").is_err());
    }
}
