"""Creates certificates: a certificate authority, and the serving certificates that it signs.

Pure, except for the random numbers of keys and serial numbers: *now* is an argument, and nothing is
read or written here. Keys are EC P-256: a handshake costs the webhook a fraction of that with RSA.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SERVING_LIFETIME = timedelta(days=90)

# Clocks of the API server and of this machine may differ: a certificate must not be
# "not yet valid" for the API server in the minute in which it was created.
BACKDATE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate with its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def certificate_pem(self) -> bytes:
        """The certificate as PEM."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The private key as unencrypted PKCS #8 PEM: whoever stores it must protect it."""
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )


def new_authority(now: datetime, lifetime: timedelta = SERVING_LIFETIME) -> KeyPair:
    """Return a self-signed authority that may only sign serving certificates."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name_of("Glasswarden webhook authority")
    certificate = (
        _new_builder(name, name, key.public_key(), now, lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_new_key_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return KeyPair(certificate, key)


def new_serving_pair(
    authority: KeyPair,
    hosts: Sequence[str],
    now: datetime,
    lifetime: timedelta = SERVING_LIFETIME,
) -> KeyPair:
    """Return a certificate for *hosts* (names or addresses), signed by *authority*.

    It never expires later than its authority.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = authority.certificate
    left = issuer.not_valid_after_utc - now
    certificate = (
        _new_builder(_name_of(hosts[0]), issuer.subject, key.public_key(), now, min(lifetime, left))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_new_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.SubjectAlternativeName([_alternative_name_of(host) for host in hosts]),
            critical=False,
        )
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()),
            critical=False,
        )
        .sign(authority.key, hashes.SHA256())
    )
    return KeyPair(certificate, key)


def is_issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    """Return whether *authority* signed *certificate*."""
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def normalize_hosts(hosts: Sequence[str]) -> tuple[str, ...]:
    """Return *hosts* in the form that certificates use: addresses have several forms."""
    return tuple(str(_alternative_name_of(host).value) for host in hosts)


def names_of(certificate: x509.Certificate) -> tuple[str, ...]:
    """Return the hosts that *certificate* is for."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return tuple(str(name.value) for name in names)


def parse_pair(certificate_pem: bytes, key_pem: bytes) -> KeyPair:
    """Return the pair in two PEM files; raise ValueError if they do not match."""
    certificate = x509.load_pem_x509_certificate(certificate_pem)
    key = serialization.load_pem_private_key(key_pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("the key is not an EC key")  # noqa: TRY004 - the file's fault, not a caller's
    if key.public_key() != certificate.public_key():
        raise ValueError("the key belongs to another certificate")
    return KeyPair(certificate, key)


def _new_builder(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    now: datetime,
    lifetime: timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATE)
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _name_of(common_name: str) -> x509.Name:
    # X.520 limits a common name to 64 characters; the hosts themselves are in the SAN.
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64])])


def _alternative_name_of(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _new_key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
