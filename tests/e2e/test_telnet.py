"""The listener for OpenTSDB's lines (collectd's write_tsdb, tcollector)."""

import json
import socket
import struct

from tests.e2e.tallyd import ANSWER_SECONDS, E2eTest, eventually, free_port, run
from tests.e2e.test_handed_in import Activated

AT = 1356998400


def protocol(port, more=""):
    return f'[protocols.opentsdb]\nstream = "opentsdb"\ntelnet = "127.0.0.1:{port}"\n{more}\n'


class Lines:
    """A connection of an agent."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, text):
        self.socket.sendall(text if isinstance(text, bytes) else text.encode())
        return self

    def line(self):
        return self.file.readline().decode().rstrip("\n")

    def version(self):
        """Sends `version`, and answers the lines that came before its own."""
        self.send("version\n")
        lines = []
        while not (line := self.line()).startswith("tallyd "):
            lines.append(line)
            if not line:
                raise AssertionError(f"closed behind {lines}")
        return lines

    def rest(self):
        """All that comes until the daemon closes."""
        return self.file.read().decode()


class TelnetCase(E2eTest):
    MORE = ""

    def setUp(self):
        self.lines_port = free_port()
        self.tallyd = self.start(protocol(self.lines_port, self.MORE), **self.options())

    def options(self):
        return {}

    def connect(self):
        return Lines(self.lines_port)

    def stored(self, **filters):
        return self.tallyd.events("opentsdb", scan=1, **filters)


class LinesTest(TelnetCase):
    def test_good_lines_are_stored_and_not_answered(self):
        with self.connect() as agent:
            agent.send(f"put sys.cpu {AT} 42.5 host=a dc=l\r\n"
                       f"put sys.mem {AT} 7 dc=l host=a\n\n"
                       f"put sys.cpu {AT}.250 1e3 host=a dc=l\n")
            self.assertEqual([], agent.version())
        self.assertEqual(
            [{"ts": AT * 1000, "host": "a", "dc": "l", "sys.cpu": 42.5, "sys.mem": 7},
             {"ts": AT * 1000 + 250, "host": "a", "dc": "l", "sys.cpu": 1000, "sys.mem": None}],
            self.stored())
        self.assertEqual(["dc=l,host=a#1356998400000", "dc=l,host=a#1356998400250"],
                         self.tallyd.keys("opentsdb"))

    def test_a_bad_line_is_answered_and_the_others_are_stored(self):
        with self.connect() as agent:
            agent.send(f"put\nput m {AT} 1 host=a\nput m now 1 host=a\nput m {AT} x host=a\n"
                       f"put m {AT} 1 host\nstats\nput n {AT} 2 host=a\n" + "x" * 9000 + "\n")
            self.assertEqual(
                ["put: illegal argument: not enough arguments (need least 4, got 0)",
                 "put: illegal argument: invalid timestamp: now",
                 "put: invalid value: x",
                 "put: illegal argument: invalid tag: host",
                 "unknown command: stats.  Try `help'.",
                 "put: illegal argument: a line is longer than 8192 bytes"], agent.version())
        self.assertEqual([{"ts": AT * 1000, "host": "a", "m": 1, "n": 2}], self.stored())

    def test_what_comes_byte_by_byte_is_lines_all_the_same(self):
        with self.connect() as agent:
            for byte in f"put m {AT} 1 host=a\nput m {AT + 1} 2 host=a\r\n".encode():
                agent.send(bytes([byte]))
            self.assertEqual([], agent.version())
        self.assertEqual([1, 2], [one["m"] for one in self.stored()])

    def test_exit_ends_the_connection_once_all_before_it_is_stored(self):
        with self.connect() as agent:
            agent.send(f"put m {AT} 1 host=a\nexit\nput m {AT} 2 host=b\n")
            self.assertEqual("", agent.rest())
        self.assertEqual(["a"], [one["host"] for one in self.stored()])

    def test_what_was_read_when_the_agent_ends_its_side_is_stored_an_ended_line_or_not(self):
        for last, answers in (("put m %d 2 host=abc" % AT, ""),
                              ("put m %d 3 host=r\r" % AT, ""),
                              ("put m", "put: illegal argument: not enough arguments "
                                        "(need least 4, got 1)\n")):
            with self.connect() as agent:
                agent.send(f"put m {AT} 1 host=a\n" + last)
                agent.socket.shutdown(socket.SHUT_WR)
                self.assertEqual(answers, agent.rest())
        self.assertEqual(["a", "abc", "r"], sorted(one["host"] for one in self.stored()))

    def test_a_last_line_without_an_end_is_none_where_the_connection_broke(self):
        with self.connect() as agent:
            agent.send(f"put m {AT} 1 host=a\nversion\nput m {AT} 2 host=abc")
            self.assertIn("tallyd", agent.line())
            agent.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        eventually(lambda: "had no end" in self.tallyd.log(), "the cut line is told of")
        self.assertEqual(["a"], [one["host"] for one in self.stored()])

    def test_many_lines_of_many_agents_are_all_stored(self):
        agents = [self.connect() for _ in range(8)]
        for number, agent in enumerate(agents):
            agent.send("".join(f"put m {AT + step} {step} agent=a{number}\n"
                               for step in range(2000)))
        for agent in agents:
            self.assertEqual([], agent.version())
            agent.__exit__()
        counted = self.tallyd.query("opentsdb", fields="m", step="1d", agg="count",
                                    scan=1)["rows"]
        self.assertEqual(16_000, sum(row[-1] for row in counted))

    def test_an_agent_that_never_reads_is_served_nevertheless(self):
        with self.connect() as agent:
            for _ in range(20):
                agent.send("no such command\n" * 10_000)
            agent.send(f"put m {AT} 1 host=a\n")
            eventually(lambda: self.tallyd.keys("opentsdb") == ["host=a#1356998400000"],
                       "the line is stored")

    def test_what_a_version_answered_survives_a_kill(self):
        with self.connect() as agent:
            for step in range(20):
                agent.send(f"put m {AT + step} {step} host=a\n")
                self.assertEqual([], agent.version())
            self.tallyd.kill()
        self.tallyd.start()
        self.assertEqual(list(range(20)), [one["m"] for one in self.stored()])

    def test_a_stop_stores_what_was_sent(self):
        with self.connect() as agent, self.connect() as idle:
            agent.send("".join(f"put m {AT + step} {step} host=a\n" for step in range(1000)))
            self.tallyd.stop()
            self.assertEqual("", agent.rest())
            self.assertEqual("", idle.rest())
        self.tallyd.start()
        self.assertEqual(1000, len(self.stored()))

    def test_a_request_of_http_is_cut_before_its_body(self):
        with self.connect() as agent:
            agent.send(f"POST / HTTP/1.1\r\nHost: x\r\n\r\nput m {AT} 1 host=a\n")
            self.assertEqual("this port speaks no HTTP\n", agent.rest())
        with self.connect() as agent:
            agent.send(f"put m {AT} 1 host=b\n")
            self.assertEqual([], agent.version())
        self.assertEqual(["b"], [one["host"] for one in self.stored()])

    def test_a_reload_may_not_move_the_listener(self):
        answer = self.tallyd.reload(protocol(free_port())).problem(409)
        self.assertIn("protocols.opentsdb.telnet", answer["detail"])


class BoundsTest(TelnetCase):
    def options(self):
        return {"server": 'max_connections = 6\nidle_timeout = "1s"'}

    def test_who_sends_no_line_for_idle_timeout_is_closed(self):
        with self.connect() as agent:
            agent.send("put m")
            self.assertEqual("", agent.rest())

    def test_connections_count_with_those_of_http(self):
        agents = [self.connect() for _ in range(10)]
        said = [agent.rest() for agent in agents]
        refused = said.count("put: there are too many connections\n")
        self.assertGreaterEqual(refused, 4)
        self.assertEqual(10, refused + said.count(""))
        for agent in agents:
            agent.__exit__()


class TokensTest(TelnetCase):
    MORE = 'telnet_token = "lines"'

    def tables(self, tokens):
        return protocol(self.lines_port, self.MORE) + "".join(tokens)

    def setUp(self):
        def token(name, role, more=""):
            secret = json.loads(run("token", "--role", role, "--format", "json")[1])
            return (f'[[auth.tokens]]\nname = "{name}"\nsha256 = "{secret["sha256"]}"\n'
                    f'role = "{role}"\n{more}\n', secret["token"])

        self.lines_port = free_port()
        self.admin, self.secret = token("admin", "admin")
        self.lines, _ = token("lines", "write", 'scope = { tenant = "acme" }')
        self.tallyd = self.start(self.tables([self.admin, self.lines]))

    def ask(self, method, path):
        return self.tallyd.request(method, path, None,
                                   {"Authorization": f"Bearer {self.secret}"})

    def test_lines_have_role_and_scope_of_their_token(self):
        with self.connect() as agent:
            agent.send(f"put m {AT} 1 tenant=acme\nput m {AT} 2 tenant=other\nput m {AT} 3 a=b\n")
            self.assertEqual(["put: illegal argument", "put: illegal argument"],
                             [line[:21] for line in agent.version()])
        events = self.ask("GET", "/v1/streams/opentsdb/events?scan=1").expect(200).json
        self.assertEqual(1, len(events["rows"]))

    def test_a_reload_that_changes_the_token_ends_the_connections(self):
        with self.connect() as agent:
            self.assertEqual([], agent.version())
            expired = self.lines + 'expires = "2001-01-01T00:00:00Z"\n'
            self.tallyd.write_config(self.tables([self.admin, expired]))
            self.ask("POST", "/-/reload").expect(200)
            self.assertIn("nobody's any more", agent.rest())
        with self.connect() as agent:
            agent.send(f"put m {AT} 1 tenant=acme\n")
            self.assertIn("nobody's any more", agent.rest())


class WithTelnet(Activated):
    """A daemon that gets the socket for lines; its file names another address."""

    def __init__(self, handed_in):
        super().__init__(handed_in, name="telnet")
        self.toml = protocol(free_port())

    def start(self):
        self.port = free_port()
        self.write_config()
        self.spawn()
        assert self._wait_ready(), self.log()
        return self


class HandedInTest(E2eTest):
    def test_a_socket_named_telnet_is_taken_in_place_of_the_address(self):
        with socket.create_server(("127.0.0.1", 0)) as handed_in:
            daemon = WithTelnet(handed_in)
            self.addCleanup(self._finish, daemon)
            daemon.start()
            with Lines(handed_in.getsockname()[1]) as agent:
                agent.send(f"put m {AT} 1 host=a\n")
                self.assertEqual([], agent.version())
            self.assertEqual(["host=a#1356998400000"], daemon.keys("opentsdb"))
