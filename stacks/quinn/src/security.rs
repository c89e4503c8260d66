//! TLS: the configurations of clients and servers.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use quic::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quic::{ClientConfig, ServerConfig};
use rustls::crypto::ring::{cipher_suite, default_provider};
use rustls::{ClientConfig as TlsClient, RootCertStore, ServerConfig as TlsServer, version};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// Returns rustls's configuration of a client that trusts only these certificates.
///
/// # Arguments
/// * `is_chacha20` - whether the client offers only ChaCha20-Poly1305 as cipher suite.
pub(crate) fn tls_client<'a>(
    trusted: impl IntoIterator<Item = CertificateDer<'a>>,
    protocol: &str,
    is_chacha20: bool,
) -> Result<TlsClient> {
    let mut roots = RootCertStore::empty();
    for certificate in trusted {
        roots.add(certificate.into_owned()).context("trust the server's certificate")?;
    }
    let mut provider = default_provider();
    if is_chacha20 {
        provider.cipher_suites = vec![cipher_suite::TLS13_CHACHA20_POLY1305_SHA256];
    }
    let mut tls = TlsClient::builder_with_provider(provider.into())
        .with_protocol_versions(&[&version::TLS13])
        .context("choose TLS 1.3")?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![protocol.into()];
    Ok(tls)
}

/// Returns the QUIC configuration of a client with this TLS configuration.
///
/// # Errors
/// There is no cipher suite for Initial packets.
pub(crate) fn client(tls: TlsClient) -> Result<ClientConfig> {
    let initial = cipher_suite::TLS13_AES_128_GCM_SHA256.tls13().and_then(|suite| suite.quic_suite());
    let crypto = QuicClientConfig::with_initial(Arc::new(tls), initial.context("find the suite of Initial packets")?);
    Ok(ClientConfig::new(Arc::new(crypto.context("use TLS over QUIC")?)))
}

/// Returns rustls's configuration of a server with this certificate chain and key.
///
/// # Errors
/// The key does not match the first certificate.
pub(crate) fn tls_server(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    protocol: &str,
) -> Result<TlsServer> {
    let mut tls = TlsServer::builder_with_provider(default_provider().into())
        .with_protocol_versions(&[&version::TLS13])
        .context("choose TLS 1.3")?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("use the certificate")?;
    tls.alpn_protocols = vec![protocol.into()];
    Ok(tls)
}

/// Returns the QUIC configuration of a server with this TLS configuration.
///
/// # Errors
/// There is no cipher suite for Initial packets.
pub(crate) fn server(tls: TlsServer) -> Result<ServerConfig> {
    let crypto = QuicServerConfig::try_from(tls).context("use TLS over QUIC")?;
    Ok(ServerConfig::with_crypto(Arc::new(crypto)))
}
