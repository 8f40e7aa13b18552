"""A small file system, to fill it."""

import contextlib
import subprocess


class NotRoot(Exception):
    """Only root may mount a file system."""


@contextlib.contextmanager
def mounted(folder, size):
    """Mounts a file system of this size, as `size=64m`, on the folder."""
    command = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotRoot(f"only root can make a small disk: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
