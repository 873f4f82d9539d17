"""POST /-/settle: all that waits is sealed, and every answer stays as it was."""

import json
import pathlib
import threading

from tests.e2e.tallyd import E2eTest, in_threads

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TABLES = """
[tables.HISTORY]
stream = "load"
pattern = "single-timestamp"
row_key = "{machine}#{ts:ms}"
families.F = {}

[tables.REVERSED]
stream = "load"
pattern = "single-timestamp"
row_key = "{machine}#{ts:reverse(ms)}"
families.F = {}

[tables.DAY]
stream = "load"
pattern = "new-cell"
row_key = "{machine}#{ts:day}"
families.F = {}

[tables.QUARTERS]
stream = "load"
pattern = "new-column"
row_key = "{machine}#{ts:day}"
columns = [{ family = "F", name = "{ts:%H%M%S}", value = "{value}" }]
families.F = {}

[tables.LATEST]
stream = "load"
pattern = "latest"
row_key = "{machine}"
families.F = {}
"""
START = 1_500_000_000_000
MINUTE = 60_000


def events(first, count):
    return [{"ts": START + at * 1000, "machine": f"m{at % 7}", "value": at * 0.25,
             "count": at * at, "state": "up" if at % 5 else "down", "odd": at % 2 == 1}
            for at in range(first, first + count)]


class TrustClockTest(E2eTest):
    def test_the_retention_clock_is_told_and_can_be_told(self):
        daemon = self.start(TABLES)
        clock = daemon.get("/v1/status").expect(200).json["retention_clock"]
        self.assertTrue(clock["believes_wall_clock"])
        self.assertLess(abs(clock["lag_s"]), 60)
        told = daemon.request("POST", "/-/trust-clock").expect(200).json["retention_clock"]
        self.assertGreaterEqual(told["time"], clock["time"])
        metrics = daemon.get("/metrics").expect(200).text
        self.assertIn("\ntallyd_retention_clock_timestamp_seconds ", metrics)
        self.assertIn("\ntallyd_retention_clock_lag_seconds ", metrics)


class SettleTest(E2eTest):
    def settle(self, daemon):
        answer = daemon.request("POST", "/-/settle").expect(200).json
        self.assertTrue(answer["settled"])
        return answer

    def unsealed(self, daemon):
        return daemon.get("/v1/status").expect(200).json["unsealed_bytes"]

    def answers(self, daemon):
        found = []
        for table in ("HISTORY", "REVERSED", "DAY"):
            for order in ("asc", "desc"):
                found.append(daemon.query("load", machine="m3", table=table, order=order)["rows"])
                found.append(daemon.query("load", machine="m3", table=table, order=order,
                                          from_=START + 20_000, to=START + 90_500)["rows"])
            for agg in ("max", "min,sum", "avg,count", "first,last"):
                for by in ("", "machine"):
                    options = {"by": by} if by else {}
                    found.append(daemon.query("load", table=table, scan=1, step="10s", agg=agg,
                                              fields="value,count", **options)["rows"])
                    found.append(daemon.query("load", table=table, machine="m1", step="1m",
                                              agg=agg, **options)["rows"])
        found.append(daemon.latest("load"))
        for table in ("HISTORY", "REVERSED", "DAY", "QUARTERS", "LATEST"):
            found.append(daemon.rows(table, limit=2000))
            found.append(daemon.rows(table, limit=2000, reverse=1))
            found.append(daemon.rows(table, prefix="m2#", versions=1))
        return found

    def test_no_answer_changes(self):
        daemon = self.start(TABLES)
        daemon.write("load", events(0, 400))
        before = self.answers(daemon)
        self.assertGreater(self.unsealed(daemon), 0)
        self.assertEqual(0, self.settle(daemon)["unsealed_bytes"])
        self.assertEqual(0, self.unsealed(daemon))
        self.assertEqual(before, self.answers(daemon), "from blocks")
        self.settle(daemon)
        daemon.restart()
        self.assertEqual(before, self.answers(daemon), "after a restart")

    def test_blocks_and_heads_are_read_as_one(self):
        daemon = self.start(TABLES)
        whole = self.start(TABLES)
        parts = [events(first, 50) for first in (100, 0, 300, 200, 150, 50, 250, 350)]
        for part in parts:
            whole.write("load", part)
        for number, part in enumerate(parts):
            daemon.write("load", part)
            if number in (1, 2, 5):
                self.settle(daemon)
        self.assertEqual(self.answers(whole), self.answers(daemon))

    def test_late_and_repeated_events_change_what_is_sealed(self):
        daemon = self.start(TABLES)
        daemon.write("load", events(0, 70))
        self.settle(daemon)
        late = {"ts": START + 3000, "machine": "m3", "value": 77, "more": "late"}
        daemon.write("load", [late])
        for _ in range(2):
            found = daemon.events("load", machine="m3", table="HISTORY", to=START + 3001)
            self.assertEqual([{"ts": START + 3000, "machine": "m3", "value": 77, "count": 9,
                               "state": "up", "odd": True, "more": "late"}], found)
            self.settle(daemon)

    def test_deletes_reach_what_is_sealed(self):
        daemon = self.start(TABLES)
        daemon.write("load", events(0, 140))
        self.settle(daemon)
        daemon.delete("/v1/streams/load/events", machine="m3",
                      from_=START, to=START + MINUTE).expect(200)
        kept = [event["ts"] for event in daemon.events("load", machine="m3", table="HISTORY")]
        self.assertEqual([START + at * 1000 for at in range(60, 140) if at % 7 == 3], kept)
        again = {"ts": START + 3000, "machine": "m3", "value": 1}
        daemon.write("load", [again])
        self.settle(daemon)
        self.assertEqual(0, daemon.get("/v1/status").json["store"]["pending_deletes"])
        found = [event["ts"] for event in daemon.events("load", machine="m3", table="HISTORY")]
        self.assertEqual([START + 3000] + kept, found)

    def test_settling_goes_on_beside_writes(self):
        daemon = self.start(TABLES)
        done = threading.Event()

        def work(number):
            if number == 0:
                for first in range(0, 2000, 50):
                    daemon.write("load", events(first, 50))
                done.set()
            else:
                while not done.is_set():
                    self.settle(daemon)

        in_threads(3, work)
        self.assertEqual(2000, len(daemon.events("load", table="HISTORY", scan=1, limit=5000)))

    def test_it_takes_no_parameter_and_says_so(self):
        daemon = self.start(TABLES)
        said = daemon.request("POST", "/-/settle", params={"now": 1}).problem(400)["detail"]
        self.assertEqual('unknown parameter "now"; accepted here: none', said)

    def test_the_example_worlds_read_the_same(self):
        daemon = self.start((ROOT / "config" / "example.toml").read_text()
                            .split("[storage]", 1)[1].split("\n[", 1)[1].join(["[", ""]))
        for stream in ("balloon", "market", "server", "meter"):
            lines = (ROOT / "examples" / f"{stream}.ndjson").read_text().splitlines()
            daemon.write(stream, [json.loads(line) for line in lines])
        tables = [table["name"] for table in daemon.get("/v1/tables").json["tables"]]
        before = [daemon.rows(table) for table in tables]
        self.settle(daemon)
        self.assertEqual(before, [daemon.rows(table) for table in tables])
