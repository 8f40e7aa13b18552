"""The Debian package and the tarball, made of a binary as contrib/ makes them."""

import os
import pathlib
import shlex
import shutil
import subprocess

from functional_tests.lib.root import ROOT
from functional_tests.lib.test_counts import Skipped

# A placet that has been built without MariaDB, as far as a package shows it. All else does the program that it starts.
OTHER_PLACET = r"""
# include <stdio.h>
# include <string.h>
# include <unistd.h>
int main(int count, char **words) {
    if (count == 2 && !strcmp(words[1], "--version"))
        return puts("placet 0.1.0\ndatabases: SQLite 3.50.4, PostgreSQL without TLS (feature postgresql-tls), "
                    "no MariaDB (feature mariadb)\ncommit: none") < 0;
    words[0] = "BINARY";
    return execv(words[0], words);
}
"""


def needs(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skipped(f"needs {program}")


def run(*command, **more):
    """The output of a command that must succeed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)
    assert done.returncode == 0, f"{shlex.join(map(str, command))}: {done.returncode}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}"
    return done.stdout


def made(script, binary, folder):
    """The file that a script of contrib/ makes of the binary."""
    # With their own compression the package and the tarball of a debug build take most of the suite's time.
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", "DPKG_DEB_COMPRESSOR_TYPE": "gzip",
                   "DPKG_DEB_COMPRESSOR_LEVEL": "1", "COMPRESSION_LEVEL": "--fast"}
    return pathlib.Path(run(ROOT / "contrib" / script, binary, folder, env=environment).split()[-1])


def package(binary, folder):
    needs("dpkg-deb", "dpkg-shlibdeps")
    return made("debian/build.sh", binary, folder)


def tarball(binary, folder):
    return made("tarball.sh", binary, folder)


def other_placet(binary, folder):
    """A small program that is a placet without MariaDB, for tests of packages that do not need a whole one."""
    needs("cc")
    path = pathlib.Path(folder, "other-placet")
    run("cc", "-x", "c", "-o", path, "-", input=OTHER_PLACET.replace("BINARY", str(binary)))
    return path
