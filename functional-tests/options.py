"""Every option that OpenStack Placement registers is honoured by placet, or warned about once.

    options.py [--binary PATH]

Sets each to a plausible value that is not its default, and reads what `placet config show` says of
it: an INI of what is honoured, and on the log a line for each option that is not used.
"""

import configparser
import pathlib
import re
import subprocess
import tempfile

import command_line
import live
import options_upstream
from tally import Tally

UNUSED = re.compile(r"\[(\S+)\] (\S+): accepted, but not used: \S")
OLDER = re.compile(r"\[(\S+)\] (\S+): an older name")
# What cannot be anything: these two decide whether placet starts at all.
FIXED = {("api", "auth_strategy"): "noauth2",
         ("placement_database", "connection"): "sqlite:////{folder}/placement.sqlite"}


def plausible(option, folder):
    """A value that the option may have, and has not by default."""
    key = option["section"], option["option"]
    default, kind = option["default"], option["type"]
    if key in FIXED:
        return FIXED[key].replace("/{folder}", folder)
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
    """Runs `placet config show` with {(section, option): value}; its answer and complaints."""
    sections = {}
    for (section, name), value in values.items():
        sections.setdefault(section, {})[name] = value
    path = pathlib.Path(folder, "placement.conf")
    path.write_text("".join(
        f"[{section}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items())
        for section, names in sections.items()))
    done = subprocess.run(
        [str(live.placet_binary(binary)), "--config-file", str(path), "config", "show"],
        capture_output=True, text=True, timeout=60, cwd=folder, check=False,
        env=live.clean_environment() | (environ or {}))
    shown = configparser.RawConfigParser(strict=False, default_section="")
    shown.optionxform = str
    try:
        shown.read_string(done.stdout)
    except configparser.Error as error:
        raise RuntimeError(f"exit {done.returncode}, no INI ({error})\n{done.stderr}") from error
    return done, shown


def culprits(binary, folder, values):
    """Why not all of them together? Each option alone that placet refuses, with its complaint."""
    for key, value in values.items():
        if key not in FIXED:
            fixed = {k: v for k, v in values.items() if k in FIXED}
            done, _ = show(binary, folder, fixed | {key: value})
            if done.returncode:
                yield f"[{key[0]}] {key[1]} = {value}: {done.stderr.strip()[-300:]}"


def accepted(tally, name, binary, folder, values, environ=None):
    done, shown = show(binary, folder, values, environ)
    if done.returncode == 0:
        tally.ok(name)
    else:
        why = "\n".join(culprits(binary, folder, values)) if not environ else ""
        tally.fail(name, f"exit {done.returncode}\n{why or done.stderr[-2000:]}")
    return done, shown


def same(shown, value):
    """Are these two spellings of one value?"""
    return shown.strip("\"'").lower().replace(", ", ",") == value.lower()


def judge(tally, how, option, value, done, shown):
    key = option["section"], option["option"]
    label = f"{how}: [{key[0]}] {key[1]}"
    warned = UNUSED.findall(done.stderr).count(key)
    honoured = shown.get(*key, fallback=None)
    if warned == 1 and honoured is None:
        tally.ok(label, show=False)
    elif warned or honoured is None:
        tally.fail(label, f"warned about {warned} times, and shown as {honoured!r}")
    elif option["secret"] or same(honoured, value):
        tally.ok(label, show=False)
    else:
        tally.fail(label, f"set to {value!r}, and shown as {honoured!r}")


def in_file(tally, binary, folder, options):
    values = {(o["section"], o["option"]): plausible(o, folder) for o in options}
    done, shown = accepted(tally, "all options in a file", binary, folder, values)
    for option in options:
        judge(tally, "file", option, values[option["section"], option["option"]], done, shown)
    leaked = "hidden-word" in done.stdout + done.stderr
    tally.equal("no secret is shown", False, leaked)


def in_environment(tally, binary, folder, options):
    values = {(o["section"], o["option"]): plausible(o, folder) for o in options}
    environ = {f"OS_{s.upper()}__{n.upper()}": v for (s, n), v in values.items()}
    done, shown = accepted(tally, "all options in the environment", binary, folder, {}, environ)
    for option in options:
        judge(tally, "environment", option, values[option["section"], option["option"]], done,
              shown)


def by_older_names(tally, binary, folder, options):
    """Every older name once, in as few runs as that takes."""
    aliases = [(o, tuple(alias)) for o in options for alias in o["deprecated"]]
    fixed = {key: FIXED[key].replace("/{folder}", folder) for key in FIXED}
    turn = 0
    while aliases and turn < 5:
        turn += 1
        now, seen, later = [], set(), []
        for option, alias in aliases:
            key = option["section"], option["option"]
            (later if key in seen else now).append((option, alias))
            seen.add(key)
        values = {alias: plausible(option, folder) for option, alias in now}
        done, shown = accepted(tally, f"older names, turn {turn}", binary, folder, fixed | values)
        for option, alias in now:
            judge(tally, f"older name [{alias[0]}] {alias[1]}", option, values[alias], done, shown)
            told = OLDER.findall(done.stderr).count(alias)
            tally.equal(f"[{alias[0]}] {alias[1]} is said once to be older", 1, told, show=False)
        aliases = later
    tally.equal("older names left over", [], aliases)


def nothing_set(tally, binary, folder):
    fixed = {key: FIXED[key].replace("/{folder}", folder) for key in FIXED}
    done, _ = accepted(tally, "no option at all", binary, folder, fixed)
    tally.equal("and no warning", [], UNUSED.findall(done.stderr) + OLDER.findall(done.stderr))


def main():
    parser = command_line.parser(__doc__, "--binary")
    binary = parser.parse_args().binary
    tally = Tally()
    options = options_upstream.options()
    tally.equal("there are many options", True, len(options) > 100)
    with tempfile.TemporaryDirectory(prefix="placet-test-") as folder:
        try:
            nothing_set(tally, binary, folder)
            in_file(tally, binary, folder, options)
            in_environment(tally, binary, folder, options)
            by_older_names(tally, binary, folder, options)
        except RuntimeError as error:
            tally.fail("placet config show", error)
    tally.finish()


if __name__ == "__main__":
    main()
