"""Histories with calls (`POST /v1/claims`), valid and invalid. Each invalid history names its violation."""

from functional_tests.chaos.history import CONFLICT, REFUSED, ROOM, UNKNOWN
from functional_tests.chaos.history_builder import (
    GENERATION, HALF_DONE, HOST, ONE, ORDER, POOL, REFUSED_WRONGLY, REPEATED, TWO, USAGE, Builder)

VALID_HISTORIES = {
    "an unknown claim with a choice got its second candidate": lambda: (
        Builder().call({"a": [ONE, TWO]}, UNKNOWN).usage(POOL, {"DISK_GB": 2}).read("a", TWO, 1).generation(POOL, 2)),
    "an unknown claim with a choice got nothing": lambda: (
        Builder().call({"a": [ONE, TWO]}, UNKNOWN).read("a", {}, None).generation(HOST, 1)),
    "an acknowledged claim with a choice": lambda: (
        Builder().call({"a": [ONE, TWO]}, got={"a": TWO}).read("a", TWO, 1).generation(POOL, 2).generation(HOST, 1)),
    "a gang moves the generation of a provider once for each consumer": lambda: (
        Builder().call({"a": [ONE], "b": [ONE]}, got={"a": ONE, "b": ONE}).generation(HOST, 3)),
    "an unknown gang got different candidates": lambda: (
        Builder().call({"a": [ONE, TWO], "b": [ONE, TWO]}, UNKNOWN).read("a", TWO, 1).read("b", ONE, 1)),
    "a dry run changed nothing": lambda: (
        Builder().call({"a": [ONE, TWO]}, REFUSED).read("a", {}, None).usage(HOST, {"VCPU": 0})),
    "a call that was granted once, and repeated after its release": lambda: (
        Builder().call({"a": [ONE]}, got={"a": ONE}, sees={"answer:x": "200 a"}).delete("a").answer("x", "200 a")
        .read("a", {}, None)),
    "a call that was refused before it was granted": lambda: Builder().answer("x", "409 no").answer("x", "200 a"),
    "a call that was refused while it was granted": lambda: (
        Builder().answer("x", "200 a", began=0, ended=9).answer("x", "409 no", began=1, ended=20)),
    "a call that was granted before this history": lambda: Builder().answer("old call", "200 old"),
    "a claim was refused when all was held": lambda: (
        Builder().put("a", ONE, None).put("b", ONE, None).put("c", ONE, None, REFUSED, refusal=ROOM)),
    "a claim was refused during another one of the last unit": lambda: (
        Builder().put("a", ONE, None).put("b", ONE, None, UNKNOWN).put("c", ONE, None, REFUSED, refusal=ROOM)),
    "a call was refused when both candidates were full": lambda: (
        Builder().put("a", {HOST: {"VCPU": 2}}, None).put("b", {POOL: {"DISK_GB": 3}}, None)
        .call({"c": [ONE, TWO]}, REFUSED, refusal=ROOM)),
    "a gang was refused that did not fit, and each of its consumers would have": lambda: (
        Builder().put("a", ONE, None).call({"b": [ONE], "c": [ONE]}, REFUSED, refusal=ROOM)),
    "a replacement was refused for a conflict": lambda: (
        Builder().put("a", ONE, None).add("call", REFUSED, sets={"a": ONE}, choices={"a": [ONE]}, expects={"a": 1},
                                          refusal=CONFLICT)),
    "a call for a new consumer was refused for a conflict with another request": lambda: (
        Builder().put("a", ONE, None).call({"a": [ONE]}, REFUSED, refusal=CONFLICT)),
}
INVALID_HISTORIES = {
    "a claim with a choice got none of its candidates": (ORDER, lambda: (
        Builder().call({"a": [ONE, TWO]}, UNKNOWN).read("a", {HOST: {"VCPU": 2}}, 1))),
    "a claim with a choice holds another candidate than its answer says": (ORDER, lambda: (
        Builder().call({"a": [ONE, TWO]}, got={"a": ONE}).read("a", TWO, 1))),
    "a granted claim with a choice is lost": (ORDER, lambda: (
        Builder().call({"a": [ONE, TWO]}, got={"a": ONE}).read("a", {}, None))),
    "a granted gang is there in part": (ORDER, lambda: (
        Builder().call({"a": [ONE], "b": [TWO]}, got={"a": ONE, "b": TWO}).read("a", ONE, 1).read("b", {}, None))),
    "an unknown gang happened for one of two consumers": (HALF_DONE, lambda: (
        Builder().call({"a": [ONE, TWO], "b": [ONE, TWO]}, UNKNOWN).read("a", TWO, 1).read("b", {}, None)
        .put("b", ONE, None))),
    "a refused gang is there in part": (ORDER, lambda: (
        Builder().call({"a": [ONE], "b": [TWO]}, REFUSED).read("a", ONE, 1).read("b", {}, None))),
    "a dry run happened": (ORDER, lambda: Builder().call({"a": [ONE, TWO]}, REFUSED).read("a", TWO, 1)),
    "a dry run changed a usage": (USAGE, lambda: (
        Builder().call({"a": [ONE, TWO]}, REFUSED).usage(HOST, {"VCPU": 1}))),
    "a call that was repeated happened twice": (ORDER, lambda: (
        Builder().call({"a": [ONE]}, got={"a": ONE}, sees={"answer:x": "200 a"}).delete("a").answer("x", "200 a")
        .read("a", ONE, 1))),
    "a call that was repeated moved a generation twice": (GENERATION, lambda: (
        Builder().call({"a": [ONE]}, got={"a": ONE}, sees={"answer:x": "200 a"}).answer("x", "200 a")
        .generation(HOST, 3))),
    "a granted call was answered differently": (REPEATED, lambda: (
        Builder().answer("x", "200 a").answer("x", "200 b"))),
    "two answers at the same time granted a call differently": (REPEATED, lambda: (
        Builder().answer("x", "200 a", began=0, ended=9).answer("x", "200 b", began=1, ended=8))),
    "a granted call was refused later": (REPEATED, lambda: Builder().answer("x", "200 a").answer("x", "409 no")),
    "a call that was granted before this history was refused": (REPEATED, lambda: (
        Builder().answer("old call", "409 no"))),
    "a claim was refused although there was room": (REFUSED_WRONGLY, lambda: (
        Builder().put("a", ONE, None).put("b", ONE, None).delete("a").put("c", ONE, None, REFUSED, refusal=ROOM))),
    "a call was refused although its second candidate had room": (REFUSED_WRONGLY, lambda: (
        Builder().put("a", {HOST: {"VCPU": 2}}, None).call({"c": [ONE, TWO]}, REFUSED, refusal=ROOM))),
    "a gang was refused although it fits": (REFUSED_WRONGLY, lambda: (
        Builder().put("a", {POOL: {"DISK_GB": 3}}, None)
        .call({"b": [ONE, TWO], "c": [ONE, TWO]}, REFUSED, refusal=ROOM))),
    "a call for a new consumer was refused for a conflict": (REFUSED_WRONGLY, lambda: (
        Builder().call({"a": [ONE]}, REFUSED, refusal=CONFLICT))),
    "a call for a new consumer was refused for a conflict with a later request": (REFUSED_WRONGLY, lambda: (
        Builder().call({"a": [ONE]}, REFUSED, refusal=CONFLICT).put("a", ONE, None))),
}
