"""Shows what the compiler reported, and writes down what a build has made. Cargo's messages come from stdin.

    cargo build --message-format json | python3 functional-tests/lib/build_report.py BINARIES WARNINGS

BINARIES gets a line `NAME PATH` for each executable: a program's own name, `unit` for the tests of the library, `tidy`,
or the kind of any other target. WARNINGS gets the warnings and errors, and is empty without any.
"""

import json
import pathlib
import sys


def name(target, is_test):
    if is_test and "lib" in target["kind"]:
        return "unit"
    if target["name"] == "tidy":
        return "tidy"
    return target["kind"][0] if is_test or target["kind"][0] != "bin" else target["name"]


def main():
    binaries, warnings = map(pathlib.Path, sys.argv[1:])
    executables, reports = [], {}
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("executable"):
            executables.append(f"{name(message['target'], message['profile']['test'])} {message['executable']}\n")
        report = message.get("message")
        # The library is compiled twice, and its tests contain it.
        if report and report["rendered"] not in reports:
            reports[report["rendered"]] = report["level"] in ("warning", "error")
            print(report["rendered"], end="", flush=True)
    binaries.write_text("".join(executables))
    warnings.write_text("".join(rendered for rendered, is_warning in reports.items() if is_warning))


if __name__ == "__main__":
    main()
