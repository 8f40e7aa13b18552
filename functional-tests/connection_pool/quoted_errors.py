"""The texts for clients and for the log about a silent database: only the log has the message of the driver."""

import urllib.parse
import uuid
from concurrent.futures import ThreadPoolExecutor

from functional_tests.lib.patience import eventually
from functional_tests.lib.rest import Rest

# Parts of the drivers' messages, of all engines.
DRIVER_WORDS = ("connection to server", "Connection refused", "server closed", "Can't connect", "Lost connection",
                "gone away", "cannot execute", "read-only transaction", "--read-only", "Unknown MySQL", "SQLSTATE", "port ",
                "disk I/O", "unable to open", "database or disk", "remaining connection slots", "Too many connections")


def requests(host):
    """Requests of all kinds: searches, reads of rows, commands of both APIs."""
    consumer, workload = str(uuid.uuid4()), str(uuid.uuid4())
    claim = {"allocations": {host: {"resources": {"VCPU": 1}}}, "project_id": "p", "user_id": "u",
             "consumer_generation": None, "consumer_type": "INSTANCE"}
    return [
        ("GET", "/allocation_candidates?resources=VCPU:1", None),
        ("GET", "/resource_providers", None),
        ("GET", f"/resource_providers/{host}/usages", None),
        ("GET", f"/resource_providers/{host}/allocations", None),
        ("GET", f"/allocations/{consumer}", None),
        ("GET", "/usages?project_id=p", None),
        ("GET", "/traits", None),
        ("GET", "/resource_classes", None),
        ("GET", "/v1/workloads", None),
        ("GET", "/v1/domains", None),
        ("GET", "/v1/violations", None),
        ("PUT", f"/allocations/{consumer}", claim),
        ("POST", "/allocations", {consumer: claim}),
        ("DELETE", f"/allocations/{consumer}", None),
        ("POST", "/resource_providers", {"name": consumer}),
        ("PUT", f"/resource_providers/{host}/inventories",
         {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}),
        ("PUT", "/traits/CUSTOM_QUOTED", None),
        ("POST", "/v1/claims", {"consumers": [
            {"uuid": consumer, "project_id": "p", "user_id": "u", "query": "resources=VCPU:1"}]}),
        ("PUT", f"/v1/workloads/{workload}", {
            "generation": None, "name": workload, "project_id": "p", "user_id": "u",
            "roles": [{"name": "replica", "count": 1, "query": "resources=VCPU:1"}]}),
    ]


def secrets_of(url):
    """What a client must not read of a database: its address, port, user, password and name, or its file."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme.startswith("sqlite"):
        return [parts.path.rsplit("/", 1)[0], parts.path.rsplit("/", 1)[1]]
    found = [parts.hostname, parts.port, parts.username, parts.password, parts.path.strip("/")]
    return [str(each) for each in found if each]


def only_the_log_quotes(port, host, url, log, expected):
    """Sends requests of all kinds. No answer has a secret or words of the driver; the log has one of `expected`."""
    hidden = [*secrets_of(url), *DRIVER_WORDS]
    asked = requests(host)
    with ThreadPoolExecutor(len(asked)) as clients:
        answers = list(clients.map(lambda each: Rest(port)(*each), asked))
    failed = [answer for answer in answers if answer.status >= 500]
    assert failed, "every request was answered without the database"
    for request, answer in zip(asked, answers, strict=True):
        if answer.status >= 500:
            detail = answer.json["errors"][0]["detail"]
            quoted = [words for words in hidden if words in detail]
            assert not quoted, f"{request[:2]} quotes {quoted}: {detail}"
    eventually(lambda: f"the log has one of {expected}: {log()[-3000:]}", lambda: any(words in log() for words in expected))
    print(f"        {len(failed)} of {len(asked)} requests failed")
