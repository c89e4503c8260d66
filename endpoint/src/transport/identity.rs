//! TLS 1.3 for `tls` and `quic`: a certificate made for the run, and a client that trusts this one alone.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519};
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// The name in the certificate. It is never resolved.
pub const SERVER_NAME: &str = "netwarp.test";

/// A server's certificate and the private key to it.
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Makes a self-signed certificate. Ed25519, whose signatures all have one length, so that handshakes have too.
    ///
    /// # Errors
    /// No random numbers to be had.
    pub fn generate() -> Result<Self> {
        let key = KeyPair::generate_for(&PKCS_ED25519).context("making the server's key")?;
        let parameters = CertificateParams::new([SERVER_NAME.to_owned()]).context("naming the server")?;
        let certificate = parameters.self_signed(&key).context("signing the server's certificate")?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok(Self { certificate: certificate.der().clone(), key })
    }

    /// What clients must trust.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// A server's configuration: TLS 1.3, no tickets, as no connection of a run resumes another.
    ///
    /// # Errors
    /// A key that does not fit the certificate.
    pub fn server_config(&self) -> Result<ServerConfig> {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .context("choosing TLS 1.3")?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())
            .context("using the server's certificate")?;
        config.send_tls13_tickets = 0;
        Ok(config)
    }
}

/// A client's configuration: TLS 1.3, trusting the certificate with this DER and no other, no resumption.
///
/// # Errors
/// Bytes that are no certificate.
pub fn client_config(trusted: &[u8]) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(trusted.to_vec())).context("trusting the server's certificate")?;
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .context("choosing TLS 1.3")?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
