"""A foreign writer: a program that is not placet claims in the same tables, as OpenStack Placement does."""

import random
import threading
import time

from functional_tests.chaos import topology
from functional_tests.chaos.history import OK, REFUSED, UNKNOWN
from functional_tests.lib.sql_claims import BEGIN, SqlClaims

HELD_CLAIMS = 4


class ForeignWriter(threading.Thread):
    def __init__(self, database, seed, history, going, stopped):
        super().__init__()
        self.database, self.chance, self.history = database, random.Random(f"{seed}/foreign writer"), history
        self.going, self.stopped = going, stopped
        self.idle = threading.Event()
        self.granted, self.held = 0, []

    def run(self):
        connection = None
        while not self.stopped.is_set():
            if not self.going.is_set():
                self.idle.set()
                self.going.wait()
                self.idle.clear()
                continue
            try:
                connection = connection or self.database.connect()
                self.claim(connection)
            except Exception:  # the engine's own: it may be down
                connection = None
            time.sleep(self.chance.uniform(0, 0.004))
        self.idle.set()

    def claim(self, connection):
        """Claims one unit of a host, if there is capacity."""
        provider = self.chance.choice(topology.HOSTS)
        program = SqlClaims(self.database, {provider: ("VCPU", 1)}, 1, None)
        program.ready(connection)
        consumer = topology.new_consumer(self.chance)
        op = self.history.begin("foreign claim", sets={consumer: {provider: {"VCPU": 1}}}, expects={consumer: None},
                                touches=[provider])
        try:
            program.claim(connection, consumer)
        except Exception:  # whatever the error, the transaction may have been committed
            op.outcome = UNKNOWN
            raise
        op.end(OK if program.granted else REFUSED)
        self.granted += len(program.granted)
        self.held += program.granted
        if len(self.held) > HELD_CLAIMS:
            self.release(connection, program)

    def release(self, connection, program):
        consumer = self.held.pop(0)
        op = self.history.begin("foreign delete", sets={consumer: {}})
        connection.execute(BEGIN[self.database.engine][-1])
        program.release(connection, consumer)
        connection.execute("COMMIT")
        op.end(OK)
