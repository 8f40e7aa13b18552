"""Attributes a lost acknowledged write to the cluster or to placet, by the nodes' binary logs."""

from collections import Counter

from functional_tests.chaos.history import OK
from functional_tests.galera import binary_log


class BinaryLogs:
    """The commits that each node logged, and those that are now in its tables."""

    def __init__(self, engine, database):
        self.nodes, self.database = engine.nodes, database
        self.logged = {node.name: binary_log.commits(node, database.name) for node in self.nodes}
        self.held = {node.name: self._tokens(node) for node in self.nodes}
        self.providers = dict(database.query("SELECT uuid, id FROM resource_providers"))
        self.classes = dict(database.query("SELECT name, id FROM resource_classes"))

    def _tokens(self, node):
        """(writer, revision) -> commit token, of the changes in the node's tables."""
        there = node.database(self.database.name)
        return {(writer, revision): token for writer, revision, token in there.query(
            "SELECT writer, revision, token FROM placet_changes")}

    def lacks(self, node, commit):
        """Whether the node's tables lack the commit, and it is not among the old changes that its writer has pruned."""
        held = self.held[node]
        kept = [revision for writer, revision in held if writer == commit.writer]
        pruned = kept and commit.revision < min(kept)
        return not pruned and held.get((commit.writer, commit.revision)) != commit.token

    def overwritten(self):
        """Lost updates: commits that began at another generation than the commit before them had left."""
        found_losses = []
        for node, commits in self.logged.items():
            last, file = {}, None
            for commit in commits:
                if commit.file != file:  # each start begins a file, and a state transfer may have come before it
                    last, file = {}, commit.file
                for provider, (before, after) in commit.generations.items():
                    if last.get(provider, before) != before:
                        found_losses.append(
                            f"lost by the engine: on {node} generation {last[provider]} of {provider} was "
                            f"overwritten by a commit that had seen {before} ({commit.place})")
                    last[provider] = after
        return found_losses

    def of(self, consumer, holds):
        """Commit token -> node -> commit, of the commits that left the consumer with exactly these allocations."""
        wanted = Counter((self.providers[provider], self.classes[name], amount)
                         for provider, amounts in holds.items() for name, amount in amounts.items())
        found = {}
        for node, commits in self.logged.items():
            for commit in commits:
                if commit.leaves_exactly(consumer, wanted):
                    found.setdefault(commit.token, {})[node] = commit
        return found

    def verdict(self, consumer, holds):
        """What lost an acknowledged write (or None if it is not lost), and the evidence as a text."""
        found = self.of(consumer, holds)
        if not found:
            return "placet", (
                "no node's binary log has a commit that left it so: it was acknowledged and never committed, unless "
                "another request of the same batch changed the consumer again")
        for logged in found.values():
            commit = next(iter(logged.values()))
            lacks = [node for node in self.held if self.lacks(node, commit)]
            if lacks:
                shown = "; ".join(f"{node} committed it ({commit.place})" for node, commit in logged.items())
                return "the engine", f"{shown}; it is not in the tables of {', '.join(lacks)}: the cluster lost it"
        return None, f"all nodes have it, as {len(found)} commits"


def explain(engine, database, operations, faults):
    """For each acknowledged write to a consumer or provider that is named in `faults`: what lost it, if it is lost."""
    named = "\n".join(faults)
    writes = [op for op in operations if op.outcome == OK and any(name in named for name in [*op.sets, *op.touches])]
    if not writes:
        return []
    logs, found_losses = BinaryLogs(engine, database), []
    for op in writes:
        for consumer, holds in op.sets.items():
            cause, shown = logs.verdict(consumer, holds)
            if cause:
                found_losses.append(f"lost by {cause}: operation {op.number}, {op.kind} of {consumer}: {shown}")
    return found_losses + logs.overwritten() or [
        "nothing was lost by the cluster: all of these commits are in all nodes' tables"]
