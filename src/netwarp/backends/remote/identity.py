"""Authentication of hosts: this host's key and certificate, and the certificates of the hosts with
which it is paired.

Certificates are self-signed and trusted one by one: a host trusts exactly those of the hosts with
which it was paired, and those whose files its user has added. Names and certificate authorities are
not considered.
"""

import base64
import datetime
import hmac
import logging
import os
import platform
import re
import secrets
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from netwarp.errors import BackendError, one_line
from netwarp.regular_files import UnreadableFileError, read_regular_file

CERTIFICATE_FILE = "identity.pem"
KEY_FILE = "identity.key"
PEERS = "peers"
IDENTITY_VARIABLE = "NETWARP_IDENTITY"
"""Environment variable with the directory of key and certificates, which replaces the user's
default one."""
VALID_DAYS = 3650
TOKEN_BYTES = 16
Side = Literal["client", "server"]
INSTALL = "pip install cryptography"
MOST_PEM_BYTES = 8192
_PEM = re.compile(
    r"\A\s*-----BEGIN CERTIFICATE-----\n([A-Za-z0-9+/=\n]{1,6000})-----END CERTIFICATE-----\s*\Z"
)


def identity_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the directory with this user's key and the certificates of paired hosts (XDG base
    directories).
    """
    named = environ.get(IDENTITY_VARIABLE)
    if named:
        return Path(named)
    base = environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME", "/")) / ".config"
    return Path(base) / "netwarp" / "remote"


@dataclass(frozen=True)
class Identity:
    """The key and the certificate of this host, and its peers' certificates."""

    directory: Path

    @property
    def certificate_file(self) -> Path:
        """The certificate of this host, PEM."""
        return self.directory / CERTIFICATE_FILE

    @property
    def key_file(self) -> Path:
        """The private key of this host, PEM; only its user may read the file."""
        return self.directory / KEY_FILE

    @property
    def certificate(self) -> bytes:
        """The certificate of this host, DER."""
        return der(self.certificate_file.read_text())

    def peers(self) -> dict[bytes, str]:
        """Return the certificates (DER) of the hosts with which this one is paired, and the names
        of their files.

        A file that is not a certificate is ignored; see `unusable_peers`.
        """
        return {read: file.stem for file in self._peer_files() if (read := _peer(file))}

    def unusable_peers(self) -> list[Path]:
        """Return the files among the peers that contain no certificate which TLS could load."""
        return [file for file in self._peer_files() if _peer(file) is None]

    def _peer_files(self) -> list[Path]:
        return sorted((self.directory / PEERS).glob("*.pem"))

    def add_peer(self, certificate: bytes) -> Path:
        """Store the certificate of a host, which is trusted from now on.

        Args:
            certificate: the certificate in DER, as `der` returns it.
        """
        file = self.directory / PEERS / f"{fingerprint(certificate)}.pem"
        _write_private(file, ssl.DER_cert_to_PEM_cert(certificate))
        return file

    def context(self, side: Side, *, pairing: bool = False) -> ssl.SSLContext:
        """Return the TLS settings (an SSL context) of one side of a connection.

        A server requests a certificate and accepts only those of its peers; a client without one
        can only pair. A client accepts only its peers' certificates, or any certificate while it
        pairs: then the token proves who the server is.
        """
        is_server = side == "server"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        if is_server:
            # Sessions are not resumed, so that each connection presents its certificate.
            context.num_tickets = 0
            context.verify_mode = ssl.CERT_OPTIONAL
        else:
            context.verify_mode = ssl.CERT_NONE if pairing else ssl.CERT_REQUIRED
        if is_server or not pairing:
            context.load_cert_chain(self.certificate_file, self.key_file)
        peers = self.peers()
        if peers:
            context.load_verify_locations(cadata="".join(map(ssl.DER_cert_to_PEM_cert, peers)))
        return context


def open_identity(directory: Path | None = None) -> Identity:
    """Load this host's key and certificate, which are created if there are none yet.

    Raises:
        BackendError: it cannot be created, or other users can read the key.
    """
    identity = Identity(directory or identity_directory())
    try:
        if not identity.key_file.exists():
            _make(identity)
        (identity.directory / PEERS).mkdir(mode=0o700, exist_ok=True)
        mode = identity.key_file.stat().st_mode & 0o077
        folders = (identity.directory, identity.directory / PEERS)
        shared = [each for each in folders if _others_write(each)]
        unusable = identity.unusable_peers()
    except OSError as error:
        raise BackendError(f"cannot keep a key in {identity.directory}: {error.strerror}") from None
    if shared:
        raise BackendError(
            f"others can put keys and peers into {shared[0]}: it has to be yours, and"
            f" `chmod 700 {shared[0]}`"
        )
    if mode:
        raise BackendError(
            f"others can read {identity.key_file}: `chmod 600 {identity.key_file}`, and if they"
            f" may have, remove {identity.directory} and pair anew"
        )
    for file in unusable:
        logging.getLogger("netwarp").warning(
            "warning: %s is no certificate (PEM), and left out: remove it", one_line(str(file))
        )
    return identity


def _others_write(folder: Path) -> bool:
    about = folder.stat()
    return about.st_uid != os.geteuid() or bool(about.st_mode & 0o022)


def _make(identity: Identity) -> None:
    """Make this host's key and its self-signed certificate."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        raise BackendError(f"a certificate needs the package cryptography: `{INSTALL}`") from None
    key = ec.generate_private_key(ec.SECP256R1())
    host = platform.node()[:40] or "host"
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"netwarp on {host}")])
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)  # the other host's clock may be behind
        .not_valid_after(now + VALID_DAYS * day)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    text = key.private_bytes(
        encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    identity.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write_private(identity.certificate_file, certificate.public_bytes(encoding).decode())
    _write_private(identity.key_file, text.decode())


def _write_private(file: Path, text: str) -> None:
    """Write a file atomically, which no other user can read at any time."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as opened:
        opened.write(text)
    partial.replace(file)


def _peer(file: Path) -> bytes | None:
    """Read the certificate of a peer (DER); None if there is none."""
    try:
        return der(read_regular_file(file, MOST_PEM_BYTES).decode())
    except (UnreadableFileError, ValueError):
        return None


def der(pem: str) -> bytes:
    """Return the DER form of a certificate that TLS can load.

    Raises:
        ValueError: it is not a certificate.
    """
    match = _PEM.fullmatch(pem)
    if match is None:
        raise ValueError("not one certificate in PEM")
    certificate = base64.b64decode(match[1].replace("\n", ""), validate=True)
    trial = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        trial.load_verify_locations(cadata=ssl.DER_cert_to_PEM_cert(certificate))
    except ssl.SSLError:
        raise ValueError("not a certificate (X.509)") from None
    return certificate


def fingerprint(certificate: bytes) -> str:
    """Return the fingerprint that people compare: the beginning of its SHA-256."""
    return sha256(certificate).hexdigest()[:16]


def proof(token: str, side: Side, server: bytes, client: bytes) -> str:
    """Return the proof that this side has the token, bound to the certificates (DER) of server and
    client.

    An interceptor would have to show each side another certificate than the one that the other
    side's proof covers.
    """
    about = side.encode() + sha256(server).digest() + sha256(client).digest()
    return hmac.new(token.encode(), about, sha256).hexdigest()


def new_token() -> str:
    """Draw a random one-time token of 128 bits."""
    return secrets.token_hex(TOKEN_BYTES)
