"""Tests that placet honours every option of OpenStack Placement, or warns about the option once.

    python -m functional_tests.options.run [--binary PATH]

Each option gets a plausible value different from the default. `placet config show` prints an INI file of the honoured
options, and logs a warning for each unused option.
"""

import configparser
import pathlib
import re
import subprocess
import tempfile

from functional_tests.lib import command_line, live
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.test_counts import TestCounts
from functional_tests.options import upstream_options

UNUSED_LINE = re.compile(r"\[(\S+)\] (\S+): accepted, but not used: \S")
OLDER_NAME_LINE = re.compile(r"\[(\S+)\] (\S+): an older name")
# placet starts only with these values.
FIXED_VALUES = {("api", "auth_strategy"): "noauth2",
                ("placement_database", "connection"): "sqlite:////{folder}/placement.sqlite"}


def plausible(option, folder):
    """A valid value that is not the option's default."""
    key = option["section"], option["option"]
    default, kind = option["default"], option["type"]
    if key in FIXED_VALUES:
        return FIXED_VALUES[key].replace("/{folder}", folder)
    if "connection" in option["option"] and option["secret"]:
        return "mysql+pymysql://user:hidden-word@db.example.org/placement"
    if option["secret"]:
        return "hidden-word"
    if option["choices"]:
        others = [choice for choice in option["choices"] if choice != default]
        return str(others[0])
    if kind == "Boolean":
        return "false" if default else "true"
    if kind in ("Integer", "Float", "Port"):
        value = (default or 0) + 1
        return str(default if option["max"] is not None and value > option["max"] else value)
    if kind == "URI" or option["option"].endswith(("_url", "_uri")):
        return "http://other.example.org"
    if option["option"].endswith(("file", "path", "dir", "dirs")):
        return f"{folder}/{option['option']}"
    if kind in ("List", "Dict", "MultiString"):
        return "one=1,two=2" if option["option"] == "default_log_levels" else "one"
    return f"some-{option['option']}"


def show(binary, folder, values, environ=None):
    """Runs `placet config show` with {(section, option): value}; returns the process and the parsed INI."""
    sections = {}
    for (section, name), value in values.items():
        sections.setdefault(section, {})[name] = value
    path = pathlib.Path(folder, "placement.conf")
    path.write_text("".join(
        f"[{section}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items())
        for section, names in sections.items()))
    done = subprocess.run(
        [str(live.placet_binary(binary)), "--config-file", str(path), "config", "show"],
        capture_output=True, text=True, timeout=HANG_SECONDS, cwd=folder, check=False,
        env=live.clean_environment() | (environ or {}))
    shown = configparser.RawConfigParser(strict=False, default_section="")
    shown.optionxform = str
    try:
        shown.read_string(done.stdout)
    except configparser.Error as error:
        raise RuntimeError(f"exit {done.returncode}, not an INI file ({error})\n{done.stderr}") from error
    return done, shown


def culprits(binary, folder, values):
    """The options that placet refuses if they are set alone, with its error messages."""
    for key, value in values.items():
        if key not in FIXED_VALUES:
            fixed = {k: v for k, v in values.items() if k in FIXED_VALUES}
            done, _ = show(binary, folder, fixed | {key: value})
            if done.returncode == 1:
                yield f"[{key[0]}] {key[1]} = {value}: {done.stderr.strip()[-300:]}"


def accepted(tests, name, binary, folder, values, environ=None):
    done, shown = show(binary, folder, values, environ)
    # 2: the options are read, and together they are no service that could start.
    if done.returncode in (0, 2):
        tests.ok(name)
    else:
        why = "\n".join(culprits(binary, folder, values)) if not environ else ""
        tests.fail(name, f"exit {done.returncode}\n{why or done.stderr[-2000:]}")
    return done, shown


def same(shown, value):
    """Whether these are two spellings of one value."""
    return shown.strip("\"'").lower().replace(", ", ",") == value.lower()


def judge(tests, how, option, value, done, shown):
    key = option["section"], option["option"]
    label = f"{how}: [{key[0]}] {key[1]}"
    warned = UNUSED_LINE.findall(done.stderr).count(key)
    honoured = shown.get(*key, fallback=None)
    if warned == 1 and honoured is None:
        tests.ok(label, show=False)
    elif warned or honoured is None:
        tests.fail(label, f"{warned} warnings, and shown as {honoured!r}")
    elif option["secret"] or same(honoured, value):
        tests.ok(label, show=False)
    else:
        tests.fail(label, f"set to {value!r}, and shown as {honoured!r}")


def in_file(tests, binary, folder, options):
    values = {(o["section"], o["option"]): plausible(o, folder) for o in options}
    done, shown = accepted(tests, "all options in a file", binary, folder, values)
    for option in options:
        judge(tests, "file", option, values[option["section"], option["option"]], done, shown)
    leaked = "hidden-word" in done.stdout + done.stderr
    tests.equal("no secret is shown", False, leaked)


def in_environment(tests, binary, folder, options):
    values = {(o["section"], o["option"]): plausible(o, folder) for o in options}
    environ = {f"OS_{s.upper()}__{n.upper()}": v for (s, n), v in values.items()}
    done, shown = accepted(tests, "all options in the environment", binary, folder, {}, environ)
    for option in options:
        judge(tests, "environment", option, values[option["section"], option["option"]], done,
              shown)


def by_older_names(tests, binary, folder, options):
    """Sets every older name once. Two older names of one option are set in different runs."""
    aliases = [(o, tuple(alias)) for o in options for alias in o["deprecated"]]
    fixed = {key: FIXED_VALUES[key].replace("/{folder}", folder) for key in FIXED_VALUES}
    number = 0
    while aliases and number < 5:
        number += 1
        now, seen, later = [], set(), []
        for option, alias in aliases:
            key = option["section"], option["option"]
            (later if key in seen else now).append((option, alias))
            seen.add(key)
        values = {alias: plausible(option, folder) for option, alias in now}
        done, shown = accepted(tests, f"older names, run {number}", binary, folder, fixed | values)
        for option, alias in now:
            judge(tests, f"older name [{alias[0]}] {alias[1]}", option, values[alias], done, shown)
            count = OLDER_NAME_LINE.findall(done.stderr).count(alias)
            tests.equal(f"[{alias[0]}] {alias[1]} is warned about once", 1, count, show=False)
        aliases = later
    tests.equal("older names that were not set", [], aliases)


def nothing_set(tests, binary, folder):
    fixed = {key: FIXED_VALUES[key].replace("/{folder}", folder) for key in FIXED_VALUES}
    done, _ = accepted(tests, "no option at all", binary, folder, fixed)
    warnings = UNUSED_LINE.findall(done.stderr) + OLDER_NAME_LINE.findall(done.stderr)
    tests.equal("no option at all gives no warning", [], warnings)


def main():
    parser = command_line.parser(__doc__, "--binary")
    binary = parser.parse_args().binary
    tests = TestCounts()
    options = upstream_options.options()
    tests.equal("OpenStack Placement registers more than 100 options", True, len(options) > 100)
    with tempfile.TemporaryDirectory(prefix="placet-test-") as folder:
        try:
            nothing_set(tests, binary, folder)
            in_file(tests, binary, folder, options)
            in_environment(tests, binary, folder, options)
            by_older_names(tests, binary, folder, options)
        except RuntimeError as error:
            tests.fail("placet config show", error)
    tests.finish()


if __name__ == "__main__":
    main()
