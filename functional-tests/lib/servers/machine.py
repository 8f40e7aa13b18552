"""The machine's part of a database server: the program, a user besides root, folders.

The file `owner` of a folder names the process that made the folder, by pid and start time. When the next folder is
made, folders of ended processes are removed, so nothing remains of a killed test.
"""

import contextlib
import fcntl
import glob
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

PREFIX = "placet-engine-"
# A file system in memory. A new database is hundreds of files: on a disk, the unit tests on PostgreSQL need twice the
# processor time (148 s and 70 s were measured).
MEMORY = pathlib.Path("/dev/shm")
# 4 GiB must be free in that file system, and of the machine's memory: four times the peak of a whole run.
MEMORY_BYTES = 4 << 30
UNPRIVILEGED_USER = "nobody"
PLACES = ("/usr/lib/postgresql/*/bin", "/usr/sbin", "/usr/libexec", "/usr/local/sbin")


class Missing(RuntimeError):
    """Something is not installed on this machine; the message says how to install it."""


def program(name, *packages):
    """The path of a program. If it is missing, root installs it from Debian's packages."""
    found = _find(name)
    if not found and os.geteuid() == 0 and shutil.which("apt-get"):
        apt = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        # Concurrent tests install one after the other.
        with open(pathlib.Path(tempfile.gettempdir(), "placet-test-install"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
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
    """Arguments for subprocess that run a child as the first of these users that exists, if we are root."""
    if os.geteuid() != 0:
        return {}
    for name in (*names, UNPRIVILEGED_USER):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise Missing(f"a server cannot run as root, and none of the users {', '.join((*names, UNPRIVILEGED_USER))} exists")


def new_folder(owner, durable):
    """A temporary folder that belongs to `owner`, which is a result of `user`. A `durable` folder is on a disk."""
    sweep()
    place = MEMORY if not durable and _has_memory() else tempfile.gettempdir()
    folder = pathlib.Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
    (folder / "owner").write_text(f"{os.getpid()} {_began(os.getpid())}")
    if owner:
        os.chown(folder, owner["user"], owner["group"])
    return folder


def _has_memory():
    """Whether the file system in memory can keep the data of the servers."""
    try:
        free = shutil.disk_usage(MEMORY).free
        memory = pathlib.Path("/proc/meminfo").read_text()
    except OSError:
        return False
    available = int(memory.partition("MemAvailable:")[2].split()[0]) << 10
    return os.access(MEMORY, os.W_OK) and min(free, available) >= MEMORY_BYTES


def folders():
    """The folders of all test servers on this machine."""
    return [folder for place in (MEMORY, pathlib.Path(tempfile.gettempdir())) for folder in place.glob(f"{PREFIX}*")]


def sweep():
    """Ends the servers and removes the folders of processes that have ended."""
    for folder in folders():
        with contextlib.suppress(OSError, ValueError):
            pid, began = (folder / "owner").read_text().split()
            if _began(int(pid)) != began:
                remove(folder)


def remove(folder):
    """Kills, by pid, the servers that still run in the folder, and removes it."""
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(entry.name) != os.getpid() and _works_in(entry, folder):
                os.kill(int(entry.name), signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def _works_in(process, folder):
    """Whether a process is a server of the folder: its arguments name it, or it is its working directory."""
    words = (process / "cmdline").read_bytes().split(b"\0")
    inside = any(word.startswith((f"--datadir={folder}/".encode(), f"{folder}/".encode())) for word in words)
    return inside or pathlib.Path(os.readlink(process / "cwd")).is_relative_to(folder)


def family(pid):
    """A process and all its descendants. A server's children need not be in its process group."""
    parents = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found


def _began(pid):
    """The start time of a process in the kernel's ticks, or None if there is no such process."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return None
