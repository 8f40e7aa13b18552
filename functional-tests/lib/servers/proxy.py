"""A fault-injecting proxy on loopback between a client and a database server: it can break a connection at a chosen
statement.

The proxy parses PostgreSQL's and MariaDB's protocols as far as necessary for the SQL of each statement, prepared or
not, and for the end of its answer. Encryption is refused to the client, or not offered.

    with Proxy(database) as proxy:
        interception = proxy.intercept(BEFORE, lambda moment: moment.request.starts("COMMIT"), Moment.cut)
        …                                     # a client sends statements to proxy.database
        assert interception.done.wait(10)

`seen` has every executed statement with its link. Statements on writing connections have a number, in the order of
arrival on all these connections.
"""

import contextlib
import dataclasses
import socket
import threading
import time
import urllib.parse

from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.servers import databases
from functional_tests.lib.servers.mariadb_protocol import MariadbProtocol
from functional_tests.lib.servers.postgresql_protocol import PostgresqlProtocol
from functional_tests.lib.servers.protocol import close

# The moments of a statement: before it is sent to the server; after that; when its whole answer has arrived, and before
# that is passed back.
BEFORE, SENT, ANSWERED = "before", "sent", "answered"


class ConnectionCut(Exception):
    """Raised by an action to end the link."""


class StatementRefused(Exception):
    """Raised by an action to answer the statement itself."""

    def __init__(self, answer):
        super().__init__()
        self.answer = answer


@dataclasses.dataclass
class Moment:
    """A statement at one of its moments. An interception's action is called with it, while the link waits."""

    when: str
    link: "Link"
    request: object

    def cut(self):
        """Ends both connections. What was not sent yet is never sent, and what was not passed back is lost."""
        raise ConnectionCut

    def cut_and_deliver(self, seconds):
        """At BEFORE: ends the client's connection now, and sends the statement to the server `seconds` later."""
        self.link.close_client()
        time.sleep(seconds)
        self.link.deliver_unanswered(self.request)
        raise ConnectionCut

    def refuse(self, code, message):
        """At BEFORE: answers the statement with this error of the database. The server never gets it."""
        raise StatementRefused(self.link.protocol.error(code, message))


class Interception:
    """An action for the first moment that fits.

    `begun` is set at that moment, and `done` when the action has ended. `error` is what it raised.
    """

    def __init__(self, when, fits, action):
        self.when, self.fits, self.action = when, fits, action
        self.begun, self.done = threading.Event(), threading.Event()
        self.error = None

    def run(self, moment):
        self.begun.set()
        try:
            self.action(moment)
        except (ConnectionCut, StatementRefused):
            raise
        except BaseException as error:  # this thread cannot report it: the test that waits for `done` reads `error`
            self.error = error
            raise ConnectionCut from error
        finally:
            self.done.set()


class Proxy:
    """Use it as a context manager. Its attribute `database` is the same database through the proxy.

    With `others`, the same database on other nodes, it is a load balancer: a new connection goes to the first node that
    accepts it.
    """

    def __init__(self, database, *others):
        urls = [urllib.parse.urlsplit(each.url) for each in (database, *others)]
        self.servers = [(url.hostname, url.port) for url in urls]
        self.protocol = {"postgresql": PostgresqlProtocol, "mariadb": MariadbProtocol}[database.engine]
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.database = getattr(databases, database.engine)(self.port, database.name)
        self.lock = threading.Lock()
        self.links, self.seen, self.interceptions = [], [], []
        self.made = self.written = 0

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        close(self.listener)
        self.cut_all()

    def intercept(self, when, fits, action):
        """Registers `action(moment)` for the first moment of kind `when` for which `fits(moment)` holds."""
        interception = Interception(when, fits, action)
        with self.lock:
            self.interceptions.append(interception)
        return interception

    def forget_interceptions(self):
        """Removes all interceptions whose moment has not come."""
        with self.lock:
            self.interceptions.clear()

    def cut_all(self):
        """Ends every connection, as when a switch fails. New connections are accepted."""
        for link in list(self.links):
            link.end()

    def reach(self, when, link, request):
        moment = Moment(when, link, request)
        with self.lock:
            if when == BEFORE and request.executes:
                self._number(link, request)
            interception = next((each for each in self.interceptions if each.when == when and each.fits(moment)), None)
            if interception:
                self.interceptions.remove(interception)
        if interception:
            interception.run(moment)

    def connect(self):
        for server in self.servers[:-1]:
            with contextlib.suppress(OSError):
                return socket.create_connection(server, timeout=HANG_SECONDS)
        return socket.create_connection(self.servers[-1], timeout=HANG_SECONDS)

    def _number(self, link, request):
        link.inside = link.inside or request.begins_to_write()
        link.writes = link.writes or link.inside
        request.inside = link.inside
        link.inside = link.inside and not request.starts("COMMIT", "ROLLBACK")
        if link.writes:
            request.number, self.written = self.written, self.written + 1
        self.seen.append((link, request))

    def _accept(self):
        with contextlib.suppress(OSError):  # the listener was closed
            while True:
                client, _ = self.listener.accept()
                self.made += 1
                threading.Thread(target=Link(self, client, self.made).run, daemon=True).start()


class Link:
    """A client's connection and its counterpart to the server at `port`.

    `writes` says whether a transaction that may write has begun on it, `inside` whether one is open.
    """

    def __init__(self, proxy, client, number):
        self.proxy, self.client, self.number = proxy, client, number
        self.server = self.port = None
        self.writes = self.inside = False

    def run(self):
        self.proxy.links.append(self)
        try:
            self.server = self.proxy.connect()
            self.server.settimeout(None)
            self.port = self.server.getpeername()[1]
            for end in (self.client, self.server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.protocol = self.proxy.protocol(self.client, self.server)
            self.protocol.log_in()
            while True:
                self._carry()
        except (ConnectionCut, OSError, ValueError):  # ValueError: `end` closed a socket that select waits for
            pass
        finally:
            self.end()
            self.proxy.links.remove(self)

    def _carry(self):
        """Passes on one statement and its answer."""
        request = self.protocol.next_request()
        try:
            self.proxy.reach(BEFORE, self, request)
        except StatementRefused as refused:
            self.client.sendall(refused.answer)
            return
        self.server.sendall(request.raw)
        self.proxy.reach(SENT, self, request)
        answer = self.protocol.answer(request)
        self.proxy.reach(ANSWERED, self, request)
        self.client.sendall(answer)

    def close_client(self):
        """Ends the client's connection only."""
        close(self.client)

    def deliver_unanswered(self, request):
        """Sends a request whose answer is discarded. If the server has gone by then, it is never sent."""
        with contextlib.suppress(OSError):
            self.server.sendall(request.raw)
            self.server.settimeout(HANG_SECONDS)
            self.protocol.answer(request)

    def end(self):
        for connection in (self.client, self.server):
            if connection:
                close(connection)
