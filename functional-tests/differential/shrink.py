"""Shrinks a sequence of requests to the fewest that still show a difference."""

import time

SHRINK_SECONDS = 120


def shrink(pair, requests, key, signature):
    """Removes ever smaller pieces until the time is over. The last request has the difference and stays."""
    end = time.monotonic() + SHRINK_SECONDS
    head, last = requests[:-1], requests[-1]
    size = max(1, len(head) // 2)
    while size and time.monotonic() < end:
        start = 0
        while start < len(head) and time.monotonic() < end:
            shorter = head[:start] + head[start + size:]
            if shows(pair, shorter + [last], key, signature):
                head = shorter
            else:
                start += size
        size //= 2
    return head + [last]


def shows(pair, requests, key, signature):
    pair.clear()
    for request in requests[:-1]:
        pair.step(request)
    return signature(requests[-1], pair.step(requests[-1])) == key
