"""HTTP itself: what may not be smuggled, what may not flood, and what a client may rely on."""

import email.utils
import json
import re
import time

from tests.e2e.bodies import chunked
from tests.e2e.tallyd import E2eTest, eventually

TABLES = """
[tables.ROWS]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
families.F = {}
"""
DEADLINES = 'header_timeout = "1s"\nbody_timeout = "1s"\nidle_timeout = "2s"'
EVENT = b'{"ts":1,"k":"a","v":1}'
HIDDEN = (b"POST /v1/streams/s/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 29\r\n\r\n"
          b'{"ts":2,"k":"smuggled","v":1}')
TARGET = b"POST /v1/streams/s/events "


def post(body=EVENT, *headers, version=b"HTTP/1.1", host=(b"Host: localhost",), length=True):
    lines = [TARGET + version, *host, *headers]
    if length:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def get(path=b"/healthz", *headers):
    return b"\r\n".join([b"GET " + path + b" HTTP/1.1", b"Host: localhost", *headers]) + b"\r\n\r\n"


CHUNKED = b"16\r\n" + EVENT + b"\r\n0\r\n\r\n"
TE = b"Transfer-Encoding: "
CL = b"Content-Length: %d" % len(EVENT)

# Requests of which two parsers could read two things: each is 400, and the connection is closed.
SMUGGLING = {
    "an encoding that does not end in chunked": post(EVENT, TE + b"gzip", length=False),
    "an encoding before chunked": post(CHUNKED, TE + b"gzip, chunked", length=False),
    "identity": post(CHUNKED, TE + b"identity", length=False),
    "chunked twice": post(CHUNKED, TE + b"chunked, chunked", length=False),
    "two encodings": post(CHUNKED, TE + b"chunked", TE + b"gzip", length=False),
    "two encodings, chunked last": post(CHUNKED, TE + b"gzip", TE + b"chunked", length=False),
    "chunked that is not last": post(CHUNKED, TE + b"chunked, gzip", length=False),
    "a misspelt encoding": post(CHUNKED, TE + b"xchunked", length=False),
    "an empty encoding": post(EVENT, TE, length=False),
    "length after encoding": post(CHUNKED, TE + b"chunked", CL, length=False),
    "length before encoding": post(CHUNKED, CL, TE + b"chunked", length=False),
    "length before another encoding": post(EVENT, CL, TE + b"gzip", length=False),
    "length after another encoding": post(EVENT, TE + b"gzip", CL, length=False),
    "an encoding on HTTP/1.0": post(CHUNKED, TE + b"chunked", version=b"HTTP/1.0", length=False),
    "no host": post(host=()),
    "two hosts": post(host=(b"Host: localhost", b"Host: localhost:1")),
    "the same host twice": post(host=(b"Host: localhost", b"Host: localhost")),
    "a host that is none": post(host=(b"Host: a b",)),
    "a folded header": post(EVENT, b"X-Long: one\r\n two"),
    "a folded header by tab": post(EVENT, b"X-Long: one\r\n\ttwo"),
    "two lengths": post(EVENT, b"Content-Length: 1"),
    "a length that is none": post(EVENT, b"Content-Length: 2x", length=False),
    "a negative length": post(EVENT, b"Content-Length: -1", length=False),
    "a length with a sign": post(EVENT, b"Content-Length: +22", length=False),
    "a list of lengths": post(EVENT, b"Content-Length: 22, 23", length=False),
    "a space before the colon": post(EVENT, b"X-Header : a"),
    "a name with a space": post(EVENT, b"X Header: a"),
    "no name": post(EVENT, b": a"),
    "a chunk size that is none": post(b"zz\r\nabc\r\n0\r\n\r\n", TE + b"chunked", length=False),
    "a negative chunk size": post(b"-1\r\nabc\r\n0\r\n\r\n", TE + b"chunked", length=False),
    "a chunk size beyond 64 bits": post(b"1" * 20 + b"\r\nabc\r\n0\r\n\r\n", TE + b"chunked",
                                        length=False),
    "a chunk longer than its size": post(b"3\r\nabcdef\r\n0\r\n\r\n", TE + b"chunked",
                                         length=False),
    "no request line": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40) + b"\r\n\r\n",
    "an unknown version": get().replace(b"HTTP/1.1", b"HTTP/9.9"),
    "no version": b"GET /healthz\r\nHost: localhost\r\n\r\n",
}


class SmugglingTest(E2eTest):
    def test_ambiguous_requests_are_400_and_close_the_connection(self):
        tallyd = self.start(TABLES)
        for what, request in SMUGGLING.items():
            with self.subTest(what), tallyd.raw(request + HIDDEN) as connection:
                answer = connection.answer()
                self.assertIsNotNone(answer, "closed without an answer")
                answer.expect(*((400, 505) if "version" in what else (400,)))
                self.assertTrue(connection.closed(), "still open")
        self.assertEqual([], tallyd.keys("ROWS"))
        tallyd.get("/healthz").expect(200)

    def test_nothing_hidden_in_a_body_is_taken_for_a_request(self):
        tallyd = self.start(TABLES)
        with tallyd.raw(post(EVENT + HIDDEN)) as connection:
            connection.answer().expect(400)
        self.assertEqual([], tallyd.keys("ROWS"))

    def test_chunked_in_any_case_is_chunked(self):
        tallyd = self.start(TABLES)
        for name in b"chunked", b"Chunked", b"  chunked  ":
            with tallyd.raw(post(CHUNKED, TE + name, length=False)) as connection:
                connection.answer().expect(200)


class ForeignTest(E2eTest):
    """What a web page in a browser on this machine could make it send."""

    CHANGES = (("POST", "/v1/streams/s/events", EVENT), ("POST", "/-/settle", None),
               ("DELETE", "/v1/streams/s/events?k=a", None), ("DELETE", "/v1/tables/ROWS", None),
               ("PUT", "/v1/streams/s/events", EVENT), ("PATCH", "/v1/tables/ROWS", EVENT))

    def test_a_host_that_is_not_loopback_is_403_and_does_nothing(self):
        tallyd = self.start(TABLES)
        tallyd.write("s", json.loads(EVENT))
        for host in "evil.example", "evil.example:8780", "10.0.0.7", "localhost.evil.example":
            for method, path, body in (*self.CHANGES, ("GET", "/v1/streams/s/events?k=a", None),
                                       ("GET", "/healthz", None), ("HEAD", "/readyz", None)):
                with self.subTest(f"{host} {method} {path}"):
                    answer = tallyd.request(method, path, body, {"Host": host})
                    answer.expect(403) if method == "HEAD" else answer.problem(403)
        self.assertEqual(1, len(tallyd.keys("ROWS")))

    def test_every_name_of_loopback_is_taken(self):
        tallyd = self.start(TABLES)
        for host in "localhost", "LOCALHOST:1", "127.0.0.1:8780", "127.9.9.9", "[::1]", "[::1]:80":
            tallyd.request("DELETE", "/v1/streams/s/events?k=a", None, {"Host": host}).expect(200)

    def test_a_foreign_origin_reads_and_changes_nothing(self):
        tallyd = self.start(TABLES)
        tallyd.write("s", json.loads(EVENT))
        for origin in "http://evil.example", "https://evil.example:8780", "null":
            for method, path, body in self.CHANGES:
                with self.subTest(f"{origin} {method} {path}"):
                    tallyd.request(method, path, body, {"Origin": origin}).problem(403)
            tallyd.get("/v1/streams/s/events?k=a", headers={"Origin": origin}).expect(200)
        self.assertEqual(1, len(tallyd.keys("ROWS")))

    def test_an_own_origin_may_change_things(self):
        tallyd = self.start(TABLES)
        for origin in f"http://localhost:{tallyd.port}", "http://127.0.0.1:3000":
            tallyd.request("DELETE", "/v1/streams/s/events?k=a", None,
                           {"Origin": origin}).expect(200)

    def test_server_hosts_adds_names(self):
        tallyd = self.start(TABLES, server='hosts = ["tallyd.example.org", "10.0.0.7"]')
        for host in "tallyd.example.org", "Tallyd.Example.Org:443", "10.0.0.7:8780":
            headers = {"Host": host, "Origin": "https://tallyd.example.org"}
            tallyd.request("DELETE", "/v1/streams/s/events?k=a", None, headers).expect(200)
        tallyd.get("/healthz", headers={"Host": "example.org"}).problem(403)

    def test_a_refusal_of_a_site_comes_before_the_body(self):
        tallyd = self.start(TABLES)
        with tallyd.raw(post(b"", b"Expect: 100-continue", CL, b"Origin: null",
                             length=False)) as connection:
            connection.answer().problem(403)


class FloodTest(E2eTest):
    def assert_refused(self, connection, *statuses):
        """A 4xx answer, or a plain close where the sender would not stop."""
        answer = connection.answer()
        if answer is not None:
            answer.expect(*statuses)
        self.assertTrue(connection.closed())

    def test_chunk_extensions_are_bounded(self):
        tallyd = self.start(TABLES)
        head = post(b"", TE + b"chunked", length=False)
        long = b"16;" + b"x" * 1_000_000 + b"\r\n" + EVENT + b"\r\n0\r\n\r\n"
        many = b"1;%s\r\n{\r\n" % (b"x" * 200) + b"1;%s\r\n \r\n" % (
            b"x" * 200) * 200_000 + b"0\r\n\r\n"
        for body in long, many:
            with tallyd.raw(head + body) as connection:
                answer = connection.answer()
                if answer is not None:
                    answer.expect(400, 413, 431)
        self.assertEqual([], tallyd.keys("ROWS"))

    def test_trailers_are_bounded(self):
        tallyd = self.start(TABLES)
        body = CHUNKED[:-2] + b"".join(b"X-%d: %s\r\n" % (number, b"x" * 100)
                                       for number in range(5000)) + b"\r\n"
        with tallyd.raw(post(body, TE + b"chunked", length=False)) as connection:
            self.assert_refused(connection, 400, 413, 431)
        self.assertEqual([], tallyd.keys("ROWS"))

    def test_a_header_is_bounded(self):
        tallyd = self.start(TABLES)
        with tallyd.raw(get(b"/healthz", b"X-Long: " + b"x" * 1_000_000)) as connection:
            self.assert_refused(connection, 400, 413, 431)
        with tallyd.raw(get(b"/healthz",
                            *(b"X-%d: x" % number for number in range(100_000)))) as connection:
            self.assert_refused(connection, 400, 413, 431)
        with tallyd.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Endless: "
                        + b"x" * 10_000_000) as connection:
            self.assert_refused(connection, 400, 413, 431)

    def test_a_header_beyond_64_kib_is_431_in_one_burst_and_in_pieces(self):
        tallyd = self.start(TABLES)
        bare = len(get(b"/healthz", b"X-Long: "))
        for size, status in (64 * 1024, 200), (64 * 1024 + 1, 431), (100 * 1024, 431):
            request = get(b"/healthz", b"X-Long: " + b"x" * (size - bare))
            for piece in len(request), 1000:
                with self.subTest(size=size, piece=piece), tallyd.raw(
                        *(request[at:at + piece] for at in range(0, size, piece))) as connection:
                    connection.answer().expect(status)

    def test_the_sender_of_a_body_too_large_sees_the_413(self):
        tallyd = self.start(TABLES, server='max_body = "64KiB"')
        size = 200 * 1024 * 1024
        with tallyd.raw(post(b"", b"Content-Length: %d" % size, length=False)) as connection:
            # sendall, without the forgiveness of send: every byte must find a reader.
            connection.socket.sendall(bytes(size))
            connection.answer().problem(413)
            self.assertTrue(connection.closed())

    def test_a_target_may_be_16_kib_long(self):
        tallyd = self.start(TABLES)
        tallyd.write("s", json.loads(EVENT))
        path = b"/v1/streams/s/events?k=a"
        longest = path + b"&k=b" * ((16 * 1024 - len(path)) // 4)
        with tallyd.raw(get(longest)) as connection:
            self.assertEqual(1, len(connection.answer().expect(200).json["rows"]))
        with tallyd.raw(get(longest + b"&k=b&k=b")) as connection:
            connection.answer().expect(400, 414, 431)

    def test_a_body_over_max_body_is_413_by_length_and_in_chunks(self):
        tallyd = self.start(TABLES, server='max_body = "64KiB"')
        for size, status in (65536, 200), (65537, 413):
            body = EVENT[:-1] + b" " * (size - len(EVENT)) + b"}"
            with tallyd.raw(post(body)) as connection:
                connection.answer().expect(status)
            with tallyd.raw(post(b"", TE + b"chunked", length=False), *chunked(body)) as connection:
                connection.answer().expect(status)
        with tallyd.raw(post(b"", b"Content-Length: 99999999999999", length=False)) as connection:
            connection.answer().expect(413)

    def test_an_endless_chunked_body_is_cut(self):
        tallyd = self.start(TABLES, server='max_body = "64KiB"')
        with tallyd.raw(post(b"", TE + b"chunked", length=False),
                        b"400\r\n" + b" " * 1024 + b"\r\n") as connection:
            for _ in range(300):
                connection.send(b"400\r\n" + b" " * 1024 + b"\r\n")
            self.assert_refused(connection, 413)


class CrowdTest(E2eTest):
    SERVER = "max_connections = 2"

    def hold(self, tallyd):
        """Two connections that are served, and all that may be."""
        held = []

        def one_more():  # The one that found the daemon ready may still be open.
            connection = tallyd.raw(get())
            self.addCleanup(connection.__exit__)
            held.extend([connection] if connection.answer().status == 200 else [])
            return len(held) == 2

        eventually(one_more, "two connections are served")
        return held

    def refusals(self, connection):
        text = connection.send(get(b"/metrics")).answer().expect(200).text
        return int(re.search(r"^tallyd_http_connections_refused_total (\d+)$", text, re.M)[1])

    def test_a_connection_too_many_is_told_503_and_when_to_try_again(self):
        tallyd = self.start(TABLES, server=self.SERVER)
        held = self.hold(tallyd)
        before = self.refusals(held[0])
        for _ in range(3):
            answer = tallyd.get("/healthz")
            answer.problem(503)
            self.assertTrue(answer.header("Retry-After"))
            self.assertTrue(answer.header("Date"))
        self.assertEqual(before + 3, self.refusals(held[0]))
        held[1].__exit__()
        eventually(lambda: tallyd.get("/healthz").status == 200, "there is room again")

    def test_a_crowd_is_refused_and_does_not_pile_up(self):
        tallyd = self.start(TABLES, server=self.SERVER)
        held = self.hold(tallyd)
        crowd = [tallyd.raw() for _ in range(500)]
        held[0].send(get()).answer().expect(200)
        for connection in crowd:
            connection.answer().problem(503)
            self.assertTrue(connection.closed())
            connection.__exit__()
        held[1].send(get()).answer().expect(200)


class SlowTest(E2eTest):
    """Deadlines are set to a second or two; each connection must be cut, however late."""

    def test_a_header_that_does_not_end_is_cut(self):
        tallyd = self.start(TABLES, server=DEADLINES)
        for start in b"G", b"GET /healthz HTTP/1.1\r\n", get()[:-2], get()[:-2] + b"X-Slow: ":
            with tallyd.raw(start) as connection:
                connection.answer().problem(408)
                self.assertTrue(connection.closed())

    def test_a_header_that_trickles_is_cut(self):
        tallyd = self.start(TABLES, server=DEADLINES)
        with tallyd.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ") as connection:
            connection.socket.settimeout(0.1)
            for _ in range(600):
                connection.send(b"x")
                try:
                    got = connection.socket.recv(1000)
                except TimeoutError:
                    continue
                except ConnectionResetError:
                    break
                self.assertEqual(b"HTTP/1.1 408", got[:12])
                break
            else:
                self.fail("still open after 600 bytes of trickle")

    def test_a_body_that_stalls_is_cut_and_nothing_is_stored(self):
        tallyd = self.start(TABLES, server=DEADLINES)
        for request in post(EVENT)[:-1], post(CHUNKED[:-3], TE + b"chunked", length=False):
            with tallyd.raw(request) as connection:
                connection.answer().problem(408)
                self.assertTrue(connection.closed())
        self.assertEqual([], tallyd.keys("ROWS"))

    def test_blank_lines_begin_no_request(self):
        tallyd = self.start(TABLES, server=DEADLINES)
        with tallyd.raw(b"\r\n\r\n") as connection:
            self.assertIsNone(connection.answer())

    def test_an_idle_connection_is_cut_and_others_are_served_meanwhile(self):
        tallyd = self.start(TABLES, server=DEADLINES)
        idle = [tallyd.raw() for _ in range(200)]
        tallyd.write("s", json.loads(EVENT))
        with tallyd.raw(get()) as used:
            used.answer().expect(200)
            for connection in idle:
                self.assertTrue(connection.closed())
                connection.__exit__()
            self.assertTrue(used.closed())


class ConnectionTest(E2eTest):
    def test_a_connection_is_kept_alive(self):
        tallyd = self.start(TABLES)
        with tallyd.raw() as connection:
            for request, status in ((post(), 200), (get(), 200), (get(b"/none"), 404),
                                    (post(b"{"), 400),
                                    (get(), 200)):
                connection.send(request).answer().expect(status)

    def test_every_answer_has_a_date(self):
        tallyd = self.start(TABLES)
        with tallyd.raw() as connection:
            for request in (get(), get(b"/none"), post(), post(b"{"),
                            get(b"/v1/streams/s/events?k=a&format=ndjson"), b"no request\r\n\r\n"):
                date = email.utils.parsedate_to_datetime(
                    connection.send(request).answer().header("Date"))
                self.assertLess(abs(date.timestamp() - time.time()), 60, request)

    def test_a_target_may_be_absolute(self):
        tallyd = self.start(TABLES)
        tallyd.write("s", json.loads(EVENT))
        with tallyd.raw() as connection:
            for target, status in ((b"http://localhost:1/v1/streams/s/events?k=a", 200),
                                   (b"HTTP://127.0.0.1", 404), (b"http://evil.example/healthz", 403),
                                   (b"http://localhost?k=a", 404), (b"https://[::1]/healthz", 200)):
                connection.send(get(target)).answer().expect(status)
        for target in b"*", b"localhost:8780", b"ftp://localhost/healthz", b"http:///healthz":
            with self.subTest(target), tallyd.raw(get(target)) as connection:
                connection.answer().problem(400)

    def test_the_client_may_close(self):
        tallyd = self.start(TABLES)
        with tallyd.raw(get(b"/healthz", b"Connection: close")) as connection:
            connection.answer().expect(200)
            self.assertTrue(connection.closed())
        with tallyd.raw(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n") as connection:
            connection.answer().expect(200)
            self.assertTrue(connection.closed())

    def test_pipelined_requests_are_answered_in_order(self):
        tallyd = self.start(TABLES)
        bodies = [b'{"ts":%d,"k":"a","v":%d}' % (at, at) for at in range(1, 7)]
        path = b"/v1/streams/s/events?k=a"
        with tallyd.raw(b"".join(post(body) + get(path) for body in bodies)) as connection:
            for stored in range(1, 7):
                self.assertEqual(1, connection.answer().expect(200).json["events"])
                self.assertEqual(stored, len(connection.answer().expect(200).json["rows"]))

    def test_a_body_takes_nothing_of_a_longer_one_before_it_nor_of_the_request_behind_it(self):
        tallyd = self.start(TABLES, server="threads = 1")
        long = b'[%s]' % b",".join(b'{"ts":%d,"k":"a","v":1}' % at for at in range(1, 500))
        short = post(b'[{"ts":1000,"k":"b","v":2},{"ts":1001,"k":"b","v":3}]')
        with tallyd.raw(post(long)) as connection:
            self.assertEqual(499, connection.answer().expect(200).json["events"])
            for cut in range(len(short) - 40, len(short), 7):
                connection.send(short[:cut])
                time.sleep(0.01)
                connection.send(short[cut:] + post(EVENT) + get())
                self.assertEqual(2, connection.answer().expect(200).json["events"])
                self.assertEqual(1, connection.answer().expect(200).json["events"])
                connection.answer().expect(200)

    def test_a_body_of_any_size_may_come_with_its_header_and_with_what_is_behind_it(self):
        tallyd = self.start(TABLES)
        for size in (0, 1, 65_535, 65_536, 65_537, 131_072):
            body = EVENT + b" " * max(0, size - 2 * len(post()))
            while len(post(body)) < size:
                body += b" "
            request = post(body) + post() + get()
            with tallyd.raw(request * 3) as connection:
                for _ in range(3):
                    self.assertEqual(1, connection.answer().expect(200).json["events"], size)
                    self.assertEqual(1, connection.answer().expect(200).json["events"], size)
                    connection.answer().expect(200)

    def test_what_is_refused_goes_with_its_body(self):
        tallyd = self.start(TABLES)
        refused = {404: post(HIDDEN).replace(b"/s/", b"/none/", 1),
                   405: post(HIDDEN).replace(b"POST", b"PUT", 1),
                   415: post(HIDDEN, b"Content-Type: image/png")}
        for status, request in refused.items():
            with tallyd.raw(request + post() + get()) as connection:
                for expected in (status, 200, 200):
                    connection.answer().expect(expected)
        self.assertEqual(["a#0000000000001"], tallyd.keys("ROWS"))

    def test_what_is_behind_a_body_does_not_complete_it(self):
        tallyd = self.start(TABLES)
        body = b'{"ts":2,"k":"cut","v":12}'
        for cut in range(1, len(body)):
            head, whole = post(body).split(b"\r\n\r\n", 1)
            head = head.replace(b"Length: %d" % len(body), b"Length: %d" % (len(body) - cut))
            with tallyd.raw(post() * 3 + head + b"\r\n\r\n" + whole) as connection:
                for expected in (200, 200, 200, 400):
                    connection.answer().expect(expected)
        self.assertEqual(["a#0000000000001"], tallyd.keys("ROWS"))

    def test_a_batch_is_answered_by_its_counts_and_then_what_was_refused(self):
        tallyd = self.start(TABLES)
        with tallyd.raw() as connection:
            self.assertEqual('{"events":1,"rows":1,"cells":1}\n',
                             connection.send(post()).answer().text)
            partial = post(b"[%s,{}]" % EVENT).replace(b"events HTTP", b"events?partial=1 HTTP")
            answer = connection.send(partial).answer().text
            self.assertTrue(answer.startswith(
                '{"events":1,"rows":1,"cells":1,"errors":[{"index":1,'), answer)
            self.assertTrue(answer.endswith('],"error_count":1}\n'), answer)

    def test_what_stands_behind_a_keyed_batch_waits_for_it(self):
        tallyd = self.start(TABLES)
        keyed = post(EVENT, b"Idempotency-Key: one")
        with tallyd.raw((keyed + get(b"/v1/streams/s/events?k=a")) * 2) as connection:
            for _ in range(2):
                self.assertEqual(1, connection.answer().expect(200).json["events"])
                self.assertEqual(1, len(connection.answer().expect(200).json["rows"]))

    def test_more_requests_than_the_pipeline_holds_are_all_answered(self):
        tallyd = self.start(TABLES)
        with tallyd.raw(get() * 200) as connection:
            for _ in range(200):
                connection.answer().expect(200)

    def test_a_request_may_come_byte_by_byte(self):
        tallyd = self.start(TABLES)
        request = post(CHUNKED, TE + b"chunked", length=False)
        with tallyd.raw(*(request[at:at + 1] for at in range(len(request)))) as connection:
            connection.answer().expect(200)
        self.assertEqual(["a#0000000000001"], tallyd.keys("ROWS"))

    def test_expect_100_continue_is_answered_before_the_body(self):
        tallyd = self.start(TABLES)
        with tallyd.raw(post(b"", b"Expect: 100-continue", CL, length=False)) as connection:
            connection.answer().expect(100)
            connection.send(EVENT).answer().expect(200)

    def test_expect_100_continue_of_a_body_that_is_there_is_answered_once(self):
        tallyd = self.start(TABLES)
        with tallyd.raw(post(EVENT, b"Expect: 100-continue") + get()) as connection:
            connection.answer().expect(200)
            connection.answer().expect(200)

    def test_expect_100_continue_of_a_body_too_large_is_413_at_once(self):
        tallyd = self.start(TABLES, server='max_body = "64KiB"')
        with tallyd.raw(post(b"", b"Expect: 100-continue", b"Content-Length: 99999999",
                             length=False)) as connection:
            connection.answer().expect(413)

    def test_what_is_refused_without_the_body_is_said_instead_of_100_continue(self):
        tallyd = self.start(TABLES)
        expect = (b"Expect: 100-continue", CL)
        unasked = {
            "an unknown stream": (404, post(b"", *expect, length=False).replace(b"/s/", b"/none/")),
            "an unknown path": (404, post(b"", *expect, length=False).replace(b"/v1/", b"/v9/")),
            "a wrong method": (405, post(b"", *expect, length=False).replace(b"POST", b"PUT")),
            "a type": (415, post(b"", *expect, b"Content-Type: image/png", length=False)),
            "an encoding": (415, post(b"", *expect, b"Content-Encoding: br", length=False)),
            "a parameter": (400, post(b"", *expect, length=False).replace(b"events", b"events?x=1")),
            "a flag": (400, post(b"", *expect, length=False).replace(b"events",
                                                                     b"events?dry_run=x")),
            "an escape": (400, post(b"", *expect, length=False).replace(b"events",
                                                                        b"events?partial=%zz")),
        }
        for what, (status, request) in unasked.items():
            with self.subTest(what), tallyd.raw(request) as connection:
                connection.answer().problem(status)

    def test_a_small_body_of_a_refused_request_does_not_end_the_connection(self):
        tallyd = self.start(TABLES)
        with tallyd.raw() as connection:
            for request in (post().replace(b"/s/", b"/none/"),
                            post(EVENT, b"Content-Type: image/png"),
                            post().replace(b"POST", b"PUT")):
                head, body = request.split(b"\r\n\r\n")
                connection.send(head + b"\r\n\r\n").send(body)
                connection.answer().problem(404, 405, 415)
            connection.send(post()).answer().expect(200)

    def test_an_old_client_is_never_told_to_continue(self):
        tallyd = self.start(TABLES)
        with tallyd.raw(post(b"", b"Expect: 100-continue", CL, version=b"HTTP/1.0",
                             length=False)) as connection:
            connection.send(EVENT).answer().expect(200)

    def test_head_has_the_header_of_get_and_no_body_or_is_405(self):
        tallyd = self.start(TABLES)
        answer = tallyd.request("HEAD", "/healthz")
        answer.expect(200, 405)
        self.assertEqual(b"", answer.body)

    def test_a_client_that_leaves_harms_nobody(self):
        tallyd = self.start(TABLES)
        tallyd.write("s", [{"ts": at, "k": "a", "v": "x" * 1000} for at in range(5000)])
        for _ in range(20):
            with tallyd.raw(get(b"/v1/streams/s/events?k=a&format=ndjson")) as connection:
                connection.file.readline()
        with tallyd.raw(post(EVENT)[:-5]):
            pass
        self.assertEqual(5000, len(tallyd.events("s", k="a")))

    def test_health_and_readiness_need_nothing_and_metrics_are_text(self):
        tallyd = self.start(TABLES)
        tallyd.write("s", json.loads(EVENT))
        tallyd.get("/healthz").expect(200)
        tallyd.get("/readyz").expect(200)
        tallyd.get("/v1/status").expect(200)
        metrics = tallyd.get("/metrics").expect(200)
        self.assertTrue(metrics.header("Content-Type").startswith("text/plain"))
        names = {line.split("{")[0].split(" ")[0] for line in metrics.text.splitlines()
                 if line[:1] not in ("#", "")}
        self.assertTrue(names)
        self.assertEqual(set(), {name for name in names
                                 if not name.startswith(("tallyd_", "process_"))})
