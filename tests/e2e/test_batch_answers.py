"""The answer to a batch, whatever its connection does while it is committed."""

import json
import re
import socket
import threading
import time

from tests.e2e.tallyd import E2eTest, eventually

TABLES = """
[tables.ROWS]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
families.F = {}
"""

HITS = """
[tables.HITS]
stream = "page"
pattern = "single-timestamp"
row_key = "{page}#{ts:ms}"
families.F = {}
flush = "300ms"
"""


def post(events, *headers, target="/v1/streams/s/events", version="HTTP/1.1"):
    body = json.dumps(events)
    head = [f"POST {target} {version}", "Host: localhost", f"Content-Length: {len(body)}"]
    return "\r\n".join([*head, *headers, "", body]).encode()


def batch(size, start=0):
    return [{"ts": start + at, "k": "a", "v": at} for at in range(1, size + 1)]


class BatchAnswerTest(E2eTest):
    def test_what_comes_while_a_batch_is_committed_waits_for_its_answer(self):
        tallyd = self.start(TABLES)
        with tallyd.raw() as connection:
            for pause in (0, 0.0001, 0.0002, 0.0004, 0.0008, 0.002) * 20:
                connection.send(post(batch(3)))
                time.sleep(pause)
                connection.send(post(batch(5))[:40])
                time.sleep(pause)
                connection.send(post(batch(5))[40:])
                self.assertEqual(3, connection.answer().expect(200).json["events"])
                self.assertEqual(5, connection.answer().expect(200).json["events"])

    def test_who_reads_late_gets_every_answer_whole_and_in_order(self):
        tallyd = self.start(TABLES, server='write_timeout = "60s"')
        bad = [{"ts": 1, "v": "x" * 300}] * 100
        requests = [post(batch(size) + bad, target="/v1/streams/s/events?partial=true")
                    for size in range(1, 400)]
        for pause in (0, 0.002):
            with tallyd.raw() as connection:
                connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)

                def send(pause=pause, connection=connection):
                    for request in requests:
                        connection.send(request)
                        time.sleep(pause)

                sender = threading.Thread(target=send)
                sender.start()
                sender.join(2)
                for size in range(1, 400):
                    answer = connection.answer().expect(200).json
                    self.assertEqual((size, 100), (answer["events"], answer["error_count"]))
                sender.join()

    def test_who_sends_no_more_is_answered_then_closed(self):
        tallyd = self.start(TABLES)
        for size in range(1, 20):
            with tallyd.raw(post(batch(size))) as connection:
                connection.socket.shutdown(socket.SHUT_WR)
                self.assertEqual(size, connection.answer().expect(200).json["events"])
                self.assertTrue(connection.closed())

    def test_who_asks_for_it_is_closed_behind_the_answer(self):
        tallyd = self.start(TABLES)
        for request in (post(batch(2), "Connection: close"), post(batch(2), version="HTTP/1.0")):
            with tallyd.raw(request) as connection:
                answer = connection.answer().expect(200)
                self.assertEqual("close", answer.headers["Connection"])
                self.assertTrue(connection.closed())

    def test_a_batch_of_an_old_client_may_keep_its_connection(self):
        tallyd = self.start(TABLES)
        with tallyd.raw() as connection:
            for size in range(1, 5):
                connection.send(post(batch(size), "Connection: keep-alive", version="HTTP/1.0"))
                answer = connection.answer().expect(200)
                self.assertEqual("keep-alive", answer.headers["Connection"])
                self.assertEqual(size, answer.json["events"])

    def test_who_is_idle_behind_a_batch_is_cut(self):
        tallyd = self.start(TABLES, server='idle_timeout = "1s"')
        with tallyd.raw(post(batch(2))) as connection:
            connection.answer().expect(200)
            begin = time.monotonic()
            self.assertTrue(connection.closed())
            self.assertGreater(time.monotonic() - begin, 0.5)

    def test_a_stop_waits_for_nobody_who_is_idle_behind_a_batch(self):
        tallyd = self.start(TABLES)
        connections = [tallyd.raw(post(batch(2))) for _ in range(20)]
        for connection in connections:
            connection.answer().expect(200)
        begin = time.monotonic()
        tallyd.stop()
        self.assertLess(time.monotonic() - begin, 5)
        for connection in connections:
            with connection:
                self.assertTrue(connection.closed())

    def test_who_leaves_without_its_answer_has_stored_its_batch(self):
        tallyd = self.start(TABLES)
        for at in range(50):
            with tallyd.raw(post(batch(10, start=10 * at))):
                pass
        with tallyd.raw(post(batch(1, start=1000))) as connection:
            connection.answer().expect(200)
        self.assertEqual(501, len(tallyd.events("s", k="a")))

    def test_an_answer_is_counted_when_it_is_there(self):
        tallyd = self.start(TABLES)
        with tallyd.raw() as connection:
            for stored in range(1, 30):
                connection.send(post(batch(1))).answer().expect(200)
                text = tallyd.get("/metrics").text
                route = r'requests_total\{route="POST /v1/streams/{stream}/events",status="2xx"} (\d+)'
                self.assertEqual([str(stored)], re.findall(route, text))

    def test_who_was_refused_and_idles_holds_up_no_counters(self):
        tallyd = self.start(HITS)
        hits = [{"page": "a", "ts": 1, "hits": 1}, {"page": "a", "ts": 1, "hits": "bad"}]
        with tallyd.raw(post(hits, target="/v1/streams/page/events")) as connection:
            connection.answer().expect(400)
            self.assertEqual(1, tallyd.write("page", hits[:1])["held"])
            eventually(lambda: len(tallyd.rows("HITS")) == 1, "the hit is written")

    def test_a_stop_loses_nothing_that_was_answered_as_held(self):
        tallyd = self.start(HITS.replace("300ms", "60s"), server='drain_timeout = "1ms"')
        request = post([{"page": "a", "ts": 1, "hits": 1}], target="/v1/streams/page/events")
        answered = []

        def send():
            with tallyd.raw() as connection:
                while (answer := connection.send(request).answer()) is not None:
                    answered.append(answer.expect(200).json["held"])

        for _ in range(5):
            senders = [threading.Thread(target=send) for _ in range(8)]
            for sender in senders:
                sender.start()
            time.sleep(0.1)
            tallyd.stop()
            for sender in senders:
                sender.join()
            tallyd.start()
            cells = [cell for row in tallyd.rows("HITS") for cell in row["cells"]["F"]["hits"]]
            self.assertGreaterEqual(sum(cell["value"] for cell in cells), sum(answered))
            self.assertGreater(sum(answered), 0)
