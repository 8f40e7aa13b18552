"""Random edits of known inputs, the search for the shortest failing input, and the kept inputs."""

import pathlib

KEPT = pathlib.Path(__file__).parent / "kept"
MAX_EDITS, MAX_BYTES = 6, 20_000
# Bytes at which parsers decide.
SPECIAL = [b"\0", b"\n", b"\r\n", b"\t", b" ", b'"', b"'", b"\\", b"{", b"}", b"[", b"]", b"(", b")", b":", b";", b",", b"&",
           b"=", b"%", b"#", b"$", b"@", b"!", b"-", b"+", b".", b"/", b"*", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf",
           "é".encode(), "\u2028".encode(), "\U0001f600".encode(), b"0", b"-0", b"1e999", b"9" * 30, b"null", b"true"]


def mutated(random, seeds, words):
    """A seed with a few edits: bytes removed, repeated, replaced, moved, or words put in; sometimes two seeds
    joined.
    """
    data = bytearray(random.choice(seeds))
    for _ in range(random.randint(1, MAX_EDITS)):
        at, length = random.randint(0, len(data)), random.choice((1, 1, 2, 3, 8, 30))
        edit = random.randrange(7)
        if edit == 0:
            del data[at:at + length]
        elif edit == 1:
            data[at:at] = data[at:at + length] * random.choice((1, 1, 2, 50))
        elif edit == 2:
            data[at:at + 1] = bytes([random.randrange(256)])
        elif edit == 3:
            data[at:at] = random.choice(SPECIAL)
        elif edit == 4:
            data[at:at + length] = random.choice(words)
        elif edit == 5:
            start = random.randint(0, len(data))
            data[at:at] = data[start:start + length]
        else:
            other = random.choice(seeds)
            data[at:] = other[random.randint(0, len(other)):]
    return bytes(data[:MAX_BYTES])


def shortest(data, fails, attempts=300):
    """Removes parts of `data` while it still fails."""
    size = max(1, len(data) // 2)
    while size and attempts > 0:
        at = 0
        while at < len(data) and attempts > 0:
            shorter, attempts = data[:at] + data[at + size:], attempts - 1
            if fails(shorter):
                data = shorter
            else:
                at += size
        size //= 2
    return data


def kept(target):
    """Inputs on which an earlier version of placet failed."""
    return [path.read_bytes() for path in sorted((KEPT / target).glob("*"))]
