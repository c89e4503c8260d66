//! The server's certificate, which is generated for the run.

use anyhow::{Context as _, Result};
use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256};

/// The host name in the certificate. It is never resolved.
pub const SERVER_NAME: &str = "netwarp.test";

/// The certificate that the run's client trusts, and its private key.
#[derive(Debug)]
pub struct Identity {
    /// The certificate's DER in hex, as the orchestrator passes it on.
    pub certificate_hex: String,
    /// The certificate in PEM.
    pub certificate_pem: String,
    /// The private key in PEM.
    pub key_pem: String,
}

impl Identity {
    /// Generates a self-signed certificate with an ECDSA key on P-256, which every stack accepts.
    pub fn generate() -> Result<Self> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).context("make the server's key")?;
        let names = CertificateParams::new([SERVER_NAME.to_owned()]).context("name the server")?;
        let certificate = names.self_signed(&key).context("sign the server's certificate")?;
        let certificate_hex = hex::encode(certificate.der());
        Ok(Self { certificate_hex, certificate_pem: certificate.pem(), key_pem: key.serialize_pem() })
    }
}

/// Converts the server's certificate, as the orchestrator passes it to the client, from hex DER to PEM.
///
/// # Errors
/// The text is not hex.
pub fn to_pem(certificate_hex: &str) -> Result<String> {
    let der = hex::decode(certificate_hex).context("the server's certificate is not in hex")?;
    Ok(pem::encode(&pem::Pem::new("CERTIFICATE", der)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_survives_the_way_to_the_client() {
        let identity = Identity::generate().unwrap();
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(lines(&to_pem(&identity.certificate_hex).unwrap()), lines(&identity.certificate_pem));
        assert!(to_pem("0x").is_err());
    }
}
