"""The certificates of one control plane: an authority, the API server's, one per person.

The authority lives as long as the control plane's folder and vouches for nothing else. Keys are
elliptic, because a fixture should not spend its time looking for primes.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFE: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes

    def write(self, folder: Path, name: str) -> None:
        """Write `NAME.crt` and `NAME.key`, the key for the owner's eyes only."""
        (folder / f"{name}.crt").write_bytes(self.certificate)
        write_secret(folder / f"{name}.key", self.key)


class Authority:
    """Issues the certificates of one control plane."""

    def __init__(self) -> None:
        self._key = new_key()
        self._name = _name_of("glasswarden-test-ca", ())
        self._certificate = (
            _template(self._name, self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def pair(self) -> KeyPair:
        return KeyPair(self._certificate.public_bytes(Encoding.PEM), pem_of(self._key))

    def issue_client(self, user: str, groups: tuple[str, ...]) -> KeyPair:
        """Issue what Kubernetes reads as *user*, a member of *groups*."""
        key = new_key()
        template = _template(_name_of(user, groups), self._name, key)
        return self._signed(template, key, ExtendedKeyUsageOID.CLIENT_AUTH)

    def issue_server(self, addresses: tuple[str, ...], names: tuple[str, ...]) -> KeyPair:
        """Issue a certificate for a server at *addresses* and *names*."""
        key = new_key()
        subjects = [
            *(x509.IPAddress(ip_address(address)) for address in addresses),
            *(x509.DNSName(name) for name in names),
        ]
        template = _template(_name_of(names[0], ()), self._name, key).add_extension(
            x509.SubjectAlternativeName(subjects), critical=False
        )
        return self._signed(template, key, ExtendedKeyUsageOID.SERVER_AUTH)

    def _signed(
        self,
        template: x509.CertificateBuilder,
        key: ec.EllipticCurvePrivateKey,
        usage: x509.ObjectIdentifier,
    ) -> KeyPair:
        certificate = (
            template.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            # Python's ssl refuses, in its strict mode, a certificate that does not name its issuer.
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )
        return KeyPair(certificate.public_bytes(Encoding.PEM), pem_of(key))


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def pem_of(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def write_secret(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read."""
    path.touch(mode=0o600)
    path.write_bytes(content)


def _template(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + LIFE)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name_of(common_name: str, organizations: tuple[str, ...]) -> x509.Name:
    return x509.Name(
        [
            *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
