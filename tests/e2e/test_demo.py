"""The demo and the load generator against a running daemon: what they send is there afterwards."""

import json
import os
import pathlib
import subprocess
import sys

from tests.e2e.tallyd import BINARY, ROOT, SLOW, E2eTest, ms

SECONDS = 300 * SLOW
# Next to the daemon in build/; builds with sanitizers do not always have it.
LOADER = pathlib.Path(os.environ.get("FLEET_BENCH", BINARY.parent / "fleet_bench"))


def tables_of(file):
    """The streams and tables of a configuration; the daemon under test has its own server."""
    text = (ROOT / file).read_text(encoding="utf-8")
    return text[text.index("[streams."):]


class DemoTest(E2eTest):
    def demo(self, daemon, *options):
        return subprocess.run(
            [sys.executable, "-B", ROOT / "examples" / "demo", "--url",
             f"http://127.0.0.1:{daemon.port}", *options],
            capture_output=True, text=True, timeout=SECONDS, check=False)

    def test_demo_fills_four_worlds_and_its_questions_have_answers(self):
        daemon = self.start(tables_of("config/example.toml"))
        done = self.demo(daemon, "--days", "2", "--end", "2026-01-31")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn("100%", done.stderr)
        for abridged in ("27 more rows", "7 more rows", "21 more rows", "94 more columns"):
            self.assertIn(f"... {abridged}", done.stdout)
        day = {"from_": ms("2026-01-30T00:00"), "to": ms("2026-01-31T00:00")}
        entities = {"server": {"hostname": "server7.bbb.com"},
                    "balloon": {"location": "us-west2", "balloon": 3698},
                    "meter": {"meter": 987700}}
        counts = {stream: len(daemon.query(stream, day, **entity)["rows"])
                  for stream, entity in entities.items()}
        self.assertEqual({"server": 2880, "balloon": 1440, "meter": 96}, counts)

    def test_same_seed_sent_twice_stores_the_same_rows(self):
        daemon = self.start(tables_of("config/example.toml"))
        answers = []
        for _ in range(2):
            self.assertEqual(0, self.demo(daemon, "--days", "2", "--end", "2026-01-31").returncode)
            answers.append(daemon.keys("METRIC", prefix="server3.bbb.com#", limit=20000))
        self.assertEqual(5760, len(answers[0]))
        self.assertEqual(*answers)

    def test_sample_files_are_taken_line_by_line(self):
        daemon = self.start(tables_of("config/example.toml"))
        for stream, events in {"server": 1, "meter": 4, "balloon": 5, "market": 1}.items():
            body = (ROOT / "examples" / f"{stream}.ndjson").read_bytes()
            answer = daemon.post_bytes(stream, body, "application/x-ndjson").expect(200).json
            self.assertEqual(events, answer["events"], stream)
        cells = daemon.cells("SENSOR", "0000987654#20170726")["METER"]
        self.assertEqual(["0000", "0015", "2330", "2345", "ID"], list(cells))


class LoaderTest(E2eTest):
    def load(self, daemon, workload, requests):
        if not LOADER.exists():
            self.skipTest(f"skipped: {LOADER} is not built")
        done = subprocess.run(
            [LOADER, "--url", f"http://127.0.0.1:{daemon.port}", "--workload", workload,
             "--requests", str(requests), "--pid", str(daemon.process.pid), "--data-dir",
             daemon.directory / "data", "--settle-seconds", "5", "--json"],
            capture_output=True, text=True, timeout=SECONDS, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def test_fleet_is_stored_whole(self):
        daemon = self.start(tables_of("bench/fleet.toml"))
        load = self.load(daemon, "fleet", 20)
        self.assertEqual((20, 2000, 200000), (load["requests"], load["events"], load["samples"]))
        self.assertGreater(load["disk_bytes"], 0)
        self.assertEqual(1000, len(daemon.latest("server", limit=2000)))
        history = daemon.events("server", hostname="server500.bbb.com")
        self.assertEqual([102, 102], [len(event) for event in history])
        # Half gauges with two decimals, half counters that grow.
        self.assertEqual(100, len([name for name in history[0] if "/" in name]))
        self.assertLessEqual(history[0]["IO/SDA_READ"], history[1]["IO/SDA_READ"])

    def test_meters_and_market_are_stored_whole(self):
        for workload, table in (("meters", "SENSOR"), ("market", "QUOTE")):
            with self.subTest(workload):
                daemon = self.start(tables_of(f"bench/{workload}.toml"))
                self.load(daemon, workload, 12)
                self.assertEqual(1200, len(daemon.keys(table, limit=5000)))
