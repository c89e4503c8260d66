//! TLS 1.3 for `tls` and `quic`: a certificate generated for the run, and clients that trust only this certificate.

use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, Result};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use netwarp_wire::job::{Job, Resume};
use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, SignatureAlgorithm};
use ring::digest::{SHA256, digest};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::ParsedCertificate;
use rustls::version::TLS13;
use rustls::{ClientConfig, KeyLogFile, RootCertStore, ServerConfig};

use super::tickets::{Sessions, Tickets, Verifier};

/// The host name in the certificate. It is never resolved.
pub const SERVER_NAME: &str = "netwarp.test";

/// The number of characters in a line of PEM (RFC 7468, section 2).
const PEM_LINE: usize = 64;

/// A server's certificate and its private key.
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Returns this process's identity, which all of its listeners share. The first call generates it; see
    /// [`Self::generate`].
    pub(crate) fn of_process(job: &Job) -> Result<Self> {
        static OURS: OnceLock<(CertificateDer<'static>, PrivateKeyDer<'static>)> = OnceLock::new();
        if OURS.get().is_none() {
            let Self { certificate, key } = Self::generate(job)?;
            // If another thread was faster, its identity is kept.
            let _ = OURS.set((certificate, key));
        }
        let (certificate, key) = OURS.get().context("keeping the server's certificate")?;
        Ok(Self { certificate: certificate.clone(), key: key.clone_key() })
    }

    /// Generates a key and a self-signed certificate. The key is Ed25519, whose signatures, and so all handshakes, have
    /// the same length. It is ECDSA if an installed program must accept the certificate, because browsers do not accept
    /// Ed25519.
    pub fn generate(job: &Job) -> Result<Self> {
        if job.has_programs() {
            return Self::generate_for_programs();
        }
        Self::with(&PKCS_ED25519)
    }

    /// Generates an identity as [`Self::generate`] does, with a certificate that installed programs accept.
    pub fn generate_for_programs() -> Result<Self> {
        Self::with(&PKCS_ECDSA_P256_SHA256)
    }

    fn with(algorithm: &'static SignatureAlgorithm) -> Result<Self> {
        let key = KeyPair::generate_for(algorithm).context("making the server's key")?;
        let parameters = CertificateParams::new([SERVER_NAME.to_owned()]).context("naming the server")?;
        let certificate = parameters.self_signed(&key).context("signing the server's certificate")?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok(Self { certificate: certificate.der().clone(), key })
    }

    /// Returns the certificate that clients must trust, as DER.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Returns certificate and private key in PEM (RFC 7468), for installed programs.
    pub fn to_pem(&self) -> [String; 2] {
        [pem("CERTIFICATE", self.certificate()), pem("PRIVATE KEY", self.key.secret_der())]
    }

    /// Returns rustls's configuration of a server: TLS 1.3, with one session ticket per connection if later connections
    /// are to resume.
    ///
    /// # Arguments
    /// * `early_bytes` - the most early data of a connection, in bytes, if the job's `resume` allows any.
    ///
    /// # Errors
    /// The key does not match the certificate.
    pub(crate) fn server_config(&self, job: &Job, early_bytes: u32) -> Result<ServerConfig> {
        let resume = job.only().transport.resume;
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .context("choosing TLS 1.3")?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())
            .context("using the server's certificate")?;
        config.alpn_protocols = alpn_protocols(job);
        config.send_tls13_tickets = usize::from(resume != Resume::None);
        config.session_storage = Arc::new(Sessions::default());
        if resume == Resume::ZeroRtt {
            config.max_early_data_size = early_bytes;
            // Without this, answers to early data would wait for the handshake, and nothing would be gained (RFC 8446,
            // 4.4.4).
            config.send_half_rtt_data = true;
        }
        Ok(config)
    }
}

/// Returns DER encoded as PEM (RFC 7468).
pub fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<_> = text.as_bytes().chunks(PEM_LINE).map(String::from_utf8_lossy).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// Returns the fingerprint of a certificate's key in the form in which Chromium takes the keys to trust: the SHA-256 of
/// its `SubjectPublicKeyInfo`, in base64.
///
/// # Errors
/// The bytes are not a certificate.
pub fn key_fingerprint(certificate: &[u8]) -> Result<String> {
    let certificate = CertificateDer::from(certificate);
    let parsed = ParsedCertificate::try_from(&certificate).context("reading the server's certificate")?;
    Ok(BASE64_STANDARD.encode(digest(&SHA256, &parsed.subject_public_key_info())))
}

/// Returns rustls's configuration of a client: TLS 1.3, trusting only the certificate `trusted` (DER). All connections
/// made with it share their session tickets.
pub(crate) fn client_config(trusted: &[u8], job: &Job) -> Result<ClientConfig> {
    let resume = job.only().transport.resume;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(trusted.to_vec())).context("trusting the server's certificate")?;
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build();
    let verifier = Arc::new(Verifier(verifier.context("trusting the server's certificate")?));
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .context("choosing TLS 1.3")?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = alpn_protocols(job);
    config.resumption = match resume {
        Resume::None => Resumption::disabled(),
        Resume::OneRtt | Resume::ZeroRtt => Resumption::store(Arc::new(Tickets::default())),
    };
    config.enable_early_data = resume == Resume::ZeroRtt;
    // Logs secrets to the file named by SSLKEYLOGFILE, which captured runs set.
    config.key_log = Arc::new(KeyLogFile::new());
    Ok(config)
}

/// Returns the ALPN identifiers (RFC 7301) that both ends offer: the run's version of HTTP, if it uses HTTP.
fn alpn_protocols(job: &Job) -> Vec<Vec<u8>> {
    job.only().workload.alpn().map(Vec::from).into_iter().collect()
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
