"""What a database server needs of the machine: its program, a user that is not root, folders, ports.

A folder tells in `owner` whose it is: the process that made it, and when that began. What a killed test
left behind is found by that, and taken away by whoever makes the next folder.
"""

import contextlib
import fcntl
import glob
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile

PREFIX = "placet-engine-"
PLACES = ("/usr/lib/postgresql/*/bin", "/usr/sbin", "/usr/libexec", "/usr/local/sbin")


class Missing(RuntimeError):
    """Something that is not on this machine, in a line that says how it gets there."""


def program(name, *packages):
    """The path of a program; installed from Debian's packages where it is missing and we may."""
    found = _find(name)
    if not found and os.geteuid() == 0 and shutil.which("apt-get"):
        apt = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        # Tests that run side by side install one after the other.
        with open(pathlib.Path(tempfile.gettempdir(), "placet-test-install"), "w") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
                subprocess.run(["apt-get", *command], env=apt, capture_output=True, check=False)
        found = _find(name)
    if not found:
        raise Missing(f"{name} is not installed: apt-get install {' '.join(packages)} (as root)")
    return found


def _find(name):
    newest_first = [p for place in PLACES for p in sorted(glob.glob(f"{place}/{name}"), reverse=True)]
    return next(iter(newest_first), None) or shutil.which(name)


def user(*names):
    """What makes a child not run as root, for subprocess: the first of these users that there is."""
    if os.geteuid() != 0:
        return {}
    for name in (*names, "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise Missing(f"none of the users {', '.join(names)} and nobody is there to run a server as")


def new_folder(owner):
    """A temporary folder that belongs to `owner`, as `user` returned it."""
    sweep()
    folder = pathlib.Path(tempfile.mkdtemp(prefix=PREFIX))
    (folder / "owner").write_text(f"{os.getpid()} {_began(os.getpid())}")
    if owner:
        os.chown(folder, owner["user"], owner["group"])
    return folder


def folders():
    """Those of all servers that tests have started, on this machine."""
    return list(pathlib.Path(tempfile.gettempdir()).glob(f"{PREFIX}*"))


def sweep():
    """Ends and removes what belongs to processes that are no more."""
    for folder in folders():
        with contextlib.suppress(OSError, ValueError):
            pid, began = (folder / "owner").read_text().split()
            if _began(int(pid)) != began:
                remove(folder)


def remove(folder):
    """Kills what still runs in the folder, by the pids of processes that name it, and removes it."""
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(entry.name) != os.getpid() and _works_in(entry, folder):
                os.kill(int(entry.name), signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def _works_in(process, folder):
    """Whether it is a server of the folder, which is in its first arguments' paths or its working folder."""
    words = (process / "cmdline").read_bytes().split(b"\0")
    inside = any(word.startswith((f"--datadir={folder}/".encode(), f"{folder}/".encode())) for word in words)
    return inside or pathlib.Path(os.readlink(process / "cwd")).is_relative_to(folder)


def family(pid):
    """A process and all its descendants. A server's children need not be of its process group."""
    parents = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found


def _began(pid):
    """When a process began, in the kernel's ticks; None if there is none."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return None


def free_ports(count):
    """So many different ports of loopback that nobody has."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
