"""Bounds of a usage under concurrent writes: the least and the most that a read may show, from the writes' times."""

import threading
import time
from collections import Counter

SETTLED_SECONDS = 120


class UsageBounds:
    """Bounds of one provider's usage, and of the number of times that its generation was incremented."""

    def __init__(self):
        self.lock = threading.Lock()
        self.settled, self.writes = Counter(), []

    def begin(self, used, moves):
        write = {"began": time.monotonic(), "ended": None, "used": used, "moves": moves}
        with self.lock:
            self.writes.append(write)
        return write

    def end(self, write):
        with self.lock:
            write["ended"] = time.monotonic()
            if len(self.writes) > 2000:
                self._settle(time.monotonic() - SETTLED_SECONDS)

    def forget(self, write):
        """Removes a write that did not happen."""
        with self.lock:
            self.writes.remove(write)

    def _settle(self, before):
        old = [w for w in self.writes if w["ended"] and w["ended"] < before]
        for write in old:
            self.settled.update({name: write[name] for name in ("used", "moves")})
        self.writes = [w for w in self.writes if not w["ended"] or w["ended"] >= before]

    def bounds(self, name, began, ended):
        """The least and the most that a read may show that began and ended at these times."""
        with self.lock:
            low = high = self.settled[name]
            for write in self.writes:
                amount = write[name]
                if write["ended"] and write["ended"] <= began:
                    low, high = low + amount, high + amount
                elif write["began"] <= ended:
                    low, high = low + min(0, amount), high + max(0, amount)
            return low, high
