"""TLS to Keystone: authorities, names, expiry and client certificates, as keystonemiddleware judges them."""

import concurrent.futures
import contextlib
import dataclasses
import signal
import subprocess

from functional_tests.keystone import set_ups
from functional_tests.keystone.outages import SILENCE_SECONDS, Holder
from functional_tests.keystone.services import Pair, Traced, bearer, eventually, status
from functional_tests.lib import live
from functional_tests.lib.certificates import Authority, put
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.tls_front import TlsFront

GOOD, REFUSED = (200, 401), (503, 503)
PLAIN = "plain"
AT_ONCE = 4


class Files:
    """Authorities and certificates in a folder. An attribute with a file's name is its path."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        root, self.clients = Authority("root"), Authority("clients")
        between, stranger, itself = Authority("between", root), Authority("stranger"), Authority("itself", hosts=True)
        self.root, self.stranger = put(folder / "root.crt", root.pem), put(folder / "stranger.crt", stranger.pem)
        self.both = put(folder / "both.crt", stranger.pem + root.pem)
        self.itself = put(folder / "itself.crt", itself.pem)
        self.empty = put(folder / "empty.crt", b"")
        # Of Keystone, by the name of its front: a certificate with its chain, and a key.
        self.servers = {
            "good": root.issue("keystone"), "expired": root.issue("keystone", days=-1),
            "of another host": root.issue("keystone", hosts=("keystone.example.org", "10.0.0.1")),
            "without a host": root.issue("127.0.0.1", hosts=()), "itself": (itself.pem, itself.key_pem)}
        leaf, key = between.issue("keystone")
        self.servers["with a chain"] = leaf + between.pem, key
        self.servers["without its chain"] = leaf, key
        self.servers["that demands a certificate"] = root.issue("keystone")
        self.client, self.client_key = self.clients.issue_files(folder, "client")
        self.client_and_key = put(folder / "both.pem", self.client.read_bytes() + self.client_key.read_bytes())
        self.other_client, self.other_key = stranger.issue_files(folder, "other")
        self.old_client, self.old_key = self.clients.issue_files(folder, "old", days=-1)


@dataclasses.dataclass
class Case:
    """Options for TLS, and the statuses of a good token and of garbage."""

    front: str
    options: dict
    statuses: tuple
    # Names the reason in placet's log if no token is validated.
    reason: str = ""

    def __str__(self):
        given = ", ".join(f"{name} = {getattr(value, 'name', value)}" for name, value in self.options.items())
        return f"Keystone {self.front}, {given or 'the authorities of the system'}"


def cases(files, full):
    trust = {"cafile": files.root}
    pair = {"certfile": files.client, "keyfile": files.client_key}
    demanding = "that demands a certificate"
    found = [
        Case("good", trust, GOOD),
        Case("good", {}, REFUSED, "certificate"),
        Case("good", {"cafile": files.stranger}, REFUSED, "certificate"),
        Case("good", {"cafile": files.stranger, "insecure": "true"}, GOOD),
        Case("with a chain", trust, GOOD),
        Case("itself", {"cafile": files.itself}, GOOD),
        Case("expired", trust, REFUSED, "expired"),
        Case("expired", {"insecure": "true"}, GOOD),
        Case("of another host", trust, REFUSED, "certificate"),
        Case("without a host", trust, REFUSED, "certificate"),
        Case(demanding, trust, REFUSED, "reached"),
        Case(demanding, trust | pair, GOOD),
        Case(demanding, trust | {"certfile": files.client_and_key}, GOOD),
        Case(demanding, trust | {"certfile": files.other_client, "keyfile": files.other_key}, REFUSED, "reached"),
        Case(demanding, {"insecure": "true"} | pair, GOOD),
        # uWSGI waits for the rest of what it takes for a request.
        Case(PLAIN, trust | {"http_connect_timeout": SILENCE_SECONDS}, REFUSED, "reached"),
    ]
    more = [
        Case("good", {"cafile": files.both}, GOOD),
        Case("good", trust | pair, GOOD),
        Case("without its chain", trust, REFUSED, "certificate"),
        Case("itself", {}, REFUSED, "certificate"),
        Case("of another host", {"insecure": "true"}, GOOD),
        Case(demanding, trust | {"certfile": files.old_client, "keyfile": files.old_key}, REFUSED, "reached"),
    ]
    return found + more if full else found


@contextlib.contextmanager
def fronts(context, files):
    """The ports of Keystone by TLS, by the name of the certificate. Each is a region of the catalogue."""
    keystone, ports = context.cloud.keystone, {PLAIN: context.cloud.keystone.port}
    with contextlib.ExitStack() as stack:
        for name, (certificate, key) in files.servers.items():
            paths = put(files.folder / f"{name}.pem", certificate), put(files.folder / f"{name}.key", key)
            clients = files.clients.pem if "demands" in name else None
            ports[name] = stack.enter_context(TlsFront(keystone.port, *paths, clients)).port
        for name, port in ports.items():
            context.cloud.region(name, f"https://127.0.0.1:{port}/v3")
        yield ports


def options(context, port, region, given):
    base = set_ups.options(context.cloud, region_name=region, **{name: str(value) for name, value in given.items()})
    url = f"https://127.0.0.1:{port}"
    base["keystone_authtoken"] |= {"auth_url": f"{url}/v3", "www_authenticate_uri": url}
    return base


def judge(context, port, each, good):
    """The statuses of both services, and the log of the one under test."""
    with Pair(context, options(context, port, each.front, each.options)) as pair:
        found = [pair.statuses(headers) for headers in (good, bearer("garbage"))]
        return tuple(zip(*found, strict=True)), (pair.ours.folder / "log").read_text(errors="replace")


def refused_at_start(context, files, **given):
    """What placet says about a file that it cannot use, instead of starting."""
    folder = files.folder / "start"
    folder.mkdir(exist_ok=True)
    path = live.write_config(folder, options(context, context.cloud.keystone.port, "RegionOne", given))
    done = subprocess.run([str(live.placet_binary(context.binary)), "--config-file", str(path)], capture_output=True,
                          text=True, timeout=HANG_SECONDS, env=live.clean_environment(), check=False)
    return done.returncode, done.stderr


def at_start(tests, context, files):
    """OpenStack Placement starts with such files, and then answers 500 or 503."""
    for option, name in (("cafile", "nothing.crt"), ("cafile", "empty.crt"), ("certfile", "nothing.crt"),
                         ("certfile", "empty.crt"), ("certfile", "client.crt")):
        status, said = refused_at_start(context, files, **{option: files.folder / name})
        tests.equal(f"{option} = {name}: the start is refused, and both are named", (1, True, True),
                    (status, option in said, name in said))


def at_hangup(tests, context, files, port, good):
    """SIGHUP reads the certificates again. One that cannot be used changes nothing."""
    authorities = put(files.folder / "authorities.crt", files.stranger.read_bytes())
    given = options(context, port, "good", {"cafile": authorities, "token_cache_time": "1"})
    with Traced(context.logs, "placet", given, context.binary) as service:
        tests.equal("a certificate of an authority that is not in cafile", 503, status(service, good))
        authorities.write_bytes(files.root.read_bytes())
        service.signal(signal.SIGHUP)
        renewed = eventually(lambda: status(service, good) == 200)
        tests.equal("SIGHUP after the authority was added: the token is validated", True, renewed)
        authorities.write_bytes(b"")
        service.signal(signal.SIGHUP)
        told = eventually(lambda: "certificates that were read before stay in use" in service.log())
        tests.equal("SIGHUP with an empty cafile: an error is logged, and tokens are validated", (True, 401),
                    (told, status(service, bearer("other garbage"))))


def run(tests, context):
    holder = Holder(context.cloud, "encrypted")
    files = Files(context.folder / "tls")
    good = holder.headers()
    for path in files.client_key, files.other_key:
        context.cloud.secrets.add(path.read_text().splitlines()[1])
    wanted = cases(files, context.full)
    with fronts(context, files) as ports, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        judged = [pool.submit(judge, context, ports[each.front], each, good) for each in wanted]
        for each, found in zip(wanted, judged, strict=True):
            statuses, log = found.result()
            tests.equal(f"{each}: {each.statuses}", (each.statuses, each.statuses), statuses)
            if context.server == "placet" and each.reason:
                lines = [line for line in log.splitlines() if "Keystone cannot validate" in line]
                tests.equal(f"{each}: the log says why", True, any(each.reason in line for line in lines) or lines)
        if context.server == "placet":
            at_hangup(tests, context, files, ports["good"], good)
    if context.server == "placet":
        at_start(tests, context, files)
