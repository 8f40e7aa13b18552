"""Compares two answers as a client reads them."""

import email.utils
import html
import json
import re
import urllib.parse
from collections import namedtuple

from functional_tests.differential.candidates_query import parameters

# A number by its text. A client that reads numbers into types of its own tells 8 from 8.0.
Number = namedtuple("Number", "text")

HEADERS = ["location", "vary", "content-type", "cache-control", "openstack-api-version", "allow", "www-authenticate",
           "retry-after", "openstack-resource-version"]
PRESENT = ["last-modified", "x-openstack-request-id"]
# The services get the same request one after the other, and their times may differ by this much.
LAST_MODIFIED_SLACK_SECONDS = 3
UNKNOWN_TRAIT = re.compile(r"(?<=No such trait\(s\): )[^.]+(?=\.)")
WORD = re.compile(r"[\s,'\"\[\](){}]+")


def differences(request, theirs, ours, slack):
    """The differences, by the name of the part, as pairs. `slack` is the maximum of seconds between the same write to
    both services."""
    found = {}
    if theirs.status != ours.status:
        found["status"] = (theirs.status, ours.status)
    for name in HEADERS:
        pair = tuple(header(answer, name) for answer in (theirs, ours))
        if pair[0] != pair[1]:
            found[name] = pair
    for name in PRESENT:
        pair = (name in theirs.headers, name in ours.headers)
        if pair[0] != pair[1]:
            found[name] = pair
    if "last-modified" not in found and abs(modified(theirs) - modified(ours)) > LAST_MODIFIED_SLACK_SECONDS + slack:
        found["last-modified"] = (theirs.headers["last-modified"], ours.headers["last-modified"])
    bodies = body(request, theirs), body(request, ours)
    if words_of(bodies[0]) != words_of(bodies[1]) and not one_of_several(request, *bodies):
        found["body"] = bodies
    return found


def one_of_several(request, *bodies):
    """Whether both refuse one unknown trait of the request, and each names another. OpenStack Placement names the first
    of a set."""
    # The texts escape newlines, of which some names have one.
    asked, *texts = [repr(part) for part in (urllib.parse.unquote_plus(request.path), *bodies)]
    unknown = [UNKNOWN_TRAIT.findall(text) for text in texts]
    rest = [UNKNOWN_TRAIT.sub("", text) for text in texts]
    return rest[0] == rest[1] and all(len(names) == 1 and names[0] in asked for names in unknown)


def header(answer, name):
    value = answer.headers.get(name)
    # The address of the service differs by intent.
    return re.sub(r"^http://[^/]*", "", value) if value and name == "location" else value


def modified(answer):
    value = answer.headers.get("last-modified")
    return email.utils.parsedate_to_datetime(value).timestamp() if value else 0


def body(request, answer):
    """The body with its lists sorted: the API promises no order."""
    text = re.sub(r"req-[0-9a-f-]{36}", "req-", re.sub(r"http://127\.0\.0\.1:\d+", "", answer.text))
    try:
        value = json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number)
    except ValueError:
        return text
    if isinstance(value, dict) and "allocation_requests" in value and is_limited(request):
        # The API does not promise which candidates a limit leaves. candidates.py judges them.
        return {}
    return ordered(value)


def is_limited(request):
    return "limit" in dict(parameters(request.path))


def ordered(value):
    if isinstance(value, dict):
        return {name: ordered(item) for name, item in sorted(value.items())}
    if isinstance(value, list):
        return sorted(map(ordered, value), key=lambda item: json.dumps(item, sort_keys=True))
    return value


def words_of(value):
    """The words of a refusal, sorted. OpenStack Placement names several things in the order of a set."""
    if isinstance(value, str):
        return sorted(WORD.split(html.unescape(value)))
    try:
        errors = [error | {"detail": sorted(WORD.split(error["detail"]))} for error in value["errors"]]
    except (TypeError, KeyError):
        return value
    return value | {"errors": errors}
