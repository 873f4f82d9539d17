"""Filling: a table that joins a stream with history, or whose rules change, becomes whole again."""

import json
import random
import threading
import time

from tests.e2e.tallyd import E2eTest, as_dicts, eventually, ms, run

START = ms("2015-03-05T12:00")
MINUTE = 60_000

DAY = 24 * 60 * MINUTE

METRIC = '''
[tables.METRIC]
stream   = "server"
pattern  = "single-timestamp"
row_key  = "{hostname}#{ts:ms}"
families.METRIC = {}
'''

JOINERS = {
    "single-timestamp": '''
[tables.METRIC2]
stream   = "server"
pattern  = "single-timestamp"
row_key  = "{ts:reverse(ms)}#{hostname}"
families.M = {}
''',
    "single-timestamp-serialized": '''
[tables.METRIC2]
stream   = "server"
pattern  = "single-timestamp-serialized"
row_key  = "{hostname}#{ts:ms}"
families.M = {}
''',
    "new-cell": '''
[tables.METRIC2]
stream   = "server"
pattern  = "new-cell"
row_key  = "{hostname}#{ts:day}"
families.M = {}
''',
    "new-column": '''
[tables.METRIC2]
stream   = "server"
pattern  = "new-column"
row_key  = "{field}#{hostname}#{ts:day}"
columns  = [{ family = "M", name = "{ts:%H%M%S}", value = "{value}" }]
families.M = {}
''',
}


def server(count, first=0, hosts=5, **more):
    """Events of several machines, one a minute each; every seventh has a field of its own."""
    events = []
    for i in range(first, first + count):
        event = {"ts": START + i // hosts * MINUTE, "hostname": f"server{i % hosts}.bbb.com",
                 "CPU": {"CPU1_USR": i / 100, "CPU1_SYS": i % 7}, **more}
        if i % 7 == 0:
            event["note"] = f"n{i}"
        events.append(event)
    return events


def fill_of(daemon, table="METRIC2"):
    fills = {one["table"]: one for one in daemon.get("/v1/status").json["fills"]}
    return fills.get(table, {})


def wait_filled(daemon, table="METRIC2"):
    eventually(lambda: fill_of(daemon, table).get("state") == "filled", f"{table} is filled")


class FillTest(E2eTest):
    def all_events(self, daemon, table, **params):
        answer = daemon.query("server", {"table": table, "scan": 1, "limit": 1_000_000, **params})
        rows = [tuple(sorted((k, str(v)) for k, v in one.items() if v is not None))
                for one in as_dicts(answer)]
        return answer["plan"], sorted(rows)

    def assert_whole(self, daemon, table="METRIC2", count=None):
        plan, events = self.all_events(daemon, table)
        self.assertNotIn("complete", plan, plan)
        self.assertNotIn("note", plan)
        of_source = self.all_events(daemon, "METRIC")[1]
        self.assertEqual(of_source, events)
        if count is not None:
            self.assertEqual(count, len(events))

    def test_a_table_of_any_pattern_that_joins_becomes_whole(self):
        for pattern, joiner in JOINERS.items():
            with self.subTest(pattern):
                daemon = self.start(METRIC)
                daemon.write("server", server(700))
                daemon.reload(METRIC + joiner).expect(200)
                wait_filled(daemon)
                self.assert_whole(daemon, count=700)
                daemon.write("server", server(100, first=700))
                self.assert_whole(daemon, count=800)
                daemon.restart()
                self.assert_whole(daemon, count=800)
                self.assertEqual("filled", fill_of(daemon)["state"])

    def test_the_latest_values_of_the_past_are_there(self):
        daemon = self.start(METRIC)
        daemon.write("server", server(70))
        daemon.write("server", {"ts": START, "hostname": "quiet", "CPU": {"CPU1_USR": 1}})
        latest = '''
[tables.METRIC2]
stream   = "server"
pattern  = "latest"
row_key  = "{hostname}"
families.M = {}
'''
        daemon.reload(METRIC + latest).expect(200)
        wait_filled(daemon)
        answer = daemon.get("/v1/streams/server/latest").expect(200).json
        self.assertNotIn("complete", answer["plan"])
        values = {one["hostname"]: one for one in as_dicts(answer)}
        self.assertEqual(1, values["quiet"]["CPU/CPU1_USR"])
        self.assertEqual(0.69, values["server4.bbb.com"]["CPU/CPU1_USR"])
        self.assertEqual("n63", values["server3.bbb.com"]["note"])

    def test_a_table_may_decline(self):
        daemon = self.start(METRIC)
        daemon.write("server", server(10))
        joiner = JOINERS["new-cell"].replace('stream   =', 'fill = false\nstream   =')
        daemon.reload(METRIC + joiner).expect(200)
        eventually(lambda: fill_of(daemon).get("state") == "declined", "METRIC2 declines")
        plan, events = self.all_events(daemon, "METRIC2")
        self.assertIs(False, plan["complete"])
        self.assertEqual([], events)
        daemon.reload(METRIC + JOINERS["new-cell"]).expect(200)
        wait_filled(daemon)
        self.assert_whole(daemon, count=10)

    def test_where_no_table_has_everything_it_stays_incomplete(self):
        some = METRIC.replace("families.METRIC",
                              'columns = [{ family = "METRIC", fields = ["CPU/CPU1_USR"] }]\n'
                              "families.METRIC")
        daemon = self.start(some)
        daemon.write("server", server(50))
        daemon.reload(some + JOINERS["new-cell"]).expect(200)
        eventually(lambda: fill_of(daemon).get("state") == "incomplete", "no table is whole")
        self.assertIn("METRIC", fill_of(daemon)["reason"])
        self.assertIs(False, self.all_events(daemon, "METRIC2")[0]["complete"])

    def test_late_events_corrections_and_deletes_hold_while_it_is_filled(self):
        daemon = self.start(METRIC)
        for first in range(0, 30_000, 3_000):
            daemon.write("server", server(3_000, first, hosts=50))
        chosen = random.Random(7)
        stop = threading.Event()
        failures = []

        def disturb():
            try:
                for _ in range(400):  # A table that is deleted from all the time may wait long.
                    if stop.is_set():
                        return
                    at = chosen.randrange(30_000)
                    daemon.write("server", server(3, at, hosts=50, corrected=chosen.random()))
                    if chosen.random() < 0.05:
                        begin = START + chosen.randrange(600) * MINUTE
                        daemon.delete("/v1/streams/server/events", {
                            "hostname": f"server{chosen.randrange(50)}.bbb.com",
                            "from": begin, "to": begin + 5 * MINUTE}).expect(200)
            except Exception as failure:  # Told below.
                failures.append(failure)

        disturber = threading.Thread(target=disturb)
        disturber.start()
        try:
            daemon.reload(METRIC + JOINERS["new-cell"]).expect(200)
            wait_filled(daemon)
        finally:
            stop.set()
            disturber.join()
        self.assertEqual([], failures)
        self.assert_whole(daemon)

    def test_it_goes_on_after_a_kill(self):
        daemon = self.start(METRIC, storage="seal_cpu = 0.02")
        for first in range(0, 60_000, 5_000):
            daemon.write("server", server(5_000, first, hosts=50))
        daemon.reload(METRIC + JOINERS["new-cell"]).expect(200)
        for _ in range(3):
            before = fill_of(daemon).get("events", 0)
            eventually(lambda: fill_of(daemon).get("events", 0) > before or
                       fill_of(daemon).get("state") == "filled", "some events are filled")
            daemon.kill()
            daemon.start()
            self.assertGreaterEqual(fill_of(daemon)["events"], before)
            daemon.write("server", server(10, 60_000, hosts=50))
        daemon.storage = ""
        daemon.restart()
        wait_filled(daemon)
        self.assert_whole(daemon, count=60_010)
        self.assertEqual(60_000, fill_of(daemon)["events"])

    def test_an_aggregate_has_each_event_once_while_writers_go_on(self):
        totals = '''
[tables.METRIC2]
stream   = "server"
pattern  = "aggregate"
row_key  = "{hostname}"
columns  = [{ family = "T", fields = ["CPU/CPU1_SYS"] }]
families.T = { aggregate = "sum", bucket = "1d" }
'''
        daemon = self.start(METRIC)
        for first in range(0, 40_000, 4_000):
            daemon.write("server", server(4_000, first, hosts=50))
        stop = threading.Event()
        written = []
        failures = []

        def write():
            first = 40_000
            while not stop.is_set():
                try:
                    daemon.write("server", server(100, first, hosts=50))
                except OSError:
                    continue  # Killed meanwhile: the batch is sent again, as the same events.
                except Exception as failure:  # Told below.
                    failures.append(failure)
                    return
                first += 100
                written.append(first)
                stop.wait(0.005)  # Leaves some of a slow machine to the filling.

        writer = threading.Thread(target=write)
        writer.start()
        try:
            eventually(lambda: written, "events come")
            daemon.reload(METRIC + totals).expect(200)
            wait_filled(daemon)
            eventually(lambda count=len(written): len(written) > count + 3, "events go on")
        finally:
            stop.set()
            writer.join()
        self.assertEqual([], failures)
        count = written[-1]
        sums = [0] * 50
        for i in range(count):
            sums[i % 50] += i % 7
        for host in range(50):
            cells = daemon.cells("METRIC2", f"server{host}.bbb.com")["T"]["CPU/CPU1_SYS"]
            self.assertEqual(sums[host], sum(cell["value"] for cell in cells), host)

    def test_a_kill_while_an_aggregate_is_filled_counts_nothing_twice(self):
        totals = '''
[tables.METRIC2]
stream   = "server"
pattern  = "aggregate"
row_key  = "{hostname}"
columns  = [{ family = "T", fields = ["CPU/CPU1_SYS"] }]
families.T = { aggregate = "sum", bucket = "1d" }
'''
        daemon = self.start(METRIC, storage="seal_cpu = 0.02")
        for first in range(0, 60_000, 5_000):
            daemon.write("server", server(5_000, first, hosts=50))
        daemon.reload(METRIC + totals).expect(200)
        for _ in range(3):
            before = fill_of(daemon).get("events", 0)
            eventually(lambda: fill_of(daemon).get("events", 0) > before or
                       fill_of(daemon).get("state") == "filled", "some events are filled")
            daemon.kill()
            daemon.start()
        daemon.storage = ""
        daemon.restart()
        wait_filled(daemon)
        for host in range(50):
            cells = daemon.cells("METRIC2", f"server{host}.bbb.com")["T"]["CPU/CPU1_SYS"]
            self.assertEqual(sum(i % 7 for i in range(host, 60_000, 50)),
                             sum(cell["value"] for cell in cells), host)

    def test_a_table_whose_rules_change_is_whole_again(self):
        by_day = JOINERS["new-cell"]
        renamed = by_day + ('columns = [{ family = "M", rename = { "CPU/CPU1_USR" = "note", '
                            'note = "remark" } }]\n')
        daemon = self.start(METRIC + by_day)
        daemon.write("server", server(700))
        daemon.reload(METRIC + renamed).expect(200)
        wait_filled(daemon)
        self.assert_whole(daemon, count=700)
        daemon.write("server", server(70, first=700))
        daemon.reload(METRIC + by_day).expect(200)
        eventually(lambda: self.all_events(daemon, "METRIC2")[0].get("complete") is None,
                   "METRIC2 is whole")
        self.assert_whole(daemon, count=770)

    def damage(self, daemon, table):
        """Turns one bit of what is sealed of a table; the daemon is down."""
        for path in sorted((daemon.directory / "data" / "blocks").glob("*.blocks")):
            sound = path.read_bytes()
            damaged = bytearray(sound)
            damaged[len(damaged) // 3] ^= 1
            path.write_bytes(damaged)
            told = run("verify", "--config", daemon.config, "--format", "json")[1]
            found = json.loads(told[told.index("{"):])["findings"]
            if any(finding.get("table") == table for finding in found):
                return lambda path=path, sound=sound: path.write_bytes(sound)
            path.write_bytes(sound)
        self.fail("nothing is sealed")

    def test_a_source_that_cannot_be_read_costs_nothing(self):
        by_day = JOINERS["new-cell"]
        totals = '''
[tables.TOTALS]
stream   = "server"
pattern  = "aggregate"
row_key  = "{hostname}"
columns  = [{ family = "T", fields = ["CPU/CPU1_SYS"] }]
families.T = { aggregate = "sum", bucket = "1d" }
'''
        daemon = self.start(METRIC + by_day + totals)
        daemon.write("server", server(700))
        daemon.request("POST", "/-/settle").expect(200)
        before = {table: daemon.rows(table, {"limit": 1000})
                  for table in ("METRIC2", "TOTALS")}
        daemon.stop()
        mend = self.damage(daemon, "METRIC")
        daemon.write_config(
            METRIC + by_day + 'columns = [{ family = "M", rename = { "CPU/CPU1_USR" = "note", '
            'note = "remark" } }]\n' + totals.replace('"]', '", "CPU/CPU1_USR"]'))
        daemon.start()
        for table, rows in before.items():
            eventually(lambda table=table: fill_of(daemon, table).get("state") == "failed",
                       f"{table} cannot be filled")
            self.assertEqual(rows, daemon.rows(table, {"limit": 1000}))
        daemon.stop()
        mend()
        daemon.start()
        wait_filled(daemon)
        wait_filled(daemon, "TOTALS")
        self.assert_whole(daemon, count=700)

    def test_rows_that_the_source_alone_lost_stay(self):
        by_day = JOINERS["new-cell"]
        renamed = by_day + 'columns = [{ family = "M", rename = { "CPU/CPU1_USR" = "note" } }]\n'
        daemon = self.start(METRIC + by_day)
        daemon.write("server", server(100))
        daemon.delete("/v1/tables/METRIC/rows", {"prefix": "server1"}).expect(200)
        daemon.reload(METRIC + renamed).expect(200)
        eventually(lambda: fill_of(daemon).get("state") in ("incomplete", "filled"),
                   "it is found out whether METRIC2 can be filled")
        self.assertEqual("incomplete", fill_of(daemon)["state"])
        self.assertIn("rows of it alone", fill_of(daemon)["reason"])
        self.assertEqual(5, len(daemon.rows("METRIC2")))

    def test_an_aggregate_is_filled_once_from_a_table_that_forgets(self):
        aged = METRIC.replace("families.METRIC = {}", 'families.METRIC = { max_age = "3d" }')
        totals = '''
[tables.METRIC2]
stream   = "server"
pattern  = "aggregate"
row_key  = "{hostname}"
columns  = [{ family = "T", fields = ["n"] }]
families.T = { aggregate = "sum", bucket = "1d" }
'''
        daemon = self.start(aged)
        now = int(time.time() * 1000)
        daemon.write("server", [{"ts": now - DAY + i, "hostname": "h", "n": 1} for i in range(50)])
        daemon.reload(aged + totals).expect(200)
        eventually(lambda: "filled METRIC2" in daemon.log(), "METRIC2 is filled")
        # The filler takes the tables in the file's order: what comes after has been looked at.
        daemon.reload(aged + totals + JOINERS["new-cell"].replace("METRIC2", "METRIC3")).expect(200)
        eventually(lambda: "filled METRIC3" in daemon.log(), "METRIC3 is filled")
        self.assertEqual(1, daemon.log().count("filled METRIC2"))
        self.assertEqual("incomplete", fill_of(daemon)["state"])
        self.assertIn("bucket", fill_of(daemon)["reason"])
        cells = daemon.cells("METRIC2", "h")["T"]["n"]
        self.assertEqual(50, sum(cell["value"] for cell in cells))
