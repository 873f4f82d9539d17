"""verify, backup, restore, salvage: what they print, what they leave alone, how they exit."""

import json
import pathlib
import subprocess

from tests.e2e.tallyd import ANSWER_SECONDS, BINARY, E2eTest

TABLES = """
[tables.HISTORY]
stream = "load"
pattern = "single-timestamp"
row_key = "{machine}#{ts:ms}"
families.F = {}

[tables.LATEST]
stream = "load"
pattern = "latest"
row_key = "{machine}"
families.F = {}
"""
START = 1_500_000_000_000


def events(first, count):
    return [{"ts": START + at * 1000, "machine": f"m{at % 7}", "value": at * 0.25, "count": at}
            for at in range(first, first + count)]


def run(*arguments):
    return subprocess.run([str(BINARY), *map(str, arguments)], capture_output=True, text=True,
                          timeout=ANSWER_SECONDS, check=False)


def files_below(directory):
    return {path.relative_to(directory): path.read_bytes()
            for path in sorted(pathlib.Path(directory).rglob("*")) if path.is_file()}


class ToolsTest(E2eTest):
    def stopped(self):
        """A store with sealed and unsealed events, that no daemon has open."""
        daemon = self.start(TABLES)
        daemon.write("load", events(0, 300))
        daemon.request("POST", "/-/settle").expect(200)
        daemon.write("load", events(300, 50))
        daemon.stop()
        return daemon

    def data(self, daemon):
        return daemon.directory / "data"

    def block_file(self, daemon):
        return sorted((self.data(daemon) / "blocks").glob("*.blocks"))[0]


class VerifyTest(ToolsTest):
    def test_a_sound_store_is_sound_and_stays_as_it_is(self):
        daemon = self.stopped()
        before = files_below(self.data(daemon))
        done = run("verify", "--config", daemon.config)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("is sound", done.stdout)
        self.assertIn("HISTORY", done.stdout)
        self.assertIn("MB/s", done.stdout)
        done = run("verify", "--config", daemon.config, "--format", "json")
        said = json.loads(done.stdout)
        self.assertTrue(said["sound"])
        self.assertEqual([], said["findings"])
        tables = {table["name"]: table for table in said["tables"]}
        self.assertEqual(300, tables["HISTORY"]["sealed_entries"])
        self.assertEqual(50, tables["HISTORY"]["unsealed_entries"])
        self.assertEqual(7, tables["LATEST"]["rows"])
        self.assertEqual(before, files_below(self.data(daemon)))

    def test_damage_is_named_and_the_status_is_1(self):
        daemon = self.stopped()
        path = self.block_file(daemon)
        damaged = bytearray(path.read_bytes())
        damaged[len(damaged) // 3] ^= 1
        path.write_bytes(damaged)
        done = run("verify", "--config", daemon.config)
        self.assertEqual(1, done.returncode)
        self.assertIn(path.name, done.stdout)
        self.assertIn("HISTORY", done.stdout)
        self.assertIn("is DAMAGED", done.stdout)
        said = json.loads(run("verify", "--config", daemon.config, "--format", "json").stdout)
        self.assertFalse(said["sound"])
        self.assertEqual(str(path), said["findings"][0]["file"])
        self.assertEqual("HISTORY", said["findings"][0]["table"])

    def test_what_a_kill_leaves_is_sound(self):
        daemon = self.start(TABLES)
        daemon.write("load", events(0, 100))
        daemon.kill()
        done = run("verify", "--config", daemon.config)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        daemon.start()

    def test_a_store_in_use_is_refused(self):
        daemon = self.start(TABLES)
        done = run("verify", "--config", daemon.config)
        self.assertEqual(1, done.returncode)
        self.assertIn("in use", done.stderr)
        self.assertEqual("", done.stdout)
        daemon.write("load", events(0, 10))

    def test_usage_and_configuration_are_status_2(self):
        daemon = self.stopped()
        self.assertEqual(2, run("verify").returncode)
        self.assertEqual(2, run("verify", "--config", daemon.config, "--format", "xml").returncode)
        self.assertEqual(2, run("verify", "--config", daemon.directory / "none.toml").returncode)
        daemon.config.write_text("[storage]\npath = 5\n", encoding="utf-8")
        self.assertEqual(2, run("verify", "--config", daemon.config).returncode)
        daemon.config.write_text('[storage]\npath = "nowhere"\n' + TABLES, encoding="utf-8")
        done = run("verify", "--config", daemon.config)
        self.assertEqual(1, done.returncode)
        self.assertIn("no store", done.stderr)
        self.assertFalse((daemon.directory / "nowhere").exists())
