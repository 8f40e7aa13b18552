"""Requests that OpenStack Placement stores and placet refuses. They end a run, because the tables differ afterwards."""

import json

from functional_tests.differential.request import (
    AGGREGATES, CONSUMERS, NEWEST_MINOR, PROVIDERS, Request, provider_generation)

PROVIDER = PROVIDERS[-1]
MINUS_INFINITY = float("-inf")


def requests(dice):
    """Creates a provider if there is none, then sends one request about it that only placet refuses."""
    yield Request("POST", "/resource_providers", json.dumps({"name": "parting", "uuid": PROVIDER}), f"1.{NEWEST_MINOR}")
    yield inventories({"DISK_GB": {"total": 8}})
    yield dice.choice([infinite, consumer, reshaped_consumer, aggregate])(dice)


def guarded(value):
    return {"resource_provider_generation": provider_generation(PROVIDER)} | value


def inventories(value):
    return Request("PUT", f"/resource_providers/{PROVIDER}/inventories", json.dumps(guarded({"inventories": value})),
                   f"1.{NEWEST_MINOR}")


def reshaper(value, allocations):
    body = {"inventories": {PROVIDER: guarded({"inventories": value})}, "allocations": allocations}
    return Request("POST", "/reshaper", json.dumps(body), f"1.{NEWEST_MINOR}")


def infinite(dice):
    return reshaper({"DISK_GB": {"total": 8, "allocation_ratio": MINUS_INFINITY}}, {})


def claims(dice):
    return {dice.choice(CONSUMERS) + "\n": {
        "allocations": {PROVIDER: {"resources": {"DISK_GB": 1}}}, "project_id": "lab", "user_id": "ada",
        "consumer_generation": None, "consumer_type": "INSTANCE"}}


def consumer(dice):
    return Request("POST", "/allocations", json.dumps(claims(dice)), f"1.{NEWEST_MINOR}")


def reshaped_consumer(dice):
    return reshaper({"DISK_GB": {"total": 8}}, claims(dice))


def aggregate(dice):
    uuid = dice.choice(AGGREGATES)
    body = guarded({"aggregates": [dice.choice(["{" + uuid + "}", "urn:uuid:" + uuid, uuid + "-"])]})
    return Request("PUT", f"/resource_providers/{PROVIDER}/aggregates", json.dumps(body), f"1.{NEWEST_MINOR}")
