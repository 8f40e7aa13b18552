"""A shell for the commands of a page, one after the other. Functions and variables stay, as in a terminal."""

import re
import subprocess
import uuid

SECONDS = 60


class Shell:
    def __init__(self, folder, environment, bash=("bash",)):
        """`bash` is the command that starts the shell."""
        self.process = subprocess.Popen(
            ["timeout", str(10 * SECONDS), *bash], cwd=folder, env=environment, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(SECONDS)
        self.process.stdout.close()

    def run(self, command):
        """What the command prints, and its exit status."""
        end = f"end-of-command-{uuid.uuid4()}"
        self.process.stdin.write(f"{command}\nstatus=$?; echo; echo {end} $status\n")
        self.process.stdin.flush()
        printed = []
        for line in self.process.stdout:
            if found := re.fullmatch(rf"{end} (\d+)\n", line):
                return "".join(printed), int(found[1])
            printed.append(line)
        raise AssertionError(f"the shell ended: {''.join(printed)}")
