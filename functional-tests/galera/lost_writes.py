"""Who lost a write that was acknowledged: the cluster, or placet. The nodes' binary logs tell."""

from collections import Counter

from functional_tests.chaos.history import OK
from functional_tests.galera import binary_log


class BinaryLogs:
    """What each node logged, and what the tables of each hold now."""

    def __init__(self, engine, database):
        self.nodes, self.database = engine.nodes, database
        self.logged = {node.name: binary_log.commits(node, database.name) for node in self.nodes}
        self.held = {node.name: self._tokens(node) for node in self.nodes}
        self.providers = dict(database.query("SELECT uuid, id FROM resource_providers"))
        self.classes = dict(database.query("SELECT name, id FROM resource_classes"))

    def _tokens(self, node):
        """By writer and revision the tokens of the changes that are there."""
        there = node.database(self.database.name)
        return {(writer, revision): token for writer, revision, token in there.query(
            "SELECT writer, revision, token FROM placet_changes")}

    def lacks(self, node, commit):
        """Whether the node's tables never had it: of what is missing the oldest changes were there, and the writer pruned them."""
        held = self.held[node]
        kept = [revision for writer, revision in held if writer == commit.writer]
        cleared = kept and commit.revision < min(kept)
        return not cleared and held.get((commit.writer, commit.revision)) != commit.token

    def overwritten(self):
        """Commits that were made upon another generation than the one before them left: updates that were lost."""
        found_losses = []
        for node, commits in self.logged.items():
            last, file = {}, None
            for commit in commits:
                if commit.file != file:  # a run of the server, between which it may have been sent what it missed
                    last, file = {}, commit.file
                for provider, (before, after) in commit.moved.items():
                    if last.get(provider, before) != before:
                        found_losses.append(f"lost by the engine: on {node} generation {last[provider]} of {provider} was "
                                    f"overwritten by a commit that had seen {before} ({commit.place})")
                    last[provider] = after
        return found_losses

    def of(self, consumer, holds):
        """By token, where each commit stands in which node's log that left the consumer with exactly this."""
        wanted = Counter((self.providers[provider], self.classes[name], amount)
                         for provider, amounts in holds.items() for name, amount in amounts.items())
        found = {}
        for node, commits in self.logged.items():
            for commit in commits:
                touches = consumer in commit.gave or consumer in commit.took
                if touches and commit.left(consumer) == wanted:
                    found.setdefault(commit.token, {})[node] = commit
        return found

    def verdict(self, consumer, holds):
        """Of one acknowledged write: (who lost it, or None; in words what shows it)."""
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
    """For each acknowledged write of what faults name, consumers or providers, whose fault it is if it is not there."""
    named = "\n".join(faults)
    blamed = [op for op in operations if op.outcome == OK and any(name in named for name in [*op.sets, *op.touches])]
    if not blamed:
        return []
    logs, found_losses = BinaryLogs(engine, database), []
    for op in blamed:
        for consumer, holds in op.sets.items():
            who, shown = logs.verdict(consumer, holds)
            if who:
                found_losses.append(f"lost by {who}: operation {op.number}, {op.kind} of {consumer}: {shown}")
    return found_losses + logs.overwritten() or [
        "nothing was lost by the cluster: all of these commits are in all nodes' tables"]
