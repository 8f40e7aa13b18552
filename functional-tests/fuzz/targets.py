"""The targets of fuzzing: each has initial inputs, words to put in, and a check that raises on a wrong answer."""

import io
import json
import re
import subprocess
import urllib.parse
import warnings

import webob
from oslo_config import iniparser
from placement import util
from placement.schemas import (
    aggregate, allocation, allocation_candidate, inventory, reshaper, resource_class, resource_provider, trait, usage)

from functional_tests.fuzz.expressions import is_expression
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.process.placet_process import binary, environment
from functional_tests.process.raw_http import HEAD, RawConnection, request

UUID = "4e8e5957-649f-477b-9e5b-f1f75b21c03c"
PROVIDERS = "/resource_providers"
# A request's head may be refused if it is longer.
LONGEST_QUERY = 8000
# Sentences that the schemas and parsers of bodies and queries alone produce.
MALFORMED, INVALID, QUERY = "Malformed JSON: ", "JSON does not validate: ", "Invalid query string parameters: "
# placet's own bounds of JSON, see src/wire/json.rs.
OWN_BOUNDS = ("Unpaired surrogate", "levels of nesting", "More than")


class Http:
    """A target whose input is part of a request to a running placet, on a connection that is kept."""

    INPUT_COST = 1

    def __init__(self, placet):
        self.placet, self.raw = placet, None

    def exchange(self, data):
        """The answer; None if the connection ended without one."""
        self.raw = self.raw or RawConnection(self.placet.port, timeout=HANG_SECONDS)
        self.raw.send(data)
        reply = self.raw.reply_or_end()
        if not reply or reply.headers.get("connection") == "close":
            self.raw.socket.close()
            self.raw = None
        assert self.placet.process.poll() is None, "placet ended"
        assert not reply or reply.status != 500, reply
        return reply


def oracle(check):
    """The sentence of OpenStack Placement's refusal, or None if it accepts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            check()
        except webob.exc.HTTPBadRequest as refusal:
            return str(refusal)
        except RecursionError:
            return "RecursionError"
    return None


def first_line(text):
    return " ".join(text.split("\n\n")[0].split())


class Bodies(Http):
    """Bodies, against OpenStack Placement's JSON and schemas."""

    claim = {"allocations": {UUID: {"resources": {"VCPU": 1}, "generation": 1}}, "project_id": "p", "user_id": "u",
             "consumer_generation": None, "consumer_type": "INSTANCE", "mappings": {"": [UUID]}}
    record = {"total": 1, "reserved": 0, "min_unit": 1, "max_unit": 1, "step_size": 1, "allocation_ratio": 1.5}
    inventories = {"resource_provider_generation": 0, "inventories": {"VCPU": record}}
    routes = [
        ("POST", PROVIDERS, resource_provider.POST_RP_SCHEMA_V1_14, {"name": "n", "uuid": UUID}),
        ("PUT", f"{PROVIDERS}/{UUID}", resource_provider.PUT_RP_SCHEMA_V1_14, {"name": "n"}),
        ("PUT", f"{PROVIDERS}/{UUID}/inventories", inventory.PUT_INVENTORY_SCHEMA, inventories),
        ("POST", f"{PROVIDERS}/{UUID}/inventories", inventory.POST_INVENTORY_SCHEMA, {"resource_class": "VCPU", **record}),
        ("PUT", f"{PROVIDERS}/{UUID}/aggregates", aggregate.PUT_AGGREGATES_SCHEMA_V1_19,
         {"resource_provider_generation": 0, "aggregates": [UUID]}),
        ("PUT", f"{PROVIDERS}/{UUID}/traits", trait.SET_TRAITS_FOR_RP_SCHEMA,
         {"resource_provider_generation": 0, "traits": ["CUSTOM_A"]}),
        ("PUT", f"/allocations/{UUID}", allocation.ALLOCATION_SCHEMA_V1_38, claim),
        ("POST", "/allocations", allocation.POST_ALLOCATIONS_V1_38, {UUID: claim}),
        ("POST", "/resource_classes", resource_class.POST_RC_SCHEMA_V1_2, {"name": "CUSTOM_A"}),
        ("POST", "/reshaper", reshaper.POST_RESHAPER_SCHEMA_V1_38,
         {"inventories": {UUID: inventories}, "allocations": {UUID: claim}}),
    ]
    seeds = [json.dumps(body).encode() for *_, body in routes] + [b"[]", b"null", b'{"a": [1, 2.5e3, "\\u0041\\ud83d\\ude00"]}']
    words = [f'"{word}"'.encode() for word in (
        "name", "uuid", "allocations", "resources", "generation", "consumer_type", "mappings", "traits", "x", "", "VCPU")]

    def check(self, data, random):
        method, path, schema, _ = random.choice(self.routes)
        reply = self.exchange(request(method, path, data))
        assert reply, "no answer"
        detail = reply.error["detail"] if reply.status >= 400 else ""
        wanted = oracle(lambda: util.extract_json(data, schema))
        is_refused = MALFORMED in detail or INVALID in detail
        if any(own in detail for own in OWN_BOUNDS) or wanted == "RecursionError":
            return
        if wanted is None:
            assert not is_refused, f"{method} {path}: OpenStack Placement accepts, placet: {detail}"
        elif MALFORMED in wanted or "codec can't decode" in wanted:
            assert is_refused and first_line(wanted) in first_line(detail.split("\n\n")[-1]), \
                f"{method} {path}: {wanted!r}, placet: {detail!r}"
        else:
            assert INVALID in detail, f"{method} {path}: {first_line(wanted)!r}, placet: {reply}"


class Queries(Http):
    """Query strings, against WebOb's parser and OpenStack Placement's schemas."""

    routes = [("/resource_providers", resource_provider.GET_RPS_SCHEMA_1_18),
              ("/allocation_candidates", allocation_candidate.GET_SCHEMA_1_36),
              ("/traits", trait.LIST_TRAIT_SCHEMA), ("/usages", usage.GET_USAGES_SCHEMA_V1_38)]
    seeds = [b"name=a&uuid=" + UUID.encode(), b"resources=VCPU:1,MEMORY_MB:2&required=HW_CPU_X86_AVX,!CUSTOM_A&limit=1",
             b"resources1=VCPU:1&resources_A=VCPU:2&group_policy=none&same_subtree=_A,1&in_tree1=" + UUID.encode(),
             b"member_of=in:" + UUID.encode() + b"&required=in:A,B&root_required=!A", b"name=startswith:CUSTOM&associated=true",
             b"project_id=p&user_id=u&consumer_type=all", b"a=%41%2b+%zz;b=c&&=&%=%", b"name=%e2%82%ac%f0%9f%98%80"]
    words = [b"resources", b"required", b"member_of", b"in:", b"!in:", b"limit", b"group_policy=isolate", b"%00", b"%ff", b"%26",
             b"%3d", b"%c0%af", b"&name=", b"project_id", UUID.encode()]

    def check(self, data, random):
        # Bytes that no target has are refused before the query is parsed: see `Targets`.
        data = re.sub(rb"[\x00-\x20\x7f-\xff\"<>#]", b"", data)
        path, schema = random.choice(self.routes)
        reply = self.exchange(f"GET {path}?".encode() + data + f" HTTP/1.1\r\n{HEAD}\r\n".encode())
        assert reply, "no answer"
        detail = reply.error["detail"] if reply.status >= 400 else ""
        asked = webob.Request.blank("/", environ={"QUERY_STRING": data.decode()})
        wanted = oracle(lambda: util.validate_query_params(asked, schema))
        if wanted is None:
            # Parameters are also checked beyond the schema, with sentences that begin alike.
            assert QUERY not in detail or "Failed validating" not in detail, f"{path}: OpenStack Placement accepts, placet: {detail}"
        else:
            assert QUERY in detail, f"{path}: {first_line(wanted)!r}, placet: {reply}"


class Expressions(Http):
    """Conditions of `where`, against a second reader of the language: what one refuses, the other refuses, at a
    column.
    """

    seeds = [b"Value >= 5", b"NodeColor != green", b'HasSSD == true && SomeProperty >= -4 || Name == "a \\" b"',
             b"((OneProperty < 100) || ((AnotherProperty == false) && (OneProperty >= 100)))", b"!(NodeType == NodeType01)",
             b"a == fd:/dc1/r-0.x && b <= 9223372036854775807", b"!!(a.b-c != \xc3\xa4)", b" ", b"\0"]
    words = [b"==", b"!=", b">=", b"<", b"&&", b"||", b"!", b"(", b")", b'"', b"\\", b"-", b"true", b"9223372036854775808", b"a == 1",
             b" ", b"\t", b"&", b";", b"%", b"+", b"(" * 65, b"a == 1 || " * 300]

    def check(self, data, _random):
        text = data.decode("utf-8", "ignore")
        query = f"resources=VCPU:1&limit=1&where={urllib.parse.quote(text, safe='')}"
        reply = self.exchange(request("GET", f"/v1/candidates?{query}"))
        assert reply, "no answer"
        if len(query) > LONGEST_QUERY and reply.status != 200:
            return
        code = reply.error.get("code") if reply.status >= 400 else None
        if "\0" in text:
            assert code == "placet.bad_request", f"a parameter with a NUL: {reply}"
            return
        assert reply.status == 200 or code == "placet.invalid_expression", reply
        assert (reply.status == 200) == is_expression(text), f"{text!r}: {reply}"
        if code:
            column = int(re.search(r"at column (\d+): ", reply.error["detail"])[1])
            assert 1 <= column <= len(text) + 1, f"{text!r}: {reply}"


class Targets(Http):
    """Heads of requests: an answer in the API's form or the end of the connection."""

    seeds = [request("GET", f"{PROVIDERS}?name=a"), request("PUT", "/traits/CUSTOM_A"), request("POST", PROVIDERS, {"name": "n"}),
             request("GET", f"http://placet:80{PROVIDERS}/{UUID}"), request("OPTIONS", "*"), request("DELETE", "/a/%2e%2e//b;c"),
             f"POST {PROVIDERS} HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\n2;a=b\r\n{{}}\r\n0\r\nT: x\r\n\r\n".encode()]
    words = [b"HTTP/1.0", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Connection: close\r\n", b"%2f", b"%00", b"//",
             b"/../", b"Expect: 100-continue\r\n", b"Upgrade: websocket\r\n", b"Host: x\r\n", b"http://", b"?", b"#"]

    def check(self, data, _random):
        with RawConnection(self.placet.port, timeout=HANG_SECONDS) as raw:
            raw.send(data)
            raw.socket.shutdown(1)
            for _ in range(50):
                reply = raw.reply_or_end(data[:4].decode("latin-1").strip())
                if not reply:
                    break
                assert 100 <= reply.status < 500, reply
        assert self.placet.process.poll() is None, "placet ended"


class Command:
    """A target whose input is a file that a command of placet reads."""

    INPUT_COST = 10  # a process is started for each

    def __init__(self, placet):
        self.folder = placet.folder / type(self).__name__
        self.folder.mkdir(exist_ok=True)

    def run(self, *arguments):
        done = subprocess.run([binary(), *map(str, arguments)], cwd=self.folder, env=environment(self.folder),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=HANG_SECONDS)
        output = (done.stdout + done.stderr).decode("utf-8", "replace")
        assert done.returncode in (0, 1, 2) and "panicked" not in output, f"exit code {done.returncode}: {output}"
        return done.returncode, output


class Ini(Command):
    """placement.conf, against oslo.config's parser: what one refuses, the other refuses, and else the value is the
    same.
    """

    seeds = [b"[DEFAULT]\ndebug = true\n\n[placement]\nincomplete_consumer_project_id = here\n  and there\n",
             b"# c\n; d\n[placement]\nincomplete_consumer_project_id: 'a' \"b\" = c\n[api]\nauth_strategy = noauth2\n",
             b"[placement]\r\nincomplete_consumer_project_id =\r\n x\r\n\r\nincomplete_consumer_user_id = a=b:c\r\n"]
    words = [b"[placement]\n", b"incomplete_consumer_project_id = ", b"\n  ", b"[", b"]", b" = ", b": ", b"\n# ", b"\n\n"]

    class Parser(iniparser.BaseParser):
        def __init__(self):
            super().__init__()
            self.section, self.found, self.keys = None, None, set()

        def new_section(self, section):
            self.section = section

        def assignment(self, key, value):
            if not self.section:
                raise iniparser.ParseError("no section", 0, "")
            self.keys.add((self.section, key))
            if (self.section, key) == ("placement", "incomplete_consumer_project_id"):
                self.found = "\n".join(value)

    def check(self, data, _random):
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = None
        file = self.folder / "placement.conf"
        file.write_bytes(data)
        code, output = self.run("--config-file", file, "config", "show")
        if text is None:
            assert code == 1, output
            return
        theirs = self.Parser()
        try:
            # As oslo.config reads a file: with universal newlines.
            theirs.parse(io.StringIO(data.decode(), newline=None))
        except iniparser.ParseError as error:
            assert code == 1, f"oslo.config: {error}; placet accepts"
            return
        # placet refuses more: unknown options of [placet], and values that are none.
        if code != 1 and theirs.found is not None and "\n" not in theirs.found and "$" not in theirs.found:
            shown = re.search(r"^incomplete_consumer_project_id =(.*)$", output, re.M)
            assert shown and shown[1].strip() == theirs.found.strip(), f"oslo.config: {theirs.found!r}, placet: {shown}"
        assert "neither '=' nor ':'" not in output, f"oslo.config reads it, placet: {output}"


class Urls(Command):
    """URLs of databases: `config check` says of each whether placet can parse it, and shows no password."""

    secret = b"s3cretpassw0rd"
    seeds = [b"postgresql://user:s3cretpassw0rd@127.0.0.1:1/placement?sslmode=disable",
             b"mysql+pymysql://user:s3cretpassw0rd@127.0.0.1/placement?charset=utf8", b"sqlite:///placet.sqlite",
             b"postgresql://user:s3cretpassw0rd@[::1]:5432,b:1/p?target_session_attrs=any", b"sqlite:////tmp/x?mode=ro",
             b"mysql+mysqldb://user:s3cretpassw0rd@a/p?ssl_mode=required&read_default_group=x&plugin=y&y_z=1"]
    words = [b"://", b"@", b":", b"?", b"&", b"%40", b"%2f", b"[::1]", b"sslmode=verify-full", b"/", b"//", b",", b"#"]
    # The sentences that refuse a URL: src/db/fault.rs.
    refusals = ("cannot parse the database connection", "database in memory has only one", "cannot check the name",
                "was built without", "connection is not set", "in the URL of the database", "names the option file")

    def check(self, data, _random):
        url = re.sub(rb"[\x00-\x1f\x7f-\xff$]", b"", data)
        file = self.folder / "placement.conf"
        file.write_bytes(b"[api]\nauth_strategy = noauth2\n[placement_database]\nconnection = " + url + b"\n")
        code, checked = self.run("--config-file", file, "config", "check")
        errors = [line for line in checked.splitlines() if line.startswith("error: ")]
        # Nothing else in the file is a mistake, or causes a warning.
        assert code == (2 if errors else 0), f"exit code {code}: {checked}"
        assert all(any(refusal in line for refusal in self.refusals) for line in errors), checked
        _, shown = self.run("--config-file", file, "config", "show")
        # Only what stands where a password stands is one; a host of the same name is shown.
        if re.fullmatch(rb"[a-z+]+://[a-z]*:s3cretpassw0rd@[^@]*", url) and url.count(self.secret) == 1:
            assert self.secret.decode() not in checked + shown, checked + shown


class Policies(Command):
    """Policy files and rules: `policy list` says what is wrong with a file, and does not fall."""

    rule = b"placement:resource_providers:list"
    seeds = [b'"placement:resource_providers:list": "role:admin or (role:reader and not project_id:%(project_id)s)"\n',
             b"# a\n'placement:resource_providers:list': rule:admin_api\nadmin_api: 'role:admin'\n",
             b'{"placement:resource_providers:list": [["role:admin"], ["role:reader", "system_scope:all"]]}',
             b'"placement:resource_providers:list": "@"\n"placement:traits:list": "!"\n',
             b"a: &x role:admin\nb: *x\nc: |\n  role:x\n  or role:y\nd: >-\n  not @\n"]
    words = [b"role:", b"rule:", b" and ", b" or ", b"not ", b"(", b")", b"@", b"!", b"%(project_id)s", b"'admin':%(user_id)s", b": ",
             b"\n", b"- ", b"&a ", b"*a", b"!!python/object:os.system ", b"<<: ", b"---\n", b"{", b"[", b"|\n  ", b"http://x"]

    def check(self, data, _random):
        (self.folder / "policy.yaml").write_bytes(data)
        file = self.folder / "placement.conf"
        file.write_text(f"[api]\nauth_strategy = noauth2\n[oslo_policy]\npolicy_file = {self.folder}/policy.yaml\n")
        self.run("--config-file", file, "policy", "list")


TARGETS = {each.__name__.lower(): each for each in (Queries, Bodies, Expressions, Policies, Urls, Targets, Ini)}
