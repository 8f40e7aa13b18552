"""The commands of a document, and the output in the document.

A command is a line `$ …` of an indented block. The command goes on while a quotation or a backslash at the end of a
line is open. The lines up to the next command or the end of the block are the output; `…` stands for any text. Commands
without a `$` are not read: the page shows no output, and a different suite runs the commands.
"""

import dataclasses
import re
import subprocess

INDENT = "    "
PROMPT = INDENT + "$ "


@dataclasses.dataclass
class Command:
    line: int
    text: str
    # `None` if the page does not say what it prints.
    output: str | None = None

    def prints(self, printed):
        """Whether the output is what the page says. White space counts for nothing: pages break long lines."""
        parts = ["".join(part.split()) for part in (self.output or "").split("…")]
        pattern = ".*".join(re.escape(part) for part in parts)
        return re.fullmatch(pattern, "".join(printed.split()), re.DOTALL) is not None


def commands(text):
    """All commands of a page, in its order."""
    found, block = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if block and not is_complete(block.text):
            block.text += "\n" + line.removeprefix(INDENT)
        elif line.startswith(PROMPT):
            block = Command(number, line.removeprefix(PROMPT))
            found.append(block)
        elif block and line.startswith(INDENT):
            block.output = (block.output or "") + line.removeprefix(INDENT) + "\n"
        else:
            block = None
    return found


def is_complete(text):
    """Whether a shell would run this command, and not wait for more of it."""
    if text.endswith("\\"):
        return False
    return subprocess.run(["bash", "-n", "-c", text], capture_output=True).returncode == 0
