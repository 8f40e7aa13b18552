"""Tricks with the path of a request: a path is one resource of the API or none, never a file or a foreign service.

As behind WSGI, a path is decoded once and then routed. So an encoded letter or slash is the same as a plain letter or
slash, and no segment is removed: `..` is a name like any other.
"""

from functional_tests.process.cases import case, check, equal
from functional_tests.process.hostile_bodies import UUID, with_provider
from functional_tests.process.protocol import PROVIDERS
from functional_tests.process.raw_http import HEAD, once

PROVIDER = f"{PROVIDERS}/{UUID}"
# The target as it is sent, and the answer to GET.
TARGETS = [
    (PROVIDER, 200), ("/resource_provider%73", 200), (f"{PROVIDERS}%2f{UUID}", 200), (f"{PROVIDERS}%2F{UUID}", 200),
    (f"{PROVIDERS}/%34{UUID[1:]}", 200),
    # Empty segments and final slashes are not removed.
    (f"/{PROVIDERS}", 404), (f"{PROVIDERS}/", 404), (f"{PROVIDERS}//", 404), (f"/{PROVIDER}", 404),
    (f"{PROVIDER}/", 404), (f"{PROVIDERS}//{UUID}", 404), ("//", 404),
    # Dots are not resolved, plain or encoded.
    (f"{PROVIDERS}/../traits", 404), (f"{PROVIDERS}/./{UUID}", 404), (f"{PROVIDERS}/%2e%2e/traits", 404),
    ("/..%2f..%2f..%2fetc%2fpasswd", 404), ("/../../../etc/passwd", 404), (f"{PROVIDERS}/x/../{UUID}", 404),
    ("/traits/..", 404), ("/.%2e/", 404),
    # A path has no parameters, and letters have a case.
    (f"{PROVIDER};a=b", 404), (f"{PROVIDERS};a=b", 404), (f"{PROVIDER}%3Ba", 404), ("/Resource_Providers", 404),
    # Zero bytes and other control characters are part of a name.
    (f"{PROVIDER}%00", 404), (f"{PROVIDERS}%00", 404), (f"{PROVIDERS}/%00{UUID}", 404), ("/%00", 404),
    (f"{PROVIDER}%0d%0aX-Injected:%201", 404), ("/traits/CUSTOM_A%00", 404), (f"{PROVIDER}%0d", 404),
    # Bytes that are not UTF-8, and overlong forms of `/` and `.`.
    ("/%c0%afetc", 404), (f"{PROVIDERS}/%c0%ae%c0%ae/traits", 404), ("/%e0%80%af", 404), ("/%ff", 404),
    (f"{PROVIDERS}%c0%af{UUID}", 404), ("/%", 404), ("/%zz", 404), ("/%u002f", 404), ("/%252f", 404),
    # A backslash is no slash.
    (f"{PROVIDERS}\\{UUID}", 404), ("/..\\..\\x", 404), (f"{PROVIDERS}%5c{UUID}", 404),
    # The absolute form (RFC 9112, 3.2.2) is accepted, whatever its host.
    (f"http://other.example{PROVIDER}", 200), (f"https://other.example:99{PROVIDER}", 200), ("http://placet", 200),
    # A fragment is dropped, as it is not sent by clients.
    (f"{PROVIDER}#x", 200),
    # No target of a request (RFC 9112, 3.2).
    (PROVIDER[1:], 400), ("http:/resource_providers", 400), ("", 400), ("?", 400), ("\\resource_providers", 400),
    ("/a b", 400), ("/\x7f", 400), ("/<x>", 400), ("/\xe9", 400), ("*", 404),
]


@case(f"{len(TARGETS)} forms of a path are one resource or none, and none is a file")
def forms():
    with with_provider() as placet:
        for target, status in TARGETS:
            reply = once(placet.port, f"GET {target} HTTP/1.1\r\n{HEAD}\r\n".encode("latin-1"))
            check(reply, repr(target), "was not answered")
            equal(reply.status, status, repr(target), reply)
            check("x-injected" not in reply.headers and b"root:" not in reply.body, repr(target), reply)
        placet.alive()


@case("no form of a path reaches a write without a token")
def without_a_token():
    with with_provider() as placet:
        head = HEAD.replace("X-Auth-Token: admin\r\n", "")
        for target, _ in TARGETS:
            for method in ("GET", "PUT", "DELETE"):
                reply = once(placet.port, f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode("latin-1"))
                check(reply, method, repr(target), "was not answered")
                # The root alone is public, and its only method is GET.
                is_root = target in ("http://placet", "/%0a")
                wanted = (200, 405) if is_root else (400, 401)
                check(reply.status in wanted, method, repr(target), reply)
        equal(placet.rest("GET", PROVIDER).status, 200)
