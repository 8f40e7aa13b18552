"""All requests of a run, from the seed alone, without regard to answers."""

import random

from functional_tests.differential import claims, divergence, initial_forest, malformed, providers, queries
from functional_tests.differential.request import Dice

# The weight of each kind of request.
KINDS = [
    (8, providers.provider), (10, providers.inventories), (5, providers.traits_of), (4, providers.aggregates),
    (5, providers.reads_of_provider), (14, claims.put), (9, claims.post), (5, claims.delete_or_show),
    (9, claims.reshape), (4, claims.usages), (7, queries.providers), (16, queries.candidates), (3, queries.classes),
    (3, queries.known_traits), (1, queries.spelled), (2, malformed.anything),
]


# Every second run is mostly about candidates, over a forest that seldom changes.
CANDIDATES = [(1, providers.inventories), (1, providers.traits_of), (1, providers.aggregates), (2, claims.put),
              (20, queries.candidates), (40, queries.many_groups)]


def requests(seed, count):
    dice = Dice(random.Random(seed))
    builder, table = (initial_forest, CANDIDATES) if seed % 2 == 0 else (providers, KINDS)
    sequence = list(builder.building(dice))
    weights, kinds = zip(*table)
    while len(sequence) < count:
        kind = dice.random.choices(kinds, weights)[0]
        sequence.append(malformed.request(dice, kind(dice)))
    if table is KINDS:
        last = list(divergence.requests(dice))
        return sequence[:count - len(last)] + last
    return sequence[:count]
