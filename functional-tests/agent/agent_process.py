"""A process of `placet agent`, under a supervisor that speaks systemd's protocols."""

import json
import pathlib
import subprocess
import tempfile

from functional_tests.lib import live
from functional_tests.lib.patience import HANG_SECONDS, eventually
from functional_tests.lib.supervisor import Supervisor

LEASE_SECONDS = 6
# The options of every agent. A lease of a few seconds, reported every second.
OPTIONS = {"lease": LEASE_SECONDS, "interval": 1}


class AgentProcess(Supervisor):
    """Use it as a context manager, which starts the agent. `login` has the options of a login at Keystone, in place of
    a token.
    """

    def __init__(self, binary, host, urls, report=None, token="admin", login=None, **options):
        self.directory = tempfile.TemporaryDirectory(prefix="placet-agent-")
        folder = pathlib.Path(self.directory.name)
        self.report, self.token, self.config = folder / "agent.json", folder / "token", folder / "agent.conf"
        self.write(report or {})
        self.give(token)
        own = {**OPTIONS, "host": host, "urls": urls, "report_file": self.report, **options}
        sections = {"agent": own, "keystone_authtoken": login} if login else {"agent": {**own, "token_file": self.token}}
        lines = [line for section, chosen in sections.items()
                 for line in (f"[{section}]", *(f"{name} = {value}" for name, value in chosen.items()))]
        self.config.write_text("\n".join([*lines, ""]))
        self.binary = live.placet_binary(binary)
        super().__init__(folder, [self.binary, "--config-file", self.config, "agent"], live.clean_environment(),
                         watchdog_seconds=1)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        super().__exit__()
        self.directory.cleanup()

    def write(self, report):
        """Replaces the operator's file at once."""
        new = self.report.with_suffix(".new")
        new.write_text(report if isinstance(report, str) else json.dumps(report))
        new.replace(self.report)

    def give(self, token):
        self.token.write_text(f"{token}\n")
        self.token.chmod(0o600)

    def says(self, text, times=1):
        """Waits until the log has the text."""
        eventually(lambda: f"{text!r} in the log:\n{self.log()[-3000:]}", lambda: self.log().count(text) >= times)

    def run(self, *arguments):
        """Runs the same command with more arguments, to its end."""
        return subprocess.run([*self.command, *arguments], capture_output=True, text=True, timeout=HANG_SECONDS,
                              env=live.clean_environment(), cwd=self.folder, check=False)
