"""Peers that mean no good, and a client that means well and is served all the while."""

import contextlib
import gzip
import socket
import struct
import threading
import time
import unittest
import zlib

from tests.e2e.bodies import snappy_length, snappy_literal, zstd_rle
from tests.e2e.certificates import Pair
from tests.e2e.tallyd import ANY_TIME, SLOW, E2eTest, Tallyd, eventually, free_port
from tests.e2e.test_limits import metric
from tests.e2e.test_secrets import entry, new_token
from tests.e2e.test_seeds_keys import table
from tests.e2e.wire import RawConnection

TABLES = table("LOG", "{h}#{ts:ms}")
MIB = 1 << 20
EVENT = b'{"ts": 1, "h": "a", "v": 1}'


def request(method=b"POST", path=b"/v1/streams/log/events", *headers, version=b"HTTP/1.1"):
    lines = [b"%s %s %s" % (method, path, version), b"Host: localhost", *headers, b"", b""]
    return b"\r\n".join(lines)


def sized(size, *more):
    return request(b"POST", b"/v1/streams/log/events", b"Content-Length: %d" % size, *more)


def whole(body, *more):
    return sized(len(body), *more) + body


CHUNKED = request(b"POST", b"/v1/streams/log/events", b"Transfer-Encoding: chunked")
HEALTH = request(b"GET", b"/healthz")
# The beginning of what opens TLS: a record of 512 bytes with a hello of 508.
HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"


class GoodClient:
    """Somebody who means well and posts events one by one, on a connection kept open, while others
    attack: with GoodClient(tallyd) as good: ...; good.check(test)."""

    def __init__(self, tallyd):
        self.tallyd, self.seconds, self.statuses = tallyd, [], []
        self.stops = threading.Event()
        self.thread = threading.Thread(target=self.work)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stops.set()
        self.thread.join()

    def work(self):
        with self.tallyd.raw() as connection:
            number = 0
            while not self.stops.is_set() or number < 10:
                number += 1
                began = time.monotonic()
                connection.send(whole(b'{"ts": %d, "h": "good", "v": 1}' % number))
                answer = connection.answer()
                self.statuses.append(answer.status if answer is not None else None)
                self.seconds.append(time.monotonic() - began)
                if answer is None:
                    return
                self.stops.wait(0.01)

    def check(self, test):
        test.assertEqual({200}, set(self.statuses))
        if SLOW < 2:
            test.assertLess(sorted(self.seconds)[len(self.seconds) // 2], 0.5)


class HostileTest(E2eTest):
    """At a size for every run; tests/torture_door.py has the same at thousands of connections."""

    def memory(self, tallyd, line="VmRSS"):
        with open(f"/proc/{tallyd.process.pid}/status", encoding="ascii") as status:
            return next(int(one.split()[1]) * 1024 for one in status if line in one)

    def forget_peak(self, tallyd):
        """From now on VmHWM is the most since now; answers what there is."""
        with open(f"/proc/{tallyd.process.pid}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
        return self.memory(tallyd)

    def crowd(self, tallyd, count, *pieces):
        connections = [tallyd.raw(*pieces) for _ in range(count)]
        self.addCleanup(lambda: [one.__exit__() for one in connections])
        return connections

    def held(self, tallyd):
        return metric(tallyd, "tallyd_body_memory_bytes")

    def assert_cut(self, connections, *statuses):
        """Each is told one of these, or nothing, and closed."""
        for one in connections:
            answer = one.answer()
            if answer is not None:
                answer.expect(*statuses)
            self.assertTrue(one.closed())

    def test_slow_senders_are_cut_and_hold_nobody_up(self):
        tallyd = self.start(TABLES, server='header_timeout = "1s"\nbody_timeout = "1s"')
        before = self.memory(tallyd)
        began = time.monotonic()
        with GoodClient(tallyd) as good:
            slow = self.crowd(tallyd, 60, b"GET /healthz HTTP/1.1\r\nHost: loc")
            slow += self.crowd(tallyd, 60, sized(100_000), b'{"ts": 1,')
            slow += self.crowd(tallyd, 60, CHUNKED, b"5\r\n{\"ts")
            slow += self.crowd(tallyd, 20, CHUNKED, b"5;" + b"x" * 100)
            while time.monotonic() - began < 0.8:
                for one in slow:
                    one.send(b" ")
                time.sleep(0.2)
            self.assert_cut(slow, 408, 400)
        good.check(self)
        self.assertLess(time.monotonic() - began, 8 * SLOW)
        if SLOW < 10:
            self.assertLess(self.memory(tallyd) - before, 32 * MIB)
        self.assertEqual([], tallyd.keys("LOG", prefix="a"))

    def test_a_hello_that_does_not_end_is_cut(self):
        tallyd = Tallyd(TABLES)
        pair, secure = Pair(tallyd.directory, "door"), free_port()
        tallyd.write_config = lambda toml=None: tallyd.config.write_text(
            f'[server]\nlisten = [{{ at = "127.0.0.1:{tallyd.port}" }}, '
            f'{{ at = "127.0.0.1:{secure}", tls = true }}]\nheader_timeout = "1s"\n'
            f'[server.tls]\ncert = "{pair.cert}"\nkey = "{pair.key}"\n'
            f'[storage]\npath = "data"\n{ANY_TIME}{TABLES}', encoding="utf-8")
        self.addCleanup(self._finish, tallyd)
        tallyd.start()
        before, began = self.memory(tallyd), time.monotonic()
        with GoodClient(tallyd) as good:
            slow = [RawConnection(secure, 30 * SLOW) for _ in range(100)]
            self.addCleanup(lambda: [one.__exit__() for one in slow])
            for one in slow:
                one.send(HELLO)
            while time.monotonic() - began < 0.8:
                for one in slow:
                    one.send(b"\0")
                time.sleep(0.2)
            for one in slow:
                with contextlib.suppress(ConnectionResetError):
                    one.file.read()  # An alert at most, then the end.
        good.check(self)
        self.assertLess(time.monotonic() - began, 8 * SLOW)
        if SLOW < 10:
            self.assertLess(self.memory(tallyd) - before, 32 * MIB)

    def test_who_was_fast_may_not_be_silent_for_longer(self):
        tallyd = self.start(TABLES, server='body_timeout = "1s"\nbody_min_rate = "1KiB"')
        began = time.monotonic()
        with tallyd.raw(sized(4 * MIB), b" " * (3 * MIB)) as fast:
            self.assertEqual(408, fast.answer().status)
        self.assertLess(time.monotonic() - began, 5 * SLOW)

    def test_what_is_announced_takes_no_memory(self):
        tallyd = self.start(TABLES)
        tallyd.post_bytes("log", b" " * (6 * MIB) + EVENT).expect(200)  # A workspace is kept of it.
        before = self.forget_peak(tallyd)
        with GoodClient(tallyd) as good:
            self.crowd(tallyd, 150, sized(32 * MIB))
            asking = self.crowd(tallyd, 150, sized(32 * MIB, b"Expect: 100-continue"))
            self.assertEqual({100}, {one.answer().status for one in asking})
            self.crowd(tallyd, 100, CHUNKED, b"2000000\r\n")
            for _ in range(5):
                tallyd.post_bytes("log", b" " * MIB + EVENT).expect(200)
            self.assertEqual(0, self.held(tallyd))
        good.check(self)
        if SLOW < 10:
            self.assertLess(self.memory(tallyd, "VmHWM") - before, 40 * MIB)

    def test_bodies_share_what_there_is_and_small_ones_always_fit(self):
        tallyd = self.start(TABLES, server='max_body = "1MiB"\nbody_memory = "4MiB"\n'
                                           'body_timeout = "4s"')
        with GoodClient(tallyd) as good:
            part = b" " * (1000 << 10)
            holding = self.crowd(tallyd, 4, sized(MIB), part)
            eventually(lambda: self.held(tallyd) == 4 * MIB, "bodies are held")
            refused = tallyd.post_bytes("log", b" " * (900 << 10) + EVENT)
            self.assertIn("server.body_memory", refused.problem(503)["detail"])
            self.assertTrue(1 <= int(refused.header("Retry-After")) <= 60)
            with tallyd.raw(sized(900 << 10, b"Expect: 100-continue")) as asks:
                self.assertEqual(503, asks.answer().status, "before it is sent")
            tallyd.post_bytes("log", EVENT + b" " * 10_000).expect(200)
            for one in holding[:2]:
                one.send(b" " * (MIB - len(part)))
                one.answer().expect(400)  # It was read, and is no event.
            eventually(lambda: self.held(tallyd) < 3 * MIB, "room was given back")
            tallyd.post_bytes("log", b" " * (900 << 10) + EVENT).expect(200)
            self.assert_cut(holding[2:], 408)
        good.check(self)
        eventually(lambda: self.held(tallyd) == 0, "all was given back")

    def test_one_of_several_tokens_has_half_and_others_are_served(self):
        one, other = new_token(), new_token()
        tallyd = self.start(TABLES + entry("one", one, "write") + entry("other", other, "write"),
                            server='max_body = "1MiB"\nbody_memory = "4MiB"')

        def post(token, size):
            return tallyd.post_bytes("log", b" " * size + EVENT,
                                     headers={"Authorization": f"Bearer {token}"})

        mine = f"Authorization: Bearer {one}".encode()
        answers = []

        def is_refused():
            # Where that takes long, those that came before have been cut off as too slow.
            self.crowd(tallyd, 2, sized(MIB, mine), b" " * (1000 << 10))
            answers.append(post(one, 900 << 10))
            return answers[-1].status == 429

        eventually(is_refused, "it holds its half")
        refused = answers[-1]
        self.assertIn("half of server.body_memory", refused.problem(429)["detail"])
        self.assertTrue(1 <= int(refused.header("Retry-After")) <= 60)
        post(other, 900 << 10).expect(200)
        post(one, 10_000).expect(200)
        for _ in range(8):  # Who has no token sends no body, and takes none of anybody's room.
            self.assertEqual(401, self.crowd(tallyd, 1, sized(MIB), b" " * 100_000)[0].answer()
                             .status)
        post(other, 900 << 10).expect(200)

    def test_who_has_no_token_takes_no_room_from_who_has_one(self):
        token = new_token()
        tallyd = self.start(TABLES + entry("one", token, "write"),
                            server='max_body = "1MiB"\nbody_memory = "4MiB"')
        mine = {"Authorization": f"Bearer {token}"}

        def post():
            return tallyd.post_bytes("log", b" " * (900 << 10) + EVENT, headers=mine)

        begun = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 64_000
        crowds = {"heads": (begun,), "bodies": (sized(64 << 10), b" " * 64_000),
                  "bodies behind the good ones of a connection that was somebody's": (
                      whole(EVENT, f"Authorization: Bearer {token}".encode()), begun)}
        for name, pieces in crowds.items():
            with self.subTest(name):
                crowd = self.crowd(tallyd, 80, *pieces)
                time.sleep(0.3)
                for _ in range(5):
                    post().expect(200)
                for one in crowd:
                    one.__exit__()

    def test_bombs_are_413_and_take_no_memory(self):
        tallyd = self.start(TABLES)
        blank = b" " * (24 * MIB)
        raw = zlib.compressobj(9, wbits=-15)
        bombs = [("gzip", gzip.compress(blank)), ("deflate", zlib.compress(blank)),
                 ("deflate", raw.compress(blank) + raw.flush()), ("zstd", zstd_rle(31 * MIB)),
                 ("gzip", gzip.compress(blank[:MIB]) * 24),
                 ("snappy", snappy_length(31 * MIB) + snappy_literal(b" " * 50)),
                 ("snappy", snappy_length(1 << 31) + snappy_literal(b" " * 50))]
        before = self.forget_peak(tallyd)
        with GoodClient(tallyd) as good:
            for encoding, bomb in bombs * 3:
                with self.subTest(f"{encoding} {len(bomb)}"):
                    self.assertLess(len(bomb) * 100, 31 * MIB)
                    said = tallyd.post_bytes("log", bomb, headers={"Content-Encoding": encoding})
                    said.problem(413)
        good.check(self)
        if SLOW < 10:
            self.assertLess(self.memory(tallyd, "VmHWM") - before, 32 * MIB)

    def test_framing_without_end_is_cut(self):
        tallyd = self.start(TABLES)
        before = self.forget_peak(tallyd)
        endless = {
            "extension": (CHUNKED, b"5;", b"x" * 8192),
            "size": (CHUNKED, b"0" * 8192),
            "trailer": (CHUNKED + b"0\r\n", b"X: ", b"x" * 8192),
            "trailers": (CHUNKED + b"0\r\n", b"X: y\r\n" * 1000),
            "extensions": (CHUNKED, b"1;%s\r\n \r\n" % (b"x" * 300) * 30),
            "header": (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", b"x" * 8192),
            "headers": (b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"X: y\r\n" * 1000)}
        with GoodClient(tallyd) as good:
            for name, (*begin, more) in endless.items():
                with self.subTest(name):
                    crowd = self.crowd(tallyd, 5, *begin)
                    for _ in range(40):
                        for one in crowd:
                            one.send(more)
                    self.assert_cut(crowd, 400, 413, 431)
        good.check(self)
        if SLOW < 10:
            self.assertLess(self.memory(tallyd, "VmHWM") - before, 32 * MIB)
        few = [b"X-%d: y" % number for number in range(255)]
        with tallyd.raw(request(b"GET", b"/healthz", *few)) as raw:
            self.assertEqual(200, raw.answer().status)
        with tallyd.raw(request(b"GET", b"/healthz", *few, b"X: y")) as raw:
            self.assertIn("256 lines", raw.answer().problem(431)["detail"])

    def test_who_never_reads_its_answers_is_cut(self):
        tallyd = self.start(TABLES, server='write_timeout = "1s"')
        for host in range(20):
            tallyd.write("log", [{"ts": at, "h": f"h{host}", "v": "x" * 200}
                                 for at in range(1, 200)])
        before = self.forget_peak(tallyd)
        ask = request(b"GET", b"/v1/tables/LOG/rows?limit=4000")
        with GoodClient(tallyd) as good:
            deaf = []
            for _ in range(30):
                one = socket.socket()
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                one.connect(("127.0.0.1", tallyd.port))
                one.setblocking(False)
                deaf.append(one)
                self.addCleanup(one.close)
            began = time.monotonic()
            while time.monotonic() - began < 1:
                for one in deaf:
                    try:
                        one.send(ask * 500)
                    except OSError:
                        pass
                time.sleep(0.1)
            eventually(lambda: metric(tallyd, "tallyd_http_connections") <= 3, "they are cut")
        good.check(self)
        if SLOW < 10:
            self.assertLess(self.memory(tallyd, "VmHWM") - before, 120 * MIB)

    def test_who_breaks_off_leaves_a_batch_whole_or_not_at_all(self):
        tallyd = self.start(TABLES)
        reset = struct.pack("ii", 1, 0)
        for number in range(60):
            host = b"r%d" % number
            body = b'[{"ts": 1, "h": "%s", "v": 1}, {"ts": 2, "h": "%s", "v": 1}]' % (host, host)
            with tallyd.raw(whole(body)[:None if number % 3 else -1]) as raw:
                time.sleep(0.002 * (number % 2))
                raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        tallyd.write("log", {"ts": 1, "h": "z", "v": 1})
        found = {}
        for key in tallyd.keys("LOG", prefix="r"):
            found.setdefault(key.split("#")[0], []).append(key)
        self.assertEqual({2}, {len(keys) for keys in found.values()})
        self.assertFalse({f"r{number}" for number in range(0, 60, 3)} & set(found))

    def test_what_two_could_read_differently_is_refused(self):
        tallyd = self.start(TABLES)
        hidden = whole(EVENT)
        length = b"Content-Length: %d"
        shapes = {
            "both": (length % 5, b"Transfer-Encoding: chunked"),
            "both, turned": (b"Transfer-Encoding: chunked", length % 5),
            "two lengths": (length % 0, length % len(hidden)),
            "a list of lengths": (b"Content-Length: 0, 0",),
            "a signed length": (b"Content-Length: +0",),
            "a folded line": (b"X: y", b" Content-Length: 0"),
            "a bare line feed": (b"X: y\nContent-Length: 0",),
            "a bare carriage return": (b"X: y\rContent-Length: 0",),
            "space before the colon": (b"Content-Length : 0",),
            "chunked twice": (b"Transfer-Encoding: chunked, chunked",),
            "another encoding": (b"Transfer-Encoding: identity",),
            "a tabbed encoding": (b"Transfer-Encoding:\x0bchunked",)}
        for name, headers in shapes.items():
            with self.subTest(name), tallyd.raw(
                    request(b"POST", b"/v1/streams/log/events", *headers) + hidden) as raw:
                raw.answer().problem(400)
                self.assertTrue(raw.closed())
        for name, body in {"a size in hexadecimal": b"0x0\r\n\r\n", "a size and a space":
                           b"0 \r\n\r\n", "a minus": b"-0\r\n\r\n", "none": b"\r\n\r\n"}.items():
            with self.subTest(name), tallyd.raw(CHUNKED + body + hidden) as raw:
                raw.answer().problem(400)
                self.assertTrue(raw.closed())
        last = b"%x\r\n%s\r\n0\r\n" % (len(EVENT), EVENT)
        for name, trailers in {
                "a folded trailer": b"X: y\r\n Content-Length: 0\r\n", "a name and a space":
                b"X : y\r\n", "a bare line feed": b"X: y\nZ: 1\r\n", "a bare carriage return":
                b"X: y\rZ: 1\r\n", "no name": b": y\r\n", "no colon": b"X\r\n",
                "a fold at once": b" X: y\r\n"}.items():
            for in_one in True, False:
                with self.subTest(name, in_one=in_one), tallyd.raw() as raw:
                    for piece in [CHUNKED + last + trailers + b"\r\n" + hidden] if in_one else [
                            CHUNKED, last, trailers, b"\r\n" + hidden]:
                        raw.send(piece)
                        time.sleep(0 if in_one else 0.01)
                    raw.answer().problem(400)
                    self.assertTrue(raw.closed())
        self.assertEqual([], tallyd.keys("LOG"))
        with tallyd.raw(CHUNKED + last + b"X: y\r\nZ: \r\n\r\n") as raw:
            raw.answer().expect(200)

    def test_what_nobody_here_speaks_is_declined(self):
        tallyd = self.start(TABLES)
        cases = ((request(b"GET", b"/healthz", b"Connection: Upgrade, HTTP2-Settings",
                          b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABk"), 200, False),
                 (whole(EVENT, b"Expect: 200-ok"), 417, False),
                 (sized(100_000, b"Expect: 100-continue, more"), 417, True),
                 (request(b"GET", b"/healthz", b"Expect: x", version=b"HTTP/1.0"), 200, True),
                 (request(b"GET", b"http://localhost/healthz"), 200, False),
                 (request(b"GET", b"http://evil.example/healthz"), 403, False),
                 (request(b"GET", b"ftp://localhost/healthz"), 400, True),
                 (request(b"CONNECT", b"localhost:80"), 400, True),
                 (request(b"TRACE", b"/healthz"), 405, False),
                 (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, True),
                 (request(b"GET", b"/healthz", b"Connection: keep-alive", version=b"HTTP/1.0"),
                  200, False))
        for sent, status, ends in cases:
            with self.subTest(sent[:60]), tallyd.raw(sent + HEALTH) as raw:
                raw.answer().expect(status)
                following = raw.answer()
                self.assertEqual(ends, following is None)
        head = request(b"HEAD", b"/v1/tables/LOG/rows?format=ndjson")
        with tallyd.raw(head + HEALTH) as raw:
            line = raw.file.readline()
            self.assertIn(b"200", line)
            while raw.file.readline().strip():
                pass
            self.assertIn(b"200", raw.file.readline(), "no body stands between them")


if __name__ == "__main__":
    unittest.main()
