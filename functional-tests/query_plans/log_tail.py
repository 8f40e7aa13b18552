"""Reads a growing log piece by piece."""


class Tail:
    def __init__(self, path, offset=0):
        self.path, self.offset = path, offset

    @classmethod
    def from_now_on(cls, path):
        return cls(path, path.stat().st_size)

    def read(self):
        """The text since the last call."""
        with open(self.path, errors="replace") as log:
            log.seek(self.offset)
            text = log.read()
            self.offset = log.tell()
        return text
