"""Kills: every acknowledged batch is there whole, none in part, the latest equals its history."""

import http.client
import json
import os
import pathlib
import random
import re
import signal
import threading

from tests.e2e.tallyd import E2eTest, SEED, STOP_SECONDS, as_dicts, in_threads

KILLS = int(os.environ.get("TALLYD_KILLS", "20"))
WRITERS = 4
SIZES = (1, 2, 10, 50, 300)
TABLES = """
[tables.HISTORY]
stream = "load"
pattern = "single-timestamp"
row_key = "{writer}#{ts:ms}"
families.F = {}

[tables.BUCKET]
stream = "load"
pattern = "new-cell"
row_key = "{writer}#{ts:minute}"
families.F = {}

[tables.LATEST]
stream = "load"
pattern = "latest"
row_key = "{writer}"
families.F = {}
"""

BEGIN = 1_600_000_000_000


class Writer:
    """Sends batches until told to stop or the daemon dies, and remembers what was acknowledged."""

    def __init__(self, name):
        self.name, self.random = name, random.Random(f"{SEED} {name}")
        self.clock, self.batches, self.acknowledged = BEGIN, {}, set()

    def run(self, daemon, stop, on_ack):
        while not stop.is_set():
            number, events = self.next_batch()
            try:
                answer = daemon.post("load", events)
            except (OSError, http.client.HTTPException):
                return
            if answer.status == 200:
                self.acknowledged.add(number)
                on_ack()
            elif answer.status != 503:
                answer.expect(200, 503)

    def next_batch(self):
        number, size = len(self.batches), self.random.choice(SIZES)
        first, self.clock = self.clock, self.clock + size
        self.batches[number] = range(first, first + size)
        return number, [{"ts": at, "writer": self.name, "batch": number, "value": at * 3 + 1}
                        for at in self.batches[number]]


def takes_direct_writes(path):
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DIRECT))
    except OSError:
        return False
    return True


def open_logs(pid):
    """By directory, what the logs of LevelDB that a process has open were opened with."""
    flags = {}
    for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            path = pathlib.Path(os.readlink(descriptor))
            info = pathlib.Path(f"/proc/{pid}/fdinfo/{descriptor.name}").read_text()
        except FileNotFoundError:
            continue
        if path.suffix == ".log":
            directory = str(path.parent)
            told = re.search(r"flags:\s+(\d+)", info)
            flags[directory[directory.rindex("data"):]] = int(told[1], 8)
    return flags


class CrashTest(E2eTest):
    def check(self, daemon, writers, since):
        """Compares what each table holds with what was sent, from the batch since[name] on."""
        for writer in writers:
            first = writer.batches[since[writer.name]].start if since[
                writer.name] in writer.batches else BEGIN
            stored = self.read(daemon, writer, "HISTORY", first)
            self.assertEqual(stored, self.read(daemon, writer, "BUCKET", first),
                             "BUCKET differs from HISTORY")
            for number, times in writer.batches.items():
                if number >= since[writer.name]:
                    there = [at for at in times if stored.get(at) == (number, at * 3 + 1)]
                    whole = len(times) if number in writer.acknowledged or there else 0
                    self.assertEqual(whole, len(there),
                                     f"batch {number} of {writer.name}, seed {SEED}")
            self.assertLessEqual(set(stored), set(range(first, writer.clock)),
                                 "what was never sent")
            self.check_latest(daemon, writer, stored)

    def read(self, daemon, writer, table, first):
        answer = daemon.get("/v1/streams/load/events", writer=writer.name, table=table, from_=first,
                            format="ndjson")
        events = answer.expect(200).lines
        stored = {event["ts"]: (event["batch"], event["value"]) for event in events}
        self.assertEqual(len(events), len(stored), f"an event twice in {table}")
        return stored

    def check_latest(self, daemon, writer, stored):
        latest = daemon.latest("load", writer=writer.name)
        if stored:
            newest = max(stored)
            self.assertEqual([(newest, *stored[newest])],
                             [(event["ts"], event["batch"], event["value"]) for event in latest],
                             "LATEST")

    def test_no_kill_loses_an_acknowledged_batch_or_keeps_a_part_of_one(self):
        self.kill_often(self.start(TABLES))

    def test_no_kill_loses_what_was_acknowledged_before_any_fsync(self):
        self.kill_often(self.start(TABLES, storage="""
            sync = "interval"
            sync_interval = "60s\""""))

    def test_logs_pass_the_page_cache_only_where_answers_wait_for_the_disk(self):
        for sync, is_direct in (("always", True), ("interval", False)):
            with self.subTest(sync=sync):
                daemon = self.start(TABLES, storage=f'sync = "{sync}"')
                if not takes_direct_writes(daemon.directory / "probe"):
                    self.skipTest("the file system has no direct writes")
                event = {"ts": BEGIN, "writer": "w", "batch": 1, "value": 1}
                daemon.post("load", [event]).expect(200)
                flags = open_logs(daemon.process.pid)
                self.assertIn("data", flags)
                self.assertTrue(any(name.startswith("data/heads/") for name in flags), flags)
                self.assertEqual({is_direct}, {bool(of & os.O_DIRECT) for of in flags.values()})

    def test_no_kill_during_sealing_loses_or_doubles_anything(self):
        # Heads of a few batches, sealed and merged all the time.
        self.kill_often(self.start(TABLES, storage="""
            write_buffer = "64KiB"
            seal_window = "1m"
            seal_delay = "1ms"
            seal_cpu = 1.0"""))

    def kill_often(self, daemon):
        writers = [Writer(f"w{number}") for number in range(WRITERS)]
        chance = random.Random(SEED)
        for round_number in range(KILLS):
            since = {writer.name: len(writer.batches) for writer in writers}
            self.write_until_killed(daemon, writers, chance)
            daemon.start()
            with self.subTest(kill=round_number):
                self.check(daemon, writers, since)
        self.check(daemon, writers, {writer.name: 0 for writer in writers})
        self.assertGreater(sum(len(writer.acknowledged) for writer in writers), KILLS)

    def write_until_killed(self, daemon, writers, chance):
        """Kills in the midst of writing: after some acknowledgements and a moment more."""
        enough, stop = threading.Semaphore(0), threading.Event()
        wanted, moment = chance.randint(1, 40), chance.random() * 0.05

        def killer():
            for _ in range(wanted):
                if not enough.acquire(timeout=60):
                    break
            stop.wait(moment)
            daemon.process.send_signal(signal.SIGKILL)
            daemon.process.wait()
            stop.set()

        def work(number):
            killer() if number == WRITERS else writers[number].run(daemon, stop, enough.release)

        in_threads(WRITERS + 1, work)

    def test_sigterm_answers_what_it_took_and_exits_with_0(self):
        daemon = self.start(TABLES)
        writers = [Writer(f"w{number}") for number in range(WRITERS)]
        for _ in range(5):
            enough, stop = threading.Semaphore(0), threading.Event()

            def work(number):
                if number < WRITERS:
                    writers[number].run(daemon, stop, enough.release)
                else:
                    for _ in range(20):
                        enough.acquire(timeout=60)
                    daemon.stop()
                    stop.set()

            in_threads(WRITERS + 1, work)
            daemon.start()
        self.check(daemon, writers, {writer.name: 0 for writer in writers})

    def test_sigterm_may_come_while_connections_come_and_go(self):
        daemon = self.start(TABLES, server="threads = 4")
        for _ in range(5):
            served, stop = threading.Semaphore(0), threading.Event()

            def work(number):
                if number == WRITERS:
                    try:
                        for _ in range(100):
                            self.assertTrue(served.acquire(timeout=60))
                        daemon.stop()
                    finally:
                        stop.set()
                while not stop.is_set():
                    try:
                        daemon.get("/healthz").expect(200)
                    except (OSError, http.client.HTTPException):
                        continue  # It stops, or has stopped.
                    served.release()

            in_threads(WRITERS + 1, work)
            daemon.start()

    def test_sigterm_lets_a_request_that_is_under_way_finish(self):
        daemon = self.start(TABLES)
        body = json.dumps({"ts": 1, "writer": "late", "batch": 0, "value": 4}).encode()
        head = (b"POST /v1/streams/load/events HTTP/1.1\r\nHost: localhost\r\n"
                b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n")
        with daemon.raw(head % len(body)) as connection:
            connection.answer().expect(100)
            daemon.process.send_signal(signal.SIGTERM)
            connection.send(body).answer().expect(200)
        self.assertEqual(0, daemon.process.wait(STOP_SECONDS))
        daemon.start()
        self.assertEqual([4], [event["value"]
                               for event in daemon.events("load", writer="late", table="HISTORY")])

    def test_sigterm_ends_connections_in_every_state(self):
        daemon = self.start(TABLES, server='drain_timeout = "1s"')
        head = (b"POST /v1/streams/load/events HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Length: 99\r\n\r\n")
        get = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        states = [b"", get[:1], get[:-2], get, get + get[:9], head, head + b'{"ts":']
        connections = [daemon.raw(sent) for sent in states for _ in range(4)]
        for connection in connections[12:20]:
            connection.answer().expect(200)
        daemon.stop()
        for connection in connections:
            with connection:
                while connection.answer() is not None:
                    pass

    def test_a_restart_keeps_everything_as_it_was(self):
        daemon = self.start(TABLES)
        for at in range(0, 500, 50):
            daemon.write("load", [{"ts": at + step, "writer": "w", "batch": 0, "value": step}
                                  for step in range(50)])
        before = [daemon.rows(table, limit=1000, versions=1000)
                  for table in ("HISTORY", "BUCKET", "LATEST")]
        daemon.restart()
        self.assertEqual(before, [daemon.rows(table, limit=1000, versions=1000)
                                  for table in ("HISTORY", "BUCKET", "LATEST")])

    def test_a_cursor_survives_a_restart(self):
        daemon = self.start(TABLES)
        daemon.write("load",
                     [{"ts": at, "writer": "w", "batch": 0, "value": at} for at in range(100)])
        page = daemon.query("load", writer="w", table="HISTORY", limit=40)
        daemon.restart()
        rest = daemon.query("load", writer="w", table="HISTORY", cursor=page["next"])
        self.assertEqual(list(range(100)),
                         [event["value"] for event in as_dicts(page) + as_dicts(rest)])
