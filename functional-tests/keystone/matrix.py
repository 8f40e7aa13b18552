"""Tests that each actor may do what OpenStack Placement permits, under each set-up of policies.

OpenStack Placement's statuses in the same run are the expected statuses. Each actor has a copy of the sample cloud with
its own names, so no actor sees changes of a second actor.
"""

import concurrent.futures
import json
import re
import shutil

from functional_tests.keystone import set_ups
from functional_tests.keystone.actors import populate
from functional_tests.lib import live
from functional_tests.lib.rest import KeptRest
from functional_tests.reference import sample_cloud, samples

NATIVE = "/v1"
OPERATIONS_WITHOUT_TOKEN = ("/", "/openapi.json")
SEARCH = ("GET", "allocation_candidates")
# What their rules allow to readers of a project too.
FOR_READERS = ("/v1/workloads", "/v1/violations", "/v1/refusals", "/v1/consumers", "/v1/usages")
OLDER_VERSIONS = "1.0", "1.8", "1.19", "1.33"


class Names:
    """The names of one actor's copy of the sample cloud."""

    def __init__(self, number, project):
        self.number, self.project = number, project

    def own(self, value):
        text = json.dumps(value).replace(sample_cloud.PROJECT, self.project)
        text = text.replace("a0000000-0000-", f"a{self.number:07}-0000-")
        text = re.sub(r"CUSTOM_(\w+)", rf"CUSTOM_\1_{self.number}", text)
        return json.loads(re.sub(r'"(host\d[\w-]*|spare)"', rf'"\1-{self.number}"', text))


class Builder:
    """A client that builds an actor's copy of the sample cloud."""

    def __init__(self, rest, names):
        self.rest, self.names = rest, names

    def must(self, method, path, body=None):
        self.rest.must(method, self.names.own(path), self.names.own(body))


def requests(full):
    """Requests of both services: method, URL, body, version. One of each route, or all, and those at older versions."""
    newest = [(method, url, *(*more, None, None)[:2]) for method, url, *more in samples.SCENARIO
              if not url.startswith(NATIVE) and url not in OPERATIONS_WITHOUT_TOKEN]
    # As the router decodes them, access rules do.
    newest += [("GET", "/resource_provider%73", None, None),
               ("GET", f"/resource_providers/{sample_cloud.HOST}%2Finventories", None, None)]
    if full:
        return newest + [(*each[:3], version) for version in OLDER_VERSIONS for each in newest]
    routes = {}
    for each in newest:
        routes.setdefault(route(*each[:2]), each)
    return list(routes.values())


def route(method, url):
    """The method, the noun and the noun below it, and whether a name follows each."""
    parts = url.split("?")[0].strip("/").split("/")
    return method, *(part if place % 2 == 0 else "…" for place, part in enumerate(parts))


def native_requests():
    return [(method, url, *(*more, None, None)[:2]) for method, url, *more in samples.SCENARIO
            if url.startswith(f"{NATIVE}/")]


def database(context):
    """An SQLite file with a copy of the sample cloud for each actor, which the service under test has written."""
    path = context.folder / "clouds.sqlite"
    with live.Service(context.server, sample_cloud.OPTIONS, context.binary, path) as service:
        rest = KeptRest(service.port)
        for number, _ in enumerate(context.actors):
            sample_cloud.build(Builder(rest, Names(number, context.cloud.projects["lab"])))
    return path


class Walk:
    """Each actor's requests to a service. `wanted` are the requests, `clouds` the SQLite file to copy."""

    def __init__(self, context, clouds, wanted):
        self.context, self.clouds, self.wanted = context, clouds, wanted
        self.actors, self.project = context.actors, context.cloud.projects["lab"]

    def __call__(self, kind, number, options, files):
        """A list of answers for each actor, by its name."""
        copy = self.clouds.with_name(f"{kind}-{number}.sqlite")
        shutil.copy(self.clouds, copy)
        with live.Service(kind, options, self.context.binary, copy, files) as service:
            return {actor.name: self.walked(KeptRest(service.port, None), actor, Names(n, self.project))
                    for n, actor in enumerate(self.actors)}

    def walked(self, rest, actor, names):
        return [answered(rest(method, names.own(url), names.own(body), version or samples.NEWEST_VERSION,
                              actor.headers)) for method, url, body, version in self.wanted]


def answered(answer):
    """What is compared: the status, the error's code, and where to get a token."""
    return answer.status, answer.code, answer.headers.get("www-authenticate")


def run(tests, context):
    context.actors = actors = populate(context.cloud)
    clouds = database(context)
    wanted = requests(context.full)
    native = native_requests() if context.server == "placet" else []
    by_name = {actor.name: actor for actor in actors}
    theirs, ours = Walk(context, clouds, wanted), Walk(context, clouds, wanted + native)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        walks = []
        for number, (name, set_up) in enumerate(set_ups.all_of(context.cloud, by_name).items()):
            walks.append((name, pool.submit(theirs, "upstream", f"{number}-theirs", *set_up),
                          pool.submit(ours, context.server, f"{number}-ours", *set_up)))
        for name, expected, got in walks:
            compare(tests, name, actors, wanted, expected.result(), got.result())
            if native and "file" not in name:
                judge_native(tests, name, actors, (wanted, native), expected.result(), got.result())


def compare(tests, set_up, actors, wanted, theirs, ours):
    seen = {}
    for actor in actors:
        pairs = list(zip(wanted, theirs[actor.name], ours[actor.name], strict=False))
        wrong = [f"{method} {url} ({version or 'newest'}): expected {expected}, got {got}"
                 for (method, url, _, version), expected, got in pairs if expected != got]
        name = f"{set_up}: {actor.name}: {len(wanted)} requests are answered as by OpenStack Placement"
        if wrong:
            tests.fail(name, "\n".join([*wrong[:20], f"{len(wrong)} differ"]))
        else:
            tests.ok(name)
        for status, *_ in theirs[actor.name]:
            seen[status] = seen.get(status, 0) + 1
    # Without these the actors would not tell set-ups apart.
    tests.equal(f"{set_up}: requests are granted, refused and not authenticated", [True] * 3,
                [any(status in seen for status in some) for some in ((200, 204), (403,), (401,))])


def judge_native(tests, set_up, actors, requested, theirs, ours):
    """OpenStack Placement has no native API: it is for those that may search for candidates, in any scope."""
    wanted, native = requested
    search = next(at for at, (method, url, *_) in enumerate(wanted) if (method, route(method, url)[1]) == SEARCH)
    wrong, seen = [], set()
    for actor in actors:
        if theirs[actor.name][search][0] == 401:
            continue
        allowed = theirs[actor.name][search][0] != 403
        seen.add(allowed)
        for (method, url, *_), (status, *_) in zip(native, ours[actor.name][-len(native):], strict=True):
            expected = allowed or url == f"{NATIVE}/"
            if (status != 403) != expected and not (method == "GET" and url.startswith(FOR_READERS)):
                wrong.append(f"{actor.name}: {method} {url}: {status}")
    tests.equal(f"{set_up}: some actors may search, and others may not", {True, False}, seen)
    tests.equal(f"{set_up}: the native API is for the same actors", [], wrong)
