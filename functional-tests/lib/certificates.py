"""Certificates and keys for tests, as PEM files."""

import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """A certificate authority of its own."""

    def __init__(self, name):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = _builder(self.name, self.name, self.key, days=30)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.certificate = builder.sign(self.key, hashes.SHA256())

    @property
    def pem(self):
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, name, days=30):
        """A certificate for 127.0.0.1 and its key, both in PEM. With negative days it has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        builder = _builder(subject, self.name, key, days)
        certificate = builder.add_extension(x509.SubjectAlternativeName(names), critical=False).sign(
            self.key, hashes.SHA256())
        return certificate.public_bytes(serialization.Encoding.PEM), key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())

    def issue_files(self, folder, name, days=30):
        """The same as files `name`.crt and `name`.key, which only the owner can read."""
        certificate, key = self.issue(name, days)
        return put(folder / f"{name}.crt", certificate), put(folder / f"{name}.key", key)


def put(path, data):
    """Replaces a file at once, as renewal tools do."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(data)
    new.chmod(0o600)
    new.replace(path)
    return path


def _builder(subject, issuer, key, days):
    now = datetime.datetime.now(datetime.timezone.utc)
    end = now + datetime.timedelta(days=days)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, end) - datetime.timedelta(days=1))
        .not_valid_after(end)
    )
