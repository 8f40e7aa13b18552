"""Faults: `inject` begins one, `heal` ends it.

A new fault is a class here and a name in FAULTS.
"""


class Fault:
    seconds = (0.2, 2.0)  # the bounds of its duration
    is_local = False  # whether requests go on that do not need what it concerns
    target = None  # the process that it concerns
    took_hold = True  # whether `inject` did what the fault is

    def __init__(self, chance, members, engine):
        self.chance, self.members, self.engine = chance, members, engine

    @classmethod
    def possible(cls, engine, server):
        """Whether the fault applies to this engine and this kind of service."""
        return True

    def inject(self):
        raise NotImplementedError

    def heal(self):
        raise NotImplementedError


class KillPlacet(Fault):
    """SIGKILL to a placet process, and a new one on its port."""

    seconds = (0.0, 0.5)

    def inject(self):
        self.target = self.chance.choice(self.members)
        self.target.kill()

    def heal(self):
        self.target.restart()


class PausePlacet(Fault):
    """SIGSTOP to a placet process, which may hold locks and unsent answers."""

    def inject(self):
        self.target = self.chance.choice(self.members)
        self.target.pause()

    def heal(self):
        self.target.resume()


class DatabaseFault(Fault):
    @classmethod
    def possible(cls, engine, server):
        return engine.kind in ("postgresql", "mariadb", "galera")

    def inject(self):
        self.target = self.chance.choice(self.engine.nodes)
        self.act()

    def heal(self):
        self.target.restart()
        self.settle()

    def settle(self):
        if self.engine.kind == "galera":
            self.engine.cluster.settle()


class KillDatabase(DatabaseFault):
    """SIGKILL to a database server, and a restart on its data."""

    def act(self):
        self.target.kill()


class StopDatabase(DatabaseFault):
    """A shutdown of the server in order, as for an upgrade, and a restart."""

    def act(self):
        self.target.stop()


class PauseDatabase(DatabaseFault):
    """SIGSTOP to the server. Its connections stay open."""

    seconds = (0.5, 8.0)

    def act(self):
        self.target.pause()

    def heal(self):
        self.target.resume()
        self.settle()


class Isolate(DatabaseFault):
    """A partition: a Galera node is cut off from the others, and its clients still reach it."""

    seconds = (1.0, 10.0)

    @classmethod
    def possible(cls, engine, server):
        return engine.kind == "galera"

    def act(self):
        self.target.isolate()

    def heal(self):
        self.target.heal()
        self.settle()


class FailOver(Fault):
    """SIGKILL to the primary, and promotion of its synchronous standby. A new standby is made before the next one."""

    seconds = (0.0, 1.0)

    @classmethod
    def possible(cls, engine, server):
        return engine.kind == "postgresql-pair"

    def inject(self):
        self.engine.cluster.replace_dead()
        self.engine.nodes[0].kill()

    def heal(self):
        self.engine.cluster.promote()


FAULTS = {
    "kill-placet": KillPlacet, "pause-placet": PausePlacet, "kill-database": KillDatabase,
    "stop-database": StopDatabase, "pause-database": PauseDatabase, "isolate": Isolate,
    "fail-over": FailOver,
}
