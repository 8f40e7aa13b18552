"""Requests, and the names in requests. The names are few, so later requests meet the data of earlier requests.

A request is data, which can be saved in a file and sent again. The text of a request may have placeholders, which are
replaced before sending. `@provider:UUID:LESS@` and `@consumer:UUID:LESS@` become the current generation less the number
LESS. `@anonymous:NAME@` becomes the uuid that the service generated for the provider of this name.
"""

from dataclasses import dataclass, field

PROVIDERS = [f"a0000000-0000-4000-8000-00000000000{n}" for n in range(1, 9)]
NAMES = [f"host-{n}" for n in range(1, 9)]
CONSUMERS = [f"c0000000-0000-4000-8000-00000000000{n}" for n in range(1, 6)]
AGGREGATES = [f"e0000000-0000-4000-8000-00000000000{n}" for n in range(1, 5)]
UNKNOWN_UUID = "f0000000-0000-4000-8000-00000000000f"
CLASSES = ["VCPU", "MEMORY_MB", "DISK_GB", "SRIOV_NET_VF", "CUSTOM_GOLD", "CUSTOM_LEAD"]
CUSTOM_CLASSES = ["CUSTOM_GOLD", "CUSTOM_LEAD", "CUSTOM_TIN"]
SHARING = "MISC_SHARES_VIA_AGGREGATE"
TRAITS = ["HW_CPU_X86_AVX2", "HW_NIC_SRIOV", "STORAGE_DISK_SSD", SHARING, "CUSTOM_RED", "CUSTOM_BLUE"]
CUSTOM_TRAITS = ["CUSTOM_RED", "CUSTOM_BLUE", "CUSTOM_GREEN"]
PROJECTS = ["lab", "garage", "3c6bd5a0-9f4e-4d4b-8d4c-000000000001"]
USERS = ["ada", "bob"]
TYPES = ["INSTANCE", "MIGRATION", "RESERVATION"]
ANONYMOUS = ["nameless-1", "nameless-2"]
NEWEST_MINOR = 39

# Names, ids and numbers that are malformed, unusual or unknown.
BAD_IDS = [UNKNOWN_UUID, "not-a-uuid", PROVIDERS[0].upper(), PROVIDERS[0].replace("-", ""), "", "%00", "%C3%A9",
           "a%2Fb", "%20", "-" * 36, "{" + PROVIDERS[0] + "}", "x" * 300, "%F0%9F%A6%80", "%FF",
           PROVIDERS[0] + "\n", "urn:uuid:" + PROVIDERS[0], " " + PROVIDERS[0], "\n", PROVIDERS[0][:-1] + "\u0661",
           PROVIDERS[0].replace("-0000-", "-0_00-", 1), "+" + PROVIDERS[0][1:], PROVIDERS[0] + "%0A%0A"]
BAD_NAMES = ["CUSTOM_UNHEARD", "UNHEARD", "custom_low", "CUSTOM-DASH", "", "CUSTOM_", "CUSTOM_É", "A B",
             "CUSTOM_" + "X" * 249, "CUSTOM_" + "X" * 248, "CUSTOM_" + "X" * 248 + "\n", "VCPU\n", "!CUSTOM_RED", "in:CUSTOM_RED"]
BAD_NUMBERS = [0, -1, 1.5, 1.0, 2**31 - 1, 2**31, 2**63, 10**40, "1", None, True, [], {}, 1e300, float("nan"),
               float("inf"), -0.0, 8.0, 1e16, 2**53 + 1, 2**64, -2**63, float("-inf")]


@dataclass
class Request:
    method: str
    path: str
    body: str | None = None
    version: str | None = None
    headers: dict = field(default_factory=dict)

    def line(self):
        """The request in one line, for reports."""
        body = "" if self.body is None else " " + self.body
        more = {k: v for k, v in self.headers.items() if k not in ("accept", "content-type", "x-auth-token")}
        return f"{self.method} {self.path} [{self.version}]{body}" + (f" {more}" if more else "")


def provider_generation(uuid, less=0):
    return f"@provider:{uuid}:{less}@"


def consumer_generation(uuid, less=0):
    return f"@consumer:{uuid}:{less}@"


class Dice:
    """Random choices by a seed, with methods for each noun."""

    def __init__(self, random):
        self.random = random
        self.choice, self.chance = random.choice, lambda p: random.random() < p

    def some(self, items, least=0, most=None):
        most = min(len(items), most or len(items))
        return self.random.sample(items, self.random.randint(least, most))

    def provider(self):
        return self.choice(PROVIDERS[:6]) if self.chance(0.9) else self.choice(PROVIDERS + [UNKNOWN_UUID])

    def id_in_path(self):
        return self.choice(BAD_IDS) if self.chance(0.06) else self.provider()

    def consumer(self):
        return self.choice(CONSUMERS)

    def amount(self):
        return self.choice([1, 1, 1, 2, 2, 3, 4, 5, 6, 8, 10])

    def less(self):
        """The number by which a generation in a request is stale. It is mostly 0."""
        return self.choice([1, -1, 7]) if self.chance(0.06) else 0

    def klass(self):
        """A class, mostly one that most providers have. Otherwise hardly any claim would succeed."""
        if self.chance(0.02):
            return self.choice(BAD_NAMES)
        return self.random.choices(CLASSES, [14, 6, 4, 2, 1, 1])[0]

    def trait(self):
        return self.choice(BAD_NAMES) if self.chance(0.03) else self.choice(TRAITS)

    def minor(self, first=0):
        """A microversion: often the newest, seldom one before `first`."""
        if self.chance(0.3):
            return NEWEST_MINOR
        return self.random.randint(0 if self.chance(0.05) else first, NEWEST_MINOR)
