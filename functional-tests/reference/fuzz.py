"""Runs Schemathesis against a live placet, with placet's API description.

    python -m functional_tests.reference.fuzz [--binary PATH] [--examples N] [--seed N] [VERSION...]

Each microversion gets a service of its own, and the description of that version. Schemathesis sends examples, edge
cases of every parameter, random bodies and queries, and sequences. An answer is a failure in these cases:

- It is a 5xx.
- Its status, a header, its media type or its body is not described.
- It accepts what the description forbids.
- It refuses the form of what the description allows.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from functional_tests.lib import command_line, live
from functional_tests.lib.rest import Rest
from functional_tests.lib.test_counts import TestCounts
from functional_tests.reference import sample_cloud

HERE = pathlib.Path(__file__).resolve().parent

IS_FULL_SIZE = os.environ.get("PLACET_TEST_SIZE") == "full"
# The versions that changed bodies, queries and answers most. The header Allow is not checked: it names the methods of
# all versions.
VERSIONS = ["1.39", "1.33", "1.27", "1.18", "1.11", "1.0"] if IS_FULL_SIZE else ["1.39", "1.27", "1.11"]
CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance",
          "response_headers_conformance", "response_schema_conformance", "negative_data_rejection",
          "read_as_described"]
# A run of the default size takes ten seconds on an idle machine.
RUN_TIMEOUT_SECONDS = 1800


def description(binary, version):
    """The document of one version, without the version header, because every request has it."""
    command = [str(live.placet_binary(binary)), "openapi", "--microversion", version]
    document = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    header = {"$ref": "#/components/parameters/OpenStack-API-Version"}
    for path in document["paths"].values():
        for operation in path.values():
            operation["parameters"].remove(header)
    return json.dumps(document)


def fuzz(version, binary, examples, seed, folder):
    """One run. A failure raises an exception with the output of Schemathesis."""
    document = folder / f"openapi-{version}.json"
    document.write_text(description(binary, version))
    with live.Service("placet", sample_cloud.OPTIONS, binary) as service:
        sample_cloud.build(Rest(service.port))
        command = [
            str(pathlib.Path(sys.executable).parent / "st"), "--config-file", str(HERE / "schemathesis.toml"),
            "run", str(document), "--url", f"http://127.0.0.1:{service.port}",
            "--header", "X-Auth-Token: admin", "--header", f"OpenStack-API-Version: placement {version}",
            "--checks", ",".join(CHECKS),
            "--seed", str(seed), "--max-examples", str(examples), "--continue-on-failure",
            "--generation-database", "none", "--no-color",
        ]
        environment = live.clean_environment() | {"SCHEMATHESIS_HOOKS": "functional_tests.reference.hooks"}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True,
                              timeout=RUN_TIMEOUT_SECONDS, check=False)
        ended = service.process.poll()
        assert ended is None, f"placet ended with {ended}:\n{service.log_end()}"
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout[-20000:]}\n{done.stderr[-4000:]}"
        for line in done.stdout.splitlines():
            if " generated, " in line:
                print(f"        {line.strip()}", flush=True)


def main():
    parser = command_line.parser(__doc__, "--binary")
    parser.add_argument("versions", nargs="*", metavar="VERSION")
    parser.add_argument("--examples", type=int, default=100 if IS_FULL_SIZE else 6, help="random requests an operation")
    parser.add_argument("--seed", type=int, default=8778)
    arguments = parser.parse_args()
    tests = TestCounts()
    with tempfile.TemporaryDirectory(prefix="placet-fuzz-") as folder:
        for version in arguments.versions or VERSIONS:
            tests.step(f"Schemathesis at {version}, seed {arguments.seed}", fuzz, version, arguments.binary,
                       arguments.examples, arguments.seed, pathlib.Path(folder))
    tests.finish()


if __name__ == "__main__":
    main()
