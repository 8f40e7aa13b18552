"""placet's readiness while Keystone refuses placet, goes away or has never been there. Only placet reports this."""

import contextlib
import functools
import pathlib
import shutil
import tempfile

from functional_tests.keystone import set_ups
from functional_tests.keystone.actors import SERVICE_USER
from functional_tests.keystone.outages import Holder, errors, frozen, stopped
from functional_tests.keystone.services import Traced, bearer, status
from functional_tests.lib import patience
from functional_tests.readiness import states
from functional_tests.readiness.balanced import DRAINED, Searches
from functional_tests.readiness.states import ALL_READY, NONE_READY, becomes_unready, degraded, stays
from functional_tests.rolling.run import Balancer, all_up

NO_ROLE = "placement-without-a-role"
REFUSED = "Keystone refuses the credentials of placet"
SILENCE_SECONDS = 2
SCRAPER = "a-token-of-the-scraper"
becomes = functools.partial(states.becomes, headers={"authorization": f"Bearer {SCRAPER}"})


def started(context, placet=None, **authtoken):
    token_file = context.folder / "scraper-token"
    token_file.write_text(SCRAPER)
    options = set_ups.options(context.cloud, http_connect_timeout=str(SILENCE_SECONDS), **authtoken)
    options["placet"] = {"metrics_token_file": str(token_file), **(placet or {})}
    return Traced(context.logs, "placet", options, context.binary)


def gone(tests, context, holder, kind):
    """After a validated token cached ones go on, so the process stays ready."""
    name = f"Keystone {kind.__name__} after it has validated a token"
    with started(context) as service:
        becomes(service.port, ALL_READY)
        cached = holder.headers()
        new = holder.headers()
        tests.equal(f"{name}: a token is good before", 200, status(service, cached))
        with kind(context.cloud.keystone):
            tests.equal(f"{name}: a new token is refused", 503, status(service, new))
            becomes(service.port, degraded("keystone_gone"))
            stays(service.port, degraded("keystone_gone"))
            tests.equal(f"{name}: a cached token goes on", 200, status(service, cached))
        becomes(service.port, ALL_READY)
        tests.equal(f"{name}, back again: the new token is good", 200, status(service, new))


def gone_before(tests, context, holder):
    """Keystone is stopped before any token of a client was validated: nothing can be answered."""
    with started(context) as service:
        becomes(service.port, ALL_READY)
        headers = holder.headers()
        with stopped(context.cloud.keystone):
            tests.equal("Keystone stopped before the first token: 503", 503, status(service, headers))
            becomes(service.port, NONE_READY)
            stays(service.port, NONE_READY)
        becomes(service.port, ALL_READY)


def late(tests, context, holder):
    """The process starts before Keystone, and gets ready without a request."""
    with contextlib.ExitStack() as stack:
        with stopped(context.cloud.keystone):
            service = stack.enter_context(started(context))
            becomes_unready(service.port, "Keystone has not answered for a token since the start")
            tests.ok("started before Keystone: the reason names Keystone")
            stays(service.port, NONE_READY)
        becomes(service.port, ALL_READY)
        tests.equal("started before Keystone: a token is good", 200, status(service, holder.headers()))


def wrong_password(tests, context, holder):
    with started(context, password="no-password-of-placement") as service:
        becomes_unready(service.port, REFUSED)
        tests.ok("a wrong password: why it is not ready")
        tests.equal("a wrong password: a good token is 503", 503, status(service, holder.headers()))
        stays(service.port, NONE_READY)


def disabled_user(tests, context, holder):
    """The user of placet is disabled while it serves, and enabled again."""
    cloud = context.cloud
    with started(context) as service:
        tests.equal("a token is good", 200, status(service, holder.headers()))
        cloud.set_enabled(SERVICE_USER, False)
        try:
            cloud.keystone.empty_cache()
            status(service, holder.headers())
            becomes_unready(service.port, REFUSED)
            tests.ok("a disabled user: why it is not ready")
        finally:
            cloud.set_enabled(SERVICE_USER, True)
        # A request of placet at this moment may put the disabled user into Keystone's cache again, for ten minutes.
        patience.eventually("a process whose user is enabled is ready",
                            lambda: cloud.keystone.empty_cache() or states.state(service.port) == ALL_READY, pause=1)
        tests.equal("enabled again: a token is good", 200, status(service, holder.headers()))


def without_a_role(tests, context, holder):
    """Keystone gives placet a token, and lets it validate no other one."""
    cloud = context.cloud
    cloud.user(NO_ROLE, "lab", "auditor")
    with started(context, username=NO_ROLE, password=cloud.passwords[NO_ROLE], project_name="lab") as service:
        becomes(service.port, ALL_READY)
        tests.equal("placet may not validate tokens: 503", 503, status(service, holder.headers()))
        becomes_unready(service.port, REFUSED)
        tests.ok("without a role: why it is not ready")
        stays(service.port, NONE_READY)
        cloud.grant(NO_ROLE, f"projects/{cloud.projects['lab']}", "service")
        becomes(service.port, ALL_READY)
        tests.equal("with the role: a token is good", 200, status(service, holder.headers()))


def garbage(tests, context):
    """A token that Keystone does not know is an answer of Keystone."""
    with started(context) as service:
        tests.equal("garbage is 401", 401, status(service, bearer("garbage-of-readiness")))
        stays(service.port, ALL_READY, looks=5)


def behind_a_balancer(tests, context, holder):
    """One process is refused by Keystone, and is taken out. Then Keystone goes away, and no process is taken out."""
    if not shutil.which("haproxy"):
        tests.skip("two processes behind HAProxy", "needs Debian's haproxy")
        return
    token = holder.headers()["x-auth-token"]
    with contextlib.ExitStack() as stack:
        services = [stack.enter_context(started(context, DRAINED)) for _ in range(2)]
        for service in services:
            tests.equal("a token is good at each process", 200, status(service, bearer(token)))
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="placet-test-")))
        balancer = stack.enter_context(Balancer(folder, [service.port for service in services]))
        balancer.wait_for(all_up)
        searches = stack.enter_context(Searches(balancer.port, token))
        with stopped(context.cloud.keystone):
            for service in services:
                status(service, bearer("a-token-that-no-process-has-seen"))
                becomes(service.port, degraded("keystone_gone"))
                stays(service.port, degraded("keystone_gone"))
            tests.equal("Keystone is gone: HAProxy sees both processes as up", True, all_up(balancer.servers()))
            searches.check()
        for service in services:
            becomes(service.port, ALL_READY)
        second = services[1]
        right = second.config.read_text()
        second.stop()
        second.config.write_text(right.replace(context.cloud.passwords[SERVICE_USER], "wrong-since-the-restart"))
        second.restart()
        becomes(second.port, NONE_READY)
        stays(second.port, NONE_READY)
        balancer.wait_for(lambda states: [state[:2] for state in states.values()] == ["UP", "DO"])
        searches.check()
        tests.equal("a restart with a wrong password: the other process has answered all searches", {200},
                    set(searches.statuses))
        second.stop()
        second.config.write_text(right)
        second.restart()
        balancer.wait_for(all_up)
        searches.check()


def run(tests, context):
    if context.server != "placet":
        return
    holder = Holder(context.cloud, "waiting")
    for kind in (stopped, frozen, errors):
        gone(tests, context, holder, kind)
    for part in (gone_before, late, wrong_password, disabled_user, without_a_role):
        part(tests, context, holder)
    garbage(tests, context)
    behind_a_balancer(tests, context, holder)
