//! Certificates like those of the QUIC interop runner, generated for each run.

use anyhow::{Context as _, Result};
use netwarp_transport::identity::pem;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};

/// The runner's name of the server in requests over IPv4.
pub(super) const SERVER: [&str; 1] = ["server4"];
/// The server's name in requests over IPv6.
pub(super) const IPV6_SERVER: [&str; 1] = ["server6"];

/// The names in the runner's certificates.
const CERTIFIED: [&str; 4] = ["server", SERVER[0], IPV6_SERVER[0], "server46"];

/// The common name of the authority that issues the certificates.
const AUTHORITY: &str = "netwarp authority";

/// How many additional long DNS names the server's certificate has in a chain of several certificates. As with the
/// runner's certificates, they make the chain larger than a server may send before it has validated the client's
/// address (RFC 9000, section 8.1).
const LONG_NAMES: usize = 20;

/// How many labels of 60 letters a long name has: almost as many as fit into a DNS name (RFC 1035, section 2.3.4).
const LONG_LABELS: usize = 4;

/// Generates an authority and a server certificate as the runner does, and returns their files: names and PEM texts.
///
/// # Arguments
/// * `length` - how many certificates the server sends: its own and those of intermediate authorities.
pub(super) fn issued(length: u32) -> Result<[(&'static str, String); 3]> {
    let generate = || KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).context("make a key for the server's certificate");
    let root_key = generate()?;
    let root = authority(AUTHORITY).self_signed(&root_key).context("sign the authority's certificate")?;
    let mut issuer = Issuer::new(authority(AUTHORITY), root_key);
    let mut chain = String::new();
    for place in 1..length {
        let (own, own_key) = (authority(&format!("{AUTHORITY} {place}")), generate()?);
        let signed = own.signed_by(&own_key, &issuer).context("sign an authority's certificate")?;
        chain.insert_str(0, &pem("CERTIFICATE", signed.der()));
        issuer = Issuer::new(own, own_key);
    }
    let long = (0..if length > 1 { LONG_NAMES } else { 0 }).map(long_name);
    let names: Vec<_> = CERTIFIED.map(str::to_owned).into_iter().chain(long).collect();
    let key = generate()?;
    let mut server = CertificateParams::new(names).context("name the server in its certificate")?;
    server.distinguished_name.push(DnType::CommonName, SERVER[0]);
    server.use_authority_key_identifier_extension = true;
    let server = server.signed_by(&key, &issuer).context("sign the server's certificate")?;
    chain.insert_str(0, &pem("CERTIFICATE", server.der()));
    Ok([
        ("ca.pem", pem("CERTIFICATE", root.der())),
        ("cert.pem", chain),
        ("priv.key", pem("PRIVATE KEY", &key.serialize_der())),
    ])
}

/// Returns the parameters of an authority's certificate, which is not signed yet.
fn authority(name: &str) -> CertificateParams {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // Without a name of its own it would have the server's, which OpenSSL then takes for self-signed.
    authority.distinguished_name.push(DnType::CommonName, name);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    authority
}

/// Returns the long DNS name number `index` of those that only make a certificate larger.
fn long_name(index: usize) -> String {
    let letter = char::from(b'a' + (index % 26) as u8);
    vec![letter.to_string().repeat(60); LONG_LABELS].join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_certificates_is_longer_than_a_server_may_send_at_once() {
        let [_, (_, one), _] = issued(1).unwrap();
        let [_, (_, nine), _] = issued(9).unwrap();
        assert_eq!((one.matches("BEGIN").count(), nine.matches("BEGIN").count()), (1, 9));
        // The text has four characters for three bytes; the client's first flight is at least 1200 bytes.
        assert!(nine.len() * 3 / 4 > 7500 && one.len() < 1200, "{} and {}", nine.len(), one.len());
    }
}
