//! An endpoint by the conventions of the QUIC interop runner, which says in environment variables what to do. Files are
//! fetched by HTTP/0.9 over QUIC (`hq-interop`): the request is a line, and the answer is the file.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::{Context as _, Result, ensure};
use netwarp_role::interop::{
    self, AUTHORITY_FILE, CERTIFICATE_FILE, HQ, KEY_FILE, MOST_REQUEST_BYTES, Request, SERVED, Task, listening_address,
};
use netwarp_role::{BLOCK_BYTES, anywhere, block_on};
use quic::{Connection, Endpoint, Incoming, RecvStream, SendStream, TransportConfig};
use rustls::KeyLogFile;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::task::JoinSet;

use crate::endpoint::with_default_client;
use crate::security;

/// The test cases that this program supports. It has neither QUIC version 2, nor HTTP/3, which would be another crate.
const TEST_CASES: [&str; 9] =
    ["handshake", "transfer", "multiconnect", "chacha20", "retry", "resumption", "zerortt", "keyupdate", "ecn"];

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

fn certificates(file: &str) -> Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(file).with_context(|| format!("read {file}"))?;
    read.collect::<Result<_, _>>().with_context(|| format!("understand {file}"))
}

/// Returns the default transport parameters without path MTU discovery: the test case `zerortt` would count its probes
/// among the bytes that the client should have sent early.
fn without_probes() -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    config.mtu_discovery_config(None);
    Arc::new(config)
}

/// Serves until the program is killed.
async fn serve(test_case: &str) -> Result<()> {
    let key = PrivateKeyDer::from_pem_file(KEY_FILE).context("read the server's key")?;
    let mut tls = security::tls_server(certificates(CERTIFICATE_FILE)?, key, HQ)?;
    tls.key_log = Arc::new(KeyLogFile::new());
    // RFC 9001, section 4.6.1, allows no other values.
    tls.max_early_data_size = if test_case == "zerortt" { u32::MAX } else { 0 };
    let mut config = security::server(tls)?;
    config.transport_config(without_probes());
    let server = Endpoint::server(config, listening_address()).context("listen")?;
    while let Some(incoming) = server.accept().await {
        if test_case == "retry" && !incoming.remote_address_validated() {
            incoming.retry().context("send a Retry")?;
            continue;
        }
        tokio::spawn(async move {
            if let Err(error) = answer_all(incoming).await {
                eprintln!("{error:#}");
            }
        });
    }
    Ok(())
}

/// Answers the requests of a connection, including those in early data, until the client has closed it.
async fn answer_all(incoming: Incoming) -> Result<()> {
    let connection = match incoming.accept().context("accept a connection")?.into_0rtt() {
        Ok((connection, _)) => connection,
        Err(connecting) => connecting.await.context("accept a connection")?,
    };
    while let Ok(stream) = connection.accept_bi().await {
        tokio::spawn(async move {
            if let Err(error) = answer(stream).await {
                eprintln!("{error:#}");
            }
        });
    }
    Ok(())
}

/// Receives a request (`GET /name`) and sends the file, unless it would be outside the directory.
async fn answer((mut outgoing, mut incoming): (SendStream, RecvStream)) -> Result<()> {
    let asked = incoming.read_to_end(MOST_REQUEST_BYTES).await.context("read a request")?;
    let line = String::from_utf8(asked).context("understand a request")?;
    let name = Path::new(line.trim_start_matches("GET ").trim()).file_name().map(ToOwned::to_owned);
    let place = Path::new(SERVED).join(name.with_context(|| format!("{line:?} names no file"))?);
    let content = fs::read(&place).with_context(|| format!("read {}", place.display()))?;
    outgoing.write_all(&content).await.context("send a file")?;
    outgoing.finish().context("end a stream")
}

/// Fetches files over as many connections as the test case asks for.
async fn fetch(test_case: &str, requests: &[Request<'_>]) -> Result<()> {
    let mut tls = security::tls_client(certificates(AUTHORITY_FILE)?, HQ, test_case == "chacha20")?;
    tls.key_log = Arc::new(KeyLogFile::new());
    tls.enable_early_data = test_case == "zerortt";
    let first = requests.first().context("there is no file to fetch")?;
    let endpoint = Endpoint::client(anywhere(first.server()?)).context("open a socket")?;
    let mut config = security::client(tls)?;
    config.transport_config(without_probes());
    let client = with_default_client(endpoint, config);
    let updates = test_case == "keyupdate";
    match test_case {
        "multiconnect" => {
            for one in requests.chunks(1) {
                fetch_over(&client, one, updates).await?;
            }
        }
        "resumption" | "zerortt" => {
            let (first, others) = requests.split_at(1);
            fetch_over(&client, first, updates).await?;
            fetch_over(&client, others, updates).await?;
        }
        _ => fetch_over(&client, requests, updates).await?,
    }
    client.wait_idle().await;
    Ok(())
}

/// Fetches files concurrently over one connection, with early data if there is a session that allows it.
///
/// # Arguments
/// * `updates` - whether to update the keys once bytes have arrived.
async fn fetch_over(client: &Endpoint, requests: &[Request<'_>], updates: bool) -> Result<()> {
    let first = requests.first().context("there is no file to fetch")?;
    let connecting = client.connect(first.server()?, first.host()).context("dial")?;
    let connection = match connecting.into_0rtt() {
        Ok((connection, _)) => connection,
        Err(connecting) => connecting.await.context("connect")?,
    };
    let unchanged = Arc::new(AtomicBool::new(updates));
    let mut downloads = JoinSet::new();
    for request in requests {
        let stream = connection.open_bi().await.context("open a stream")?;
        let (line, file, path) = (request.line(), request.file()?, request.path.to_owned());
        let (connection, unchanged) = (connection.clone(), Arc::clone(&unchanged));
        downloads.spawn(async move {
            download(&connection, stream, line, file, &unchanged).await.with_context(|| format!("download {path}"))
        });
    }
    while let Some(done) = downloads.join_next().await {
        done.context("download a file")??;
    }
    connection.close(0_u32.into(), b"");
    Ok(())
}

/// Sends a request, and writes the response to a file.
///
/// # Arguments
/// * `unchanged` - whether the keys must still be updated.
async fn download(
    connection: &Connection,
    (mut outgoing, mut incoming): (SendStream, RecvStream),
    request: String,
    mut file: File,
    unchanged: &AtomicBool,
) -> Result<()> {
    ensure!(request.len() <= MOST_REQUEST_BYTES, "the request is too long");
    outgoing.write_all(request.as_bytes()).await.context("ask for it")?;
    outgoing.finish().context("end the request")?;
    let mut block = vec![0; BLOCK_BYTES];
    while let Some(length) = incoming.read(&mut block).await.context("receive")? {
        file.write_all(&block[..length]).context("write the file")?;
        if unchanged.swap(false, Relaxed) {
            connection.force_key_update();
        }
    }
    Ok(())
}
