"""Certificates and keys for tests, as PEM files."""

import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


HOSTS = ("localhost", "127.0.0.1")


class Authority:
    """A certificate authority of its own, or below `parent`. With `hosts` its certificate is also that of a server."""

    def __init__(self, name, parent=None, hosts=False):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        signer = parent or self
        builder = _builder(self.name, signer.name, self.key, days=30)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(_alternative_names(HOSTS), critical=False) if hosts else builder
        self.certificate = builder.sign(signer.key, hashes.SHA256())

    @property
    def pem(self):
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self):
        return _key_pem(self.key)

    def issue(self, name, days=30, hosts=HOSTS):
        """A certificate for these hosts and its key, both in PEM. With negative days it has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = _builder(subject, self.name, key, days)
        builder = builder.add_extension(_alternative_names(hosts), critical=False) if hosts else builder
        return builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM), _key_pem(key)

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


def _key_pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def _alternative_names(hosts):
    """Addresses begin with a digit, names do not."""
    return x509.SubjectAlternativeName([
        x509.IPAddress(ipaddress.ip_address(host)) if host[0].isdigit() else x509.DNSName(host) for host in hosts])


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
