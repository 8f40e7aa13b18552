"""Tests that api-ref/ describes the present service, or writes api-ref/ again.

    python -m functional_tests.reference.run [--binary PATH] [--write]

`placet openapi` prints the document, and the service serves the same. The samples are captured from a live service. The
pages are rendered from both.
"""

import json
import subprocess

from functional_tests.lib import command_line, live
from functional_tests.lib.rest import Rest
from functional_tests.lib.root import ROOT
from functional_tests.lib.test_counts import TestCounts
from functional_tests.reference import pages, sample_cloud, samples

FOLDER = ROOT / "api-ref"


def made(binary):
    """The files of api-ref/ by name, without its style; the printed and the served document; the samples."""
    command = [str(live.placet_binary(binary)), "openapi"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    with live.Service("placet", sample_cloud.OPTIONS, binary) as service:
        rest = Rest(service.port)
        sample_cloud.build(rest)
        captured = samples.capture(rest)
        served = rest("GET", "/openapi.json", headers={"x-auth-token": None}).json
    document = json.loads(printed)
    files = {"openapi.json": printed, "samples.json": samples.text(captured)}
    return files | pages.render(document, captured), document, served, captured


def without_sample(document, captured):
    """Operations without a sample that succeeds."""
    good = [sample for sample in captured if sample["status"] < 400]
    return [f"{method} {path}" for method, path, _ in pages.operations(document)
            if not any(sample["method"] == method and pages.path_pattern(path).fullmatch(sample["url"])
                       for sample in good)]


def main():
    parser = command_line.parser(__doc__, "--binary")
    parser.add_argument("--write", action="store_true", help="write the files into api-ref/")
    arguments = parser.parse_args()
    files, document, served, captured = made(arguments.binary)
    if arguments.write:
        for path in [*FOLDER.glob("*.html"), *FOLDER.glob("*.json")]:
            path.unlink()
        for name, text in files.items():
            (FOLDER / name).write_text(text)
    tests = TestCounts()
    tests.equal("the service serves without a token what `placet openapi` prints", document, served)
    tests.equal("every operation has a sample", [], without_sample(document, captured))
    there = {path.name for path in FOLDER.iterdir()} - {"style.css"}
    tests.equal("api-ref/ has a page for each noun and no other file", set(files), there)
    for name in sorted(set(files) & there):
        text = (FOLDER / name).read_text()
        if text == files[name]:
            tests.ok(f"api-ref/{name} is up to date")
        else:
            pairs = zip(text.splitlines(), files[name].splitlines(), strict=False)
            old, new = next(((old, new) for old, new in pairs if old != new), ("", "another length"))
            tests.fail(f"api-ref/{name} is up to date", f"is:   {old[:1000]}\nmade: {new[:1000]}\n"
                       "contrib/api-ref.sh writes it again")
    tests.finish()


if __name__ == "__main__":
    main()
