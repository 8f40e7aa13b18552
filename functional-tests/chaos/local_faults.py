"""Faults of one row, one claim, one connection or one process. Independent requests go on (liveness.py)."""

import contextlib
import re
import threading
import uuid

from functional_tests.chaos import topology
from functional_tests.chaos.faults import Fault
from functional_tests.held_rows.holders import lock_rows
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.servers import proxy

USED_HOSTS = (*topology.HOSTS, *topology.ELASTIC, *topology.NEARLY_FULL)
CONSUMERS = ("SELECT DISTINCT a.consumer_id FROM allocations a JOIN resource_providers p ON p.id = a.resource_provider_id"
             f" WHERE p.uuid IN ({', '.join('?' * len(USED_HOSTS))})")
# Sessions without a statement and without a transaction.
IDLE = {
    "postgresql": "SELECT pid FROM pg_stat_activity WHERE datname = ? AND state = 'idle' AND pid != pg_backend_pid()",
    "mariadb": "SELECT id FROM information_schema.processlist WHERE db = ? AND command = 'Sleep'"
               " AND id NOT IN (SELECT trx_mysql_thread_id FROM information_schema.innodb_trx)",
}
END_SESSION = {"postgresql": "SELECT pg_terminate_backend({})", "mariadb": "KILL {}"}
HELD_CONSUMERS = 10
CUT_INTERVAL_SECONDS = 2
REFUSED_CLIENTS = 6  # beside twelve clients: a third of all
UPDATE_OF_PROVIDERS = re.compile(r"\bUPDATE\b[^;]*\bresource_providers\b", re.IGNORECASE)


class LocalFault(Fault):
    is_local = True

    @classmethod
    def possible(cls, engine, server):
        return engine.kind in ("postgresql", "mariadb", "galera")


class HoldRow(LocalFault):
    """Another program's open transaction has updated rows. On Galera they are locked on one node."""

    seconds = (2.0, 5.0)
    took_hold = False
    table = None

    def inject(self):
        database = self.chance.choice(self.members).database
        held = self.choose(database)
        self.connection = database.connect()
        # It may be the victim of a deadlock. On Galera another node's commit may abort the transaction at any time.
        with contextlib.suppress(Exception):
            lock_rows(self.connection, self.table, held)
            self.took_hold = bool(held)

    def heal(self):
        with contextlib.suppress(Exception):
            self.connection.execute("ROLLBACK")
        self.connection.close()


class HoldProvider(HoldRow):
    table = "resource_providers"

    def choose(self, _database):
        return [self.chance.choice(topology.HOSTS)]


class HoldConsumer(HoldRow):
    """The rows of several consumers, because a client asks for any one of them only now and then."""

    table = "consumers"

    def choose(self, database):
        found = sorted(consumer for (consumer,) in database.query(CONSUMERS, USED_HOSTS))
        return self.chance.sample(found, min(HELD_CONSUMERS, len(found)))


class PauseInTransaction(LocalFault):
    """SIGSTOP to a process inside a transaction that has updated a provider. Needs a process behind a proxy."""

    seconds = (2.0, 5.0)

    def inject(self):
        self.target = self.chance.choice([member for member in self.members if member.proxy])
        self.healed = threading.Event()
        interception = self.target.proxy.intercept(proxy.ANSWERED, self.fits, self.pause)
        self.took_hold = interception.begun.wait(HANG_SECONDS)

    @staticmethod
    def fits(moment):
        return moment.request.executes and UPDATE_OF_PROVIDERS.search(moment.request.text)

    def pause(self, _moment):
        self.target.pause()
        self.healed.wait()

    def heal(self):
        self.target.proxy.forget_interceptions()
        self.target.proxy.seen.clear()
        self.target.resume()
        self.healed.set()


class NewEpoch(LocalFault):
    """Another epoch, after which every process reads everything again."""

    seconds = (0.5, 2.0)

    @classmethod
    def possible(cls, engine, server):
        return server == "placet"

    def inject(self):
        epoch = uuid.UUID(int=self.chance.getrandbits(128), version=4)
        self.chance.choice(self.members).database.run("UPDATE placet_epoch SET epoch = ?", [str(epoch)])

    def heal(self):
        pass


class Repeated(LocalFault):
    """Threads that each repeat `act` until the fault is healed."""

    threads = 1

    def inject(self):
        self.stopped, self.wrong = threading.Event(), []
        self.running = [threading.Thread(target=self.run, args=(number,)) for number in range(self.threads)]
        for thread in self.running:
            thread.start()

    def run(self, number):
        while not self.stopped.is_set():
            try:
                self.act(self.members[number % len(self.members)])
            except Exception as error:  # `heal` reports it
                self.wrong.append(repr(error))

    def heal(self):
        self.stopped.set()
        for thread in self.running:
            thread.join()
        assert not self.wrong, f"{len(self.wrong)} times, as {self.wrong[0]}"


class RefuseClaims(Repeated):
    """More clients, whose claims are on a full provider: a third of all clients."""

    seconds, threads = (1.0, 3.0), REFUSED_CLIENTS

    @classmethod
    def possible(cls, engine, server):
        return True

    def act(self, member):
        answer = member.rest("PUT", f"/allocations/{uuid.uuid4()}", topology.body({topology.FULL: {"VCPU": 1}}, None))
        if answer.status != 409:
            self.wrong.append(f"a claim on a full provider: {answer}")


class CutIdleConnections(Repeated):
    """Idle connections end every few seconds, as by the idle timeout of a proxy."""

    seconds = (3.0, 5.0)

    def act(self, _member):
        for database in {member.database.url: member.database for member in self.members}.values():
            with contextlib.closing(database.connect()) as connection:
                for (session,) in connection.execute(IDLE[database.engine], [database.name]).fetchall():
                    # It may have ended since then.
                    with contextlib.suppress(Exception):
                        connection.execute(END_SESSION[database.engine].format(session))
        self.stopped.wait(CUT_INTERVAL_SECONDS)


FAULTS = {
    "hold-provider": HoldProvider, "hold-consumer": HoldConsumer, "pause-in-transaction": PauseInTransaction,
    "new-epoch": NewEpoch, "refuse-claims": RefuseClaims, "cut-idle-connections": CutIdleConnections,
}
