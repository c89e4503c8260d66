//! An endpoint by the conventions of the QUIC interop runner, which says in environment variables what to do. Files are
//! fetched by HTTP/0.9 over QUIC (`hq-interop`): the request is a line, and the answer is the file.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, ensure};
use netwarp_role::interop::{
    self, AUTHORITY_FILE, CERTIFICATE_FILE, HQ, KEY_FILE, MOST_REQUEST_BYTES, Request, SERVED, Task, listening_address,
};
use netwarp_role::{anywhere, block_on};
use s2n_quic::client::Connect;
use s2n_quic::provider::endpoint_limits;
use s2n_quic::provider::tls::s2n_tls as tls;
use s2n_quic::stream::BidirectionalStream;
use s2n_quic::{Client, Connection, Server};
use tokio::task::JoinSet;

/// The test cases that this program supports. Without features that s2n-quic calls unstable, it cannot resume sessions
/// or choose a cipher suite. It has only version 1, and no HTTP/3.
const TEST_CASES: [&str; 5] = ["handshake", "transfer", "multiconnect", "retry", "ecn"];

/// How many handshakes may be in progress before the server sends Retries, except in the test case `retry`.
const USUAL_HANDSHAKES: usize = 1000;

/// Carries out the task that the environment variables describe, and returns the program's exit status.
pub(crate) fn run() -> ExitCode {
    interop::run(&TEST_CASES, |test_case, task| {
        block_on(async {
            match task {
                Task::Serve => serve(test_case).await,
                Task::Fetch(requests) => fetch(test_case, &interop::requests(&requests)?).await,
            }
        })
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
        .with_io(listening_address())
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

/// Receives a request (`GET /name`) and sends the file, unless it would be outside the directory.
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

/// Fetches files over as many connections as the test case asks for.
async fn fetch(test_case: &str, requests: &[Request<'_>]) -> Result<()> {
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
        .with_io(anywhere(requests.first().context("there is no file to fetch")?.server()?))
        .context("open a socket")?
        .start()
        .context("start s2n-quic")?;
    let at_once = if test_case == "multiconnect" { 1 } else { requests.len() };
    for some in requests.chunks(at_once) {
        fetch_over(&client, some).await?;
    }
    client.wait_idle().await.context("end the connections")
}

/// Fetches files concurrently over one connection.
async fn fetch_over(client: &Client, requests: &[Request<'_>]) -> Result<()> {
    let first = requests.first().context("there is no file to fetch")?;
    let dialled = client.connect(Connect::new(first.server()?).with_server_name(first.host()));
    let mut connection = dialled.await.context("connect")?;
    let mut downloads = JoinSet::new();
    for request in requests {
        let stream = connection.open_bidirectional_stream().await.context("open a stream")?;
        let (line, file, path) = (request.line(), request.file()?, request.path.to_owned());
        downloads.spawn(async move { download(stream, line, file).await.with_context(|| format!("download {path}")) });
    }
    while let Some(done) = downloads.join_next().await {
        done.context("download a file")??;
    }
    connection.close(0_u32.into());
    Ok(())
}

/// Sends a request, and writes the response to a file.
async fn download(stream: BidirectionalStream, request: String, mut file: File) -> Result<()> {
    let (mut incoming, mut outgoing) = stream.split();
    outgoing.send(request.into_bytes().into()).await.context("ask for it")?;
    outgoing.finish().context("end the request")?;
    while let Some(bytes) = incoming.receive().await.context("receive")? {
        file.write_all(&bytes).context("write the file")?;
    }
    Ok(())
}
