"""The numbers of `/metrics` about Keystone equal the requests to Keystone. OpenStack Placement has no such metrics."""

import re
import time

from functional_tests.keystone import set_ups
from functional_tests.keystone.outages import Holder, stopped
from functional_tests.keystone.services import PATH, Traced, bearer, recovered
from functional_tests.lib.rest import Rest
from functional_tests.metrics import dashboard, scrape

TOKEN = "a-token-of-the-scraper"
CACHE_SECONDS = 3


class Seen:
    """What a scrape says about Keystone."""

    def __init__(self, port):
        self.metrics = scrape.read(port, {"authorization": f"Bearer {TOKEN}"})

    def requests(self):
        """Those that were sent, by call and outcome."""
        found = self.metrics.by("placet_keystone_requests_total", "call", "outcome")
        return {key: count for key, count in found.items() if count}

    def look_ups(self):
        found = self.metrics.by("placet_keystone_look_ups_total", "result")
        return {result: count for result, count in found.items() if count}

    def one(self, name, **labels):
        return self.metrics.sum(f"placet_keystone_{name}", **labels)


def run(tests, context):
    if context.server != "placet":
        return
    holder = Holder(context.cloud, "counted")
    token_file = context.folder / "metrics-token"
    token_file.write_text(TOKEN)
    options = set_ups.options(context.cloud, token_cache_time=str(CACHE_SECONDS), http_request_max_retries="0")
    options["placet"] = {**options.get("placet", {}), "metrics_token_file": str(token_file)}
    with Traced(context.logs, "placet", options, context.binary) as service:
        ask = Rest(service.port, None)

        def status(headers):
            return ask("GET", PATH, headers=headers).status

        counted(tests, context, service, holder, status)
        in_an_outage(tests, context, service, holder, status)
        shown_by_the_dashboard(tests, service)


def counted(tests, context, service, holder, status):
    """Good tokens and garbage, before and after they leave the cache."""
    first, second = holder.headers(), holder.headers()
    began = time.monotonic()
    statuses = [status(headers) for headers in (first, first, first, bearer("garbage"), bearer("garbage"))]
    tests.equal("three requests with a token, two with garbage", [200, 200, 200, 401, 401], statuses)
    seen = Seen(service.port)
    tests.equal("requests to Keystone: one log-in, three validations", {
        ("login", "accepted"): 1, ("validation", "accepted"): 1, ("validation", "rejected"): 2}, seen.requests())
    tests.equal("look-ups of these tokens", {"hit": 2, "miss": 3}, seen.look_ups())
    tests.equal("the histogram counts the same validations", 3, seen.one(
        "request_duration_seconds_count", call="validation"))
    tests.equal("the token is cached, and Keystone answers", (1, 0), (seen.one("cached_tokens"), seen.one("failing")))
    time.sleep(max(0, began + CACHE_SECONDS + 1 - time.monotonic()))
    tests.equal("the token is good after its time in the cache", 200, status(first))
    tests.equal("another token", 200, status(second))
    seen = Seen(service.port)
    tests.equal("it was validated again", 3, seen.requests()["validation", "accepted"])
    tests.equal("two tokens are cached", 2, seen.one("cached_tokens"))


def in_an_outage(tests, context, service, holder, status):
    """Keystone is stopped, and comes back."""
    before, late = Seen(service.port), holder.headers()
    with stopped(context.cloud.keystone):
        tests.equal("Keystone is stopped: a new token gets 503", 503, status(late))
        seen = Seen(service.port)
        # placet itself asks again.
        tests.equal("requests without an answer", True, seen.requests().get(("validation", "unreachable"), 0) >= 1)
        tests.equal("Keystone fails", 1, seen.one("failing"))
    recovered(tests, "Keystone is back", service, late)
    after = Seen(service.port)
    tests.equal("Keystone answers again", 0, after.one("failing"))
    tests.equal("the first look-up missed, and the look-up after the outage", 2,
                after.look_ups()["miss"] - before.look_ups()["miss"])


def shown_by_the_dashboard(tests, service):
    """The panels of Keystone name series that there are."""
    panels = [query for title, query in dashboard.queries() if title.startswith(dashboard.KEYSTONE)]
    wanted = {name for query in panels for name in re.findall(r"placet_keystone_\w+", query)}
    there = {name for name, _ in Seen(service.port).metrics.samples}
    tests.equal("the dashboard has panels of Keystone, of series that there are", (True, set()),
                (len(wanted) >= 5, wanted - there))
