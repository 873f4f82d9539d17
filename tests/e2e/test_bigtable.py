"""The same file on Bigtable: over the tablet server of tests/bigtable, and over Google's emulator.

    TALLYD_BIGTABLE_SECONDS    how long faults are injected into writes (default 6)
"""

import collections
import functools
import json
import os
import random
import re
import signal
import subprocess
import threading
import time
import unittest

from tests.e2e.bigtable import (Balancer, Emulator, TabletServer, needs_emulator, needs_tablet_server,
                                storage)
from tests.e2e.tallyd import (BINARY, ROOT, SEED, SLOW, START_SECONDS, E2eTest, Tallyd, as_dicts, eventually, free_port,
                              in_threads, run)

FAULT_SECONDS = float(os.environ.get("TALLYD_BIGTABLE_SECONDS", "6"))
SCHEMA = """
[streams.server]
time = "ts"
time_required = true

[tables.METRIC]
stream = "server"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.METRIC = {}

[tables.CURRENT_METRIC]
stream = "server"
pattern = "latest"
row_key = "{host}"
families.METRIC = {}
"""
COUNTERS = """
[streams.clicks]
time = "ts"
time_required = true

[tables.CLICKS]
stream = "clicks"
pattern = "aggregate"
row_key = "{page}"
families.ADDED = { aggregate = "sum", bucket = "1d" }
"""
BEGIN = 1_700_000_000_000


class BigtableTest(E2eTest):
    def bigtable(self, kind=TabletServer, **options):
        server = kind(**options)
        self.addCleanup(server.end)
        return server

    def daemon(self, server, schema=SCHEMA, **keys):
        return self.start(schema, storage=storage(server.address, **keys))

    def balancer(self, daemons):
        balancer = Balancer(daemons)
        self.addCleanup(balancer.end)
        through = Tallyd("")
        self.addCleanup(through.discard)
        through.port = balancer.port
        return through


def event(host, number, **fields):
    return {"host": host, "ts": BEGIN + number, **fields}


def answers(daemon):
    try:
        return daemon.get("/healthz").status == 200
    except OSError:
        return False


def history(daemon, host, times=10_000_000, width=10_000_000):
    """The values of `n` that a host has, in the order of their times: of so many milliseconds, each page so wide."""
    found = []

    def is_read(begin):
        # A service that has much to do may be silent for too long.
        answer = daemon.get("/v1/streams/server/events", {"host": host, "from": begin, "to": begin + width})
        if answer.status == 503:
            return False
        found.extend(row["n"] for row in as_dicts(answer.expect(200).json))
        return True

    for begin in range(BEGIN, BEGIN + times, width):
        eventually(lambda: is_read(begin), "it is read")
    return found


class EitherBigtable:
    """What holds over both."""

    kind = None

    def test_what_was_written_is_read_and_the_newest_is_the_latest(self):
        daemon = self.daemon(self.bigtable(self.kind))
        values = {"whole": 7, "part": 0.5, "round": 2.0, "yes": True, "text": "7", "quote": "'q"}
        daemon.write("server", [event("a", 2, n=2, **values), event("a", 1, n=1), event("b", 1, n=3)])
        self.assertEqual(history(daemon, "a"), [1, 2])
        newest = {row["host"]: row for row in daemon.latest("server")}
        self.assertEqual({host: row["n"] for host, row in newest.items()}, {"a": 2, "b": 3})
        for name, value in values.items():
            self.assertEqual((newest["a"][name], type(newest["a"][name])), (value, type(value)))

    def test_a_field_that_came_through_another_daemon_is_known_before_it_is_refused(self):
        server = self.bigtable(self.kind)
        first, second = (self.daemon(server, poll="5s") for _ in range(2))
        first.write("server", [event("a", 1, n=1)])
        for number, name in enumerate(("load", "heat", "rain"), 2):
            first.write("server", [event("a", number, **{name: number})])
            found = second.get("/v1/streams/server/events", {"host": "a", "where": f"{name}>1"}).expect(200).json
            self.assertEqual([row[name] for row in as_dicts(found)], [number])
        second.get("/v1/streams/server/events", {"host": "a", "fields": "snow"}).problem(400)

    def test_an_older_event_never_becomes_the_latest(self):
        daemon = self.daemon(self.bigtable(self.kind))
        for number in (5, 9, 2):
            daemon.write("server", [event("a", number, n=number)])
        self.assertEqual([row["n"] for row in daemon.latest("server")], [9])

    def test_a_restart_finds_everything_and_administers_nothing(self):
        server = self.bigtable(self.kind)
        daemon = self.daemon(server)
        daemon.write("server", [event("a", 1, n=1)])
        if self.kind is TabletServer:
            server.calls()
        daemon.restart()
        self.assertEqual(history(daemon, "a"), [1])
        self.assertEqual([row["n"] for row in daemon.latest("server")], [1])
        if self.kind is TabletServer:
            administered = {"CreateTable", "ModifyColumnFamilies", "DropRowRange", "DeleteTable"}
            self.assertFalse(server.calls().keys() & administered)

    def test_of_three_daemons_behind_a_balancer_one_may_be_killed(self):
        server = self.bigtable(self.kind)
        daemons = [self.daemon(server) for _ in range(3)]
        through = self.balancer(daemons)
        taken = {host: [] for host in "abcd"}
        killed = threading.Event()

        def write(index):
            host = "abcd"[index]
            for number in range(60):
                while True:  # A batch that was not taken is sent again, as an agent would.
                    try:
                        if through.post("server", [event(host, number, n=number)]).status == 200:
                            break
                    except OSError:
                        pass  # Of the daemon that was killed.
                taken[host].append(number)
                if index == 0 and number == 20:
                    daemons[1].kill()
                    killed.set()

        in_threads(4, write)
        self.assertTrue(killed.is_set())
        for daemon in (daemons[0], daemons[2], through):
            for host, numbers in taken.items():
                self.assertEqual(history(daemon, host), numbers)
            self.assertEqual({row["host"]: row["n"] for row in daemon.latest("server")},
                             {host: numbers[-1] for host, numbers in taken.items()})


@needs_tablet_server
class TabletServerTest(EitherBigtable, BigtableTest):
    kind = TabletServer

    def test_a_day_of_one_machine_is_one_round_trip(self):
        server = self.bigtable()
        daemon = self.daemon(server)
        daemon.write("server", [event("a", 1000 * number, n=number) for number in range(500)])
        history(daemon, "a")
        server.calls()
        self.assertEqual(history(daemon, "a"), list(range(500)))
        self.assertEqual(server.calls().get("ReadRows METRIC", 0), 1)

    def test_with_the_service_away_it_waits_red_and_an_end_does_not(self):
        server = self.bigtable()
        server.tell("stop")
        daemon = Tallyd(SCHEMA, storage=storage(server.address, poll="200ms"))
        self.addCleanup(daemon.discard)
        daemon.port = free_port()
        daemon.write_config()
        daemon.spawn()
        eventually(lambda: answers(daemon), "it listens")
        refused = [daemon.get("/readyz"), daemon.post("server", [event("a", 1, n=1)]),
                   daemon.get("/v1/streams/server/latest"), daemon.request("POST", "/-/settle")]
        for answer in refused:
            self.assertEqual((answer.status, "Retry-After" in answer.headers), (503, True), answer.body)
        self.assertEqual(refused[0].json["why"], "it waits for its store")
        self.assertEqual(daemon.get("/healthz").status, 200)
        self.assertIn("Bigtable answers", daemon.get("/v1/status").expect(200).json["store"]["reason"])
        server.tell("start")
        self.turns(daemon, 200)
        daemon.write("server", [event("a", 1, n=1)])
        self.assertEqual(history(daemon, "a"), [1])
        server.tell("stop")
        writes = threading.Thread(target=lambda: daemon.post("server", [event("a", 2, n=2)]))
        writes.start()
        self.turns(daemon, 503)
        began = time.monotonic()
        daemon.stop()
        writes.join()
        self.assertLess(time.monotonic() - began, 5)

    def test_a_reload_while_the_service_is_away_is_of_the_file_that_is_adopted_when_it_comes(self):
        server = self.bigtable()
        server.tell("stop")
        daemon = Tallyd(SCHEMA, storage=storage(server.address, poll="200ms"))
        self.addCleanup(daemon.discard)
        daemon.port = free_port()
        daemon.write_config()
        daemon.spawn()
        eventually(lambda: answers(daemon), "it listens")
        by_request = SCHEMA + COUNTERS
        daemon.reload(by_request).expect(200)
        daemon.toml = "[streams.server"
        daemon.write_config()
        daemon.request("POST", "/-/reload").expect(409)
        daemon.toml = by_request.replace("[tables.METRIC]", "[tables.HISTORY]")
        daemon.write_config()
        daemon.process.send_signal(signal.SIGHUP)
        eventually(lambda: "SIGHUP: reloaded" in daemon.log(), "the signal is taken")
        self.assertIn("is adopted when it is there", daemon.log())
        server.tell("start")
        self.turns(daemon, 200)
        tables = [table["name"] for table in daemon.get("/v1/tables").expect(200).json["tables"]]
        self.assertEqual(tables, ["CLICKS", "CURRENT_METRIC", "HISTORY"])
        daemon.write("server", [event("a", 1, n=1)])
        self.assertEqual(history(daemon, "a"), [1])

    def test_a_rule_that_somebody_changed_is_the_files_again_after_a_reload_and_not_after_a_restart(self):
        server = self.bigtable()
        kept = SCHEMA.replace("families.METRIC = {}", "families.METRIC = { max_age = \"30d\" }", 1)
        daemon = self.daemon(server, kept)
        table = "projects/p/instances/i/tables/METRIC"
        server.tell(f"versions {table} METRIC 7")
        server.calls()
        daemon.restart()
        self.assertEqual(server.calls().get("ModifyColumnFamilies", 0), 0)
        for changes in (1, 0):  # The second time there is nothing to set.
            daemon.request("POST", "/-/reload").expect(200)
            self.assertEqual(server.calls().get("ModifyColumnFamilies", 0), changes)
        self.assertIn("has the file's again: max_age", daemon.log())
        self.assertEqual([], daemon.get("/v1/status").json["store"]["garbage_collection_drifts"])

    def turns(self, daemon, status):
        began = time.monotonic()
        eventually(lambda: daemon.get("/readyz").status == status, f"/readyz turns {status}")
        self.assertLess(time.monotonic() - began, 10 * SLOW)

    def test_of_two_files_the_later_counts_and_never_one_of_a_lower_generation(self):
        server = self.bigtable()
        other = '\n[streams.other]\ntime_required = true\n[tables.OTHER]\nstream = "other"\n' \
                'pattern = "single-timestamp"\nrow_key = "{host}#{ts:ms}"\nfamilies.F = {}\n'
        old = self.daemon(server, SCHEMA + other, generation=3)
        kept = other.replace("F = {}", "F = { max_versions = 3 }")
        new = self.daemon(server, SCHEMA + kept, generation=4)
        self.turns(old, 503)
        self.assertEqual(old.get("/readyz").json["why"], "another daemon took another file")
        self.assertIn("(other)", old.get("/v1/status").json["store"]["reason"])
        old.write("server", [event("a", 1, n=1)])
        old.post("other", [event("a", 1, n=1)]).expect(503)
        new.write("other", [event("a", 1, n=1)])
        old.request("POST", "/-/reload").expect(409)
        status, output = run("serve", "--config", old.config)
        self.assertEqual(status, 2)
        self.assertIn("storage.bigtable.generation: 3", output)
        old.storage = new.storage
        old.reload(new.toml).expect(200)
        self.turns(old, 200)

    def test_a_batch_of_many_rows_takes_few_calls(self):
        server = self.bigtable()
        daemon = self.daemon(server)
        daemon.write("server", [event("first", 0, n=0)])
        server.calls()
        daemon.write("server", [event("a", number, n=number) for number in range(1000)])
        calls = server.calls()
        self.assertEqual((calls["Entry METRIC"], calls["Entry CURRENT_METRIC"]), (1000, 1))
        self.assertLessEqual(calls["MutateRows METRIC"], 4)

    def test_every_call_says_where_it_goes_and_no_row_has_two_at_once(self):
        server = self.bigtable()
        server.tell("latency 2000")
        daemon = self.daemon(server)
        in_threads(4, lambda index: [daemon.write("server", [event("a", 10 * n + index, n=n)])
                                     for n in range(20)])
        calls = server.calls()
        self.assertEqual((calls.get("unrouted", 0), calls.get("overlaps", 0)), (0, 0), calls)

    def test_a_twin_on_another_daemon_is_told_to_come_again_and_then_gets_the_answer(self):
        server = self.bigtable()
        daemons = [self.daemon(server) for _ in range(2)]
        send = functools.partial(Tallyd.post_bytes, stream="server", body=json.dumps(event("a", 1, n=1)),
                                 headers={"Idempotency-Key": "one"})
        server.tell("latency 250000")
        first = []
        at_it = threading.Thread(target=lambda: first.append(send(daemons[0])))
        at_it.start()
        while not server.calls().get("CheckAndMutateRow", 0):
            time.sleep(0.02)
        time.sleep(0.3)  # Until that call is answered.
        twin = send(daemons[1])
        server.tell("latency 0")
        at_it.join()
        self.assertEqual((first[0].status, twin.status), (200, 503), twin.text)
        self.assertTrue(twin.headers["Retry-After"])
        eventually(lambda: send(daemons[1]).status == 200, "the twin is answered")
        self.assertEqual(send(daemons[1]).text, first[0].text)
        self.assertEqual(history(daemons[1], "a"), [1])

    def test_with_faults_every_input_that_is_sent_again_with_its_key_counts_once(self):
        server = self.bigtable(seed=SEED)
        daemons = [self.daemon(server, COUNTERS, deadline="10s", attempt="2s") for _ in range(2)]
        server.tell("faults 0.1")

        def write(index):
            for number in range(25):
                body = json.dumps([{"page": "p", "ts": BEGIN, "n": 1 + index}, {"page": "q", "ts": BEGIN, "n": 1}])
                for attempt in range(100):  # Each time by another daemon.
                    answer = daemons[(number + attempt) % 2].post_bytes(
                        "clicks", body, headers={"Idempotency-Key": f"{index}-{number}"})
                    if answer.status == 200:
                        break
                    self.assertEqual((answer.status, answer.json.get("counted")), (503, None))
                    time.sleep(0.02)
                self.assertEqual(answer.status, 200, answer.text)

        in_threads(4, write)
        server.tell("faults 0")
        for page, total in (("p", 25 * (1 + 2 + 3 + 4)), ("q", 100)):
            cells = daemons[0].row("CLICKS", page).expect(200).json["cells"]["ADDED"]["n"]
            self.assertEqual([cell["value"] for cell in cells], [total])
        much = daemons[0].post("clicks", [{"page": "p", "ts": BEGIN, "n": 2**47},
                                          {"page": "p", "ts": BEGIN, "n": -(2**47) - 1}])
        self.assertEqual((much.status, [error["index"] for error in much.json["errors"]]), (400, [1]))

    def write_with_faults_and_kills(self, **keys):
        """Batches of three events each through two daemons, one of which is killed now and then. Returns the
        daemons, the numbers of the batches that each writer was told to be taken, and how many it sent."""
        server = self.bigtable(seed=SEED)
        daemons = [self.daemon(server, deadline="10s", attempt="2s", **keys) for _ in range(2)]
        server.tell("faults 0.05")
        server.tell("latency 300")
        end = time.monotonic() + FAULT_SECONDS
        taken = [[] for _ in range(4)]
        sent = [0] * 4

        def write(index):
            while time.monotonic() < end:
                number = sent[index]
                sent[index] += 1
                batch = [event(f"w{index}", 10 * number + k, n=number) for k in range(3)]
                daemon = daemons[number % 2]
                try:
                    if daemon.post("server", batch).status == 200:
                        taken[index].append(number)
                except OSError:
                    pass  # Killed: nobody knows.

        def kill(_):
            chance = random.Random(SEED)
            while time.monotonic() + 3 < end:
                time.sleep(chance.uniform(1, 3))
                daemons[1].kill()
                daemons[1].start()

        in_threads(5, lambda index: kill(index) if index == 4 else write(index))
        server.tell("faults 0")
        return daemons, taken, sent

    def test_with_faults_and_kills_nothing_acknowledged_is_lost_and_nothing_is_doubled(self):
        daemons, taken, sent = self.write_with_faults_and_kills()
        for index, numbers in enumerate(taken):
            self.assertTrue(numbers, "no batch was taken")
            found = collections.Counter(history(daemons[0], f"w{index}", 10 * sent[index], 20_000))
            whole = [n for n, times in found.items() if times == 3]
            self.assertEqual(set(numbers) - set(whole), set(), "acknowledged, and not there as a whole")
            self.assertLessEqual(max(found.values()), 3, "doubled")
            newest = {row["host"]: row["n"] for row in daemons[0].latest("server")}
            self.assertGreaterEqual(newest[f"w{index}"], numbers[-1])

    def test_with_whole_batches_no_batch_is_there_in_part_for_good(self):
        daemons, taken, sent = self.write_with_faults_and_kills(whole_batches=True)
        self.assertTrue(daemons[0].get("/v1/status").expect(200).json["engine"]["whole_batches"])
        daemons[1].kill()

        def all_of(index):
            return collections.Counter(history(daemons[0], f"w{index}", 10 * sent[index], 20_000))

        def in_part():
            return {(index, n) for index in range(4) for n, times in all_of(index).items() if times != 3}

        eventually(lambda: not in_part(), "no batch is there in part")
        for index, numbers in enumerate(taken):
            self.assertTrue(numbers, "no batch was taken")
            self.assertEqual(set(numbers) - set(all_of(index)), set(), "lost")
            newest = {row["host"]: row["n"] for row in daemons[0].latest("server")}
            self.assertGreaterEqual(newest[f"w{index}"], numbers[-1])
        self.assertFalse(daemons[0].get("/v1/status").json["store"]["failed_batches"])

    def test_a_key_whose_daemon_was_killed_is_answered_by_who_finished_its_batch(self):
        server = self.bigtable()
        daemons = [self.daemon(server, SCHEMA + COUNTERS, whole_batches=True, poll="200ms") for _ in range(2)]
        body = json.dumps([{"page": "p", "ts": BEGIN, "n": 1}, {"page": "q", "ts": BEGIN, "n": 1}])
        send = functools.partial(Tallyd.post_bytes, stream="clicks", body=body, headers={"Idempotency-Key": "one"})
        server.calls()
        server.tell("latency 200000")
        at_it = threading.Thread(target=lambda: self.assertRaises(OSError, send, daemons[0]))
        at_it.start()
        calls = {}
        while "Entry tallyd_journal" not in calls:
            time.sleep(0.02)
            calls.update(server.calls())
        time.sleep(0.3)  # Until that call is answered.
        daemons[0].kill()
        at_it.join()
        server.tell("latency 0")
        self.assertEqual(send(daemons[1]).status, 503)
        eventually(lambda: send(daemons[1]).status == 200, "the twin is answered")
        for page in "pq":
            cells = daemons[1].row("CLICKS", page).expect(200).json["cells"]["ADDED"]["n"]
            self.assertEqual([cell["value"] for cell in cells], [1])

    def test_the_readmes_commands_lead_from_leveldb_to_bigtable(self):
        server = self.bigtable()
        section = (ROOT / "README.md").read_text(encoding="utf-8").split("three commands\n")[1]
        keys = re.search(r"```toml\n(.*?)```", section, re.S).group(1)
        commands = re.findall(r"^tallyd (.*?) *(?:#.*)?$", section, re.M)[:3]
        self.assertEqual([command.split()[0] for command in commands], ["check", "copy", "serve"])
        before = self.start(SCHEMA)
        before.write("server", [event("a", number, n=number) for number in range(100)])
        after = Tallyd(SCHEMA, storage=keys.replace("[storage]\n", ""), directory=before.directory)
        self.addCleanup(after.kill)
        after.environment = {"BIGTABLE_EMULATOR_HOST": server.address}
        after.config = before.directory / "bigtable.toml"
        after.port = free_port()
        after.write_config()
        for command in commands[:2]:
            done = subprocess.run([BINARY, *command.split()], cwd=before.directory, check=False,
                                  env={**os.environ, **after.environment}, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        before.stop()
        after.start()
        self.assertEqual(history(after, "a"), list(range(100)))
        self.assertEqual([row["n"] for row in after.latest("server")], [99])
        after.stop()


@needs_emulator
class EmulatorTest(EitherBigtable, BigtableTest):
    kind = Emulator

    def test_what_it_does_not_fold_as_bigtable_does_is_refused_by_name(self):
        # Of two values it keeps the later as their minimum.
        least = COUNTERS.replace('"sum"', '"min"')
        daemon = Tallyd(least, storage=storage(self.bigtable(self.kind).address))
        self.addCleanup(daemon.discard)
        daemon.port = free_port()
        daemon.write_config()
        daemon.spawn()
        self.assertEqual(daemon.process.wait(START_SECONDS), 2, daemon.log())
        self.assertIn("tables.CLICKS.families.ADDED.aggregate", daemon.log())


if __name__ == "__main__":
    unittest.main()
