"""Tests that api-ref/ and the page `/docs` describe the present service, or writes api-ref/ again.

    python -m functional_tests.reference.run [--binary PATH] [--write]

`placet openapi` prints the document, and the service serves the same. The samples are captured from a live service. A
binary has the samples that api-ref/ had when the binary was built: build again after `--write`.
"""

import json
import subprocess

from functional_tests.lib import command_line, live
from functional_tests.lib.rest import Rest
from functional_tests.lib.root import ROOT
from functional_tests.lib.test_counts import TestCounts
from functional_tests.reference import docs, sample_cloud, samples
from functional_tests.reference.document import operations, path_pattern

FOLDER = ROOT / "api-ref"


def without_sample(document, captured):
    """Operations without a sample that succeeds."""
    good = [sample for sample in captured if sample["status"] < 400]
    return [f"{method} {path}" for method, path, _ in operations(document)
            if not any(sample["method"] == method and path_pattern(path).fullmatch(sample["url"]) for sample in good)]


def is_up_to_date(tests, name, made):
    text = (FOLDER / name).read_text() if (FOLDER / name).exists() else ""
    if text == made:
        tests.ok(f"api-ref/{name} is up to date")
        return
    pairs = zip(text.splitlines(), made.splitlines(), strict=False)
    old, new = next(((old, new) for old, new in pairs if old != new), ("", "another length"))
    tests.fail(f"api-ref/{name} is up to date",
               f"is:   {old[:1000]}\nmade: {new[:1000]}\ncontrib/api-ref.sh writes it again")


def main():
    parser = command_line.parser(__doc__, "--binary")
    parser.add_argument("--write", action="store_true", help="write the files into api-ref/")
    arguments = parser.parse_args()
    command = [str(live.placet_binary(arguments.binary)), "openapi"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    with live.Service("placet", sample_cloud.OPTIONS, arguments.binary) as service:
        rest = Rest(service.port)
        sample_cloud.build(rest)
        captured = samples.capture(rest)
        page = docs.fetched(rest)
    files = {"openapi.json": printed, "samples.json": samples.text(captured)}
    if arguments.write:
        for name, text in files.items():
            (FOLDER / name).write_text(text)
    tests, document = TestCounts(), json.loads(printed)
    tests.equal("the service serves without a token what `placet openapi` prints", document,
                json.loads(page[0]["openapi.json"]))
    tests.equal("every operation has a sample", [], without_sample(document, captured))
    tests.equal("api-ref/ has no further file", set(files), {path.name for path in FOLDER.iterdir()})
    for name, made in files.items():
        is_up_to_date(tests, name, made)
    if not arguments.write:
        docs.check(tests, arguments.binary, page, captured)
    tests.finish()


if __name__ == "__main__":
    main()
