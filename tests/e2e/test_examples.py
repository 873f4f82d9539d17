"""The worked examples: market, servers and meters, from configuration to their typical questions."""

import os
import subprocess
import sys
import unittest

from tests.e2e.tallyd import ANSWER_SECONDS, BINARY, ROOT, run


class ExamplesTest(unittest.TestCase):
    def ask(self, name, questions):
        status, said = run("check", "--config", ROOT / "examples" / name / "tallyd.toml")
        self.assertEqual(0, status, said)
        done = subprocess.run([sys.executable, "-B", ROOT / "examples" / name / "run"],
                              env={**os.environ, "TALLYD": str(BINARY)}, capture_output=True,
                              text=True, timeout=4 * ANSWER_SECONDS, check=False)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn("Every question was answered out of one range of keys.", done.stdout)
        self.assertEqual(questions, done.stdout.count('"kind": "range", "ranges": 1'), done.stdout)

    def test_a_market_is_asked_for_quotes_or_trades_by_symbol_and_time(self):
        self.ask("market", 3)

    def test_servers_are_asked_for_one_machine_and_for_the_latest_of_all(self):
        self.ask("servers", 4)

    def test_meters_are_asked_for_one_meter_and_for_all_of_a_day(self):
        self.ask("meters", 3)
