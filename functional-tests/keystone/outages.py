"""Keystone is stopped, silent or failing, and comes back; the service's own token ends; many ask with a new token."""

import concurrent.futures
import contextlib
import time

from functional_tests.keystone import set_ups
from functional_tests.keystone.actors import SERVICE_USER
from functional_tests.keystone.services import PATH, SHORT_SECONDS, Pair, Traced, bearer, recovered, status
from functional_tests.lib.rest import Rest

CACHE_SECONDS = 3
TOGETHER = 40
SILENCE_SECONDS = 2  # after which the services refuse a request, because Keystone has not answered
AT_MOST_SECONDS = 12


class Holder:
    """A user whose tokens are made when they are needed."""

    def __init__(self, cloud, name):
        self.cloud, self.name = cloud, name
        cloud.user(name, "lab", "admin")

    def headers(self, keystone=None):
        return bearer(self.cloud.token(self.cloud.auth(self.name, "lab"), keystone)[0])


@contextlib.contextmanager
def errors(keystone):
    """Keystone answers 500, because its keys are gone."""
    with keystone.without_keys():
        yield


@contextlib.contextmanager
def stopped(keystone):
    """Connections are refused."""
    keystone.stop()
    try:
        yield
    finally:
        keystone.start()


@contextlib.contextmanager
def frozen(keystone):
    """Connections are accepted, and requests are not answered."""
    keystone.freeze()
    try:
        yield
    finally:
        keystone.thaw()


def outage(tests, context, pair, holder, kind):
    """Tokens in the cache go on, all others are refused with 503, and after the outage all is as before."""
    cached, new, later = (holder.headers() for _ in range(3))
    name = f"Keystone {kind.__name__}"
    tests.equal(f"{name}: a token is good before", (200, 200), pair.statuses(cached))
    with kind(context.cloud.keystone):
        began = time.monotonic()
        tests.equal(f"{name}: a cached token goes on", (200, 200), pair.statuses(cached))
        tests.equal(f"{name}: a new token is refused", (503, 503), pair.statuses(new))
        tests.equal(f"{name}: garbage is refused", (503, 503), pair.statuses(bearer(f"garbage-{kind.__name__}")))
        tests.equal(f"{name}: no token is 401", (401, 401), pair.statuses({}))
        tests.equal(f"{name}: a cached token still goes on", (200, 200), pair.statuses(cached))
        took = time.monotonic() - began
        tests.equal(f"{name}: refused within {AT_MOST_SECONDS} s for both services", True, took < 2 * AT_MOST_SECONDS)
    recovered(tests, name, pair.ours, new)
    for title, headers in (("the refused token", new), ("the cached token", cached), ("another token", later)):
        tests.equal(f"{name}, back again: {title} is good", (200, 200), pair.statuses(headers))


def answers_alike(tests, context, pair, holder):
    """The refusal's form."""
    headers = holder.headers()
    with stopped(context.cloud.keystone):
        theirs, ours = pair.answers(headers)
        tests.equal("Keystone stopped: status and WWW-Authenticate are OpenStack Placement's", theirs[:2], ours[:2])


def cache_ends(tests, context, holder, short):
    """A cached token ends with its own expiry, and with token_cache_time, also while Keystone is away."""
    cloud = context.cloud
    with Pair(context, set_ups.options(cloud)) as long, Pair(
            context, set_ups.options(cloud, token_cache_time=str(CACHE_SECONDS))) as brief:
        began = time.monotonic()
        ending, lasting = holder.headers(short), holder.headers()
        tests.equal("a token that expires soon is good", (200, 200), long.statuses(ending))
        tests.equal("a token is good in a cache of some seconds", (200, 200), brief.statuses(lasting))
        with stopped(cloud.keystone):
            time.sleep(CACHE_SECONDS + 1)
            tests.equal("out of the cache, and Keystone is away", (503, 503), brief.statuses(lasting))
            time.sleep(max(0, began + SHORT_SECONDS + 2 - time.monotonic()))
            tests.equal("expired in the cache, and Keystone is away", (401, 401), long.statuses(ending))
        recovered(tests, "Keystone is back", brief.ours, lasting)
        tests.equal("expired in the cache, and Keystone is back", (401, 401), long.statuses(ending))
        tests.equal("out of the cache, and Keystone is back", (200, 200), brief.statuses(lasting))


def late_start(tests, context, holder):
    """The services start while Keystone is away."""
    headers = holder.headers()
    with contextlib.ExitStack() as stack:
        with stopped(context.cloud.keystone):
            pair = stack.enter_context(Pair(context, set_ups.options(context.cloud)))
            tests.equal("started without Keystone: 503", (503, 503), pair.statuses(headers))
        recovered(tests, "started without Keystone, which came", pair.ours, headers)
        tests.equal("started without Keystone, which came: 200", (200, 200), pair.statuses(headers))


def own_token(tests, context, holder, short):
    """The service's own token is renewed when it has expired, and when Keystone has revoked it."""
    cloud = context.cloud
    with Pair(context, set_ups.options(cloud, short)) as pair:
        tests.equal("with its first token", (200, 200), pair.statuses(holder.headers()))
        time.sleep(SHORT_SECONDS + 2)
        tests.equal("its own token has expired", (200, 200), pair.statuses(holder.headers()))
    with Pair(context, set_ups.options(cloud)) as pair:
        cached = holder.headers()
        tests.equal("with its first token", (200, 200), pair.statuses(cached))
        time.sleep(1.1)  # revocations are by the second
        cloud.set_enabled(SERVICE_USER, False)
        # Keystone may accept a token of a disabled user that is in its cache once more.
        cloud.keystone.empty_cache()
        time.sleep(1.1)
        tests.equal("the service's user is disabled: a new token is 503", (503, 503), pair.statuses(holder.headers()))
        tests.equal("the service's user is disabled: a cached token goes on", (200, 200), pair.statuses(cached))
        cloud.set_enabled(SERVICE_USER, True)
        time.sleep(1.1)
        cloud.keystone.empty_cache()
        recovered(tests, "the service's user is enabled again", pair.ours, holder.headers())
        tests.equal("its own token was revoked", (200, 200), pair.statuses(holder.headers()))


def found_n1_wrong_password(tests, context, holder):
    """Keystone refuses the service's credentials while it serves: requests make no logins of their own."""
    if context.server != "placet":
        return
    cloud, options = context.cloud, set_ups.options(context.cloud)
    with Traced(context.logs, "placet", options, context.binary) as service:
        tokens = [holder.headers() for _ in range(TOGETHER)]
        tests.equal("found N1: a token is good before", 200, status(service, tokens[0]))
        time.sleep(1.1)  # revocations are by the second
        cloud.set_enabled(SERVICE_USER, False)
        cloud.keystone.empty_cache()
        time.sleep(1.1)
        began, before = time.monotonic(), cloud.keystone.logins()
        statuses = {status(service, headers) for headers in tokens[1:]}
        logins, took = cloud.keystone.logins() - before, time.monotonic() - began
        tests.equal("found N1: refused credentials: every new token is 503", {503}, statuses)
        # The shortest pauses are 0.25, 0.5, 1, 2, 4, 4, … seconds.
        tests.equal(f"found N1: {len(tokens) - 1} tokens: {logins} logins in {took:.1f} s", True, logins <= 6 + took / 4)
        cloud.set_enabled(SERVICE_USER, True)
        cloud.keystone.empty_cache()
        recovered(tests, "found N1: the credentials are mended", service, tokens[-1])


def credential(tests, context, holder):
    """The service gets its own token with an application credential."""
    given = context.cloud.credential(SERVICE_USER, "service")["identity"]["application_credential"]
    options = set_ups.options(context.cloud, auth_type="v3applicationcredential", application_credential_id=given["id"],
                              application_credential_secret=given["secret"])
    for name in ("username", "user_domain_name", "password", "project_name", "project_domain_name"):
        del options["keystone_authtoken"][name]
    with Pair(context, options) as pair:
        tests.equal("with an application credential of its own", (200, 200), pair.statuses(holder.headers()))
        tests.equal("with an application credential of its own: garbage", (401, 401), pair.statuses(bearer("garbage")))


def shared(tests, context, holder):
    """Requests with one new token at the same time wait for one validation."""
    keystone = context.cloud.keystone
    with Traced(context.logs, context.server, set_ups.options(context.cloud), context.binary) as service:
        ask = Rest(service.port, None)
        ask("GET", PATH, headers=holder.headers())
        with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
            for title, headers, status in (("good", holder.headers(), 200), ("bad", bearer("garbage-together"), 401)):
                before = keystone.validations()
                answers = list(pool.map(lambda _, sent=headers: ask("GET", PATH, headers=sent).status, range(TOGETHER)))
                tests.equal(f"{TOGETHER} requests with one {title} token: {status}", {status}, set(answers))
                asked = keystone.validations() - before
                if context.server == "placet" and title == "good":
                    tests.equal(f"{TOGETHER} requests with one new token are one validation", 1, asked)
                elif context.server == "placet":
                    tests.equal(f"{TOGETHER} requests with one bad token are fewer validations", True, asked < TOGETHER)


def run(tests, context):
    holder = Holder(context.cloud, "traveller")
    shared(tests, context, holder)
    credential(tests, context, holder)
    with Pair(context, set_ups.options(context.cloud, http_connect_timeout=str(SILENCE_SECONDS))) as pair:
        for kind in (stopped, frozen, errors):
            outage(tests, context, pair, holder, kind)
        answers_alike(tests, context, pair, holder)
    late_start(tests, context, holder)
    found_n1_wrong_password(tests, context, holder)
    cache_ends(tests, context, holder, context.short)
    own_token(tests, context, holder, context.short)
