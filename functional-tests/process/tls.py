"""TLS on the listener: versions, client certificates, replaced files, refusals at start, silent and wrong clients."""

import contextlib
import http.client
import json
import select
import signal
import socket
import ssl
import time

from functional_tests.lib import live, ports
from functional_tests.lib.certificates import Authority, put
from functional_tests.lib.patience import HANG_SECONDS, SERVICE_SECONDS, becomes, eventually
from functional_tests.process.cases import case, check, equal, folder, settings
from functional_tests.process.claims import HOSTS, claim, prepare
from functional_tests.process.hostile_connections import SOME
from functional_tests.process.locked import consumer, held
from functional_tests.process.placet_process import Placet, refused
from functional_tests.process.raw_http import RawConnection, request

HANDSHAKE_SECONDS = 10
UUID = "00000000-0000-4000-8000-0000000000aa"


class TlsRaw(RawConnection):
    """A raw connection by TLS."""

    def __init__(self, port, context, timeout=HANG_SECONDS):
        super().__init__(port, timeout)
        self.socket = context.wrap_socket(self.socket, server_hostname="127.0.0.1")


class Site:
    """An authority, and files of a server's certificate that it has signed."""

    def __init__(self, here):
        self.here, self.authority = here, Authority("an authority")
        self.certificate, self.key = self.authority.issue_files(here, "server")

    def options(self, **placet):
        return {"placet": {"tls_certificate": self.certificate, "tls_key": self.key, **placet}}

    def context(self, client=None):
        """A client that trusts this authority alone, and has the certificate `client` (two files)."""
        context = ssl.create_default_context(cadata=self.authority.pem.decode())
        if client:
            context.load_cert_chain(*client)
        return context

    def renew(self, name="renewed"):
        """Replaces the certificate and its key by new ones."""
        certificate, key = self.authority.issue(name)
        put(self.key, key)
        put(self.certificate, certificate)


@contextlib.contextmanager
def site():
    with folder() as here:
        yield Site(here)


def ask(placet, context, method="GET", path="/resource_providers", body=None):
    connection = http.client.HTTPSConnection("127.0.0.1", placet.port, timeout=HANG_SECONDS, context=context)
    headers = {"x-auth-token": "admin", "openstack-api-version": "placement latest", "content-type": "application/json"}
    try:
        connection.request(method, path, body=body and json.dumps(body).encode(), headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer
    finally:
        connection.close()


def subject(placet, context):
    """The name in the certificate that the server presents."""
    with contextlib.closing(TlsRaw(placet.port, context).socket) as connection:
        return dict(pair for pairs in connection.getpeercert()["subject"] for pair in pairs)["commonName"]


def fails(function, *arguments):
    """Whether a handshake, or the first read after it, fails."""
    try:
        function(*arguments)
    except (ssl.SSLError, ConnectionError, http.client.BadStatusLine):
        return True
    return False


@case("the API is served by TLS 1.2 and 1.3 as HTTP/1.1, with URLs of https, and the certificate can be checked")
def served():
    with site() as at, Placet(at.here, at.options()) as placet:
        check("https://127.0.0.1:" in placet.greeting(), placet.greeting())
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = at.context()
            context.minimum_version = context.maximum_version = version
            context.set_alpn_protocols(["h2", "http/1.1"])
            with contextlib.closing(TlsRaw(placet.port, context).socket) as connection:
                equal(connection.selected_alpn_protocol(), "http/1.1", version)
            equal(ask(placet, context).status, 200, version)
        old = at.context()
        old.set_ciphers("ALL:@SECLEVEL=0")
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
        check(fails(ask, placet, old), "TLS 1.1 was accepted")
        check(fails(ask, placet, ssl.create_default_context()), "the client trusts an authority that it does not know")
        answer = ask(placet, at.context(), "POST", "/resource_providers", {"name": "n" * 200, "uuid": UUID})
        equal(answer.status, 200)
        equal(answer.headers["location"], f"https://127.0.0.1:{placet.port}/resource_providers/{UUID}")
        placet.stop()


@case("a large body and a large answer arrive whole by TLS, on one connection")
def large():
    with site() as at, Placet(at.here, at.options()) as placet:
        with TlsRaw(placet.port, at.context()) as raw:
            for number in range(4):
                body = {"name": f"{number:0200}", "uuid": f"{number:08x}-0000-4000-8000-000000000000"}
                raw.send(request("POST", "/resource_providers", body))
                equal(raw.reply().status, 200)
            wanted = [f"CUSTOM_{number:0200}" for number in range(60)]
            for name in wanted:
                raw.send(request("PUT", f"/traits/{name}"))
                equal(raw.reply().status, 201)
            body = {"resource_provider_generation": 0, "traits": wanted}
            raw.send(request("PUT", "/resource_providers/00000000-0000-4000-8000-000000000000/traits", body))
            equal(raw.reply().status, 200)
            raw.send(request("GET", "/traits"))
            names = json.loads(raw.reply().body)["traits"]
            check(set(wanted) <= set(names), "traits are missing")


@case("with tls_client_ca only clients whose certificate it has signed are served, and they still need a token")
def client_certificates():
    with site() as at:
        trusted, foreign = Authority("of clients"), Authority("foreign")
        authority = put(at.here / "clients.pem", trusted.pem)
        with Placet(at.here, at.options(tls_client_ca=authority)) as placet:
            known = at.context(trusted.issue_files(at.here, "known"))
            equal(ask(placet, known).status, 200)
            check(fails(ask, placet, at.context()), "a client without a certificate was served")
            check(fails(ask, placet, at.context(foreign.issue_files(at.here, "stranger"))), "a foreign one was served")
            check(fails(ask, placet, at.context(trusted.issue_files(at.here, "late", days=-1))), "an expired one")
            with TlsRaw(placet.port, known) as raw:
                raw.send("GET /resource_providers HTTP/1.1\r\nHost: x\r\n\r\n")
                equal(raw.reply().status, 401)
            check("TLS handshake with 127.0.0.1:" in placet.log(), placet.log()[-500:])
            # Another authority replaces the first one.
            put(authority, foreign.pem)
            eventually("the other authority is trusted", lambda: not fails(ask, placet, at.context((at.here / "stranger.crt", at.here / "stranger.key"))))
            check(fails(ask, placet, known), "the previous authority is still trusted")


def keeps(placet, context, name, error):
    """Connects, which makes placet look at the files, until the log has the error. The certificate stays."""
    def is_logged():
        equal(subject(placet, context), name, "the certificate")
        return any(" ERROR " in line and error in line for line in placet.log().splitlines())

    eventually(lambda: f"the log has {error!r}: {placet.log()[-800:]}", is_logged)
    equal(subject(placet, context), name, "the certificate")


@case("a replaced certificate is used for new connections; one that does not fit is refused, and the previous one stays")
def replaced():
    with site() as at, Placet(at.here, at.options()) as placet:
        context = at.context()
        equal(subject(placet, context), "server")
        with TlsRaw(placet.port, context) as kept:
            at.renew("renewed")
            becomes("the certificate", "renewed", lambda: subject(placet, context))
            # The connection that was open goes on.
            kept.send(request("GET", "/"))
            equal(kept.reply().status, 200)
        other = at.authority.issue("other")
        put(at.certificate, other[0])
        keeps(placet, context, "renewed", f"is not the key of [placet] tls_certificate = {at.certificate}")
        put(at.key, other[1])
        becomes("the certificate", "other", lambda: subject(placet, context))
        at.key.unlink()
        keeps(placet, context, "other", f"tls_key = {at.key}: No such file")
        placet.stop()


@case("SIGHUP reads the certificate at once, before any client connects")
def hangup():
    with site() as at, Placet(at.here, at.options()) as placet:
        at.renew("renewed")
        placet.signal(signal.SIGHUP)
        eventually("a line of the log", lambda: "the TLS certificate was loaded again" in placet.log())
        equal(subject(placet, at.context()), "renewed")
        placet.stop()


@case("the metrics' own port speaks TLS, and asks for a client's certificate as the API does")
def metrics_port():
    with site() as at:
        authority, own = put(at.here / "clients.pem", Authority("of clients").pem), ports.free_port()
        address = f"127.0.0.1:{own}"
        with Placet(at.here, at.options(metrics_bind=address)) as placet:
            check(scraped(own, at.context()) == 200, "no metrics by TLS")
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", own, timeout=HANG_SECONDS)) as clear:
                check(fails(clear.request, "GET", "/metrics") or fails(clear.getresponse), "metrics in clear text")
            placet.stop()
        with Placet(at.here, at.options(metrics_bind=address, tls_client_ca=authority)) as placet:
            check(fails(scraped, own, at.context()), "a scraper without a certificate was served")
            placet.stop()


def scraped(port, context):
    with contextlib.closing(http.client.HTTPSConnection("127.0.0.1", port, timeout=HANG_SECONDS, context=context)) as connection:
        connection.request("GET", "/metrics")
        return connection.getresponse().status


def ended(connections):
    """How many of these silent connections the server has ended."""
    poll = select.poll()
    for each in connections:
        poll.register(each, select.POLLIN)
    return len(poll.poll(0))


@case("handshakes that are not finished delay no other client, and end in time")
def unfinished():
    count = 200 if settings["full"] else 40
    with site() as at, Placet(at.here, at.options()) as placet:
        context, began = at.context(), time.monotonic()
        silent = [socket.create_connection(("127.0.0.1", placet.port), timeout=HANG_SECONDS) for _ in range(count)]
        for number, each in enumerate(silent):
            # Nothing; the beginning of a ClientHello.
            each.sendall(b"\x16\x03\x01\x02\x00\x01" if number % 2 else b"")
        for number in range(20):
            equal(ask(placet, context).status, 200)
            if number + 1 == SOME:
                equal(ended(silent), 0, "unfinished handshakes that ended before others were served")
        for each in silent:
            with contextlib.suppress(ConnectionError):
                while each.recv(100):
                    pass
        took = time.monotonic() - began
        check(HANDSHAKE_SECONDS - 1 < took < 10 * HANDSHAKE_SECONDS, f"they ended after {took:.1f} s")
        equal(ask(placet, context).status, 200)


@case("unfinished handshakes count as connections, and the oldest one is closed for a new client")
def counted():
    with site() as at, Placet(at.here, at.options(max_connections=20, workers=1)) as placet:
        # An address has at most half of the connections.
        silent = [socket.create_connection(("127.0.0.1", placet.port), HANG_SECONDS, (f"127.0.0.{2 + number % 2}", 0))
                  for number in range(20)]
        equal(ask(placet, at.context()).status, 200)
        equal(ask(placet, at.context()).status, 200)
        check(silent[0].recv(1) == b"", "the oldest connection was not closed")
        # At the end of their time all would end.
        check(ended(silent) <= 2, f"{ended(silent)} connections were closed")
        for each in silent:
            each.close()


@case("a client that speaks HTTP without TLS, or garbage, is not answered, and the service goes on")
def wrong_clients():
    with site() as at, Placet(at.here, at.options()) as placet:
        for data in (request("GET", "/"), b"\x00" * 100, b"\x16\x03\x01\xff\xff" + b"x" * 70_000):
            with RawConnection(placet.port) as raw:
                raw.send(data)
                check(raw.is_closed())
        equal(ask(placet, at.context()).status, 200)
        check("TLS handshake with 127.0.0.1:" in placet.log(), placet.log()[-500:])
        placet.stop()


@case("claims that arrived by TLS at the signal are answered, on new connections and on idle ones")
def arrived():
    count = 50
    with site() as at, Placet(at.here, at.options(shutdown_timeout=SERVICE_SECONDS)) as placet:
        context = at.context()
        with TlsRaw(placet.port, context) as raw:
            def exchange(method, path, body=None, **_):
                raw.send(request(method, path, body))
                check(raw.reply().status in (200, 201, 204), path)
            prepare(type("Tls", (), {"must": staticmethod(exchange)}))
        kept = [TlsRaw(placet.port, context) for _ in range(count)]
        for raw in kept:
            raw.send(request("GET", "/"))
            equal(raw.reply().status, 200)
        new = [TlsRaw(placet.port, context) for _ in range(count)]
        for each, raw in enumerate(kept + new):
            raw.send(request("PUT", f"/allocations/{consumer(each)}", claim(HOSTS[each % len(HOSTS)])))
        placet.signal(signal.SIGTERM)
        replies = [raw.reply_or_end() for raw in kept + new]
        equal([reply and reply.status for reply in replies], [204] * 2 * count)
        equal(placet.ended(), 0, "exit code")
        equal(len(held(placet)), 2 * count, "stored claims")


def refusal(at, bind="127.0.0.1:0", **placet):
    config = live.write_config(at.here, {"placet": placet}, at.here / "placet.sqlite")
    return refused(at.here, "--config-file", config, "--bind", bind)


@case("files that cannot be used are refused at start with a sentence that names the option and the file")
def refusals():
    with site() as at:
        missing, empty = at.here / "missing.pem", put(at.here / "empty.pem", b"")
        _, foreign = Authority("x").issue_files(at.here, "foreign")
        both = {"tls_certificate": at.certificate, "tls_key": at.key}
        for options, sentence in [
            ({"tls_certificate": at.certificate}, "tls_certificate is set, but tls_key is not"),
            ({"tls_key": at.key}, "tls_key is set, but tls_certificate is not"),
            ({"tls_client_ca": at.key}, "tls_client_ca is set, but tls_certificate is not"),
            ({**both, "tls_certificate": missing}, f"[placet] tls_certificate = {missing}: No such file"),
            ({**both, "tls_key": missing}, f"[placet] tls_key = {missing}: No such file"),
            ({**both, "tls_client_ca": missing}, f"[placet] tls_client_ca = {missing}: No such file"),
            ({**both, "tls_certificate": empty}, f"{empty}: no certificate in PEM"),
            ({**both, "tls_certificate": at.key}, f"{at.key}: no certificate in PEM"),
            ({**both, "tls_key": at.certificate}, f"{at.certificate}: no private key in PEM"),
            ({**both, "tls_key": foreign}, f"[placet] tls_key = {foreign} is not the key of [placet] tls_certificate = "),
            ({**both, "tls_client_ca": empty}, f"{empty}: no certificate in PEM"),
        ]:
            line = refusal(at, **options)
            check(sentence in line, repr(sentence), "is not in", repr(line))


@case("an expired certificate and a key that every user can read are warned of")
def warnings():
    with site() as at:
        certificate, key = at.authority.issue_files(at.here, "expired", days=-2)
        key.chmod(0o644)
        with Placet(at.here, {"placet": {"tls_certificate": certificate, "tls_key": key}}) as placet:
            for sentence in ("the certificate expired at ", f"every user can read {key} (mode 0644)"):
                check(sentence in placet.log(), repr(sentence), "is not in", placet.log())
            placet.stop()


@case("noauth2 on an address that other machines can reach is refused by TLS too")
def noauth2():
    with site() as at:
        line = refusal(at, bind="0.0.0.0:0", tls_certificate=at.certificate, tls_key=at.key)
        check("allow_noauth2_anywhere" in line, line)
