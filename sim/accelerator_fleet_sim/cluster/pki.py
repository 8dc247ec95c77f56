"""Certificate authorities, certificates and keys of the clusters, on disk and kept over restarts."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import ssl
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_TEN_YEARS = dt.timedelta(days=3650)
_CLOCK_SKEW = dt.timedelta(hours=1)


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner reads; replaced as a whole, so that a reader never sees half of it."""
    temporary = path.with_name(f".{path.name}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
    temporary.replace(path)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _name(common_name: str, organizations: Sequence[str] = ()) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, o) for o in organizations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _TEN_YEARS)
    )


class Authority:
    """A certificate authority in a folder: `<name>.crt`, `<name>.key`. Made on first use, then kept."""

    def __init__(self, folder: Path, name: str, common_name: str) -> None:
        self.folder = folder
        self.certificate_file = folder / f"{name}.crt"
        self.key_file = folder / f"{name}.key"
        folder.mkdir(parents=True, exist_ok=True)
        if not (self.certificate_file.exists() and self.key_file.exists()):
            self._create(common_name)
        key = serialization.load_pem_private_key(self.key_file.read_bytes(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError(f"{self.key_file}: not an EC key")
        self._key = key
        self._certificate = x509.load_pem_x509_certificate(self.certificate_file.read_bytes())

    @property
    def pem(self) -> str:
        return self.certificate_file.read_text()

    def _create(self, common_name: str) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name(common_name)
        usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
        certificate = (
            _builder(name, name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        write_private(self.key_file, _key_pem(key))
        write_private(self.certificate_file, certificate.public_bytes(serialization.Encoding.PEM))

    def issue(
        self, name: str, common_name: str, *, organizations: Sequence[str] = (), hosts: Sequence[str] = ()
    ) -> tuple[Path, Path]:
        """Certificate and key files `<name>.crt|.key`; a server's with hosts, else a client's. Kept."""
        certificate_file, key_file = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        if certificate_file.exists() and key_file.exists():
            return certificate_file, key_file
        key = ec.generate_private_key(ec.SECP256R1())
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH] + ([ExtendedKeyUsageOID.SERVER_AUTH] if hosts else [])
        builder = (
            _builder(_name(common_name, organizations), self._certificate.subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if hosts:
            names = x509.SubjectAlternativeName([_alternative(h) for h in hosts])
            builder = builder.add_extension(names, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        write_private(key_file, _key_pem(key))
        write_private(certificate_file, certificate.public_bytes(serialization.Encoding.PEM))
        return certificate_file, key_file


def signing_pair(folder: Path, name: str) -> tuple[Path, Path]:
    """Private and public key files with which service-account tokens are signed and checked."""
    private_file, public_file = folder / f"{name}.key", folder / f"{name}.pub"
    if not (private_file.exists() and public_file.exists()):
        key = ec.generate_private_key(ec.SECP256R1())
        write_private(private_file, _key_pem(key))
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        write_private(public_file, public)
    return private_file, public_file


def client_context(ca_file: Path, certificate: tuple[Path, Path] | None) -> ssl.SSLContext:
    """TLS towards a server of ours, with a client certificate where one is given."""
    context = ssl.create_default_context(cafile=str(ca_file))
    if certificate is not None:
        context.load_cert_chain(str(certificate[0]), str(certificate[1]))
    return context


def server_context(certificate: tuple[Path, Path], client_ca: Path | None = None) -> ssl.SSLContext:
    """TLS of a server of ours; with a client CA only its holders may talk to it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(certificate[0]), str(certificate[1]))
    if client_ca is not None:
        context.load_verify_locations(str(client_ca))
        context.verify_mode = ssl.CERT_REQUIRED
    return context
