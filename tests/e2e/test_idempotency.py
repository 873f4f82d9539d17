"""Idempotency-Key: what is sent again has no second effect, also over kills."""

import gzip
import http.client
import json
import os
import random
import signal
import threading

from tests.e2e.tallyd import E2eTest, SEED, in_threads, ms
from tests.e2e.test_mutations import add, mutate, set_

KILLS = int(os.environ.get("TALLYD_KILLS", "20"))
TABLES = """
[tables.HISTORY]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:us}"
families.F = {}
[tables.COUNTS]
stream = "counts"
pattern = "latest"
row_key = "{k}"
families.F = {}
"""
COUNTERS = """
[tables.COUNTERS]
stream = "c"
pattern = "aggregate"
row_key = "{k}"
families.N = { aggregate = "sum" }
"""
DAY = ms("2021-03-05")


def replays(daemon):
    lines = daemon.get("/metrics").text.splitlines()
    return sum(float(line.split()[1]) for line in lines
               if line.startswith("tallyd_idempotent_replays_total "))


def counted(daemon, key):
    row = daemon.row("COUNTERS", key)
    return 0 if row.status == 404 else row.expect(200).json["cells"]["N"]["n"][0]["value"]


class IdempotencyTest(E2eTest):
    def send(self, daemon, event, key, **params):
        return daemon.post_bytes("s", json.dumps(event), headers={"Idempotency-Key": key}, **params)

    def test_two_keys_are_none(self):
        daemon = self.start(TABLES)
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port)
        body = b'{"k": "a", "v": 1}'
        connection.putrequest("POST", "/v1/streams/s/events")
        for name, value in (("Content-Type", "application/json"), ("Content-Length", len(body)),
                            ("Idempotency-Key", "one"), ("Idempotency-Key", "two")):
            connection.putheader(name, value)
        connection.endheaders(body)
        self.assertEqual(400, connection.getresponse().status)
        connection.close()
        self.assertEqual([], daemon.rows("HISTORY"))

    def test_a_retried_batch_has_no_second_effect_and_gets_the_first_answer(self):
        daemon = self.start(TABLES)
        events = [{"k": "a", "v": 1}, {"k": "a", "v": 2}]  # Without a time: each has its own.
        first = self.send(daemon, events, "K1").expect(200)
        for _ in range(2):
            again = self.send(daemon, events, "K1")
            self.assertEqual((first.status, first.body, first.header("Content-Type")),
                             (again.status, again.body, again.header("Content-Type")))
            self.assertEqual(2, len(daemon.rows("HISTORY")))
            daemon.restart()
        self.send(daemon, events, "K2").expect(200)
        self.assertEqual(4, len(daemon.rows("HISTORY")))

    def test_the_first_answer_comes_again_without_its_warnings(self):
        daemon = self.start(TABLES)
        event = {"k": "a", "ts": DAY, "v": "x" * (10_485_760 + 1)}
        first = self.send(daemon, event, "K1").expect(200).json
        self.assertEqual(1, len(first.pop("warnings")))
        self.assertEqual(first, self.send(daemon, event, "K1").expect(200).json)

    def test_replays_are_counted(self):
        daemon = self.start(TABLES)
        for _ in range(3):
            self.send(daemon, {"k": "a", "v": 1}, "K").expect(200)
        self.assertEqual(2, replays(daemon))

    def test_the_same_key_with_another_body_is_422(self):
        daemon = self.start(TABLES)
        self.send(daemon, {"k": "a", "v": 1}, "K").expect(200)
        self.send(daemon, {"k": "a", "v": 2}, "K").problem(422)
        self.send(daemon, {"k": "a", "v": 1}, "K", partial=1).problem(422)
        self.assertEqual(1, len(daemon.rows("HISTORY")))
        headers = {"Idempotency-Key": "K"}
        daemon.post_bytes("counts", b'{"k":"a","v":1}', headers=headers).expect(200)

    def test_a_key_has_1_to_255_bytes(self):
        daemon = self.start(TABLES)
        self.send(daemon, {"k": "a", "v": 1}, "k" * 255).expect(200)
        self.send(daemon, {"k": "a", "v": 1}, "k" * 256).problem(400)
        self.send(daemon, {"k": "a", "v": 1}, "").problem(400)
        self.assertEqual(1, len(daemon.rows("HISTORY")))

    def test_what_is_refused_is_not_remembered(self):
        daemon = self.start(TABLES)
        self.send(daemon, {"v": 1}, "K").problem(400)
        self.send(daemon, {"k": "a", "v": 1}, "K").expect(200)

    def test_a_partial_answer_is_remembered_with_its_errors(self):
        daemon = self.start(TABLES)
        events = [{"k": "a", "v": 1}, {"v": 2}]
        first = self.send(daemon, events, "K", partial=1).expect(200)
        self.assertEqual(1, first.errors[0]["index"])
        self.assertEqual(first.body, self.send(daemon, events, "K", partial=1).expect(200).body)
        none = [{"v": 2}]
        first = self.send(daemon, none, "K2", partial=1).expect(200)
        self.assertEqual(first.body, self.send(daemon, none, "K2", partial=1).expect(200).body)
        self.send(daemon, events, "K2", partial=1).problem(422)

    def test_a_dry_run_has_no_key(self):
        daemon = self.start(TABLES)
        self.send(daemon, {"k": "a", "v": 1}, "K", dry_run=1).expect(200)
        self.send(daemon, {"k": "b", "v": 1}, "K").expect(200)
        self.send(daemon, {"k": "a", "v": 1}, "K", dry_run=1).expect(200)

    def test_the_encoding_of_the_body_does_not_matter(self):
        daemon = self.start(TABLES)
        body = b'{"k":"a","v":1}'
        first = daemon.post_bytes("s", body, headers={"Idempotency-Key": "K"}).expect(200)
        again = daemon.post_bytes("s", gzip.compress(body), headers={
            "Idempotency-Key": "K", "Content-Encoding": "gzip"}).expect(200)
        self.assertEqual(first.body, again.body)
        self.assertEqual(1, len(daemon.rows("HISTORY")))
        daemon.post_bytes("s", b"not gzip", headers={
            "Idempotency-Key": "K", "Content-Encoding": "gzip"}).problem(400)

    def test_twins_that_come_at_once_have_one_effect(self):
        daemon = self.start(TABLES)
        bodies = [[] for _ in range(12)]

        def work(number):
            for key in range(20):
                answer = self.send(daemon, {"k": "a", "v": key}, f"K{key}")
                bodies[number].append(answer.expect(200).body)

        in_threads(12, work)
        self.assertEqual(20, len(daemon.rows("HISTORY")))
        for other in bodies:
            self.assertEqual(bodies[0], other)

    def test_mutations_take_a_key_of_their_table(self):
        daemon = self.start(TABLES + COUNTERS)
        key = {"Idempotency-Key": "K"}
        first = mutate(daemon, "COUNTERS", "r", add("N", "n", DAY, 5), headers=key).expect(200)
        again = mutate(daemon, "COUNTERS", "r", add("N", "n", DAY, 5), headers=key).expect(200)
        self.assertEqual(first.body, again.body)
        self.assertEqual(5, counted(daemon, "r"))
        mutate(daemon, "COUNTERS", "r", add("N", "n", DAY, 6), headers=key).problem(422)
        mutate(daemon, "COUNTERS", "other", add("N", "n", DAY, 5), headers=key).problem(422)
        mutate(daemon, "COUNTS", "r", set_("F", "n", DAY, 5), headers=key).expect(200)
        self.send(daemon, {"k": "a", "v": 1}, "K").expect(200)
        empty = {"Idempotency-Key": ""}
        mutate(daemon, "COUNTERS", "r", add("N", "n", DAY, 5), headers=empty).problem(400)
        in_threads(8, lambda number: mutate(daemon, "COUNTERS", "twins", add("N", "n", DAY, 1),
                                            headers={"Idempotency-Key": "T"}).expect(200))
        self.assertEqual(1, counted(daemon, "twins"))

    def test_no_kill_loses_or_doubles_an_add_that_is_retried_with_its_key(self):
        daemon = self.start(TABLES + COUNTERS, storage="""
            write_buffer = "64KiB"
            seal_delay = "1ms"
            seal_cpu = 1.0""")
        chance = random.Random(SEED)
        wanted = {"a": 0, "b": 0}
        number = 0
        for _ in range(KILLS):
            pending = []
            killed = threading.Event()

            def killer():
                killed.wait(chance.random() * 0.05)
                daemon.process.send_signal(signal.SIGKILL)
                daemon.process.wait()

            thread = threading.Thread(target=killer)
            thread.start()
            while thread.is_alive():
                number += 1
                row, value = chance.choice("ab"), chance.randint(1, 1000)
                batch = chance.random() < 0.5
                wanted[row] += value
                if not self.counts(daemon, row, value, batch, number):
                    pending.append((row, value, batch, number))
                    break
            thread.join()
            daemon.start()
            for one in pending:
                for _ in range(2):
                    self.assertTrue(self.counts(daemon, *one))
            self.assertEqual(wanted, {row: counted(daemon, row) for row in wanted}, f"seed {SEED}")

    def counts(self, daemon, row, value, batch, number):
        """Adds by either route; False where no answer came."""
        headers = {"Idempotency-Key": f"add {number}"}
        try:
            if batch:
                event = {"ts": DAY, "k": row, "n": value}
                answer = daemon.post_bytes("c", json.dumps(event), headers=headers)
            else:
                answer = mutate(daemon, "COUNTERS", row, add("N", "n", DAY, value), headers=headers)
        except (OSError, http.client.HTTPException):
            return False
        answer.expect(200)
        return True
